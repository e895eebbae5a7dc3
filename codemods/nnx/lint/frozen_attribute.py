"""NNX771: an attribute of a frozen dataclass that is assigned to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TRAIN_STATE
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Class, Loop, Param, Ref, Value

_FROZEN = frozenset({"flax.struct.dataclass"})
_CHOSEN = frozenset({"dataclasses.dataclass", "chex.dataclass"})
_COPYING = frozenset({"apply_gradients", "replace", "_replace"})
_COPIES = 8  # of copies, one of another
_BASES = frozenset({"flax.struct.PyTreeNode", TRAIN_STATE, "typing.NamedTuple"})


def _check(context: Context) -> Iterator[Finding]:
    frozen = {cls for cls in context.project.classes() if _is_frozen(context, cls)}
    if not frozen and not any(m.source.mentions(b"TrainState") for m in context.project.modules):
        return
    for event in context.project.attributes():
        if event.context != "store" or event.scope.module not in context.asked or in_test(event.scope):
            continue
        if isinstance(event.node.ctx, ast.Load):
            continue  # what the object holds is changed, as an entry of a dict, and not the object
        if _train_state(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a TrainState is frozen: this assignment raises an error",
                f"make another one: {ast.unparse(event.node.value)}.replace({event.node.attr}=...), or apply_gradients",
            )
            continue
        cls = _class(context, event)
        if cls is not None and _refuses(context, cls, event.node.attr, frozen):
            if context.bodies.guarded(event.node, event.scope) or "__setattr__" in cls.methods:
                continue
            if _never_missing(context, cls, event):
                continue
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"objects of `{cls.name}` are frozen: this assignment raises an error",
                _instead(context, cls, event),
            )


def _never_missing(context: Context, cls: ClassFacts, event: AttrEvent) -> bool:
    """Say whether an assignment waits for a property to be None, which always computes something else."""
    name = event.node.attr
    found = (one.methods[name] for one in context.flow.classes.mro(cls)[0] if name in one.methods)
    method = next(found, None)
    if method is None or not any(last_word(d) == "property" for d in getattr(method.node, "decorator_list", ())):
        return False
    given = [n.value for n in context.bodies.nodes(method.scope) if isinstance(n, ast.Return)]
    body = getattr(method.node, "body", [])
    if not given or not body or not isinstance(body[-1], ast.Return):
        return False
    if not all(isinstance(one, ast.BinOp | ast.UnaryOp | ast.JoinedStr | ast.List | ast.Dict) for one in given):
        return False
    waited = f"{ast.unparse(event.node)} is None"
    return any(
        isinstance(block, ast.If) and arm == "body" and ast.unparse(block.test) == waited
        for block, arm in context.bodies.paths(event.scope).get(event.node, ())
    )


def _instead(context: Context, cls: ClassFacts, event: AttrEvent) -> str:
    """Return how to give an object another value: a method of some classes does, others are left to a function."""
    text, name = ast.unparse(event.node.value), event.node.attr
    function = event.scope.function
    own = function is not None and event.base == function.self_param
    if own and function is not None and function.name in {"__init__", "__post_init__", "__new__"}:
        return f'set it past the class: object.__setattr__({text}, "{name}", ...)'
    made = {home for one in context.flow.classes.mro(cls)[0] for home in _homes(context, one)}
    other = f"{text}.replace({name}=...)"
    if made and made <= {"dataclasses.dataclass"}:
        other = f"dataclasses.replace({text}, {name}=...)"
    elif made and made <= {"typing.NamedTuple"}:
        other = f"{text}._replace({name}=...)"
    return f"return another one: {other}" if own else f"make another one: {text} = {other}"


def _refuses(context: Context, cls: ClassFacts, name: str, frozen: set[ClassFacts]) -> bool:
    """Say whether objects of a class refuse a new value of an attribute.

    What a decorator makes of a class refuses its fields to objects of classes that derive from it, and nothing else.
    """
    if cls in frozen:
        return True
    for one in context.flow.classes.mro(cls)[0]:
        if one in frozen and (not one.decorators or name in _fields(one)):
            return True
    return False


def _fields(cls: ClassFacts) -> set[str]:
    """Return the fields of a dataclass that its own text declares."""
    return {n.target.id for n in cls.node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)}


def _train_state(context: Context, event: AttrEvent) -> bool:
    """Say whether an object comes of ``TrainState.create``, or is one by its annotation."""
    found = _copied(context, context.flow.resolve(context.flow.here(_first(event.base), event.scope)))
    if isinstance(found.value, Param):
        kinds = [one.value for one in context.flow.classes.annotated(found.value)]
        return len(kinds) == 1 and isinstance(kinds[0], Ref) and kinds[0].name == TRAIN_STATE
    return context.flow.calls.callee_name(found) in {TRAIN_STATE, f"{TRAIN_STATE}.create"}


def _copied(context: Context, bound: Bound) -> Bound:
    """Return the object of whose class another one is, which a method gives: ``state.apply_gradients(grads=grads)``."""
    for _ in range(_COPIES):
        if not isinstance(bound.value, Call):
            return bound
        callee = context.flow.follow(bound, bound.value.callee)
        if not isinstance(callee.value, Attr) or callee.value.name not in _COPYING:
            return bound
        if callee.value.name == "replace" and not bound.value.keywords:
            return bound  # perhaps of a text
        bound = context.flow.resolve(context.flow.with_value(callee, _first(callee.value.base)))
    return bound


def _first(value: Value) -> Value:
    """Return what a variable of a loop is in the first round."""
    while isinstance(value, Loop):
        value = value.before
    return value


def _class(context: Context, event: AttrEvent) -> ClassFacts | None:
    """Return the class of the object whose attribute is assigned to."""
    value = _first(event.base)
    here = context.flow.here(value, event.scope)
    copied = _copied(context, context.flow.resolve(here))
    found = context.flow.classes.class_of(copied) or _created(context, copied)
    if found is not None:
        return found
    sources = context.sources.originals(here)
    classes = {context.flow.classes.class_of(one) for one in sources if one.value is not value}
    classes.discard(None)
    return classes.pop() if len(classes) == 1 else None


def _created(context: Context, bound: Bound) -> ClassFacts | None:
    """Return the class whose own ``create``, as those of TrainState have it, makes an object."""
    callee = context.flow.follow(bound, bound.value.callee).value if isinstance(bound.value, Call) else None
    if not isinstance(callee, Attr) or callee.name != "create":
        return None
    base = context.flow.resolve(context.flow.with_value(bound, callee.base)).value
    cls = base.facts if isinstance(base, Class) else None
    return cls if cls is not None and TRAIN_STATE in _homes(context, cls) and "create" not in cls.methods else None


def _homes(context: Context, cls: ClassFacts) -> set[str]:
    """Return the full names of what freezes a class: decorators and bases."""
    outer = cls.scope.parent
    if outer is None:
        return set()
    names = {_named(context, one, outer)[0] for one in (*cls.decorators, *cls.bases)}
    return names & (_FROZEN | _CHOSEN | _BASES)


def _named(context: Context, value: Value, scope: Scope) -> tuple[str, Call | None]:
    """Return the full name of a decorator or base, with the call in which it gets its options."""
    found = context.flow.resolve(context.flow.here(value, scope))
    if isinstance(found.value, Call):
        return context.flow.calls.callee_name(found), found.value
    return getattr(found.value, "name", ""), None


def _is_frozen(context: Context, cls: ClassFacts) -> bool:
    """Say whether the attributes of a class cannot be assigned to."""
    outer = cls.scope.parent
    if outer is None:
        return False
    for value in cls.decorators:
        name, options = _named(context, value, outer)
        given = {} if options is None else {k.arg: constant(k.value) for k in options.node.keywords}
        if name in _FROZEN:
            return given.get("frozen") is not False
        if name in _CHOSEN:
            return given.get("frozen") is True
    return any(
        isinstance(base := context.flow.resolve(context.flow.here(value, outer)).value, Ref) and base.name in _BASES
        for value in cls.bases
    )


RULE = lint_rule(
    "NNX771",
    "frozen-attribute",
    "an assignment to an attribute of a frozen dataclass",
    why="""\
Dataclasses of `flax.struct`, named tuples and frozen dataclasses of `chex` are not changed, but replaced: `state.step =
...` raises FrozenInstanceError. `state = state.replace(step=...)` gives a new one, also in compiled code.
""",
    source="flax issues 1628 and 3105; measured on Flax 0.10.7 and 0.12.8: FrozenInstanceError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
from flax import struct


@struct.dataclass
class State:
    position: jax.Array


def step(state: State, action):
    state.position = state.position + action
    return state
""",
    ),
    clean=(
        """\
import dataclasses

import jax
from flax import struct


@struct.dataclass
class State:
    position: jax.Array


@dataclasses.dataclass
class Plain:
    position: float


def step(state: State, plain: Plain, action):
    plain.position = 1.0
    return state.replace(position=state.position + action)
""",
    ),
)
