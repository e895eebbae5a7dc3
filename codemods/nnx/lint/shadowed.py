"""Filters that never match, as an earlier one takes all that they select; part of NNX895."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound
from codemods.nnx.lint.path_filters import joined, path_word
from codemods.nnx.values import Call, Class, Const, Ref, Sequence

# the classes of Variables that derive from another one than nnx.Variable
_BASES = {
    "flax.nnx.LoRAParam": "flax.nnx.Param",
    "flax.nnx.RngKey": "flax.nnx.RngState",
    "flax.nnx.RngCount": "flax.nnx.RngState",
    "flax.nnx.OptArray": "flax.nnx.OptState",
    "flax.nnx.OptVariable": "flax.nnx.OptState",
    "flax.nnx.Perturbation": "flax.nnx.Intermediate",
}
_DIRECT = frozenset({"flax.nnx.Param", "flax.nnx.BatchStat", "flax.nnx.Cache", "flax.nnx.Intermediate",
                     "flax.nnx.RngState", "flax.nnx.OptState"})  # fmt: skip
_ANY = "flax.nnx.Variable"
_DEPTH = 3


def shadowed(context: Context, filters: list[Bound]) -> tuple[str, str] | None:
    """Return the first filter that never matches, with the type of an earlier one that takes all that it selects.

    Args:
        context: the analysis.
        filters: the filters, in their order.
    """
    taken: dict[str, None] = {}
    for one in filters:
        wanted = _types(context, one, 0, whole=False)
        if wanted and all(not taken.keys().isdisjoint(_with_bases(context, each)) for each in wanted):
            first = next(iter(wanted))
            base = next(name for name in _with_bases(context, first) if name in taken)
            return _shown(first), _shown(base)
        for each in _types(context, one, 0, whole=True):
            taken |= {_name(each): None}
    return None


def contained(context: Context, wide: Bound, narrow: Bound) -> bool:
    """Say whether a filter certainly selects all that another one does, and is not the same.

    Args:
        context: the analysis.
        wide: the filter that may select more.
        narrow: the other.
    """
    wanted, given = _conditions(context, wide, 0), _conditions(context, narrow, 0)
    if wanted is None or given is None or {*wanted} == {*given}:
        return False
    known = {each for one in given for each in ([one] if isinstance(one, str) else _with_bases(context, one))}
    return all(one == "..." or (one if isinstance(one, str) else _name(one)) in known for one in wanted)


def _conditions(context: Context, one: Bound, depth: int) -> list[str | Ref | Class] | None:
    """Return the conditions that a filter asks for, all of them at once; None if one of them is not known."""
    value = one.value
    if value == Const(...):
        return ["..."]
    if isinstance(value, Class) or (isinstance(value, Ref) and value.name in {*_BASES, *_DIRECT, _ANY}):
        return [value]
    word = path_word(context, one)
    if word is not None:
        return [f"path {word}"]
    how, parts = joined(context, one)
    if how == "Not" and len(parts) == 1:
        inner = _conditions(context, parts[0], depth + 1) if depth < _DEPTH else None
        if inner is None or len(inner) != 1:
            return None
        return [f"not {inner[0] if isinstance(inner[0], str) else _name(inner[0])}"]
    if how != "All" or depth > _DEPTH:
        return None
    found = [_conditions(context, part, depth + 1) for part in parts]
    return None if None in found else [each for some in found for each in some or ()]


def _types(context: Context, one: Bound, depth: int, *, whole: bool) -> dict[Ref | Class, None]:
    """Return the types of Variables that a filter selects.

    With ``whole`` those of which it selects every Variable; else all of which it selects any, none if they are unknown.
    """
    value = one.value
    if isinstance(value, Class) or (isinstance(value, Ref) and value.name in {*_BASES, *_DIRECT, _ANY}):
        return {value: None}
    parts: list[Bound] = []
    name = context.flow.calls.callee_name(one) if isinstance(value, Call) and not value.starred else ""
    if isinstance(value, Sequence):
        parts = [context.flow.follow(one, item) for item in value.items]
    elif isinstance(value, Call) and name in {"flax.nnx.Any", "flax.nnx.OfType", "flax.nnx.All"}:
        parts = [context.flow.follow(one, item) for item in value.args]
    if not parts or depth > _DEPTH:
        return {}
    found = [_types(context, part, depth + 1, whole=whole) for part in parts]
    if name == "flax.nnx.All":  # what each of them selects; one of them that is known is enough
        return {} if whole else next((types for types in found if types), {})
    if not whole and not all(found):
        return {}
    return {each: None for types in found for each in types}


def _with_bases(context: Context, one: Ref | Class) -> list[str]:
    """Return the names of a type and of those that it derives from."""
    names = [_name(one)]
    if isinstance(one, Class):
        parents, foreign = context.flow.classes.mro(one.facts)
        names += [_name(Class(parent)) for parent in parents[1:]] + sorted(foreign)
    for name in list(names):
        if name in _BASES:
            names.append(_BASES[name])
        if name in _BASES or name in _DIRECT:
            names.append(_ANY)
    return names


def _name(one: Ref | Class) -> str:
    return one.name if isinstance(one, Ref) else f"{one.facts.scope.module.source.path}:{one.facts.name}"


def _shown(one: Ref | Class | str) -> str:
    name = one if isinstance(one, str) else _name(one)
    return name.replace("flax.nnx.", "nnx.") if name.startswith("flax.nnx.") else name.rpartition(":")[2]
