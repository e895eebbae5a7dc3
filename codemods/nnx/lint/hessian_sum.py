"""NNX791: a Laplacian that is the sum of the whole Hessian."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import argument, constant, is_none
from codemods.nnx.lint.trace_of_output import traces_of_output
from codemods.nnx.lint.traced import function_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Function, Value

_NAMED = pattern(r"laplac|(^|_)lap(_|$)|(^|_)lapl(_|$)|hess(ian)?_?trace|trace_?(of_)?hess|kinetic")
_ONE = pattern(r"1_?d|one_?d")
_JACOBIANS = frozenset({"jax.jacfwd", "jax.jacrev", "jax.jacobian"})
_ALL_AXES = (None, (0, 1), (1, 0), (-1, -2), (-2, -1))


def _check(context: Context) -> Iterator[Finding]:
    if not any(True for _ in context.bodies.named("hessian", "jacfwd", "jacrev", "jacobian")):
        return
    for event, along in traces_of_output(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the first axis of this Hessian is the one feature of the network: its trace is not over the coordinates",
            f"take the trace along the last axes, axis1={along[0]} and axis2={along[1]}",
        )
    for event in context.bodies.named("sum"):
        if event.scope.module not in context.asked or event.value.starred or not _of_laplacian(event):
            continue
        name, callee = context.flow.calls.name(event), event.value.callee
        method = not name and isinstance(callee, Attr)
        if name not in {"jax.numpy.sum", "numpy.sum"} and not method:
            continue
        summed = callee.base if method and isinstance(callee, Attr) else next(iter(event.value.args), None)
        if summed is None or in_test(event.scope) or argument(event.node, 2 - int(method), "where") is not None:
            continue
        axis = argument(event.node, 1 - int(method), "axis")
        mapped = _hessian(context, context.flow.here(summed, event.scope))
        if mapped is None or (axis is not None and constant(axis) is None and not is_none(axis)):
            continue
        axes = constant(axis)
        axes = tuple(axes) if isinstance(axes, list) else axes
        if axes in (((1, 2), (2, 1), (-1, -2), (-2, -1)) if mapped else _ALL_AXES):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the Laplacian is the trace of the Hessian: its sum has the mixed derivatives, too",
                "take the diagonal: jnp.trace(hessian)",
            )


def _of_laplacian(event: CallEvent) -> bool:
    """Say whether the function around a call, or the variable that its result is given to, is named so."""
    words = []
    function = event.scope.function
    while function is not None:
        words.append(function.name)
        function = function_of(function.scope.parent)
    statement = event.statement
    if isinstance(statement, ast.Assign):
        words += [last_word(target) for target in statement.targets]
    words = [word.lower() for word in words]
    return any(map(_NAMED.search, words)) and not any(map(_ONE.search, words))


def _hessian(context: Context, bound: Bound) -> bool | None:
    """Say of a Hessian whether it is that of many points; None of anything else."""
    found = context.flow.resolve(bound)
    if not isinstance(found.value, Call):
        return None
    maker = context.flow.follow(found, found.value.callee)
    many = False
    if isinstance(maker.value, Call) and context.flow.calls.callee_name(maker) == "jax.vmap" and maker.value.args:
        maker, many = context.flow.follow(maker, maker.value.args[0]), True
        if isinstance(maker.value, Function) and len(maker.value.facts.returns) == 1:
            inner = context.flow.here(maker.value.facts.returns[0], maker.value.facts.scope)
            return True if _hessian(context, inner) is False else None
    if not isinstance(maker.value, Call) or not maker.value.args:
        return None
    name = context.flow.calls.callee_name(maker)
    function = context.flow.follow(maker, maker.value.args[0])
    if name in _JACOBIANS:
        if not isinstance(function.value, Call) or not function.value.args:
            return None
        if context.flow.calls.callee_name(function) not in _JACOBIANS | {"jax.grad"}:
            return None
        function = context.flow.follow(function, function.value.args[0])
    elif name != "jax.hessian":
        return None
    return None if _of_batch(context, function) else many


def _of_batch(context: Context, function: Bound) -> bool:
    """Say whether a function sums over points, so that there are no mixed derivatives."""
    if not isinstance(function.value, Function):
        return False
    for value in function.value.facts.returns:
        made = context.flow.here(value, function.value.facts.scope)
        if isinstance(value, Call) and (
            last(context.flow.calls.callee_name(made)) in {"sum", "mean"} or _reduces(value)
        ):
            return True
    return False


def _reduces(value: Value) -> bool:
    return isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name in {"sum", "mean"}


RULE = lint_rule(
    "NNX791",
    "sum-of-hessian",
    "a Laplacian that is the sum of all entries of the Hessian, or its trace along the axis of the output",
    why="""\
The Laplacian is the sum of the second derivatives by each coordinate, the trace of the Hessian. `jnp.sum` adds the
mixed derivatives to it, and a network is trained to solve another equation. It is the same in one dimension only.
The Hessian of a network whose last layer has one feature has an axis for that feature first, which `jnp.trace` takes
for a coordinate.
""",
    source="the definition; measured for a Poisson equation in two dimensions: an error of 0.131 instead of 0.019",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def laplacian(u, x):
    return jnp.sum(jax.hessian(u)(x))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def laplacian(u, x):
    return jnp.trace(jax.hessian(u)(x))
""",
    ),
)
