"""Where the minus of a descent may come from, if it is not in the chain of transformations."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.lint.traced import function_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Sequence, Value

_RISING = pattern(r"maximi[sz]|ascen[dt]", re.I)
_LOSS = pattern(r"loss|nll|neg|cost|err|mse|energy|residual|penalty|criterion|cross_entropy|divergence|misfit", re.I)
_GAIN = pattern(
    r"reward|log_?p|log_?lik|likelihood|log_?den|density|elbo|utility|gain|score|fitness|evidence|profit|accuracy"
    r"|advantage|\badv|surrogate|objective|ratio\b|q_values?|entropy\b",
    re.I,
)
_CALLERS = 2  # from how far away gradients are handed on
_NEGATING = frozenset({"neg", "negative", "tree_neg", "tree_negate"})


def turned(context: Context, makers: set[Value]) -> bool:
    """Say whether something may turn the sign of the gradients, or of the updates, or means to climb.

    Args:
        context: the analysis.
        makers: the chain, and the calls that made the optimizers that it is a part of.
    """
    scopes = {event.scope: None for event in _updates(context, makers)}
    for scope in [*scopes]:
        scopes |= dict.fromkeys(_around(context, scope))
    modules = {scope.module for scope in scopes}
    if any(_RISING.search(module.source.data.decode(errors="ignore")) for module in modules):
        return True
    losses = _differentiated(context, list(scopes))
    if not all(_falls(loss) for loss in losses) or (scopes and not losses):
        return True
    return any(_negates(scope, losses) for scope in scopes)


def _around(context: Context, scope: Scope) -> set[Scope]:
    """Return the bodies that a body is written in and called from."""
    found, function = set[Scope](), function_of(scope)
    for _ in range(_CALLERS):
        if function is None:
            break
        outer = {event.scope for event in context.flow.sites.callers(function) if event.scope.function is not None}
        if function.scope.parent is not None and function.scope.parent.function is not None:
            outer.add(function.scope.parent)
        found |= outer
        function = next((one.function for one in outer), None) if len(outer) == 1 else None
    return found


def _updates(context: Context, makers: set[Value]) -> list[CallEvent]:
    """Return the calls that make updates with a transformation, or change parameters by it."""
    found = []
    for event in context.bodies.named("update", "apply_gradients"):
        callee = event.value.callee
        if isinstance(callee, Attr):
            sources = context.sources.originals(context.flow.here(callee.base, event.scope))
            if any(source.value in makers for source in sources):
                found.append(event)
    return found


def _differentiated(context: Context, scopes: list[Scope]) -> set[FunctionFacts]:
    """Return what is differentiated in the functions that update, or else in their files, or else anywhere."""
    roots = context.traced.gradients
    near = [root for root in roots if root.scope.function is not None and root.scope in scopes]
    modules = {scope.module for scope in scopes}
    return {root.function for root in near or [root for root in roots if not scopes or root.scope.module in modules]}


def _falls(function: FunctionFacts) -> bool:
    """Say whether a function is one to be made small: by its name, by a minus in front, and by what it is made of."""
    named = bool(_LOSS.search(function.name))
    if not named and _GAIN.search(function.name):
        return False
    for returned in function.returns:
        value = returned.items[0] if isinstance(returned, Sequence) and returned.items else returned
        node = getattr(value, "node", None)
        if not isinstance(node, ast.expr):
            return named
        words = names_in(node) | {last_word(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
        small = any(map(_LOSS.search, words)) or _square(node)
        if _negative(node):
            if small:
                return False  # a loss that is turned around
        elif any(_GAIN.search(word) and not _LOSS.search(word) for word in words) or not (named or small):
            return False
    return bool(function.returns)


def _negative(node: ast.expr) -> bool:
    """Say whether an expression has a minus in front, also behind a mean or a sum."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub)
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) and not node.args else None
        first = node.args[0] if node.args else inner
        return last_word(node.func) in {"mean", "sum"} and first is not None and _negative(first)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return _negative(node.left) != _negative(node.right)
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and _negative(node.left)


def _square(node: ast.AST) -> bool:
    """Say whether an expression has squares or distances in it."""
    return any(
        (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow))
        or (isinstance(n, ast.Call) and last_word(n.func) in {"square", "abs", "norm", "squared_error"})
        for n in ast.walk(node)
    )


def _negates(scope: Scope, losses: set[FunctionFacts]) -> bool:
    """Say whether a body takes the negative of something that is no number, or a difference of trees."""
    apart: list[ast.AST] = [loss.node for loss in losses]
    if isinstance(scope.node, ast.Module):
        apart += [node for node in scope.node.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    inside = {node for one in apart for node in ast.walk(one)}
    for node in ast.walk(scope.node):
        if node in inside:
            continue
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and not isinstance(node.operand, ast.Constant)
        ):
            return True
        if isinstance(node, ast.BinOp) and any(_minus(side) for side in (node.left, node.right)):
            return True
        if isinstance(node, ast.Attribute | ast.Name) and last_word(node) in _NEGATING:
            return True
        if isinstance(node, ast.Call) and last_word(node.func) in _MAPS and node.args:
            if any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(node.args[0])):
                return True
    return False


def _minus(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


_MAPS = frozenset(name.rpartition(".")[2] for name in TREE_MAPS)
