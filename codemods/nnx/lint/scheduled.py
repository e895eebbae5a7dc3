"""Schedules of optax that are functions of the project, and run in compiled steps; part of NNX820 and NNX810."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.flow import Callee
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.names import OPTIMIZERS, last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import assignments
from codemods.nnx.lint.traced import STAGED
from codemods.nnx.nodes import last_word
from codemods.nnx.ordered import OrderedSet

_WITH_SCHEDULE = frozenset({*map(last, OPTIMIZERS), "scale_by_schedule", "scale_by_learning_rate"})
_NAMES = ("learning_rate", "step_size_fn")


def schedules(context: Context) -> OrderedSet[tuple[FunctionFacts, str]]:
    """Return the schedules that get the count of updates as a traced number, each with the parameter that gets it.

    Args:
        context: the analysis.
    """
    return context.shared(_schedules)


def of_count(context: Context, function: FunctionFacts, name: str) -> frozenset[str]:
    """Return the variables of a schedule that are computed of the count.

    Args:
        context: the analysis.
        function: the schedule.
        name: the parameter that gets the count.
    """
    found, before = {name}, 0
    while len(found) != before:
        before = len(found)
        for node in context.bodies.nodes(function.scope):
            for target, value in assignments(node):
                if isinstance(target, ast.Name) and counts(value, frozenset(found)):
                    found.add(target.id)
    return frozenset(found)


def counts(node: ast.expr, names: frozenset[str]) -> bool:
    """Say whether a number is computed of variables by arithmetic, or by functions of arrays.

    Args:
        node: the number.
        names: the variables.
    """
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.BinOp):
        return counts(node.left, names) or counts(node.right, names)
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return counts(node.operand, names)
    return isinstance(node, ast.Call) and _of_arrays(node) and any(counts(one, names) for one in node.args)


def _of_arrays(node: ast.Call) -> bool:
    func = node.func
    if isinstance(func, ast.Name):
        return func.id in {"min", "max", "abs"}
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == "jnp"


def _schedules(context: Context) -> OrderedSet[tuple[FunctionFacts, str]]:
    if not any(module.source.mentions(b"optax") for module in context.project.modules):
        return OrderedSet()
    found = OrderedSet(_given(context))
    return found if found and _compiled(context) else OrderedSet()


def _given(context: Context) -> Iterator[tuple[FunctionFacts, str]]:
    for event, name in foreign(context, *sorted(_WITH_SCHEDULE), everywhere=True):
        given = event.value.argument(0, _NAMES[0]) or event.value.keyword(_NAMES[1])
        if not name.startswith("optax.") or given is None or event.value.starred or in_test(event.scope):
            continue
        callees = context.flow.calls.callables(context.flow.here(given, event.scope))
        param = _first(callees[0]) if len(callees) == 1 and not callees[0].gradient else ""
        if param and callees[0].function.scope.module in context.asked and not _asks(callees[0].function):
            yield callees[0].function, param


def _first(callee: Callee) -> str:
    """Return the parameter that a schedule's only argument fills."""
    function = callee.function
    names = list(function.params)[: function.positional]
    skip = len(callee.args) + int(callee.receiver is not None and function.binding in {"instance", "class"})
    bound = {word for word, _ in callee.keywords}
    free = [name for name in names[skip:] if name not in bound]
    return free[0] if free and not function.decorators else ""


def _asks(function: FunctionFacts) -> bool:
    """Say whether a function tells tracers from numbers, or converts what it is given."""
    words = {last_word(n) for n in ast.walk(function.node) if isinstance(n, ast.Name | ast.Attribute)}
    return bool(words & {"isinstance", "Tracer", "pure_callback", "io_callback"})


def _compiled(context: Context) -> bool:
    """Say whether all updates of the project stand in code that is traced for certain, and there are some."""
    found = 0
    for event in context.bodies.named("update", "apply_gradients"):
        if last_word(event.node.func) == "update":
            base = event.value.callee
            inner = getattr(base, "base", None)
            if inner is None:
                continue
            kinds = context.kinds.of(context.flow.here(inner, event.scope))
            if not kinds or not kinds <= {Kind.TRANSFORM, Kind.OPTIMIZER}:
                continue
        function = event.scope.function
        tracing = context.traced.get(function)
        if function is None or tracing is None or tracing.level < STAGED or not context.traced.certain(function):
            return False
        found += 1
    return found > 0
