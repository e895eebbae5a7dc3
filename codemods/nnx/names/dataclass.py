"""NNX503: ``nnx.dataclass`` and what goes with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell_name
from codemods.nnx.names.references import Reference
from codemods.nnx.rule import Example, Kind, Rule

_SUCCESSORS = {"dataclass": "dataclasses.dataclass", "field": "dataclasses.field", "static": "dataclasses.field"}


def check(context: Context) -> Iterator[Finding]:
    """Yield uses of the names, which 0.10.7 has, 0.11 has not, and 0.12 in part, with other meanings."""
    if not context.options.crosses("0.11"):
        return
    for reference in context.nnx_references:
        if reference.base == "flax.nnx" and reference.last in {*_SUCCESSORS, "Static"}:
            new = _SUCCESSORS.get(reference.last)
            yield finding(
                "NNX503",
                reference.scope,
                reference.node,
                f"nnx.{reference.last} of Flax 0.10.7 does not exist in 0.11, and is gone or another thing in 0.12",
                f"write {new}; data are told from other values without it" if new else "annotate the plain type",
                _fix(context, reference, new) if new else None,
            )


def _fix(context: Context, reference: Reference, new: str) -> Fix | None:
    """Return the edits that name the standard library's function; None for an import or an option it does not have."""
    node, source = reference.node, reference.scope.module.source
    if not isinstance(node, ast.Attribute) or not source.faithful(node):
        return None
    call = next((e.node for e in reference.scope.module.calls if e.node.func is node), None)
    if call is not None and any(k.arg in {None, "static"} for k in call.keywords):
        return None
    spelling = spell_name(context.flow, reference.scope, new)
    if spelling is None:
        return None
    edits = (Edit(*source.span(node), spelling.text.encode()), *spelling.edits)
    return Fix(tuple((source.path, edit) for edit in edits))


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx


@nnx.dataclass
class Layer(nnx.Module):
    weight: nnx.Param
    times: int = nnx.static(default=3)


layer = Layer(nnx.Param(jnp.ones(2)))
print(layer.weight.shape, layer.times)
"""

RULE = Rule(
    code="NNX503",
    name="nnx-dataclass",
    summary="nnx.dataclass, nnx.field, nnx.static and nnx.Static of Flax 0.10.7",
    why="""\
Flax 0.10.7 alone has `nnx.dataclass` with `nnx.field`, `nnx.static` and the annotation `nnx.Static`. 0.11 has none of
them; 0.12 has `nnx.dataclass` and `nnx.static` again, with another meaning. The functions of the standard library do on
all versions: modules tell arrays, Variables and modules from static values themselves.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("from flax import nnx\n", "from flax import nnx\nimport dataclasses\n")
            .replace("nnx.dataclass", "dataclasses.dataclass")
            .replace("nnx.static", "dataclasses.field"),
            targets=("0.11", "0.12"),
        ),
        Example(
            before="from flax.nnx import Module, Static\n\n\nclass Net(Module):\n    size: Static[int]\n", run=False
        ),
    ),
    check=check,
)
