"""NNX879: an argument of compiled code that is no array, and no container of arrays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Round
from codemods.nnx.lint.applied import on_object, skipped
from codemods.nnx.lint.command_line import is_parsed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.names import ARRAY_FUNCTIONS, BODIES, last
from codemods.nnx.lint.places import NNX_OBJECTS, compiled_roots, in_test, kinds_of, received, shown
from codemods.nnx.lint.static_flag import flags_of
from codemods.nnx.lint.syntax import constant, one_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.lint.tree_fields import untraceable_field
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Class,
    Const,
    Each,
    Function,
    Loop,
    Mapping,
    Param,
    Ref,
    Sequence,
    Unknown,
    Value,
)

# decorators that leave a class as it is, as far as trees are concerned
_PLAIN = frozenset({"dataclasses.dataclass", "functools.total_ordering", "typing.final"})
# what makes transformations of gradients, which are pairs of functions
_TRANSFORMS = frozenset(
    f"optax.{name}"
    for name in ("adam", "adamw", "sgd", "rmsprop", "lion", "adagrad", "lamb", "chain", "multi_transform", "masked")
)
_REGISTERING = ("register_", "pytree")
_MAPPING = frozenset({"jax.vmap", "jax.grad", "jax.value_and_grad"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _carried(context)
    yield from _given_back(context)
    yield from _mapped(context)
    for root in compiled_roots(context):
        if in_test(root.scope) or root.partial or not root.transform.endswith(("jit", "pmap")):
            continue
        if _takes_itself(context, root):
            owner = root.function.owner
            yield finding(
                RULE.code,
                root.scope,
                root.node,
                f"`self` of {shown(root.function)} is traced, and an object of the class "
                f"`{owner.name if owner else ''}` is no array and no tree",
                "make it an nnx.Module, or compile a function that gets the model and the optimizer as arguments: "
                "static, they would keep their first values"
                if owner is not None and _holds_objects(context, owner)
                else "make it static, @partial(jax.jit, static_argnums=0), or register the class: "
                "jax.tree_util.register_dataclass",
            )
            continue
        for event in (*context.traced.calls_of(root), *_partials(context, root)):
            if event.value.starred or event.scope.module not in context.asked:
                continue
            if context.bodies.guarded(event.node, event.scope) or context.flow.calls.name(event) in BODIES:
                continue  # of which a loop or condition runs compiled code, the arguments stand elsewhere
            method = bool(received(root.function)) and not root.bound
            params = list(root.function.params)
            if method and root.decorator and (params[0] not in root.static or not on_object(context, event)):
                continue  # NNX802 and others speak of methods
            params = params[int(root.bound or method) :] if root.bound or root.decorator else params
            for name, value, node in _given(params, event):
                while isinstance(value, Loop):  # in the first round
                    value = value.before
                what = _kind(context, context.flow.here(value, event.scope)) if name not in root.static else ""
                if what == "a text" and name in flags_of(context, root) and _decides(context, root, name):
                    continue  # NNX822 says so
                if what:
                    leaf = "whose field" in what
                    yield finding(
                        RULE.code,
                        event.scope,
                        node,
                        f"`{name}` of {shown(root.function)} is traced, and gets {what}"
                        + ("" if leaf else ", which is no array and no tree"),
                        "make the field a part of the structure: pytree_node=False, static=True or meta_fields"
                        if leaf
                        else f'make it static, static_argnames="{name}", or register its class: '
                        "jax.tree_util.register_dataclass",
                    )


def _mapped(context: Context) -> Iterator[Finding]:
    """Yield the objects that functions get which vmap maps, or of which a gradient is taken."""
    if context.shared(_plain_objects) is None:
        return
    for root in (*context.traced.roots, *context.traced.gradients):
        if root.transform not in _MAPPING or root.partial or root.decorator or in_test(root.scope):
            continue
        params = list(root.function.params)[skipped(root) :]
        for event in context.traced.calls_of(root):
            if event.value.starred or event.scope.module not in context.asked:
                continue
            if context.bodies.guarded(event.node, event.scope):
                continue
            for name, value, node in _given(params, event):
                what = _object(context, context.flow.here(value, event.scope)) if name not in root.static else ""
                if what:
                    yield finding(
                        RULE.code,
                        event.scope,
                        node,
                        f"`{last(root.transform)}` of {shown(root.function)} gets {what} for `{name}`, which is no "
                        "array and no tree",
                        "register its class: jax.tree_util.register_dataclass",
                    )


def _plain_objects(context: Context) -> Made | None:
    """Return what may be an object of a class of the project that is no tree; None if all classes are trees."""
    classes = [cls for cls in context.project.classes() if not _registered(context, cls)]
    return context.flow.may.made_of(classes) if classes else None


def _object(context: Context, bound: Bound) -> str:
    """Return what a value is that is an object of one class which is no tree, on every way."""
    objects = context.shared(_plain_objects)
    if objects is None or not objects.may_be(bound.value):
        return ""
    sources = context.sources.originals(bound)
    kinds = {_made(context, one) for one in sources}
    return kinds.pop() if len(kinds) == 1 else ""


def _made(context: Context, found: Bound) -> str:
    """Return of which class that is no tree a call makes an object."""
    maker = context.flow.follow(found, found.value.callee).value if isinstance(found.value, Call) else None
    if not isinstance(maker, Class) or _registered(context, maker.facts):
        return ""
    return f"an object of the class `{maker.facts.name}`"


def _given(params: list[str], event: CallEvent) -> Iterator[tuple[str, Value, ast.expr]]:
    """Yield what a call of compiled code, or ``partial(compiled, ...)``, gives for its parameters."""
    first = int(last_word(event.node.func) == "partial")
    yield from zip(params, event.value.args[first:], event.node.args[first:], strict=False)
    for keyword, (name, value) in zip(event.node.keywords, event.value.keywords, strict=True):
        if name in params:
            yield name, value, keyword.value


def _partials(context: Context, root: Root) -> Iterator[CallEvent]:
    """Yield the calls of ``functools.partial`` that give compiled code some of its arguments before."""
    if root.function.owner is not None:
        return
    for event, held in context.shared(_partial_calls):
        if (isinstance(held, Function) and root.decorator and held.facts is root.function) or (
            isinstance(held, Call) and root.node in {held.node, held.node.func}
        ):
            yield event


def _partial_calls(context: Context) -> list[tuple[CallEvent, Value]]:
    """Return the calls of ``functools.partial``, each with the function that it is given."""
    calls = [e for e in context.bodies.named("partial") if e.value.args]
    return [
        (event, context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value)
        for event in calls
        if context.flow.calls.name(event) == "functools.partial"
    ]


def _given_back(context: Context) -> Iterator[Finding]:
    """Yield the functions, texts and objects that compiled functions return."""
    for root in compiled_roots(context):
        function = root.function
        if function.scope.module not in context.asked or in_test(root.scope) or not root.transform.endswith("jit"):
            continue
        if function.generator or _paired(function):
            continue
        plain = isinstance(function.node, ast.Lambda)  # what it gives may be meant for something else
        for returned in function.returns:
            for part in _parts(returned):
                here = context.flow.here(part, function.scope)
                what = _object(context, here) if plain else _returned(context, context.flow.resolve(here))
                if what:
                    yield finding(
                        RULE.code,
                        function.scope,
                        getattr(returned, "node", None) or function.node,
                        f"{shown(function)} is compiled and returns {what}, which is no array and no tree",
                        "return the arrays that it is made of, and make it outside",
                    )
                    break


def _paired(function: FunctionFacts) -> bool:
    """Say whether ``jax.custom_gradient`` takes what a function returns: the value and a function of the gradient."""
    if not function.scope.module.source.mentions(b"custom_gradient"):
        return False
    return any("custom_gradient" in ast.unparse(one) for one in getattr(function.node, "decorator_list", ()))


def _parts(returned: Value) -> Iterator[Value]:
    """Yield what a result consists of, as far as it is written there."""
    for part in returned.items if isinstance(returned, Sequence) else (returned,):
        yield from (value for _, value in part.items) if isinstance(part, Mapping) else (part,)


def _returned(context: Context, found: Bound) -> str:
    """Return what a part of a result is that compiled code cannot return; empty if it can, or is not known."""
    if isinstance(found.value, Function):
        return "a function"
    if _text(context, found) or (isinstance(found.value, Unknown) and isinstance(found.value.node, ast.JoinedStr)):
        return "a text"
    made = context.flow.follow(found, found.value.callee).value if isinstance(found.value, Call) else None
    if isinstance(made, Class) and not _registered(context, made.facts):
        return f"an object of the class `{made.facts.name}`"
    return ""


def _carried(context: Context) -> Iterator[Finding]:
    """Yield the parts of the first carries of loops that are functions, texts or transformations."""
    seen: set[ast.AST] = set()
    for body in bodies(context):
        if body.event.node in seen or body.init is None or body.event.scope.module not in context.asked:
            continue
        seen.add(body.event.node)
        if last(body.loop) not in {"scan", "fori_loop", "while_loop"} or in_test(body.event.scope):
            continue
        init = context.flow.resolve(context.flow.here(body.init, body.event.scope))
        parts = [init]
        if isinstance(init.value, Sequence):
            parts = [context.flow.with_value(init, item) for item in init.value.items]
        for part in parts:
            what = _kind(context, part)
            if not what and isinstance(part.value, Param):
                sources = context.sources.originals(part)
                what = "a function" if sources and all(isinstance(s.value, Function) for s in sources) else ""
            if what and (body.loop.startswith("jax.lax.") or not what.startswith("an object of the")):
                yield finding(
                    RULE.code,
                    body.event.scope,
                    body.event.node,
                    f"the carry of {last(body.loop)} holds {what}, which is no array and no tree",
                    "leave it out of the carry: the body can use it from around itself",
                )
                break


def _takes_itself(context: Context, root: Root) -> bool:
    """Say whether a decorator compiles a method of a class that is no tree, with its object as a traced argument."""
    function = root.function
    me = function.self_param
    if not root.decorator or function.owner is None or me is None or me.name in root.static:
        return False
    if root.scope.module not in context.asked or len(function.decorators) != 1:
        return False
    if me.name != "self" and _by_class(context, function):
        return False  # a function without `self` that its class keeps
    return not any(_registered(context, cls) for cls in context.flow.classes.heirs(function.owner))


def _by_class(context: Context, function: FunctionFacts) -> bool:
    """Say whether no object calls a method: its class does, and gives it none."""
    return not any(
        isinstance(event.value.callee, Attr) and event.value.callee.name == function.name and on_object(context, event)
        for event in context.flow.sites.callers(function)
    )


def _holds_objects(context: Context, owner: ClassFacts) -> bool:
    """Say whether objects of a class hold models, optimizers and the like."""
    return any(
        kinds_of(context, value, method.scope) & NNX_OBJECTS
        for parent in context.flow.classes.mro(owner)[0]
        for stores in parent.stores.values()
        for method, value in stores
    )


def _kind(context: Context, bound: Bound) -> str:
    """Return what a value is that cannot be traced; empty if it can be, or is not known."""
    found = context.flow.resolve(bound)
    if isinstance(found.value, Round):  # what a generator yields
        ways = context.sources.of(found)
        kinds = {"" if isinstance(one.value, Round) else _kind(context, one) for one in ways}
        return kinds.pop() if len(kinds) == 1 else ""
    if isinstance(found.value, Function) or (isinstance(found.value, Ref) and _of_jax(found.value.name)):
        return "a function"
    if _text(context, found):
        return "a text"
    if isinstance(found.value, Mapping) and any(_written(context, found, one) for _, one in found.value.items):
        return "a dict with a text"
    if isinstance(found.value, Mapping | Sequence):
        items = found.value.items if isinstance(found.value, Sequence) else [one for _, one in found.value.items]
        inside = next((what for one in items if (what := _object(context, context.flow.with_value(found, one)))), "")
        container = type(found.value.node).__name__.lower() if inside else ""
        return f"a {container} with {inside}" if container in {"dict", "list", "tuple"} else ""
    if not isinstance(found.value, Call):
        return _object(context, bound)
    if context.flow.calls.callee_name(found) in _TRANSFORMS:
        return "a transformation of optax"
    maker = context.flow.follow(found, found.value.callee).value
    if not isinstance(maker, Class):
        return ""
    field = untraceable_field(context, maker.facts)
    if field and not _given_tree(context, found, maker.facts, field):
        return f"an object of `{maker.facts.name}`, whose field `{field}` is a leaf, and no array"
    if _registered(context, maker.facts):
        return ""
    return f"an object of the class `{maker.facts.name}`"


def _of_jax(name: str) -> bool:
    """Say whether a name is that of a function of arrays, such as an activation."""
    home, _, word = name.rpartition(".")
    if home in {"jax.nn", "flax.nnx", "flax.linen"}:
        return word in ARRAY_FUNCTIONS
    return home == "jax.numpy" and word in {"sin", "cos", "tanh", "exp", "log", "sqrt", "square", "abs", "sum", "mean"}


def _given_tree(context: Context, made: Bound, cls: ClassFacts, field: str) -> bool:
    """Say whether a call that makes an object gives a tree for a field, whatever the field's annotation says."""
    names = [name for parent in reversed(context.flow.classes.mro(cls)[0]) for name in parent.fields]
    call = made.value
    given = call.argument(names.index(field), field) if isinstance(call, Call) and field in names else None
    held = context.flow.resolve(context.flow.follow(made, given)) if given is not None else made
    if held is made or not isinstance(held.value, Call):
        return False
    maker = context.flow.follow(held, held.value.callee).value
    return isinstance(maker, Class) and _registered(context, maker.facts)


