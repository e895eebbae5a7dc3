"""NNX503: ``nnx.dataclass`` and what goes with it."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, Safety, finding
from codemods.nnx.names.dataclass_edits import Refused, module_fix, tree_classes
from codemods.nnx.names.references import Reference, guarded, nnx_references
from codemods.nnx.rule import Example, Kind, Rule

_SUCCESSORS = {
    "dataclass": "write dataclasses.dataclass(repr=False)",
    "field": "write dataclasses.field",
    "static": "write dataclasses.field",
    "Static": "annotate the plain type",
}


def check(context: Context) -> Iterator[Finding]:
    """Yield uses of the names, which 0.10.7 has, 0.11 has not, and 0.12 in part, with other meanings."""
    if not context.options.crosses("0.11"):
        return
    found: dict[ModuleFacts, list[Reference]] = {}
    newer = {event.node.func for event in context.project.calls() if event.node.args}
    for reference in nnx_references(context):
        if reference.base != "flax.nnx" or reference.last not in _SUCCESSORS or guarded(reference):
            continue
        if reference.last == "static" and reference.node in newer:
            yield from _newer(context, reference)
        else:
            found.setdefault(reference.scope.module, []).append(reference)
    for module, references in found.items():
        if not _as_before(context, module, references):
            yield from _findings(context, module, references)


def _newer(context: Context, reference: Reference) -> Iterator[Finding]:
    """Yield ``nnx.static(value)``, which 0.12 alone has."""
    if set(context.options.targets) != {"0.12"}:
        message = "nnx.static(value) exists in Flax 0.12 only"
        yield finding("NNX503", reference.scope, reference.node, message, "assign the plain value")


def _as_before(context: Context, module: ModuleFacts, references: list[Reference]) -> bool:
    """Say whether a module may stay: 0.12 has ``nnx.dataclass``, which differs for pytrees of 0.10.7 only, and
    ``nnx.static`` and ``nnx.Static``."""
    if set(context.options.targets) != {"0.12"}:
        return False
    if context.origin == "0.12":  # what is written for it means what it means there
        return all(reference.last != "field" for reference in references)
    return not tree_classes(module) and all(reference.last == "dataclass" for reference in references)


def _findings(context: Context, module: ModuleFacts, references: list[Reference]) -> Iterator[Finding]:
    fix, why = None, ""
    try:
        if any(r.name.startswith("flax.nnx.dataclasses.") for r in nnx_references(context) if r.scope.module is module):
            raise Refused("flax.nnx.dataclasses is used as well")
        fix = module_fix(context, module, references)
    except Refused as reason:
        why = f"; not done by itself, as {reason}"
    for reference in references:
        yield finding(
            "NNX503",
            reference.scope,
            reference.node,
            f"nnx.{reference.last} of Flax 0.10.7 does not exist in 0.11, and is gone or another thing in 0.12",
            f"{_SUCCESSORS[reference.last]}{why}",
            fix,
        )


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx


@nnx.dataclass
class Layer(nnx.Module):
    weight: nnx.Param
    times: int = nnx.static(default=3)


layer = Layer(nnx.Param(jnp.ones(2)))
print(layer)
"""

_TREE = """\
import dataclasses

import jax
import jax.numpy as jnp
from flax import nnx


@nnx.dataclass
class Point(nnx.Module, pytree=True):
    x: jax.Array
    weight: float
    name: nnx.Static[str] = "origin"


point = Point(jnp.zeros(2), 1.5)
print(jax.tree.leaves(point), point)
"""

_IMPORTED = """\
from flax.nnx import Module, Static, dataclass, field


@dataclass(kw_only=True)
class Net(Module):
    size: Static[int]
    scale: float = field(default=2.0, static=True)


print(Net(size=3))
"""

RULE = Rule(
    code="NNX503",
    name="nnx-dataclass",
    summary="nnx.dataclass, nnx.field, nnx.static and nnx.Static of Flax 0.10.7",
    why="""\
Flax 0.10.7 alone has `nnx.dataclass` with `nnx.field`, `nnx.static` and the annotation `nnx.Static`. 0.11 has none of
them; 0.12 has `nnx.dataclass` and `nnx.static` again, with another meaning. The functions of the standard library do on
all versions: modules tell arrays, Variables and modules from static values themselves. `repr=False` keeps the
representation of modules. In a class with `pytree=True`, every field that was not static was a leaf, numbers too; there
they are annotated with `nnx.Data`.

All uses in a module are rewritten together, or none.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("from flax import nnx\n", "from flax import nnx\nimport dataclasses\n")
            .replace("nnx.dataclass", "dataclasses.dataclass(repr=False)")
            .replace("nnx.static", "dataclasses.field"),
            targets=("0.11", "0.12"),
        ),
        Example(
            _IMPORTED,
            """\
from flax.nnx import Module
import dataclasses


@dataclasses.dataclass(repr=False, kw_only=True)
class Net(Module):
    size: int
    scale: float = dataclasses.field(default=2.0)


print(Net(size=3))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            _TREE,
            _TREE.replace("nnx.dataclass", "dataclasses.dataclass(repr=False)")
            .replace("jax.Array", "nnx.Data[jax.Array]")
            .replace("weight: float", "weight: nnx.Data[float]")
            .replace("nnx.Static[str]", "str"),
            targets=("0.11", "0.12"),
        ),
        Example(
            before="from flax import nnx\n\nmake = nnx.dataclass\n",
            run=False,
        ),
    ),
    check=check,
    always=True,
)
