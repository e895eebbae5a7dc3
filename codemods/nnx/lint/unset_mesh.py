"""NNX664: ``with_sharding_constraint`` with a bare PartitionSpec where nothing sets a mesh."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Call, Mapping, Sequence, Value

_CONSTRAINING = frozenset({"jax.lax.with_sharding_constraint", "jax.experimental.pjit.with_sharding_constraint"})
_SPECS = frozenset({"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.pjit.PartitionSpec"})
_MESHES = frozenset({"jax.sharding.Mesh", "jax.make_mesh", "jax.experimental.maps.Mesh"})
# with one of these a mesh is set, or may be, in other ways than by a block
_SETTING = (
    b"set_mesh", b"use_mesh", b"use_abstract_mesh", b"shard_map", b"enter_context", b"__enter__", b"thread_resources",
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    events = [
        event
        for event, name in foreign(context, "with_sharding_constraint")
        if name in _CONSTRAINING and not in_test(event.scope) and _bare(context, event)
    ]
    if not events or not any(name in _MESHES for _, name in foreign(context, "Mesh", "make_mesh", everywhere=True)):
        return  # perhaps a library, whose users set one
    if any(_may_set(module) for module in context.project.modules):
        return
    for event in events:
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "a PartitionSpec alone needs a mesh around it, and nothing in this project sets one: a RuntimeError",
            "give NamedSharding(mesh, ...), or call this within `with jax.set_mesh(mesh):`",
        )


def _bare(context: Context, event: CallEvent) -> bool:
    """Say whether a call is given a PartitionSpec without its mesh, in any case."""
    given = event.value.argument(1, "shardings")
    if given is None or event.value.starred:
        return False
    around = context.bodies.paths(event.scope).get(event.node, ())
    if any(isinstance(block, ast.If | ast.Try | ast.IfExp) for block, _ in around):
        return False
    return _specs(context, context.flow.here(given, event.scope))


def _specs(context: Context, given: Bound) -> bool:
    """Say whether a value is a PartitionSpec for certain, or a dict, list or tuple of them."""
    made = context.sources.originals(given)
    return bool(made) and all(_spec(context, one) for one in made)


def _spec(context: Context, one: Bound) -> bool:
    parts: list[Value] = []
    if isinstance(one.value, Mapping):
        parts = [value for _, value in one.value.items]
    elif isinstance(one.value, Sequence):
        parts = list(one.value.items)
    if parts:
        return all(_specs(context, context.flow.with_value(one, part)) for part in parts)
    return isinstance(one.value, Call) and context.flow.calls.callee_name(one) in _SPECS


def _may_set(module: ModuleFacts) -> bool:
    """Say whether a module may set a mesh for code in it, or elsewhere."""
    if any(module.source.mentions(word) for word in _SETTING):
        return True
    blocks = (n for n in ast.walk(module.scope.node) if isinstance(n, ast.With | ast.AsyncWith))
    return any("mesh" in ast.unparse(item.context_expr).lower() for block in blocks for item in block.items)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((1,), ("data",))


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jax.lax.with_sharding_constraint(self.fc(x), P("data", None))


@nnx.jit
def run(model, x):
    return model(x)


model = Net(nnx.Rngs(0))
"""

RULE = lint_rule(
    "NNX664",
    "constraint-without-mesh",
    "with_sharding_constraint gets a PartitionSpec without a mesh, and nothing sets one",
    why="""\
A PartitionSpec names axes of a mesh and not the mesh. `jax.lax.with_sharding_constraint(x, P("data"))` takes the mesh
from around it, from `with jax.set_mesh(mesh):` or `with mesh:`; that the arrays are placed on one, or that `jit` is
given shardings, does not count. Without one it raises a RuntimeError.
""",
    source="flax issue 4791; measured with JAX 0.6, 0.7 and 0.10: a RuntimeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace('P("data", None))', 'NamedSharding(mesh, P("data", None)))'),
        _BAD + "with jax.set_mesh(mesh):\n    print(run(model, jnp.ones((2, 4))).shape)\n",
    ),
)