def _written(context: Context, held: Bound, value: Value) -> bool:
    """Say whether an entry is a text that is written there, also one with parts to be filled in."""
    made = context.flow.follow(held, value)
    return _text(context, made) or (isinstance(made.value, Unknown) and isinstance(made.value.node, ast.JoinedStr))


def _decides(context: Context, root: Root, name: str) -> bool:
    """Say whether a function branches on a parameter."""
    return any(
        isinstance(n, ast.If | ast.IfExp | ast.While)
        and any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(n.test))
        for n in context.bodies.nodes(root.function.scope)
    )


def _text(context: Context, found: Bound) -> bool:
    """Say whether a value is a text, or one of several that a loop goes through."""
    if isinstance(found.value, Const):
        return isinstance(found.value.value, str)
    if isinstance(found.value, Attr):
        return _option(context, found.value.name, context.flow.follow(found, found.value.base))
    if not isinstance(found.value, Round | Each):
        return False
    over = context.flow.follow(found, found.value.base).value
    return (
        isinstance(over, Sequence)
        and bool(over.items)
        and all(isinstance(item, Const) and isinstance(item.value, str) for item in over.items)
    )


def _option(context: Context, name: str, read: Bound) -> bool:
    """Say whether an attribute is an option of the command line that is a text, by the call that adds it."""
    if not is_parsed(read.value):
        return False
    options = [
        event.node
        for event in context.bodies.named("add_argument")
        if any(one_of(a, (f"--{name}", f"--{name.replace('_', '-')}")) for a in event.node.args)
    ]
    return bool(options) and all(_of_text(option) for option in options)


