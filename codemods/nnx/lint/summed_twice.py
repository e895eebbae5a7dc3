"""NNX787: gradients of replicated parameters that are averaged in shard_map after they were summed there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import formula_of, in_test, received, written
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Param

# what makes a value one for all devices, or one of its own for each, so that it is not known what a gradient is
_OVER_DEVICES = frozenset(
    {"psum", "pmean", "pvary", "pcast", "all_gather", "psum_scatter", "ppermute", "all_to_all", "axis_index"}
)

_REDUCING = frozenset({"pmean", "psum"})


def _check(context: Context) -> Iterator[Finding]:
    for function, node, word in context.shared(summed_twice):
        yield finding(
            RULE.code,
            function.scope,
            node,
            "the gradients of what all devices share are summed over them already: "
            + ("the mean divides nothing" if word == "pmean" else "here they are summed once more"),
            "take the mean of the loss, before the gradient: jax.lax.pmean(loss, axis) in the function of the loss",
        )
    for function, node in _summed_in_loss(context):
        yield finding(
            RULE.code,
            function.scope,
            node,
            "the loss goes over the devices already, and so does its gradient: the sum is as many times too large as "
            "there are devices",
            "differentiate the loss of one device alone, and sum its gradient, or take the mean of both",
        )


def _summed_in_loss(context: Context) -> Iterator[tuple[FunctionFacts, ast.AST]]:
    """Yield the sums over the devices of ``pmap`` of gradients of losses that are summed or averaged over them."""
    for root in context.traced.roots:
        function = root.function
        if root.transform != "jax.pmap" or root.partial or in_test(root.scope):
            continue
        if function.scope.module not in context.asked or any(isinstance(n, ast.Div) for n in ast.walk(function.node)):
            continue
        grads: set[str] = set()
        for event in context.bodies.calls.get(function.scope, ()):
            maker = _of_reduced(context, event)
            statement = event.statement
            if not maker or not isinstance(statement, ast.Assign) or statement.value is not event.node:
                continue
            target = statement.targets[0]
            if maker == "value_and_grad":
                target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
            if isinstance(target, ast.Name):
                grads.add(target.id)
        for node in context.bodies.nodes(function.scope) if grads else ():
            word, given = _over_devices(node)
            if word == "psum" and any(isinstance(n, ast.Name) and n.id in grads for n in given):
                yield function, node


def _of_reduced(context: Context, event: CallEvent) -> str:
    """Return what gives the gradients of a loss that is a sum or mean over devices; empty for all other calls."""
    maker = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
    name = context.flow.calls.callee_name(maker) if isinstance(maker.value, Call) else ""
    if name not in GRADIENTS or not isinstance(maker.value, Call) or not maker.value.args:
        return ""
    callees = context.flow.calls.callables(context.flow.with_value(maker, maker.value.args[0]))
    formula = formula_of(context, callees[0].function) if len(callees) == 1 else None
    if not isinstance(formula, ast.Call) or last_word(formula.func) not in _REDUCING:
        return ""
    return last(name)


def summed_twice(context: Context) -> list[tuple[FunctionFacts, ast.AST, str]]:
    """Return the means and sums over devices of what is summed over them, with the functions and their names."""
    found: list[tuple[FunctionFacts, ast.AST, str]] = []
    for root in context.traced.roots:
        if root.transform != "jax.shard_map" or root.partial or in_test(root.scope):
            continue
        specs = option(root, "in_specs")
        specs = written(context, specs, root.scope) if specs is not None else None
        if option(root, "check_vma") is not None or not isinstance(specs, ast.Tuple):
            continue
        function = root.function
        names = [*function.params][int(root.bound) :]
        whole = {one for one, spec in zip(names, specs.elts, strict=False) if _replicated(context, root, spec)}
        if function.scope.module in context.asked and len(names) == len(specs.elts):
            found += _averaged(context, function, whole)
    return found


def _replicated(context: Context, root: Root, spec: ast.expr) -> bool:
    """Say whether a spec is that of what every device has as a whole: ``P()``."""
    made = written(context, spec, root.scope)
    return isinstance(made, ast.Call) and not made.args and last_word(made.func) in {"P", "PartitionSpec"}


def _averaged(
    context: Context, function: FunctionFacts, whole: set[str]
) -> Iterator[tuple[FunctionFacts, ast.AST, str]]:
    """Yield the means and sums over devices of gradients with respect to replicated parameters."""
    grads: dict[str, bool] = {}
    plain: dict[ast.AST, bool] = {}
    for event in context.bodies.calls.get(function.scope, ()):
        maker, averaged = _local(context, event, whole)
        if not maker:
            continue
        if maker == "grad":
            plain[event.node] = averaged
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        target = statement.targets[0]
        if maker == "value_and_grad":
            target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
        if isinstance(target, ast.Name):
            grads[target.id] = averaged
    divides = any(isinstance(n, ast.Div) for n in ast.walk(function.node))
    for node in context.bodies.nodes(function.scope) if grads or plain else ():
        word, given = _over_devices(node)
        if not word and isinstance(node, ast.Call):
            word, given = _by_helper(context, node, function)
        known = {grads[n.id] for n in given if isinstance(n, ast.Name) and n.id in grads}
        known |= {plain[n] for n in given if n in plain}
        if not known or (not all(known) and (word == "pmean" or divides)):
            continue
        yield function, node, word


def _local(context: Context, event: CallEvent, whole: set[str]) -> tuple[str, bool]:
    """Return what gives gradients of a loss of one device's batch with respect to a replicated parameter, and whether
    the loss is a mean; an empty name for all other calls."""
    given = event.value.args[0] if event.value.args else None
    if not isinstance(given, Param) or given.name not in whole or event.value.starred:
        return "", False
    maker = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
    name = context.flow.calls.callee_name(maker) if isinstance(maker.value, Call) else ""
    if name not in GRADIENTS or not isinstance(maker.value, Call) or not maker.value.args:
        return "", False
    if constant(keyword(maker.value.node, "argnums")) not in (None, 0):
        return "", False
    callees = context.flow.calls.callables(context.flow.with_value(maker, maker.value.args[0]))
    if len(callees) != 1 or not _silent(context, callees[0].function, 0):
        return "", False
    return last(name), _averages(context, callees[0].function, 0)


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


def _over_devices(node: ast.AST) -> tuple[str, list[ast.expr]]:
    """Return ``pmean`` or ``psum`` with the expressions that a call takes it of, also of each leaf of a tree."""
    if not isinstance(node, ast.Call) or not node.args:
        return "", []
    word = last_word(node.func)
    if word in _REDUCING:
        given = node.args[0]
        return word, list(given.elts) if isinstance(given, ast.Tuple | ast.List) else [given]
    if word not in {"map", "tree_map"} or len(node.args) != 2:
        return "", []
    each, whole = node.args
    parts = list(whole.elts) if isinstance(whole, ast.Tuple | ast.List) else [whole]
    if isinstance(each, ast.Call) and last_word(each.func) == "partial" and len(each.args) == 1:
        word = last_word(each.args[0])
        return (word, parts) if word in _REDUCING else ("", [])
    if not isinstance(each, ast.Lambda) or not isinstance(each.body, ast.Call) or not each.body.args:
        return "", []
    word, params, first = last_word(each.body.func), each.args.args, each.body.args[0]
    if word not in _REDUCING or len(params) != 1 or not isinstance(first, ast.Name) or first.id != params[0].arg:
        return "", []
    return word, parts


def _by_helper(context: Context, node: ast.Call, function: FunctionFacts) -> tuple[str, list[ast.expr]]:
    """Return the same as :func:`_over_devices` of a call of a function that gives the mean or sum of its argument."""
    value = function.scope.module.values.get(node)
    if not isinstance(value, Call) or value.starred or not node.args:
        return "", []
    callees = context.flow.calls.callables(context.flow.follow(context.flow.here(value, function.scope), value.callee))
    if len(callees) != 1 or callees[0].args or callees[0].keywords:
        return "", []
    helper = callees[0].function
    formula = formula_of(context, helper)
    word, given = _over_devices(formula) if formula is not None else ("", [])
    params = list(helper.params)[received(helper) :]
    if len(given) != 1 or not isinstance(given[0], ast.Name) or given[0].id not in params:
        return "", []
    place = params.index(given[0].id)
    return (word, [node.args[place]]) if place < len(node.args) else ("", [])


RULE = lint_rule(
    "NNX787",
    "gradients-summed-twice",
    "pmean or psum of gradients that are summed over the devices already",
    why="""\
With `check_vma`, the default of `jax.shard_map`, a parameter with the spec `P()` is one value for all devices, and its
gradient is the sum over them. `pmean` of that sum changes nothing, so that the gradients of a mean are as many times
too large as there are devices; `psum` makes them so many times larger in any case. Take
`jax.lax.pmean` of the loss within the function that is differentiated.

In `pmap` the gradient of `psum` of a loss is as many times that of one device, and that of `pmean` the one of its own
part: `psum` of either counts every device once for each device.
""",
    source="JAX documentation of shard_map; measured on 4 devices: gradients 4 or 16 times as large, without an error",
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
