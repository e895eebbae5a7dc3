"""Named tuples and dataclasses that a call makes, as carries of loops."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.values import Attr, Call, Value


def record_fields(context: Context, made: Bound) -> list[str]:
    """Return the fields of the named tuple or dataclass that a call makes; none for another value."""
    cls = context.flow.classes.class_of(made)
    if cls is None or not isinstance(made.value, Call) or made.value.starred or "__init__" in cls.methods:
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
        return {name: value for name, value in after.keywords if name is not None}
    made = context.flow.here(after, scope)
    if context.flow.classes.class_of(made) is not context.flow.classes.class_of(init):
        return {}
    fields = enumerate(record_fields(context, init))
    return {name: value for i, name in fields if (value := after.argument(i, name)) is not None}
