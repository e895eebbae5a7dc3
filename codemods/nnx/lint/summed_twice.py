"""NNX787: gradients of replicated parameters that are averaged in shard_map after they were summed there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import constant, keyword, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Param

# what makes a value one for all devices, or one of its own for each, so that it is not known what a gradient is
_OVER_DEVICES = frozenset(
    {"psum", "pmean", "pvary", "pcast", "all_gather", "psum_scatter", "ppermute", "all_to_all", "axis_index"}
)


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "shard_map", everywhere=True):
        if name != "jax.shard_map" or in_test(event.scope) or event.value.starred:
            continue
        if keyword(event.node, "check_vma") is not None or not event.value.args:
            continue
        specs = keyword(event.node, "in_specs")
        specs = written(context, specs, event.scope) if specs is not None else None
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        if len(callees) != 1 or callees[0].args or callees[0].keywords or not isinstance(specs, ast.Tuple):
            continue
        function = callees[0].function
        names = [*function.params][int(callees[0].receiver is not None) :]
        whole = {one for one, spec in zip(names, specs.elts, strict=False) if _replicated(context, event, spec)}
        if function.scope.module in context.asked and len(names) == len(specs.elts):
            yield from _averaged(context, function, whole)


def _replicated(context: Context, event: CallEvent, spec: ast.expr) -> bool:
    """Say whether a spec is that of what every device has as a whole: ``P()``."""
    made = written(context, spec, event.scope)
    return isinstance(made, ast.Call) and not made.args and last_word(made.func) in {"P", "PartitionSpec"}


def _averaged(context: Context, function: FunctionFacts, whole: set[str]) -> Iterator[Finding]:
    """Yield the means over devices of gradients with respect to replicated parameters."""
    grads: set[str] = set()
    for event in context.bodies.calls.get(function.scope, ()):
        statement = event.statement
        if not isinstance(event.node.func, ast.Call) or not isinstance(statement, ast.Assign):
            continue
        if statement.value is event.node and _local(context, event, whole):
            target = statement.targets[0]
            if last_word(event.node.func.func) == "value_and_grad":
                target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
            if isinstance(target, ast.Name):
                grads.add(target.id)
    for node in context.bodies.nodes(function.scope) if grads else ():
        if isinstance(node, ast.Call) and _mean_of(node, grads):
            yield finding(
                RULE.code,
                function.scope,
                node,
                "the gradients of what all devices share are summed over them already: the mean divides nothing",
                "take the mean of the loss, before the gradient: jax.lax.pmean(loss, axis) in the function of the loss",
            )


def _local(context: Context, event: CallEvent, whole: set[str]) -> bool:
    """Say whether a call gives gradients of a loss of one device's batch with respect to a replicated parameter."""
    made = event.node.func
    assert isinstance(made, ast.Call)
    maker = next((one for one in context.bodies.calls.get(event.scope, ()) if one.node is made), None)
    if maker is None or context.flow.calls.name(maker) not in GRADIENTS or not maker.value.args:
        return False
    given = event.value.args[0] if event.value.args else None
    number = constant(keyword(made, "argnums"))
    if number not in (None, 0) or not isinstance(given, Param) or given.name not in whole:
        return False
    callees = context.flow.calls.callables(context.flow.here(maker.value.args[0], maker.scope))
    if len(callees) != 1 or not _silent(context, callees[0].function, 0):
        return False
    return _averages(context, callees[0].function, 0)


def _averages(context: Context, function: FunctionFacts, depth: int) -> bool:
    """Say whether a loss is a mean over what one device has, and not divided by the size of the whole batch."""
    if depth > 4 or any(isinstance(n, ast.Div) for n in ast.walk(function.node)):
        return False
    if any(isinstance(n, ast.Call) and last_word(n.func) == "mean" for n in ast.walk(function.node)):
        return True
    calls = context.bodies.calls.get(function.scope, ())
    invoked = [c for one in calls for c, _ in context.flow.calls.invoked(context.flow.here(one.value, one.scope))]
    return any(_averages(context, callee.function, depth + 1) for callee in invoked)


def _silent(context: Context, function: FunctionFacts, depth: int) -> bool:
    """Say whether a loss is known as a whole, and nothing in it goes over the devices."""
    if depth > 4 or any(last_word(n) in _OVER_DEVICES for n in ast.walk(function.node)):
        return False
    for event in context.bodies.calls.get(function.scope, ()):
        if context.flow.calls.name(event):
            continue
        invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
        if invoked and not all(_silent(context, callee.function, depth + 1) for callee, _ in invoked):
            return False
        if not invoked and not isinstance(event.node.func, ast.Attribute):
            return False
    return True


def _mean_of(node: ast.Call, grads: set[str]) -> bool:
    """Say whether a call is ``pmean`` of gradients, or a map over their tree that takes it of each."""
    word = last_word(node.func)
    if word == "pmean":
        return bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id in grads
    if word not in {"map", "tree_map"} or len(node.args) != 2 or not isinstance(node.args[0], ast.Lambda):
        return False
    body, params = node.args[0].body, node.args[0].args.args
    each = isinstance(body, ast.Call) and last_word(body.func) == "pmean" and len(params) == 1
    if not each or not isinstance(body, ast.Call) or not body.args or names_in(body.args[0]) != {params[0].arg}:
        return False
    return isinstance(body.args[0], ast.Name) and isinstance(node.args[1], ast.Name) and node.args[1].id in grads


RULE = lint_rule(
    "NNX787",
    "gradients-summed-twice",
    "pmean of gradients of replicated parameters in shard_map, which has summed them already",
    why="""\
With `check_vma`, the default of `jax.shard_map`, a parameter with the spec `P()` is one value for all devices, and its
gradient is the sum over them. `pmean` of that sum changes nothing: the gradients are as many times too large as there
are devices. Take `jax.lax.pmean` of the loss within the function that is differentiated.
""",
    source="JAX documentation of shard_map; measured on 4 devices: gradients 4 times as large, without an error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((1,), ("data",))


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    grads = jax.grad(loss)(w, x)
    return w - 0.1 * jax.lax.pmean(grads, "data")


train = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((1,), ("data",))


def loss(w, x):
    return jax.lax.pmean(jnp.mean((x @ w) ** 2), "data")


def step(w, x):
    return w - 0.1 * jax.grad(loss)(w, x)


train = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
    ),
)