def _of_text(option: ast.Call) -> bool:
    """Say whether an option of the command line is a text, whoever calls the program."""
    said = {k.arg: k.value for k in option.keywords}
    kind = said.get("type")
    if said.keys() & {"action", "nargs", "dest"} or not (kind is None or ast.unparse(kind) == "str"):
        return False
    return isinstance(constant(said.get("default")), str) or constant(said.get("required")) is True


def _registered(context: Context, cls: ClassFacts) -> bool:
    """Say whether a class is a tree, or may be one."""
    parents, foreign = context.flow.classes.mro(cls)
    if foreign - {"builtins.object", "typing.Generic", "abc.ABC", "typing.Protocol"}:
        return True
    for parent in parents:
        if getattr(parent.node, "keywords", ()):
            return True  # a metaclass
        scope = parent.scope.parent
        for decorator in parent.decorators if scope is not None else ():
            assert scope is not None
            one = context.flow.resolve(context.flow.here(decorator, scope))
            name = one.value.name if isinstance(one.value, Ref) else context.flow.calls.callee_name(one)
            if name not in _PLAIN:
                return True
        if {"tree_flatten", "__jax_array__", "__array__", "__init_subclass__"} & set(parent.methods):
            return True
        if any(name not in {"object", "Generic", "ABC", "Protocol"} for name in _bases(parent)):
            if len(parent.bases) and not _all_known(context, parent):
                return True
    return cls.name.encode() in context.shared(_named_beside)


