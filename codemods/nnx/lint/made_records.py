"""Named tuples and dataclasses that a call makes, as carries of loops."""

from __future__ import annotations

from collections.abc import Callable

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.values import Attr, Call, Changed, Const, Sequence, Unknown, Value


def record_fields(context: Context, made: Bound) -> list[str]:
    """Return the fields of the named tuple or dataclass that a call makes; none for another value."""
    if not isinstance(made.value, Call) or made.value.starred:
        return []
    cls = context.flow.classes.class_of(made)
    if cls is None:
        return _names(context, context.flow.follow(made, made.value.callee))
    if "__init__" in cls.methods:
        return []
    bases = context.flow.classes.mro(cls)[1]
    decorators = [one.callee if isinstance(one, Call) else one for one in cls.decorators]
    outer = cls.scope.parent
    names = {
        getattr(context.flow.resolve(context.flow.here(one, outer)).value, "name", "") for one in decorators
    } if outer is not None else set()  # fmt: skip
    if bases == {"typing.NamedTuple"} or names & {"flax.struct.dataclass", "chex.dataclass"}:
        return [*cls.fields]
    return []


def _names(context: Context, made: Bound) -> list[str]:
    """Return the fields of a class that ``namedtuple("State", ["x", "v"])`` or ``namedtuple("State", "x v")`` makes."""
    cls = made.value
    if not isinstance(cls, Call) or cls.starred or len(cls.args) != 2:
        return []
    if context.flow.calls.callee_name(made) != "collections.namedtuple":
        return []
    given = cls.args[1]
    parts = given.items if isinstance(given, Sequence) else [given]
    texts = [one.value for one in parts if isinstance(one, Const) and isinstance(one.value, str)]
    if len(texts) < len(parts):
        return []
    return texts if isinstance(given, Sequence) else " ".join(texts).replace(",", " ").split()


def _class(context: Context, made: Bound) -> object:
    """Return the class that a call makes an object of, also the call that made such a class."""
    cls = context.flow.classes.class_of(made)
    return context.flow.follow(made, made.value.callee).value if cls is None and isinstance(made.value, Call) else cls


def changed_fields(context: Context, init: Bound, after: Value, scope: Scope) -> dict[str, Value]:
    """Return the fields that a record gets anew, as one of the class of another record, or as a changed copy.

    Args:
        context: the analysis.
        init: the other record.
        after: the value that may be such a record.
        scope: the scope of that value.
    """
    if not isinstance(after, Call) or after.starred or not isinstance(init.value, Call):
        return {}
    if isinstance(after.callee, Attr) and after.callee.name in {"replace", "_replace"}:
        before = changed_fields(context, init, after.callee.base, scope)
        return before | {name: value for name, value in after.keywords if name is not None}
    made = context.flow.here(after, scope)
    if _class(context, made) is not _class(context, init):
        return {}
    fields = enumerate(record_fields(context, init))
    return {name: value for i, name in fields if (value := after.argument(i, name)) is not None}


#: A value, and the scope that it was written in.
Placed = tuple[Value, Scope]


def fields_given(
    context: Context, value: Value, scope: Scope, operand: Callable[[Value], Placed | None], depth: int = 0
) -> dict[str, Placed]:
    """Return what the fields of a record are, as far as they are known: of one made anew, or of a changed copy.

    Args:
        context: the analysis.
        value: the value that may be a record.
        scope: the scope of that value.
        operand: says what a function is called with for one of its parameters.
        depth: how many values this one was followed from.

    Returns:
        The fields; none for another value.
    """
    if depth > _DEPTH:
        return {}
    given = operand(value)
    if given is not None:
        return fields_given(context, *given, operand, depth + 1)
    if isinstance(value, Changed):
        return {}
    made = context.flow.resolve(context.flow.here(value, scope))
    if isinstance(value, Call):
        if isinstance(value.callee, Attr) and value.callee.name in {"replace", "_replace"}:
            if value.args or value.starred or any(name is None for name, _ in value.keywords):
                return {}
            before = fields_given(context, value.callee.base, scope, operand, depth + 1)
            return before | {name: (one, scope) for name, one in value.keywords if name is not None}
        names = record_fields(context, context.flow.here(value, scope))
        found = ((name, value.argument(place, name)) for place, name in enumerate(names))
        if names:
            return {name: (one, scope) for name, one in found if one is not None}
    inner = made.frame.function.scope if made.frame is not None else None
    if made.value is value or isinstance(made.value, Changed):
        sources = [*context.sources.originals(made)]
        if len(sources) != 1 or sources[0].value is value or not isinstance(sources[0].value, Call):
            return {}
        made = sources[0]
    if inner is None and isinstance(made.value, Call | Unknown):
        inner = context.bodies.home(made.value.node)
    return fields_given(context, made.value, inner, operand, depth + 1) if inner is not None else {}


_DEPTH = 6
