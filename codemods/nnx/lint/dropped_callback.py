"""Calls of the host whose result nobody reads, which the compiler leaves out; part of NNX842."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import callers_of, foreign, in_test
from codemods.nnx.lint.traced import function_of
from codemods.nnx.values import Const, Sequence

_HELPERS = 3  # through how many functions a result is handed on
_EAGER = frozenset({"vmap", "checkpoint", "remat"})


def dropped_callbacks(context: Context) -> Iterator[tuple[CallEvent, CallEvent]]:
    """Yield the calls in compiled code whose result nothing reads, each with the ``pure_callback`` that gives it.

    One that gives nothing is left out wherever it stands: JAX compiles it alone, too.
    """
    for event, name in foreign(context, "pure_callback", everywhere=True):
        if name in {"jax.pure_callback", "jax.experimental.pure_callback"}:
            for dropped in (event,) if _gives_nothing(context, event) else _dropped(context, event, 0):
                if dropped.scope.module in context.asked and not in_test(dropped.scope):
                    if not context.bodies.guarded(dropped.node, dropped.scope):
                        yield dropped, event


def _gives_nothing(context: Context, event: CallEvent) -> bool:
    """Say whether a callback is told that the function on the host gives None, or an empty tuple."""
    given = event.value.argument(1, "result_shape_dtypes") or event.value.keyword("result_shape")
    found = context.flow.resolve(context.flow.here(given, event.scope)).value if given is not None else None
    if isinstance(found, Sequence):
        return isinstance(found.node, ast.Tuple | ast.List) and not found.items
    return found == Const(None)


def _dropped(context: Context, event: CallEvent, depth: int) -> Iterator[CallEvent]:
    """Yield a call if nothing reads what it gives, or the calls of the function that returns it."""
    function, statement = function_of(event.scope), event.statement
    if function is None or function.generator or getattr(statement, "value", None) is not event.node:
        return
    if isinstance(statement, ast.Return):
        roots = {root.function for root in context.traced.roots}
        if depth < _HELPERS and len(function.returns) == 1 and function not in roots:
            for caller in callers_of(context, function):
                yield from _dropped(context, caller, depth + 1)
    elif isinstance(statement, ast.Expr) or (
        isinstance(statement, ast.Assign) and all(_unread(event, target) for target in statement.targets)
    ):
        if _staged(context, function):
            yield event


def _staged(context: Context, function: FunctionFacts | None, depth: int = 0) -> bool:
    """Say whether a function is compiled; under ``checkpoint`` alone all its calls are made."""
    tracing = context.traced.get(function)
    if function is None or tracing is None or not tracing.staged or depth > _HELPERS:
        return False
    if any(last(root.transform) not in _EAGER for root in tracing.roots):
        return True
    around = [site.caller.function for site in tracing.sites if site.caller is not None]
    return any(_staged(context, one, depth + 1) for one in (function_of(function.scope.parent), *around))


def _unread(event: CallEvent, target: ast.expr) -> bool:
    """Say whether no function reads a variable."""
    if not isinstance(target, ast.Name) or target.id in event.scope.globals:
        return False
    return not any(
        (isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load))
        or (isinstance(n, ast.Nonlocal) and target.id in n.names)
        for n in ast.walk(event.scope.node)
    )
