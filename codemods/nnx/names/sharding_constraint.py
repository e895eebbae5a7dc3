"""NNX504: ``nnx.with_sharding_constraint``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.compat import borrow
from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import new_import, spell_name
from codemods.nnx.names.references import Reference, nnx_references
from codemods.nnx.nodes import last_word
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Value

_NAMES = frozenset({"flax.nnx.with_sharding_constraint", "flax.nnx.spmd.with_sharding_constraint"})
_SPECS = frozenset({"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.pjit.PartitionSpec"})
_NAMED = frozenset({"flax.nnx.get_partition_spec", "flax.nnx.spmd.get_partition_spec"})
_SETTING = frozenset({"set_mesh", "use_mesh"})
_MESHES = frozenset({"jax.sharding.Mesh", "jax.make_mesh", "jax.sharding.AbstractMesh"})


def check(context: Context) -> Iterator[Finding]:
    """Yield uses of the function, which exists up to Flax 0.11.1."""
    if context.options.target == "0.10":
        return
    found = [r for r in nnx_references(context) if r.name in _NAMES]
    if not found:
        return
    calls = {event.node.func: event for event in context.project.calls()}
    for reference in found:
        edits = None
        if reference.statement is not None:
            edits = _import(context, reference, reference.statement)
        elif isinstance(reference.node, ast.expr) and reference.scope.module.source.faithful(reference.node):
            event = calls.get(reference.node)
            edits = (_inline(context, event) or _within(context, event) if event is not None else None) or _helper(
                context, reference
            )
        yield finding(
            "NNX504",
            reference.scope,
            reference.node,
            "nnx.with_sharding_constraint does not exist since Flax 0.11.2",
            "call jax.lax.with_sharding_constraint with a NamedSharding; without a mesh it raises an error",
            Fix(edits) if edits is not None else None,
        )


def _inline(context: Context, event: CallEvent) -> tuple[tuple[str, Edit], ...] | None:
    """Return the edits that call JAX's function with the mesh and the names joined; None if they are not both clear."""
    call, source = event.value, event.scope.module.source
    mesh = call.argument(2, "mesh")
    if call.starred or len(call.node.args) < 2 or mesh is None or not source.faithful(call.node):
        return None
    if not _made_by(context, call.args[1], event.scope, _SPECS) or not _made_by(context, mesh, event.scope, _MESHES):
        return None
    last = [*call.node.args[2:], *(k.value for k in call.node.keywords)]
    function = spell_name(context.flow, event.scope, "jax.lax.with_sharding_constraint")
    sharding = spell_name(context.flow, event.scope, "jax.sharding.NamedSharding")
    if function is None or sharding is None or len(last) != 1:
        return None
    (start, end), (mesh_start, mesh_end) = source.span(call.node.args[1]), source.span(last[0])
    between = source.data[end:mesh_start]
    if b"#" in between or between.replace(b"mesh", b"").replace(b"=", b"").strip() != b",":
        return None
    opening = f"{sharding.text}({source.text(last[0])}, ".encode()
    edits = [
        Edit(*source.span(call.node.func), function.text.encode()),
        Edit(start, start, opening),
        Edit(end, mesh_end, b")"),
        *function.edits,
        *sharding.edits,
    ]
    return tuple((source.path, edit) for edit in edits)


def _within(context: Context, event: CallEvent) -> tuple[tuple[str, Edit], ...] | None:
    """Return the edits that call JAX's function with names alone; None unless the project sets a mesh around it."""
    call, source = event.value, event.scope.module.source
    if call.starred or len(call.args) != 2 or call.keywords or not source.faithful(call.node):
        return None
    if not _made_by(context, call.args[1], event.scope, _SPECS | _NAMED) or not _sets_mesh(context):
        return None
    function = spell_name(context.flow, event.scope, "jax.lax.with_sharding_constraint")
    if function is None:
        return None
    edits = [Edit(*source.span(call.node.func), function.text.encode()), *function.edits]
    return tuple((source.path, edit) for edit in edits)


def _sets_mesh(context: Context) -> bool:
    """Say whether code of the project runs within a mesh: ``with mesh:``, ``jax.set_mesh(mesh)`` and the like."""
    for module in context.project.modules:
        if not module.source.mentions(b"mesh"):
            continue
        for node in ast.walk(module.source.tree):
            if isinstance(node, ast.With) and any(_mesh(item.context_expr) for item in node.items):
                return True
            if isinstance(node, ast.Call) and last_word(node.func) in _SETTING:
                return True
    return False


def _mesh(node: ast.expr) -> bool:
    return last_word(node.func if isinstance(node, ast.Call) else node).lower().endswith("mesh")


def _made_by(context: Context, value: Value, scope: Scope, makers: frozenset[str]) -> bool:
    found = context.flow.resolve(context.flow.here(value, scope))
    return isinstance(found.value, Call) and context.flow.calls.callee_name(found) in makers


def _helper(context: Context, reference: Reference) -> tuple[tuple[str, Edit], ...] | None:
    """Return the edits that use the function of the compatibility module."""
    borrowed = borrow(context.project, reference.scope, "with_sharding_constraint")
    if borrowed is None or not isinstance(reference.node, ast.Attribute):
        return None
    source = reference.scope.module.source
    return (*borrowed.edits, (source.path, Edit(*source.span(reference.node), borrowed.text.encode())))


def _import(context: Context, reference: Reference, statement: ast.ImportFrom) -> tuple[tuple[str, Edit], ...] | None:
    """Return the edits that import the function from the compatibility module instead."""
    module = reference.scope.module
    source = module.source
    assert isinstance(reference.node, ast.alias)
    borrowed = borrow(context.project, reference.scope, "with_sharding_constraint", replaced=statement)
    if borrowed is None:
        return None
    line = borrowed.import_line + (f" as {reference.node.asname}" if reference.node.asname else "")
    start, end = source.span(reference.node)
    if len(statement.names) == 1:
        return (*borrowed.edits, (source.path, Edit(*source.span(statement), line.encode())))
    index = statement.names.index(reference.node)
    if index:
        start = source.span(statement.names[index - 1])[1]
    else:
        end = source.span(statement.names[1])[0]
    if b"#" in source.data[start:end]:
        return None
    return (*borrowed.edits, (source.path, Edit(start, end, b"")), (source.path, new_import(module, line)))


_BEFORE = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
x = nnx.with_sharding_constraint(jnp.ones((2, 2)), P("data"), mesh)
print(x.sum())
"""

RULE = Rule(
    code="NNX504",
    name="sharding-constraint",
    summary="nnx.with_sharding_constraint was removed",
    why="""\
`nnx.with_sharding_constraint` does not exist since Flax 0.11.2. With an explicit mesh it was
`jax.lax.with_sharding_constraint(x, NamedSharding(mesh, spec))`. Without one it did nothing outside a mesh context,
where JAX's function raises an error: such calls become JAX's where the project runs code within a mesh
(`with mesh:`, `jax.set_mesh`), and go to a function of the same meaning in a small module, `_nnx_compat.py`, elsewhere.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.2",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before=_BEFORE,
            after=_BEFORE.replace(
                'nnx.with_sharding_constraint(jnp.ones((2, 2)), P("data"), mesh)',
                'jax.lax.with_sharding_constraint(jnp.ones((2, 2)), jax.sharding.NamedSharding(mesh, P("data")))',
            ),
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
