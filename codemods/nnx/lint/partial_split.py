"""NNX895: filters that leave something over, or that stand behind one that takes all of theirs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.chain_layers import must_hold
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.merge_parts import unmerged
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.shadowed import shadowed
from codemods.nnx.values import Call, Const, Mapping, Param, Ref, Sequence, Star, Value

_SPLITTING = frozenset({"flax.nnx.split", "flax.nnx.state", "flax.nnx.pop", "flax.nnx.variables",
                        "flax.nnx.split_state", "flax.nnx.filter_state"})  # fmt: skip
_BY_KEYS = frozenset({"flax.nnx.StateAxes", "flax.nnx.StateSharding"})
_KNOWN = frozenset(
    f"flax.nnx.{name}"
    for name in ("Param", "BatchStat", "Cache", "Intermediate", "RngState", "RngKey", "RngCount", "LoRAParam")
)
_DEPTH = 3


def _check(context: Context) -> Iterator[Finding]:
    for event, split, parts in unmerged(context, lambda split: _held_by(context, split)):
        listed = " and ".join(f"`{part}`" for part in parts)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{listed} of the split {'is' if len(parts) == 1 else 'are'} not merged again: nnx.merge wants every part",
            "give it all parts, in the order of the filters",
            related=[(split.node, "split here")] if split.scope.module is event.scope.module else [],
        )
    words = ("split", "state", "pop", "variables", "split_state", "filter_state", "StateAxes", "StateSharding")
    for event, name in foreign(context, *words):
        if name in _BY_KEYS:
            filters = _keys(context, event)
        elif name in _SPLITTING and len(event.value.args) > 1:
            filters = _filters(context, event)
        else:
            continue
        if filters is None or context.bodies.guarded(event.node, event.scope):
            continue
        everything = next((i for i, one in enumerate(filters) if _takes_all(one)), None)
        if everything is not None:
            if everything < len(filters) - 1:
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "`...` takes all that is left, and stands before another filter",
                    "put it last",
                )
                continue
        never = shadowed(context, filters)
        if never is not None:
            later, earlier = never
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the filter {later} never matches: {earlier} before it takes all of them"
                if later != earlier
                else f"the filter {later} stands here twice, and the second never matches",
                f"put {later} before {earlier}" if later != earlier else "leave one of them out",
            )
            continue
        if everything is not None:
            continue
        if name != "flax.nnx.split" or not filters:
            continue
        names = {one.value.name for one in filters if isinstance(one.value, Ref)}
        if len(names) < len({id(one) for one in filters}) or not names <= _KNOWN:
            continue
        left = _left_over(context, event, names)
        if left:
            shown = " and ".join(sorted(left))
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the model also holds {shown}, which no filter takes",
                "add `...` as the last filter, and merge what it gives as well",
            )


def held_besides(context: Context, model: Bound) -> set[str]:
    """Return the kinds of Variables besides parameters that a model certainly holds, whatever way it comes here."""
    held = [_held(context, source, 0) for source in context.sources.originals(model)]
    return set.intersection(*held) if held else set()


def _held_by(context: Context, event: CallEvent) -> set[str]:
    return held_besides(context, context.flow.here(event.value.args[0], event.scope)) if event.value.args else set()


def _filters(context: Context, event: CallEvent) -> list[Bound] | None:
    """Return the filters of a call; None if they are not all known."""
    flow = context.flow
    found: list[Bound] = []
    for value in event.value.args[1:]:
        if not isinstance(value, Star):
            found.append(flow.resolve(flow.here(value, event.scope)))
            continue
        held = flow.resolve(flow.here(value.value, event.scope))
        if not isinstance(held.value, Sequence):
            return None
        found += [flow.follow(held, item) for item in held.value.items]
    return found


def _keys(context: Context, event: CallEvent) -> list[Bound] | None:
    """Return the filters that are the keys of a dict; None if they are not all known."""
    given = event.value.argument(0, "filter_axes") or event.value.keyword("filter_sharding")
    held = context.flow.resolve(context.flow.here(given, event.scope)) if given is not None else None
    if held is None or not isinstance(held.value, Mapping):
        return None
    keys = [key for key, _ in held.value.items]
    return [context.flow.follow(held, key) for key in keys if key is not None] if None not in keys else None


def _takes_all(one: Bound) -> bool:
    return isinstance(one.value, Const) and one.value.value in (..., True)


def _left_over(context: Context, event: CallEvent, names: set[str]) -> set[str]:
    """Return what every object that is split here holds and no filter takes."""
    taken = set()
    if "flax.nnx.BatchStat" in names:
        taken.add("nnx.BatchStat")
    if "flax.nnx.RngState" in names or {"flax.nnx.RngKey", "flax.nnx.RngCount"} <= names:
        taken.add("nnx.RngState")
    return _held_by(context, event) - taken


def _held(context: Context, made: Bound, depth: int) -> set[str]:
    """Return the kinds of Variables besides parameters that an object certainly holds."""
    name = context.flow.calls.callee_name(made)
    value = made.value
    if name == "flax.nnx.BatchNorm":
        return {"nnx.BatchStat"}
    if name == "flax.nnx.Rngs":
        return {"nnx.RngState"}
    if name == "flax.nnx.Dropout":
        assert isinstance(value, Call)
        rate = value.argument(0, "rate")
        return {"nnx.RngState"} if _drops(context, made, rate) and _streams(value) else set()
    if depth <= _DEPTH and (name in _LISTS or isinstance(value, Sequence)):
        layers = _layers(context, made)
        return set().union(*(_held(context, context.flow.resolve(one), depth + 1) for one in layers))
    cls = context.flow.classes.class_of(made)
    if cls is None or depth > _DEPTH or "flax.nnx.Module" not in context.flow.classes.mro(cls)[1]:
        return set()
    found: set[str] = set()
    for parent in context.flow.classes.mro(cls)[0]:
        for stores in parent.stores.values():
            if len(stores) == 1:
                function, stored = stores[0]
                if function.name == "__init__" and isinstance(stored, Call) and not _sometimes(context, parent, stored):
                    found |= _held(context, context.flow.resolve(context.flow.here(stored, function.scope)), depth + 1)
                elif function.name == "__init__" and isinstance(stored, Param) and stored.name == "rngs":
                    found.add("nnx.RngState")
    return found


_LISTS = frozenset({"flax.nnx.Sequential", "flax.nnx.List"})


def _layers(context: Context, made: Bound) -> list[Bound]:
    """Return the layers that a chain or list is made of, as far as they are written out or filled in for certain."""
    if isinstance(made.value, Sequence):
        return [context.flow.follow(made, one) for one in made.value.items if not isinstance(one, Star)]
    given = made.value.args if isinstance(made.value, Call) else ()
    parts = [context.flow.follow(made, one) for one in given if not isinstance(one, Star)]
    parts += [
        layer
        for one in given
        if isinstance(one, Star)
        for layer in must_hold(context, context.flow.with_value(made, one.value))
    ]
    return [layer for one in parts for layer in (_layers(context, one) if isinstance(one.value, Sequence) else [one])]


def _drops(context: Context, made: Bound, rate: Value | None) -> bool:
    """Say whether a rate is a number above zero, whatever the callers give."""
    rates = context.sources.originals(context.flow.with_value(made, rate)) if rate is not None else []
    known = [one.value.value if isinstance(one.value, Const) else None for one in rates]
    return bool(known) and all(isinstance(one, int | float) and one for one in known)


def _streams(dropout: Call) -> bool:
    given = dropout.keyword("rngs")
    return given is not None and not isinstance(given, Const)


def _sometimes(context: Context, cls: ClassFacts, stored: Call) -> bool:
    """Say whether a condition decides whether an object is made, or its constructor is another one's."""
    scope = cls.methods["__init__"].scope if "__init__" in cls.methods else None
    if scope is None:
        return True
    path = context.bodies.paths(scope).get(stored.node, ())
    return any(isinstance(block, ast.If | ast.IfExp | ast.Try) for block, _ in path)


RULE = lint_rule(
    "NNX895",
    "split-leaves-over",
    "filters of nnx.split that do not take everything or never match, and merges without all parts",
    why="""\
`nnx.split` with filters must place every Variable: a model with batch norm or dropout also holds BatchStat or RngState.
`...` takes all that is left, so that it can only be the last filter. `nnx.merge` wants all the parts again. All of
these raise a ValueError. The first filter that fits takes a Variable: `nnx.LoRAParam` behind its base class
`nnx.Param` gets nothing, and no error says so.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: ValueError",
    check=_check,
    bad=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)


model = Net(nnx.Rngs(0))
graphdef, params = nnx.split(model, nnx.Param)
""",
        """\
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
graphdef, rest, params = nnx.split(model, ..., nnx.Param)
""",
        """\
from flax import nnx

model = nnx.LoRALinear(4, 2, lora_rank=2, rngs=nnx.Rngs(0))
graphdef, params, adapters, rest = nnx.split(model, nnx.Param, nnx.LoRAParam, ...)
""",
    ),
    clean=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)


model = Net(nnx.Rngs(0))
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
""",
    ),
    severity="error",
)