def _named_beside(context: Context) -> frozenset[bytes]:
    """Return all names in the modules that register classes as trees in some way."""
    marks = [mark.encode() for mark in _REGISTERING]
    texts = (module.source.data for module in context.project.modules)
    return frozenset(
        word for data in texts if any(mark in data for mark in marks) for word in re.findall(rb"\w+", data)
    )


def _bases(cls: ClassFacts) -> Iterator[str]:
    for base in cls.node.bases:
        yield getattr(base, "id", getattr(base, "attr", ""))


def _all_known(context: Context, cls: ClassFacts) -> bool:
    """Say whether all bases of a class are classes of the project, or known to be plain."""
    outer = context.flow.open_frame(cls.scope.parent)
    return all(isinstance(context.flow.resolve(Bound(base, outer)).value, Class | Ref) for base in cls.bases)


RULE = lint_rule(
    "NNX879",
    "untraceable-argument",
    "compiled code gets an object or a function as an argument that is not static",
    why="""\
Arguments of compiled code are arrays, numbers, and trees of them. An object of a class that is not registered as a tree
raises a TypeError: it is static (`static_argnames`, for which it needs a hash), or its class is registered. Of a class
that is registered, texts and functions are no leaves: they are a part of the structure.
""",
    source="jax issue 10476 and others; measured on Flax 0.10.7 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import dataclasses

import jax


@dataclasses.dataclass
class Settings:
    scale: float = 2.0


@jax.jit
def forward(settings, x):
    return settings.scale * x


print(forward(Settings(), 1.0))
""",
    ),
    clean=(
        """\
import jax


@jax.custom_gradient
def clipped(x):
    def backward(gradient):
        return gradient.clip(-1, 1)

    return x, backward


print(jax.grad(jax.jit(clipped))(2.0))
""",
        """\
import dataclasses

import jax


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Settings:
    scale: float = 2.0


@jax.jit
def forward(settings, x):
    return settings.scale * x


print(forward(Settings(), 1.0))
""",
    ),
)
