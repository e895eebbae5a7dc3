"""NNX953: a sum over devices of what all of them have computed of the same data."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.shards import specs
from codemods.nnx.lint.syntax import argument, constant, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word

_MAPS = frozenset({"jax.shard_map", "flax.nnx.shard_map", "jax.experimental.shard_map.shard_map"})
# what differs from device to device, or counts the devices, so that the sum may be divided again
_APART = frozenset(
    {"axis_index", "ppermute", "all_gather", "psum_scatter", "all_to_all", "axis_size", "device_count", "process_index",
     "local_device_count", "pvary", "pcast", "pshuffle", "io_callback", "pure_callback", "devices"}
)  # fmt: skip
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"shard_map") for module in context.project.modules):
        return
    told: set[ast.AST] = set()
    for root in context.traced.roots:
        function = root.function
        if root.transform not in _MAPS or root.partial or in_test(root.scope):
            continue
        sharded = _sharded(context, root)
        if function.scope.module not in context.asked or sharded is None:
            continue
        if _apart(context, function, 0) or any(isinstance(n, ast.Div) for n in ast.walk(function.node)):
            continue
        params = set(list(function.params)[skipped(root) :])
        for node in context.bodies.nodes(function.scope):
            if isinstance(node, ast.Call) and last_word(node.func) == "psum" and node.args and node not in told:
                if sharded and not _over_others(node, sharded):
                    continue
                event = function.scope.module.values.get(node)
                if event is not None and names_in(node.args[0]) & _made(context, function, params):
                    told.add(node)
                    yield finding(
                        RULE.code,
                        function.scope,
                        node,
                        "every device has all the data here, and the sum over the devices counts it once for each",
                        'shard the data over the axis: in_specs=P("axis"), or leave the sum out',
                        related=[(root.node, "in_specs without an axis")]
                        if root.scope.module is function.scope.module
                        else [],
                    )
                    break


def _over_others(call: ast.Call, sharded: set[str]) -> bool:
    """Say whether a sum goes over an axis, too, over which nothing is sharded."""
    axes = constant(argument(call, 1, "axis_name"))
    names = axes if isinstance(axes, tuple) else (axes,)
    return all(isinstance(one, str) for one in names) and bool(set(names) - sharded)


def _sharded(context: Context, root: Root) -> set[str] | None:
    """Return the axes over which the arguments of a function are sharded; None if that is not known."""
    params = list(root.function.params.values())[skipped(root) :]
    if root.function.vararg is not None or not params or option(root, "in_specs", 2) is None:
        return None
    known = specs(context, root)
    if len(known) != len(params):
        return None
    return {axis for spec in known.values() for axes in spec for axis in axes}


def _apart(context: Context, function: FunctionFacts, depth: int) -> bool:
    """Say whether a function, or one that it calls, does something that differs between devices."""
    words = {last_word(n) for n in ast.walk(function.node) if isinstance(n, ast.Name | ast.Attribute)}
    if words & _APART or depth > _DEPTH:
        return True
    for event in context.bodies.calls.get(function.scope, ()):
        invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
        if any(one.function is not function and _apart(context, one.function, depth + 1) for one, _ in invoked):
            return True
    return False


def _made(context: Context, function: FunctionFacts, params: set[str]) -> set[str]:
    """Return the parameters of a function and what is computed of them."""
    made = set(params)
    for _ in range(_DEPTH):
        for node in context.bodies.nodes(function.scope):
            if isinstance(node, ast.Assign) and names_in(node.value) & made:
                made |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return made


_BAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:1]), ("data",))


def total(values):
    return jax.lax.psum(values.sum(), "data")


summed = jax.shard_map(total, mesh=mesh, in_specs=P(), out_specs=P())
print(summed(jnp.arange(8.0)))
"""

RULE = lint_rule(
    "NNX953",
    "counted-again",
    "a sum over the devices of what each has computed of all the data",
    why="""\
`in_specs=P()` gives every device the whole array. What each computes of it is the same, and `jax.lax.psum` of that is
the result times the number of devices, without an error: on one device it is right. The data has to be sharded over the
axis that is summed over.
""",
    source="JAX documentation of shard_map; measured: a histogram of 16384 of 4096 numbers on four devices",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("in_specs=P()", 'in_specs=P("data")'), _BAD.replace("psum(values.sum()", "pmean(values.sum()")),
)
