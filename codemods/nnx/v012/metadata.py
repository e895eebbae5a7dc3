"""NNX608: metadata of Variables that is set or deleted as an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.variables import Variables

# attributes of Variables that are no metadata
_OWN = frozenset({"value", "raw_value", "_raw_value", "_var_metadata", "_trace_state", "__class__"})


def check(context: Context) -> Iterator[Finding]:
    """Yield attributes of Variables that are assigned or deleted and are not their content."""
    if not context.options.crosses("0.12"):
        return
    variables = Variables(context)
    for event in context.asked.attributes():
        if isinstance(event.node.ctx, ast.Load) or event.node.attr in _OWN:
            continue
        if not variables.is_variable(event.base, event.scope):
            continue
        name = event.node.attr
        verb = "deleting" if event.context == "del" else "setting"
        method = f"del_metadata({name!r})" if event.context == "del" else f"set_metadata({name}=...)"
        yield finding(
            "NNX608",
            event.scope,
            event.node,
            f"{verb} the attribute `{name}` of a Variable raises AttributeError since Flax 0.12.1",
            f"call {method}, or pass it to the constructor, which works on all versions",
            _fix(context, event),
        )


def _fix(context: Context, event: AttrEvent) -> Fix | None:
    """Return the edit that calls the method instead, which 0.12 alone has."""
    statement, source = event.statement, event.scope.module.source
    if set(context.options.targets) != {"0.12"} or not isinstance(statement, ast.Assign | ast.Delete):
        return None
    if statement.targets != [event.node]:
        return None
    base, name = source.text(event.node.value), event.node.attr
    if name in {"sharding", "sharding_names"}:
        name = "out_sharding"
    if isinstance(statement, ast.Delete):
        return Fix(((source.path, Edit(*source.span(statement), f'{base}.del_metadata("{name}")'.encode())),))
    if isinstance(statement.value, ast.Yield | ast.YieldFrom) or source.bare(statement.value):
        return None
    start, end = source.span(statement)
    behind = source.data.index(b"=", source.span(event.node)[1]) + 1
    behind += len(source.data[behind:end]) - len(source.data[behind:end].lstrip(b" \t"))
    opening = f"{base}.set_metadata({name}="
    return Fix(((source.path, Edit(start, behind, opening.encode())), (source.path, Edit(end, end, b")"))))


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx

weight = nnx.Param(jnp.ones(2))
weight.frozen = True
print(weight.frozen)
"""

RULE = Rule(
    code="NNX608",
    name="metadata-attribute",
    summary="metadata of a Variable is set as an attribute",
    why="""\
Assigning or deleting an attribute of a Variable changed its metadata up to Flax 0.12.0; since 0.12.1 it raises
AttributeError. `set_metadata` and `del_metadata` exist since 0.12 only, so that no spelling holds for 0.11 as well
but the constructor's keywords.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.1",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE, _BEFORE.replace("weight.frozen = True", "weight.set_metadata(frozen=True)"), targets=("0.12",)
        ),
    ),
    check=check,
    always=True,
)
