"""NNX720: methods and attributes of PyTorch and Keras on objects of NNX and arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.listed_states import listed_states
from codemods.nnx.lint.owners import has_attribute, is_array, owner_class, plain_module
from codemods.nnx.lint.places import each
from codemods.nnx.lint.two_axes import two_axes
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Each, Item, Loop, ModuleRef, Value

_WEIGHTS = "nnx.state(model, nnx.Param) holds the parameters"
_SAVING = "nnx.state(model) is what to save; nnx.update(model, state) puts it back"
_DEVICE = "arrays are where JAX puts them; jax.device_put moves them"
_MODULE = {
    **dict.fromkeys(("parameters", "named_parameters", "trainable_variables", "trainable_weights"), _WEIGHTS),
    **dict.fromkeys(("state_dict", "load_state_dict", "get_weights", "set_weights"), _SAVING),
    **dict.fromkeys(("save_weights", "load_weights"), _SAVING),
    **dict.fromkeys(("to", "cuda", "cpu"), _DEVICE),
    **dict.fromkeys(("half", "bfloat16", "double", "float"), "give the layers dtype= and param_dtype="),
    "zero_grad": "gradients are values that nnx.grad returns anew: there is nothing to clear",
    "register_buffer": "assign a Variable of a class of its own: self.name = Buffer(array)",
    "register_parameter": "assign it: self.name = nnx.Param(array)",
    "register_forward_hook": "self.sow keeps intermediate values",
    "add_module": "assign it: self.name = layer",
    "register_module": "assign it: self.name = layer",
    "requires_grad_": "give the gradient and the optimizer a filter: nnx.DiffState and wrt=",
    "named_modules": "nnx.iter_modules(model) goes through them",
    "modules": "nnx.iter_modules(model) goes through them",
    "named_children": "nnx.iter_children(model) goes through them",
    "children": "nnx.iter_children(model) goes through them",
    "forward": "call the object itself",
    "fit": "write the loop: nnx.value_and_grad and optimizer.update(model, grads)",
    "compile": "write the loop: nnx.value_and_grad and optimizer.update(model, grads)",
    "predict": "call the model",
    "summary": "nnx.tabulate(model, x) shows it",
    "num_parameters": _WEIGHTS,
    "params": _WEIGHTS,
    "variables": "nnx.state(model) holds the variables",
    "training": "model.train() and model.eval() set `deterministic` and `use_running_average`",
    "append": "make it anew with the layer, or keep the layers in an nnx.List",
    "extend": "make it anew with the layers, or keep them in an nnx.List",
    "insert": "make it anew with the layer, or keep the layers in an nnx.List",
}
_OPTIMIZER = {
    "zero_grad": "gradients are values that nnx.grad returns anew: there is nothing to clear",
    "state_dict": "nnx.state(optimizer) is what to save",
    "load_state_dict": "nnx.update(optimizer, state) puts a state back",
    "param_groups": "optax.inject_hyperparams keeps the learning rate in opt_state.hyperparams",
    "learning_rate": "optax.inject_hyperparams keeps the learning rate in opt_state.hyperparams",
    "lr": "optax.inject_hyperparams keeps the learning rate in opt_state.hyperparams",
    "hyperparams": "optax.inject_hyperparams keeps them in opt_state.hyperparams",
    "apply_gradients": "optimizer.update(model, grads) makes a step",
    "params": "the model has the parameters: nnx.state(model, nnx.Param)",
    "target": "the model is an object of its own",
    "minimize": "optimizer.update(model, grads) makes a step",
    "add_param_group": "optax.partition gives parts of the parameters their own transformation",
}
_RATES = frozenset({"learning_rate", "lr"})
_NO_STEP = "`step` counts the steps and makes none"
# names of layers and Variables, with what they are here
_LAYER = {
    "weight": "its weights are `kernel`, of nnx.Embed `embedding`, and of normalisations `scale`",
    "weights": "its weights are `kernel`, of nnx.Embed `embedding`, and of normalisations `scale`",
    "gamma": "it is called `scale`",
    "beta": "it is called `bias`",
    "running_mean": "it is called `mean`",
    "running_var": "it is called `var`",
    "moving_mean": "it is called `mean`",
    "moving_variance": "it is called `var`",
    "in_channels": "it is called `in_features`",
    "out_channels": "it is called `out_features`",
}
_GRADIENT = "jax.lax.stop_gradient(x) lets no gradient through"
_VARIABLE = {
    "grad": "nnx.grad returns the gradients",
    "data": "variable[...] is its array",
    "detach": _GRADIENT,
    "numpy": "np.asarray(x) gives an array of NumPy",
    "requires_grad": "give the gradient and the optimizer a filter: nnx.DiffState and wrt=",
    "requires_grad_": "give the gradient and the optimizer a filter: nnx.DiffState and wrt=",
    "copy_": "write variable[...] = array",
    "normal_": "give the layer an initializer: kernel_init=",
    "uniform_": "give the layer an initializer: kernel_init=",
    "zero_": "write variable[...] = jnp.zeros_like(variable)",
    "fill_": "write variable[...] = jnp.full_like(variable, x)",
    "assign": "write variable[...] = array",
    "assign_add": "write variable[...] += array",
}
_SHAPE = "x.shape is the shape, and x.shape[0] the length of an axis"
_ARRAY = {
    "detach": _GRADIENT,
    "backward": "nnx.grad or nnx.value_and_grad of the loss function gives the gradients",
    "requires_grad": "nnx.grad differentiates with respect to arguments",
    "requires_grad_": "nnx.grad differentiates with respect to arguments",
    "numpy": "np.asarray(x) gives an array of NumPy",
    **dict.fromkeys(("cpu", "cuda", "to", "pin_memory"), _DEVICE),
    "permute": "jnp.transpose(x, axes), or x.transpose(0, 2, 1)",
    "unsqueeze": "jnp.expand_dims(x, axis), or x[:, None]",
    "contiguous": "leave it out",
    "numel": "x.size is the number of elements",
    "dim": "x.ndim is the number of axes",
    **dict.fromkeys(("float", "half", "long", "int", "double", "bool", "type_as"), "x.astype(jnp.float32)"),
    **dict.fromkeys(("expand", "expand_as"), "jnp.broadcast_to(x, shape)"),
    "masked_fill": "jnp.where(mask, value, x)",
    "masked_fill_": "jnp.where(mask, value, x)",
    **dict.fromkeys(("add_", "sub_", "mul_", "div_", "zero_", "copy_", "fill_", "clamp_"), "arrays never change"),
    "clamp": "jnp.clip(x, low, high)",
    **dict.fromkeys(("softmax", "log_softmax", "sigmoid", "relu", "rsqrt"), "it is a function of jax.nn"),
    **dict.fromkeys(("exp", "log", "sqrt", "abs", "tanh", "pow", "square", "matmul", "mm"), "it is a function of jnp"),
    "bmm": "jnp.matmul(x, y)",
    "norm": "jnp.linalg.norm(x)",
    "t": "x.T",
    **dict.fromkeys(("eq", "gt", "lt", "ge", "le"), "compare by an operator"),
    "gather": "jnp.take_along_axis(x, index, axis)",
    "index_select": "jnp.take(x, index, axis)",
    "chunk": "jnp.split(x, n, axis)",
    "is_cuda": _DEVICE,
    "data": "it is the array itself",
    "grad": "nnx.grad or nnx.value_and_grad of the loss function gives the gradients",
    "topk": "jax.lax.top_k(x, k)",
}  # fmt: skip
_FREEZING = frozenset({"requires_grad", "trainable"})
WORDS = frozenset({*_MODULE, *_OPTIMIZER, *_LAYER, *_VARIABLE, *_ARRAY, *_FREEZING})
_REDUCING = ("mean", "sum", "max", "min", "argmax", "argmin", "std", "var", "prod", "all", "any", "cumsum", "squeeze")
_PLACES = {"max": "argmax", "min": "argmin", "sort": "argsort", "median": "argsort"}
_SWAPPED = {"dim": "axis", "keepdim": "keepdims"}


def _check(context: Context) -> Iterator[Finding]:
    called = {
        event.node.func: event
        for event in context.asked.calls()
        if isinstance(event.node.func, ast.Attribute) and event.node.func.attr == "step"
    }
    for event in context.asked.attributes():
        word = event.node.attr
        if (word not in WORDS and word != "step") or not _known_so(event):
            continue
        if context.bodies.guarded(event.node, event.scope) or _of_torch(context, event.scope):
            continue
        told = _told(context, event, called.get(event.node))
        if told is not None and not context.bodies.of_asked_type(event.node.value, event.node, event.scope):
            yield finding(RULE.code, event.scope, event.node, *told)
    yield from _calls(context)
    yield from _listed(context)
    for scope, node, message, help in listed_states(context):
        yield finding(RULE.code, scope, node, message, help)
    for call, message, help in two_axes(context):
        yield finding(RULE.code, call.scope, call.node, message, help)
    yield from _pairs(context)


def _of_torch(context: Context, scope: Scope) -> bool:
    """Say whether a body computes with PyTorch itself, so that not all of its tensors are arrays of JAX."""
    if not scope.module.source.mentions(b"torch"):
        return False
    data = scope.module.source.data  # a file of PyTorch alone, of a project with both
    return "torch" in context.bodies.names(scope) or not any(word in data for word in (b"jax", b"jnp", b"flax", b"nnx"))


def _known_so(event: AttrEvent) -> bool:
    """Say whether something is told of an attribute when it is used as it is here: read, or set."""
    word = event.node.attr
    if event.context == "load":
        return not isinstance(event.base, ModuleRef)
    return word in _LAYER or word in _RATES or (event.context == "store" and word in _FREEZING)


def _told(context: Context, event: AttrEvent, call: CallEvent | None) -> tuple[str, str] | None:
    """Return what is wrong with an attribute, and the way out."""
    word, base = event.node.attr, event.base
    stored = event.context != "load"
    if event.context == "store" and word in _FREEZING and _frozen_by_flag(context, event):
        return (
            f"nothing in NNX reads `{word}`: these weights are trained as before",
            "give the gradient and the optimizer a filter: nnx.DiffState(0, filter) and wrt=filter",
        )
    if stored and word not in _LAYER and word not in _RATES:
        return None
    cls = owner_class(context, base, event.scope)
    if cls is not None:
        if not isinstance(cls, str) and (has_attribute(context, cls, word) or not plain_module(context, cls)):
            return None
        return _of_class(cls if isinstance(cls, str) else cls.name, cls, word, stored, call)
    if stored or (word not in _ARRAY and word not in _VARIABLE):
        return None
    kind = context.kinds.only(context.flow.here(base, event.scope))
    if kind is Kind.VARIABLE and word in _VARIABLE:
        return f"a Variable of NNX has no `{word}`: that is of another library", _VARIABLE[word]
    if word in _ARRAY and is_array(context, base, event.scope) and _from_the_first(context, base, event.scope):
        if context.shared(_given_methods):
            return None
        return f"an array of JAX has no `{word}`: that is of another library", _ARRAY[word]
    return None


# the classes of arrays and tracers, which a project may give methods of its own
_CLASSES = pattern(r"(^|\.)(DeviceArray\w*|_DeviceArray|ArrayImpl|Tracer|ShapedArray|jax\.Array|Array|ndarray)$")
_MENTIONED = (b"DeviceArray", b"ArrayImpl", b"Tracer", b"ShapedArray", b"jax.Array", b"ndarray", b"type(j")


def _given_methods(context: Context) -> bool:
    """Say whether the project sets attributes on the classes of arrays: ``setattr(ArrayImpl, name, function)``."""
    for module in context.project.modules:
        text = module.source.data
        if not any(word in text for word in _MENTIONED) or not (b"jax" in text or b"jnp" in text):
            continue
        if b"setattr(" in text or b"curse(" in text:
            for call in module.source.of_type(ast.Call):
                if last_word(call.func) in {"setattr", "curse"} and call.args and _array_class(call.args[0], text):
                    return True
        for assign in module.source.of_type(ast.Assign):
            for target in assign.targets:
                if isinstance(target, ast.Attribute) and _CLASSES.search(ast.unparse(target.value)):
                    return True
    return False


def _array_class(node: ast.expr, text: bytes) -> bool:
    """Say whether attributes may be set on a class of arrays: one by its name, or what stands for several in turn."""
    if isinstance(node, ast.Call):
        return last_word(node.func) == "type"
    if _CLASSES.search(ast.unparse(node)):
        return True
    return isinstance(node, ast.Name) and node.id != "self" and any(word in text for word in _MENTIONED[:4])


def _from_the_first(context: Context, base: Value, scope: Scope) -> bool:
    """Say whether an entry is an array before a loop already that may put one there, as one that converts tensors."""
    if not isinstance(base, Item) or not isinstance(base.base, Loop):
        return True
    return is_array(context, Item(base.base.before, base.index), scope)


_FOR_PLACES = pattern(r"ind|idx|arg|pos|order|perm|place|rank|^_")


def _two_values(word: str, target: ast.Tuple) -> bool:
    """Say whether two numbers may be meant: the smaller and the larger of a pair, ``low, high = jnp.sort(pair)``, or
    the least of each of two columns, ``xmin, ymin = points.min(axis=0)``."""
    one, two = (last_word(name).lower() for name in target.elts)
    values, places = bool(_FOR_PLACES.search(one)), bool(_FOR_PLACES.search(two))
    if word == "sort":
        return values or not places
    return not values and not places and _named_alike(one, two)


def _named_alike(one: str, two: str) -> bool:
    """Say whether two names are one word of two columns: ``xmin, ymin``, ``lo_a, lo_b`` or ``max_lat, max_lon``."""
    parts = [name.split("_") for name in (one, two)]
    if len(parts[0]) == len(parts[1]) > 1:
        unlike = [(a, b) for a, b in zip(*parts, strict=True) if a != b]
        return len(unlike) == 1 and (_neighbours(*unlike[0]) or unlike[0] in _COLUMNS)
    if len(one) != len(two) or len(one) < 2:
        return False
    return (one[1:] == two[1:] and _neighbours(one[0], two[0])) or (
        one[:-1] == two[:-1] and _neighbours(one[-1], two[-1])
    )


def _neighbours(one: str, two: str) -> bool:
    """Say whether two letters or digits count up, as those of axes do, and not as ``v`` and ``i`` of a value."""
    return len(one) == len(two) == 1 and abs(ord(one) - ord(two)) == 1


_COLUMNS = frozenset({("lat", "lon"), ("lon", "lat"), ("width", "height"), ("height", "width"), ("left", "right")})


def _frozen_by_flag(context: Context, event: AttrEvent) -> bool:
    """Say whether a flag is set on a module that neither it nor anything else in the project reads."""
    word = event.node.attr
    if not isinstance(event.stored, Const) or type(event.stored.value) is not bool:
        return False
    if any(other.node.attr == word and other.context == "load" for other in context.project.attributes()):
        return False
    # getattr, or a key of metadata; a filter that freezes them besides
    others = [*(f"{mark}{word}{mark}".encode() for mark in "'\""), b"DiffState", b"set_to_zero", b"stop_gradient"]
    if any(text in module.source.data for module in context.project.modules for text in others):
        return False
    cls = owner_class(context, event.base, event.scope)
    if cls is not None:
        return isinstance(cls, str) or (plain_module(context, cls) and not has_attribute(context, cls, word))
    base = event.base
    while isinstance(base, Item | Each):
        base = base.base
    return isinstance(base, Call) and isinstance(base.callee, Attr) and base.callee.name in _OVER_MODULES


_OVER_MODULES = frozenset({"iter_modules", "iter_children"})


def _of_class(name: str, cls: object, word: str, stored: bool, call: CallEvent | None) -> tuple[str, str] | None:
    """Return what is wrong with an attribute of an instance of a class."""
    library = isinstance(cls, str)
    shown = f"nnx.{name.rpartition('.')[2]}" if library else name
    kind = class_kind(name) if library else Kind.MODULE
    if kind is Kind.OPTIMIZER and stored:
        return (f"`{shown}` has no `{word}`: nothing reads it", _OPTIMIZER[word]) if word in _RATES else None
    if kind is Kind.OPTIMIZER:
        if word == "step" and call is not None:
            return _NO_STEP, "optimizer.update(model, grads) makes a step"
        return (
            (f"`{shown}` has no `{word}`: that is of another library", _OPTIMIZER[word]) if word in _OPTIMIZER else None
        )
    if kind is Kind.VARIABLE:
        return (
            (f"`{shown}` has no `{word}`: that is of another library", _VARIABLE[word]) if word in _VARIABLE else None
        )
    if kind is not Kind.MODULE:
        return None
    if library and word in _LAYER:
        what = "nothing reads it" if stored else "that is of another library"
        return f"`{shown}` has no `{word}`: {what}", _LAYER[word]
    if word in _MODULE and not stored:
        return f"`{shown}` is a module of NNX, and has no `{word}`: that is of another library", _MODULE[word]
    return None


_LISTING: tuple[type[ast.AST], ...] = (ast.For, ast.comprehension, ast.Subscript, ast.Call, ast.BinOp)


def _listed(context: Context) -> Iterator[Finding]:
    """Yield the places that take a module for a list of its layers, or for a dict of them."""
    for scope, node in each(context, *_LISTING):
        for taken, adds in _taken(node) if scope.module.source.mentions(b"nnx") else ():
            value = scope.module.values.get(taken)
            by_name = isinstance(node, ast.For) or _constant(node)
            told = _no_list(context, value, taken, scope, adds, by_name) if value is not None else None
            if told is None or context.bodies.guarded(taken, scope):
                continue
            if not context.bodies.of_asked_type(taken, node, scope):
                yield finding(RULE.code, scope, taken, *told)


def _taken(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the names that a node takes for a list or dict, and whether it adds another list to it."""
    found: list[ast.expr] = []
    if isinstance(node, ast.For | ast.comprehension):
        found = [node.iter]
        if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name):
            found = node.iter.args if node.iter.func.id in {"enumerate", "reversed", "zip", "list"} else []
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant | ast.Name):
        found = [node.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"len", "list"}:
        found = node.args[:1]
    for one in found:
        if isinstance(one, ast.Name | ast.Attribute):
            yield one, False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if isinstance(node.right, ast.List | ast.ListComp) and isinstance(node.left, ast.Name | ast.Attribute):
            yield node.left, True


