"""NNX899: weights that a module holds, and NNX does not know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.class_weights import class_weights
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, is_test, kinds_of
from codemods.nnx.lint.untrained_variable import held_in_variable
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Choice, Const, Function, Param, Sequence, Unknown, Value

_WEIGHT = pattern(
    r"log_?std|log_(sigma|scale|var|alpha|temp(erature)?)|kernel|weights?|bias|gamma|beta|cls(_token)?|class_token|pos|"
    r"mask_token|pos_emb(ed(ding)?s?)?|position(al)?_emb(ed(ding)?s?)?|pos_embedding|embeddings?|codebook|queries|"
    r"query_tokens|alpha|temperature|prototypes|centroids|(layer_|res(idual)?_|logit_|learned_)?(scale|gain|shift|slope)|"
    r"g_(in|out)|(layer|input|output)_(kernel|weights?|bias|gamma|beta)"
)
_SHORT = pattern(r"[wWb]\d?|[wWb]_(in|out|q|k|v|o|x|h|xh|hh|hy|ih)")
_PLAIN = frozenset(
    {"jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.full", "jax.numpy.zeros_like", "jax.numpy.ones_like"}
)
_DRAWN = frozenset({"jax.random.normal", "jax.random.uniform", "jax.random.truncated_normal"})
_NUMPY_DRAWS = frozenset({"normal", "rand", "randn", "standard_normal", "uniform"})
_ROOTS = frozenset({"sqrt", "float", "rsqrt"})
# what is an array of one number only where it is to be trained; others are kept as numbers
_SCALAR = pattern(r"log_?std|log_(sigma|scale|var|alpha|temp(erature)?)|logit_scale|bias|kernel|weight")
_HELPERS = 3  # through how many functions of the project an array is followed
# names that also stand for constants of the data
_LIKELY = pattern(r"(\w+_)?(offset|bias(es)?|scale|gain|shift|slope|weights?|gamma|beta)")
_DATA = pattern(r"obs|action|reward|input|data|pixel|image|state|env|norm|running|loss|class|sample|token|time", re.I)
_FIXED = pattern(r"rand|fix|frozen|const|target|feature|freq|noise|buffer|init", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for cls in context.asked.classes():
        if is_test(cls.scope.module) or "flax.nnx.Module" not in context.flow.classes.mro(cls)[1]:
            continue
        yield from _shared(context, cls)
        for name, node in class_weights(context, cls):
            yield finding(
                RULE.code,
                cls.scope,
                node,
                f"`{name}` belongs to the class and to none of its objects: it is neither trained nor saved",
                f"make it in the constructor: self.{name} = ...",
            )
        init = cls.methods.get("__init__")
        if init is not None and len(cls.methods) > 1 and not context.shared(_by_filter):
            yield from _plain(context, cls, init)


def _shared(context: Context, cls: ClassFacts) -> Iterator[Finding]:
    """Yield the lists of a class's body that its methods fill with layers."""
    names = [
        name
        for name, value in cls.scope.env.items()
        if isinstance(value, Sequence)
        and isinstance(value.node, ast.List)
        and all(isinstance(stored, Changed) for _, stored in cls.stores.get(name, ()))
    ]
    for method in cls.methods.values() if names else ():
        for event in context.bodies.calls.get(method.scope, ()):
            callee = event.value.callee
            if not isinstance(callee, Attr) or callee.name != "append" or not isinstance(callee.base, Attr):
                continue
            if callee.base.base is not method.self_param or callee.base.name not in names or not event.value.args:
                continue
            if Kind.MODULE in kinds_of(context, event.value.args[0], event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{callee.base.name}` is one list of the class, for all its objects, and no part of the module: "
                    "its layers are neither trained nor saved",
                    f"make it in the constructor: self.{callee.base.name} = nnx.List([])",
                )
                return


def _plain(context: Context, cls: ClassFacts, init: FunctionFacts) -> Iterator[Finding]:
    """Yield the arrays that go by the name of a weight and are no Param, in a class whose other weights are."""
    if cls.scope.module.source.mentions(b"stop_gradient"):
        return
    for name in cls.stores:
        value = _only(context, cls, name, init)
        stored = _scaled(value, init) if value is not None else None
        if not isinstance(stored, Call):
            continue
        held = held_in_variable(context, cls, name, stored, init)
        if held is not None and _read(cls, name) and _meant(context, cls, name, held, init):
            yield finding(
                RULE.code,
                init.scope,
                stored.node,
                f"`{name}` is an nnx.Variable and no nnx.Param: no optimizer of this project trains it",
                "make it a parameter, nnx.Param(...), or if it is none give it a type of its own",
            )
        if not _weight(context, cls, name, stored, _made(context, stored, init)) or not _read(cls, name):
            continue
        yield finding(
            RULE.code,
            init.scope,
            stored.node,
            f"`{name}` is a plain array: no optimizer trains it, and nnx.state(model, nnx.Param) leaves it out",
            "make it a parameter, nnx.Param(...), or if it is none a Variable of another type",
        )


def _meant(context: Context, cls: ClassFacts, name: str, held: Value, init: FunctionFacts) -> bool:
    """Say whether what a Variable begins with is good for nothing unless it is trained."""
    begun = _scaled(held, init)
    if not isinstance(begun, Call):
        return False
    made = _made(context, begun, init)
    names = [_maker(context, value, function) for value, function in made]
    if made and all(_by_initializer(context, v, f) or _by_stream(v) for v, f in made):
        return not _fixed_features(cls)
    if not names or len(set(names)) != 1 or not (_WEIGHT.fullmatch(name) or _LIKELY.fullmatch(name)):
        return False
    if _SCALAR.fullmatch(name):
        return names[0] in _PLAIN or names[0] == "number"
    return not _DATA.match(name) and _neutral(cls, name, names[0])


def _only(context: Context, cls: ClassFacts, name: str, init: FunctionFacts) -> Value | None:
    """Return the one value other than None that an attribute gets, in the constructor; None if there are others."""
    if not all(method is init for method, _ in cls.stores[name]):
        return None
    found = [
        one for _, stored in cls.stores[name] for one in (stored.options if isinstance(stored, Choice) else [stored])
    ]
    found = [one for one in found if one != Const(None)]
    elsewhere = (event for event in context.flow.fields.stores().get(name, ()) if event.scope.function is not init)
    if len(found) != 1 or any(_may_be_of(context, event, cls) for event in elsewhere):
        return None
    return found[0]


def _may_be_of(context: Context, event: AttrEvent, cls: ClassFacts) -> bool:
    """Say whether an attribute that is set may be one of a class: it is no method's of another, unrelated one."""
    base = event.base
    owner = base.function.owner if isinstance(base, Param) and base is base.function.self_param else None
    if owner is None:
        return True
    return cls in context.flow.classes.mro(owner)[0] or owner in context.flow.classes.mro(cls)[0]


_Made = list[tuple[Call, FunctionFacts]]  # the calls that may make an array, with the functions that they stand in


def _weight(context: Context, cls: ClassFacts, name: str, stored: Call, made: _Made) -> bool:
    """Say whether the name of an attribute and what makes its array show that it is meant to be trained."""
    if not made:
        return False
    names = [_maker(context, value, function) for value, function in made]
    fixed = _fixed_features(cls)
    if not _FIXED.search(name) and not fixed:
        if all(
            _by_initializer(context, v, f) or (_by_stream(v) and one.startswith("jax."))
            for (v, f), one in zip(made, names, strict=True)
        ):
            return True
        if _by_stream(stored) and all(one in _DRAWN for one in names):
            return True
    if (_SHORT.fullmatch(name) is not None and not fixed) or _WEIGHT.fullmatch(name):
        return all(one in _PLAIN or one in _DRAWN or (one == "number" and _SCALAR.fullmatch(name)) for one in names)
    if not _LIKELY.fullmatch(name) or _FIXED.search(name) or _DATA.match(name) or len(set(names)) != 1:
        return False
    return _neutral(cls, name, names[0]) and _trains(context)


def _maker(context: Context, value: Call, function: FunctionFacts) -> str:
    """Return what makes an array, that of NumPy by the name it has in JAX; ``number`` for an array of one literal."""
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    if name not in {"jax.numpy.array", "jax.numpy.asarray"} or not value.args:
        return name
    inner = value.node.args[0]
    if _is_number(inner):
        return "number"
    held = _scaled(value.args[0], function)
    if not isinstance(held, Call):
        return name
    given = context.flow.calls.callee_name(context.flow.here(held, function.scope))
    if given.startswith("numpy.random."):
        return "jax.random.normal" if given.rpartition(".")[2] in _NUMPY_DRAWS else name
    return "jax." + given if "jax." + given in _PLAIN else name


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.Call) and last_word(node.func) == "log" and len(node.args) == 1:
        return all(isinstance(n, ast.Constant | ast.BinOp | ast.operator) for n in ast.walk(node.args[0]))
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _neutral(cls: ClassFacts, name: str, maker: str) -> bool:
    """Say whether zeros are added to something or ones multiply it: without training they are good for nothing."""
    if maker in {"jax.numpy.zeros", "jax.numpy.zeros_like"}:
        operations: tuple[type[ast.operator], ...] = (ast.Add, ast.Sub)
    elif maker in {"jax.numpy.ones", "jax.numpy.ones_like"}:
        operations = (ast.Mult, ast.Div)
    else:
        return False
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, operations)
        and any(_is_read(side, name) for side in (node.left, node.right))
        for method in cls.methods.values()
        if method.name == "__call__" or not method.name.startswith("__")
        for node in ast.walk(method.node)
    )


def _is_read(node: ast.expr, name: str) -> bool:
    """Say whether an expression reads an attribute of ``self``, or all of its items."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value is ...:
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)


def _trains(context: Context) -> bool:
    """Say whether the project trains the parameters of modules."""
    return any(
        name in {"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer", "flax.nnx.grad", "flax.nnx.value_and_grad"}
        for _, name in foreign(context, "Optimizer", "ModelAndOptimizer", "grad", "value_and_grad", everywhere=True)
    )


def _made(context: Context, value: Value, function: FunctionFacts, depth: int = 0) -> _Made:
    """Return the calls of libraries that make an array, also in functions of the project; empty if one is unknown."""
    value = _scaled(value, function)
    if not isinstance(value, Call) or depth > _HELPERS:
        return []
    bound = context.flow.here(value, function.scope)
    if context.flow.calls.callee_name(bound):
        return [(value, function)]
    found: _Made = []
    for callee, _ in context.flow.calls.invoked(bound):
        results = callee.function.returns
        inner = [_made(context, result, callee.function, depth + 1) for result in results]
        if callee.gradient or callee.function.generator or not results or not all(inner):
            return []
        found += [one for several in inner for one in several]
    return found or [(value, function)]


def _by_filter(context: Context) -> bool:
    """Say whether an optimizer of the project takes what a function of paths and values chooses, arrays as well."""
    return any(
        isinstance(context.flow.resolve(context.flow.here(value, event.scope)).value, Function)
        for event, name in foreign(context, "Optimizer", "DiffState", everywhere=True)
        if name in {"flax.nnx.Optimizer", "flax.nnx.DiffState"}
        for value in (event.value.argument(2, "wrt"), event.value.argument(1, "filter"))
        if value is not None
    )


def _by_initializer(context: Context, value: Call, init: FunctionFacts) -> bool:
    """Say whether an array is drawn by an initializer, as ``nnx.initializers.lecun_normal()(key, shape)``."""
    if len(value.args) < 2:
        return False
    made = context.flow.follow(context.flow.here(value, init.scope), value.callee)
    if not isinstance(made.value, Call):
        return False
    return context.flow.calls.callee_name(made).startswith(("flax.nnx.initializers.", "jax.nn.initializers."))


def _by_stream(value: Call) -> bool:
    """Say whether an array is drawn by a key of the stream of parameters, as ``normal(rngs.params(), shape)``."""
    key = value.args[0] if value.args else value.keyword("key")
    return isinstance(key, Call) and isinstance(key.callee, Attr) and key.callee.name == "params" and not key.args


def _scaled(value: Value, function: FunctionFacts) -> Value:
    """Return the array that a value is a multiple of, as ``normal(key, shape) * 0.02``; other values as they are."""
    node = value.node if isinstance(value, Unknown) else None
    while isinstance(node, ast.BinOp | ast.UnaryOp):
        if isinstance(node, ast.UnaryOp):
            held: ast.expr | None = node.operand if isinstance(node.op, ast.USub) else None
        elif isinstance(node.op, ast.Mult):
            held = _beside(node.left, node.right) or _beside(node.right, node.left)
        elif isinstance(node.op, ast.Div):
            held = _beside(node.left, node.right)
        elif isinstance(node.op, ast.Add | ast.Sub):  # a start other than zero
            held = node.left if isinstance(node.right, ast.Constant) else None
        else:
            held = None
        found = function.scope.module.values.get(held) if isinstance(held, ast.Call) else None
        if isinstance(found, Call):
            return found
        node = held
    return value


def _beside(node: ast.expr, factor: ast.expr) -> ast.expr | None:
    """Return the one of two factors that is an array, if the other is a number by its looks."""
    if not isinstance(node, ast.Call | ast.BinOp) or (isinstance(node, ast.Call) and last_word(node.func) in _ROOTS):
        return None
    calls = (n for n in ast.walk(factor) if isinstance(n, ast.Call | ast.Subscript))
    return node if all(isinstance(n, ast.Call) and last_word(n.func) in _ROOTS for n in calls) else None


def _fixed_features(cls: ClassFacts) -> bool:
    """Say whether a class makes features of fixed random directions, which are not meant to be trained."""
    source, start, end = cls.scope.module.source, cls.node.lineno, cls.node.end_lineno or 0
    if not any(source.mentions(word) for word in (b".sin", b".cos", b".stop_gradient")):
        return False
    return any(
        start <= n.lineno <= end and n.attr in {"sin", "cos", "stop_gradient"} for n in source.of_type(ast.Attribute)
    )


def _read(cls: ClassFacts, name: str) -> bool:
    """Say whether the class computes with an attribute when it is called."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
        for method in cls.methods.values()
        if method.name == "__call__" or not method.name.startswith("__")
        for node in ast.walk(method.node)
    )


RULE = lint_rule(
    "NNX899",
    "unknown-weights",
    "weights that are no part of the module's parameters: a plain array, or layers in a list of the class",
    why="""\
Only what is an `nnx.Param` is trained. An array in a plain attribute is carried along and never changes. A list in the
body of a class belongs to the class: all its objects share it, and its layers are in no state. So do a layer and a
Variable that are made there, unless the class is a dataclass. A plain `nnx.Variable` is no parameter either: optimizers
with `wrt=nnx.Param` leave it as it is.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: the weights stay as they were made",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


class Policy(nnx.Module):
    def __init__(self, actions: int, rngs: nnx.Rngs):
        self.mean = nnx.Linear(4, actions, rngs=rngs)
        self.log_std = jnp.zeros(actions)

    def __call__(self, x):
        return self.mean(x), jnp.exp(self.log_std)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Policy(nnx.Module):
    def __init__(self, actions: int, rngs: nnx.Rngs):
        self.mean = nnx.Linear(4, actions, rngs=rngs)
        self.log_std = nnx.Param(jnp.zeros(actions))

    def __call__(self, x):
        return self.mean(x), jnp.exp(self.log_std)
""",
    ),
)
