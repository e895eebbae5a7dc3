"""Samplers of a diffusion that begin with the step at which there is no noise; part of NNX691."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.places import each, in_test, position, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Param

_SHARES = pattern(r"^_?(betas?|alphas?|alphas?_?(bar|hat|cumprod)s?|sqrt_\w*alphas?\w*)(_t)?$", re.I)
_TURNING = frozenset({"flip", "reversed", "flipud", "sort"})


def ascending_samplers(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the means of the step before in loops that count the steps up from zero, each with the number of the step.

    Args:
        context: the analysis.
    """
    modules = {m for m in context.asked.modules if m.source.mentions(b"beta") and m.source.mentions(b"alpha")}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if scope.module not in modules or not isinstance(node.op, ast.Div | ast.Mult) or in_test(scope):
            continue
        if not _of_step_before(context, node, scope):
            continue
        steps = _steps(context, scope)
        if len(steps) == 1 and not _turned(scope) and _counts_up(context, step := steps.pop(), scope):
            yield scope, node, step


def _of_step_before(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether an expression is ``(x - beta / root * noise) / sqrt(alpha)``, or its product with ``1 / sqrt``."""
    sides = (node.left,) if isinstance(node.op, ast.Div) else (node.left, node.right)
    for less in sides:
        made = written(context, less, scope)
        if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Sub):
            continue
        scale = node.left if less is node.right else node.right
        scale = written(context, scale, scope)
        if isinstance(scale, ast.BinOp) and isinstance(scale.op, ast.Div) and constant(scale.left) == 1:
            scale = scale.right
        elif less is node.right or isinstance(node.op, ast.Mult):
            continue
        rooted = isinstance(scale, ast.Call) and last_word(scale.func) == "sqrt" and len(scale.args) == 1
        if not isinstance(scale, ast.Call) or not rooted or not _share(scale.args[0], r"alpha"):
            continue
        taken = operands(written(context, made.right, scope), ast.Mult)
        if len(taken) == 2 and any(_over_root(context, one, scope) for one in taken):
            return True
    return False


def _over_root(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is ``beta / sqrt(1 - alpha_bar)``, or ``(1 - alpha) / sqrt(..)``."""
    made = written(context, node, scope)
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Div):
        return False
    root = written(context, made.right, scope)
    return isinstance(root, ast.Call) and last_word(root.func) == "sqrt"


def _share(node: ast.expr, word: str) -> bool:
    return _SHARES.search(entry_word(node)) is not None and word in entry_word(node).lower()


def _steps(context: Context, scope: Scope) -> set[str]:
    """Return the names of the steps whose shares of noise or signal a body takes; an expression stands for itself."""
    return {
        ast.unparse(one.slice)
        for one in context.bodies.nodes(scope)
        if isinstance(one, ast.Subscript) and _SHARES.search(entry_word(one.value))
    }


def _counts_up(context: Context, step: str, scope: Scope) -> bool:
    """Say whether a loop counts a step up from zero, in a body or in all functions that call it."""
    if step in _counted_up(context, scope):
        return True
    function = scope.function
    param = function.params.get(step) if function is not None else None
    if function is None or param is None or context.bodies.stores(scope, step):
        return False
    callers = context.flow.sites.callers(function)
    return bool(callers) and all(
        not event.value.starred and _given_name(event, param) in _counted_up(context, event.scope) for event in callers
    )


def _given_name(event: CallEvent, param: Param) -> str:
    """Return the variable that a call gives as the step, alone or for all examples: ``jnp.full((n,), t)``."""
    node = argument(event.node, position(param), param.name)
    if isinstance(node, ast.Call) and last_word(node.func) in {"full", "full_like"} and len(node.args) > 1:
        node = node.args[1]
    return node.id if isinstance(node, ast.Name) else ""


def _counted_up(context: Context, scope: Scope) -> set[str]:
    """Return the variables that a loop counts up from zero, by one: of ``for``, of ``fori_loop`` or of ``scan``."""
    found = set()
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and _from_zero(node.iter, "range"):
            found.add(node.target.id)
    function = scope.function
    if function is None:
        return found
    names = list(function.params)
    for event in context.flow.sites.calls_of("fori_loop"):
        if len(event.node.args) == 4 and _gets(context, event.node.args[2], event.scope, scope):
            if constant(event.node.args[0]) == 0 and names:
                found.add(names[0])
    for event in context.flow.sites.calls_of("scan"):
        given = argument(event.node, 2, "xs")
        if given is None or not event.node.args or len(names) != 2 or argument(event.node, 4, "reverse") is not None:
            continue
        if _gets(context, event.node.args[0], event.scope, scope):
            made = written(context, given, event.scope)
            if _from_zero(made, "arange"):
                found.add(names[1])
            found |= _unpacked(context, made, names[1], scope)
    return found & _once(context, scope, found)


def _unpacked(context: Context, given: ast.expr, name: str, scope: Scope) -> set[str]:
    """Return the variable of ``t, key = given`` that gets the numbers of a pair which ``scan`` goes along."""
    if not isinstance(given, ast.Tuple):
        return set()
    return {
        target.id
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name
        and isinstance(node.targets[0], ast.Tuple) and len(node.targets[0].elts) == len(given.elts)
        for target, one in zip(node.targets[0].elts, given.elts, strict=True)
        if isinstance(target, ast.Name) and _from_zero(written(context, one, scope), "arange")
    }  # fmt: skip


def _once(context: Context, scope: Scope, names: set[str]) -> set[str]:
    """Return the names that nothing else in a body sets."""
    params = scope.function.params if scope.function is not None else {}
    return {one for one in names if len(context.bodies.stores(scope, one)) == int(one not in params)}


def _from_zero(node: ast.expr, word: str) -> bool:
    """Say whether an expression is ``range(n)``, or that from zero on."""
    if not isinstance(node, ast.Call) or last_word(node.func) != word or not node.args:
        return False
    return len(node.args) == 1 or (len(node.args) == 2 and constant(node.args[0]) == 0)


def _gets(context: Context, body: ast.expr, home: Scope, scope: Scope) -> bool:
    """Say whether what a loop is given is the function of a body."""
    value = home.module.values.get(body)
    callees = context.flow.calls.callables(context.flow.here(value, home)) if value is not None else []
    return len(callees) == 1 and callees[0].function is scope.function and not callees[0].args


def _turned(scope: Scope) -> bool:
    """Say whether anything in the module is turned round, as the shares of noise may be."""
    source = scope.module.source
    if source.mentions(b"::-1"):
        return True
    for one in source.of_type(ast.Call):
        ends = [constant(end) for end in one.args[:2]]
        if last_word(one.func) in {"linspace", "geomspace"} and len(ends) == 2:
            first, second = ends
            if isinstance(first, int | float) and isinstance(second, int | float) and first > second:
                return True
    words = (*source.of_type(ast.Attribute), *source.of_type(ast.Name))
    return any(last_word(one) in _TURNING for one in words)