def _constant(node: ast.AST) -> bool:
    """Say whether a node is an item under a constant that is something."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value is not None


def _sequentials(context: Context) -> Made:
    """Return what may be an nnx.Sequential."""
    return context.flow.may.made_by({"Sequential"})


def _own_modules(context: Context) -> Made:
    """Return what may be a module of the project."""
    return context.flow.may.made_of([cls for cls in context.project.classes() if plain_module(context, cls)])


def _no_list(
    context: Context, value: Value, taken: ast.expr, scope: Scope, adds: bool, by_name: bool
) -> tuple[str, str] | None:
    """Return what is wrong with a module that is taken for a list, and the way out."""
    if adds:
        wrong = isinstance(value, Attr) and _an_nnx_list(context, value, scope)
        text = scope.module.source.text(taken)
        return ("a list cannot be added to an nnx.List", f"write [*{text}, ...]") if wrong else None
    if not context.shared(_sequentials).may_be(value):
        if not by_name or not context.shared(_own_modules).may_be(value):
            return None
    cls, text = owner_class(context, value, scope), scope.module.source.text(taken)
    if cls == "flax.nnx.Sequential":
        return "an nnx.Sequential is no list of its layers", f"write {text}.layers"
    if isinstance(cls, str) or cls is None or not plain_module(context, cls):
        return None
    if any(has_attribute(context, cls, name) for name in ("__getitem__", "__iter__", "__len__", "__class_getitem__")):
        return None
    return (
        f"`{cls.name}` is a module of NNX, and neither a list nor a dict of its layers",
        f"take the attribute: {text}.name",
    )


def _an_nnx_list(context: Context, value: Attr, scope: Scope) -> bool:
    """Say whether an attribute of a module is an nnx.List in every method that sets it."""
    cls = owner_class(context, value.base, scope)
    if isinstance(cls, str) or cls is None or not plain_module(context, cls):
        return False
    stored = cls.stores.get(value.name, ())
    return bool(stored) and all(
        isinstance(one, Call)
        and context.flow.calls.callee_name(context.flow.here(one, method.scope)) == "flax.nnx.List"
        for method, one in stored
    )


def _pairs(context: Context) -> Iterator[Finding]:
    """Yield the maxima and the like that are taken apart into values and places, as PyTorch gives them."""
    for event in context.bodies.unpacked:
        func, statement = event.node.func, event.statement
        if not isinstance(func, ast.Attribute) or func.attr not in _PLACES or event.scope.module not in context.asked:
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(event.value.callee, Attr):
            continue
        if _two_values(func.attr, target):
            continue
        name = context.flow.calls.name(event)
        if name != f"jax.numpy.{func.attr}" and not is_array(context, event.value.callee.base, event.scope):
            continue
        if not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{func.attr}` gives the values alone, and not where they stand",
                f"{_PLACES[func.attr]} gives their places",
            )


def _calls(context: Context) -> Iterator[Finding]:
    """Yield the calls with arguments that a method of this name does not take."""
    for event in context.bodies.named("train", "eval", "size", "view", *_REDUCING):
        func, callee = event.node.func, event.value.callee
        if (
            event.scope.module not in context.asked
            or not isinstance(func, ast.Attribute)
            or not isinstance(callee, Attr)
        ):
            continue
        told = _given(context, event, callee)
        if told is not None and not context.bodies.guarded(event.node, event.scope):
            yield finding(RULE.code, event.scope, event.node, *told)


def _given(context: Context, event: CallEvent, callee: Attr) -> tuple[str, str] | None:
    """Return what is wrong with the arguments of a method, and the way out."""
    word, call = callee.name, event.value
    if word in {"train", "eval"}:
        given = bool(call.args) or any(name == "mode" for name, _ in call.keywords)
        if not given or call.starred:
            return None
        cls = owner_class(context, callee.base, event.scope)
        if not plain_module(context, cls) or (not isinstance(cls, str) and cls and has_attribute(context, cls, word)):
            return None
        takes = "takes no mode" if call.args else "sets an attribute of that name and no mode"
        return f"`{word}` of a module of NNX {takes}", "model.train() and model.eval() set the modes"
    if word == "size":
        wrong = is_array(context, callee.base, event.scope)
        return ("`size` of an array is a number, and no method", _SHAPE) if wrong else None
    if word == "view":
        numbers = len(call.args) > 1 or (
            call.args and isinstance(call.args[0], Const) and type(call.args[0].value) is int
        )
        wrong = bool(numbers) and is_array(context, callee.base, event.scope)
        return ("`view` of an array takes a type, and no shape", "x.reshape(...) gives it a shape") if wrong else None
    named = next((name for name, _ in call.keywords if name in _SWAPPED), None)
    if named is None or not is_array(context, callee.base, event.scope):
        return None
    return f"`{word}` has no argument `{named}`", f"it is called {_SWAPPED[named]}"


RULE = lint_rule(
    "NNX720",
    "foreign-method",
    "a method or attribute of PyTorch or Keras on a module, optimizer, Variable or array",
    why="""\
A module of NNX has no `parameters()`, `state_dict()`, `to(device)`, `register_buffer` or `fit`, an optimizer no
`zero_grad()` and no `step()`, an array no `backward()`, `detach()`, `unsqueeze` or `size(0)`; an `nnx.Sequential` is no
list of layers, and a model no dict. Each raises an AttributeError or TypeError when it is reached. What is worse passes
unnoticed: a weight that is assigned to `layer.weight` is a new attribute that nothing reads, and
`model.train(mode=False)` leaves the model in training.
""",
    source="Flax guide from PyTorch; measured on Flax 0.10.7 and 0.12.8: AttributeError, TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
optimizer.zero_grad()
""",
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.fc(x).unsqueeze(1)
""",
        """\
import jax.numpy as jnp
from flax import nnx

layer = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
layer.weight = nnx.Param(jnp.ones((4, 2)))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def parameters(self):
        return nnx.state(self, nnx.Param)

    def __call__(self, x):
        return jax.lax.stop_gradient(self.fc(x))[:, None]


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
print(model.parameters(), optimizer.step)
""",
        """\
import torch
from flax import nnx


def copied(source: torch.nn.Linear, layer: nnx.Linear):
    layer.kernel[...] = source.weight.detach().numpy().T
""",
    ),
)
