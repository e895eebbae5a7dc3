"""NNX218: ``nnx.Dropout`` treated as a dataclass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.project import scope_of
from codemods.nnx.rng.layers import constructor
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Ref

_DROPOUT = "flax.nnx.Dropout"
_FUNCTIONS = frozenset(f"dataclasses.{name}" for name in ("replace", "fields", "asdict", "astuple"))


def check(context: Context) -> Iterator[Finding]:
    """Yield functions of :mod:`dataclasses` on Dropout and dataclasses derived from it."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.calls():
        call = context.flow.here(event.value, event.scope)
        if not event.value.args or context.flow.calls.callee_name(call) not in _FUNCTIONS:
            continue
        if _is_dropout(context, context.flow.with_value(call, event.value.args[0])):
            message = "nnx.Dropout is no dataclass since Flax 0.11"
            yield finding(RULE.code, event.scope, event.node, message, "nnx.clone it and set the attribute")
    for cls in context.asked.classes():
        assert cls.scope.parent is not None
        if _DROPOUT in context.flow.classes.mro(cls)[1] and any(
            _dataclass(context, context.flow.here(d, cls.scope.parent)) for d in cls.decorators
        ):
            message = "nnx.Dropout is no dataclass since Flax 0.11, so a dataclass derived from it loses its options"
            yield finding(
                RULE.code, cls.scope.parent, cls.node, message, "write __init__ and call super().__init__(rate, ...)"
            )
    yield from _compared(context)


def _compared(context: Context) -> Iterator[Finding]:
    """Yield comparisons of two Dropouts, whose options they compared up to Flax 0.10."""
    for module in context.asked.modules:
        if not module.source.mentions(b"Dropout"):
            continue
        for node in module.source.of_type(ast.Compare):
            if not isinstance(node.ops[0], ast.Eq | ast.NotEq):
                continue
            sides = [module.values.get(side) for side in (node.left, *node.comparators)]
            scope = scope_of(module, node)
            if all(side is not None and _made(context, context.flow.here(side, scope)) for side in sides):
                message = "two Dropouts with the same options are not equal since Flax 0.11"
                yield finding(RULE.code, scope, node, message, "compare their attributes, such as `rate`")


def _made(context: Context, value: Bound) -> bool:
    """Say whether a value is a Dropout of the library on every way."""
    made = [constructor(context.flow, source) for source in context.sources.originals(value)]
    return bool(made) and all(m is not None and m.name == _DROPOUT for m in made)


def _is_dropout(context: Context, value: Bound) -> bool:
    if context.flow.resolve(value).value == Ref(_DROPOUT):
        return True
    return _made(context, value)


def _dataclass(context: Context, decorator: Bound) -> bool:
    value = context.flow.resolve(decorator)
    name = context.flow.calls.callee_name(value) if isinstance(value.value, Call) else getattr(value.value, "name", "")
    return name == "dataclasses.dataclass"


RULE = Rule(
    code="NNX218",
    name="dropout-dataclass",
    summary="nnx.Dropout used as a dataclass",
    why="""\
`nnx.Dropout` was a dataclass up to Flax 0.10. Since 0.11 it is a plain class: `dataclasses.replace`, `fields` and
`asdict` raise a TypeError, a dataclass derived from it gets a constructor without `rate` and `rngs`, and two Dropouts
with the same options are no longer equal.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import dataclasses
from flax import nnx

dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
print(dataclasses.replace(dropout, rate=0.1).rate)
""",
            run=False,
        ),
        Example(before="from flax import nnx\n\nprint(nnx.Dropout(0.5) == nnx.Dropout(0.5))\n", run=False),
    ),
    check=check,
)
