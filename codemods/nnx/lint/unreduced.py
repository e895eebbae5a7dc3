"""NNX757: a mean over the shard of one device that is given out as that of all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import shown
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call

_SPECS = frozenset({"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.pjit.PartitionSpec"})
_REDUCING = frozenset({"mean", "sum", "max", "min", "prod", "std", "var"})
_PURE = ("jax.numpy.", "jax.nn.", "optax.")


def _check(context: Context) -> Iterator[Finding]:
    for root in context.traced.roots:
        if last(root.transform) != "shard_map" or root.options is None or root.scope.module not in context.asked:
            continue
        specs, out = option(root, "in_specs"), option(root, "out_specs")
        if specs is None or out is None or not _whole(context, root, out):
            continue
        axes = {n.value for n in ast.walk(specs) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        returned = _reduced(context, root, specs)
        if axes and returned is not None:
            axis = sorted(axes)[0]
            yield finding(
                RULE.code,
                root.function.scope,
                returned,
                f"{shown(root.function)} reduces its own shard only, and out_specs says that all devices have the same",
                f'reduce over the devices too: jax.lax.pmean(..., "{axis}"), or psum of a sum',
            )


def _whole(context: Context, root: Root, node: ast.expr) -> bool:
    """Say whether a spec is ``P()``."""
    value = root.scope.module.values.get(node)
    found = context.flow.resolve(context.flow.here(value, root.scope)) if value is not None else None
    if found is None or not isinstance(found.value, Call) or found.value.args or found.value.keywords:
        return False
    return context.flow.calls.callee_name(found) in _SPECS


def _reduced(context: Context, root: Root, specs: ast.expr) -> ast.AST | None:
    """Return what a function returns, if that is a reduction of a shard, and no other device is asked."""
    function = root.function
    if len(function.returns) != 1 or function.generator:
        return None
    for event in context.bodies.calls.get(function.scope, ()):
        name = context.flow.calls.name(event)
        callee = event.value.callee
        method = isinstance(callee, Attr) and not name and callee.name in _REDUCING | {"astype", "reshape"}
        if not name.startswith(_PURE) and not method:
            return None  # what is called may ask the other devices
    value = function.returns[0]
    if not isinstance(value, Call):
        return None
    name = context.flow.calls.callee_name(context.flow.here(value, function.scope))
    whole = not value.keywords and len(value.args) <= 1
    if last(name) not in _REDUCING or not name.startswith("jax.numpy.") or not whole:
        if name or not isinstance(value.callee, Attr) or value.callee.name not in _REDUCING or value.args:
            return None
    return value.node if _sharded(context, value.node, function, root, specs) else None


def _sharded(context: Context, node: ast.AST, function: FunctionFacts, root: Root, specs: ast.expr) -> bool:
    """Say whether a result depends on a parameter that is sharded."""
    specced = specs.elts if isinstance(specs, ast.Tuple) else [specs] * len(function.params)
    sharded = {
        name
        for name, spec in zip(function.params, specced, strict=False)
        if any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(spec))
    }
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    for inner in reversed(context.bodies.nodes(function.scope)):
        if isinstance(inner, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in inner.targets):
            names |= {n.id for n in ast.walk(inner.value) if isinstance(n, ast.Name)}
    return bool(names & sharded)


RULE = lint_rule(
    "NNX757",
    "unreduced-shard",
    "shard_map gives the mean of one shard for that of all",
    why="""\
Under `jax.shard_map` a function sees the shard of one device. `jnp.mean(x)` is the mean of that shard, and differs
between the devices; `out_specs=P()` says that it does not. JAX raises a ValueError, or with `check_vma=False` gives the
result of the first device. `jax.lax.pmean` or `psum` over the axis reduces the rest.
""",
    source="jax documentation of shard_map, issue 14273; measured on JAX 0.10.2: ValueError",
    check=_check,
    bad=(
        """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def mean_loss(x):
    return jnp.mean(x**2)
""",
    ),
    clean=(
        """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def mean_loss(x):
    return jax.lax.pmean(jnp.mean(x**2), "data")
""",
    ),
)
