"""NNX611: sharding annotations without a mesh."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.places import places
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Comprehension, Const, Sequence, Unknown, Value

_OFF = frozenset({"jax.set_mesh", "jax.sharding.set_mesh", "jax.sharding.use_mesh", "flax.nnx.use_eager_sharding"})
_KEYWORDS = frozenset({"sharding", "sharding_names", "out_sharding"})
_PARTITIONED = frozenset({"flax.nnx.with_partitioning", "flax.nnx.bridge.with_partitioning"})
_METADATA = frozenset({"flax.nnx.with_metadata"})
_AXES = frozenset({"PartitionSpec", "P", "logical_to_mesh_axes"})  # what gives names of axes, by its last name
# a module that names none of these makes annotated Variables by keywords only
_WORDS = (b"with_partitioning", b"set_mesh", b"use_mesh", b"use_eager_sharding")


def check(context: Context) -> Iterator[Finding]:
    """Yield Variables that are made with names of mesh axes, if nothing in the project sets a mesh."""
    if not context.options.crosses("0.12"):
        return
    annotated, meshes = annotated_variables(context)
    if annotated and not meshes:
        first, *rest = annotated
        also = f"; so are those in {places(rest, first.scope.module)}" if rest else ""
        yield finding(
            "NNX611",
            first.scope,
            first.node,
            "since Flax 0.12 a Variable with names of mesh axes is sharded when it is made, and nothing in this "
            f"project sets a mesh for that (`with mesh:` does not){also}",
            "make it within `jax.set_mesh(mesh)`, or turn that off: nnx.use_eager_sharding(False)",
        )


def annotated_variables(context: Context) -> tuple[list[CallEvent], list[CallEvent]]:
    """Return the calls that name mesh axes for Variables, and those that set a mesh or turn the placing off."""
    flow = context.flow
    annotated: list[CallEvent] = []
    meshes: list[CallEvent] = []
    naming = {m for m in context.project.modules if any(word in m.source.data for word in _WORDS)}
    for event in context.project.calls():
        if event.scope.module not in naming and not event.node.keywords:
            continue
        name = flow.calls.name(event)
        if name in _OFF:
            meshes.append(event)
            continue
        keywords = {k for k, v in event.value.keywords if k and not (isinstance(v, Const) and v.value is None)}
        if name in _PARTITIONED and "mesh" not in keywords and len(event.value.args) < 3:
            if _names_axes(context, event, event.value.argument(1, "sharding")):
                annotated.append(event)
        elif keywords & _KEYWORDS and "mesh" not in keywords:
            callee = flow.here(event.value.callee, event.scope)
            given = next(v for k, v in event.value.keywords if k in _KEYWORDS)
            makes = name in _METADATA or context.kinds.class_kinds(callee) == {Objects.VARIABLE}
            if makes and _names_axes(context, event, given):
                annotated.append(event)
    return annotated, meshes


def _names_axes(context: Context, event: CallEvent, value: Value | None) -> bool:
    """Say whether an annotation names mesh axes without the mesh, which a NamedSharding brings along."""
    if value is None:
        return False
    if isinstance(value, Unknown) and _starred(context, event, value):
        return True
    found = context.flow.resolve(context.flow.here(value, event.scope))
    if isinstance(found.value, Sequence | Const):
        return True
    return any(_is_axes(context, one) for one in (found, *context.sources.of(found)))


def _starred(context: Context, event: CallEvent, value: Unknown) -> bool:
    """Say whether an annotation is the ``*axes`` of a function, and a call gives it some."""
    function = event.scope.function
    if function is None or function.vararg is None or value.node is not function.node:
        return False
    if not any(isinstance(one, ast.Name) and one.id == function.vararg for one in event.node.args):
        return False
    first = function.positional - (function.self_param is not None)
    return any(
        not (isinstance(one, Const) and one.value is None)
        for caller in context.flow.sites.callers(function)
        for one in caller.value.args[first:]
    )


def _is_axes(context: Context, found: Bound) -> bool:
    """Say whether a value is names of mesh axes, as a caller may give them."""
    if isinstance(found.value, Call):
        return context.flow.calls.callee_name(found).rpartition(".")[2] in _AXES
    return isinstance(found.value, Sequence | Comprehension)  # also `tuple(rules[name] for name in names)`


RULE = Rule(
    code="NNX611",
    name="sharding-needs-mesh",
    summary="a sharding annotation without a mesh",
    why="""\
Making a Variable with `sharding=` or `nnx.with_partitioning` places its array at once since Flax 0.12.0, and raises
"An auto mesh context or metadata is required" without a mesh. The old `with mesh:` does not count with current JAX
versions. Where the mesh comes from is the program's choice, so that no rewrite is offered.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.12.0",
    source="measured on Flax 0.11.2 and 0.12.0 to 0.12.8",
    examples=(
        Example(
            """\
import jax.numpy as jnp
from flax import nnx

weight = nnx.Param(jnp.ones((2, 2)), sharding=("data", "model"))
""",
            targets=("0.12",),
            run=False,
        ),
    ),
    check=check,
)
