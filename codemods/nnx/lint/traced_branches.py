"""Calls that traced code does not come to: behind conditions on tracers, classes and flags."""

from __future__ import annotations

import ast

from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.bodies import Bodies
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Free, Param


def without_tracers(event: CallEvent, bodies: Bodies) -> bool:
    """Say whether a call runs only where something is no tracer: ``if not isinstance(x, jax.core.Tracer)``,
    or where JAX computes at once."""
    if bodies.evaluated(event.node, event.scope):
        return True
    if not any(map(event.scope.module.source.mentions, (b"Tracer", b"is_concrete", b"trace_state_clean"))):
        return False
    path = bodies.paths(event.scope).get(event.node, ())
    tests = [(block.test, arm == "body") for block, arm in path if isinstance(block, ast.If | ast.IfExp)]
    tests += [(guard.test, False) for guard in bodies.behind(event.node, event.scope)]
    return any(_no_tracer(test, holds) for test, holds in tests)


def at_once(function: FunctionFacts) -> bool:
    """Say whether a decorator has JAX compute at once what a function does: ``@jax.ensure_compile_time_eval()``."""
    return any(
        isinstance(one, ast.Call) and last_word(one.func) == "ensure_compile_time_eval"
        for one in getattr(function.node, "decorator_list", ())
    )


def of_own(event: CallEvent, bodies: Bodies) -> bool:
    """Say whether a method calls something only where it is given an object of its own class, and no array."""
    function = event.scope.function
    if function is None or function.owner is None:
        return False
    for block, arm in bodies.paths(event.scope).get(event.node, ()):
        test = block.test if isinstance(block, ast.If | ast.IfExp) and arm == "body" else None
        if isinstance(test, ast.Call) and last_word(test.func) == "isinstance" and len(test.args) == 2:
            if last_word(test.args[1]) == function.owner.name and last_word(test.args[0]) in function.params:
                return True
    return False


def _no_tracer(test: ast.expr, holds: bool) -> bool:
    """Say whether the truth of a condition tells that something is no tracer."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _no_tracer(test.operand, not holds)
    if isinstance(test, ast.BoolOp):
        told = [_no_tracer(part, holds) for part in test.values]
        return any(told) if isinstance(test.op, ast.And) is holds else all(told)
    if not isinstance(test, ast.Call):
        return False
    if last_word(test.func) in {"is_concrete", "trace_state_clean"}:
        return holds
    tracer = last_word(test.func) == "isinstance" and len(test.args) == 2 and last_word(test.args[1]) == "Tracer"
    return tracer and not holds


def in_other_arm(function: FunctionFacts, event: CallEvent, bodies: Bodies) -> bool:
    """Say whether a function is one of several of its name, and written in another arm of a condition than a call."""
    home = function.scope.parent
    if home is None or function.owner is not None or len(home.bindings.get(function.name, ())) < 2:
        return False
    place: ast.AST = event.node
    around: Scope | None = event.scope
    while around is not home:
        if around is None or around.parent is None:
            return False
        place, around = around.node, around.parent
    known = bodies.paths(home)
    for (block, arm), (other, there) in zip(known.get(place, ()), known.get(function.node, ()), strict=False):
        if block is not other or isinstance(block, ast.For | ast.While | ast.AsyncFor):
            return False
        if arm != there:
            return isinstance(block, ast.If)
    return False


def on_condition(event: CallEvent) -> bool:
    """Say whether a function applies a transform only where some condition holds."""
    around = event.scope.function
    if around is None:
        return True
    node = around.node
    blocks = [n for n in ast.walk(node) if isinstance(n, ast.If | ast.IfExp | ast.BoolOp | ast.Try | ast.Match)]
    line = event.node.lineno
    return any(
        _holds(block, event.node) or (block.lineno < line and any(isinstance(n, ast.Return) for n in ast.walk(block)))
        for block in blocks
    )


def switched_by(node: ast.AST, scope: Scope, function: FunctionFacts, bodies: Bodies) -> list[tuple[str, bool]]:
    """Return the parameters that conditions around a place ask for, with the truth at which it is not reached.

    Args:
        node: the place.
        scope: the body that it stands in.
        function: the function whose parameters are meant, which that body is of or in.
        bodies: indexes over nodes.
    """
    found: list[tuple[str, bool]] = []
    values = function.scope.module.values
    around = enclosing_function(scope)
    while around is not None:
        for block, arm in bodies.paths(around.scope).get(node, ()):
            if not isinstance(block, ast.If) or arm not in {"body", "orelse"}:
                continue
            negated = isinstance(block.test, ast.UnaryOp) and isinstance(block.test.op, ast.Not)
            test = block.test.operand if isinstance(block.test, ast.UnaryOp) else block.test
            flag = values.get(test) if isinstance(test, ast.Name) else None
            while isinstance(flag, Free) and len(bound := flag.scope.bindings.get(flag.name, [])) == 1:
                flag = bound[0]
            if isinstance(flag, Param) and flag.function is function:
                found.append((flag.name, (arm == "body") is negated))
        if around is function:
            break
        node, around = around.node, enclosing_function(around.scope.parent)
    return found


def _holds(block: ast.AST, node: ast.AST) -> bool:
    return any(n is node for n in ast.walk(block))
