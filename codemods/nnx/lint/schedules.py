"""Functions of the project that give another number for each number of a step; part of NNX908."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.nodes import last_word

#: Functions that give other numbers for other arguments, or hardly ever the same.
_SMOOTH = frozenset(
    {"cos", "sin", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "pow", "power"}
)
_BOUNDS = frozenset({"max", "min", "clip", "maximum", "minimum"})
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_DEPTH = 3


def changing(context: Context, node: ast.Call, scope: Scope, varied: set[ast.expr], depth: int = 0) -> bool:
    """Say whether a call of the project's functions gives another number whenever some of its arguments do.

    Args:
        context: the analysis.
        node: the call.
        scope: the scope that it stands in.
        varied: those of its arguments that are another number each time.
        depth: how many calls it was followed from.
    """
    value = scope.module.values.get(node)
    if value is None or not varied or depth > _DEPTH or any(isinstance(one, ast.Starred) for one in node.args):
        return False
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    if not invoked:
        return False
    for callee, _ in invoked:
        function = callee.function
        if callee.gradient or function.generator or function.decorators:
            return False
        names: set[str] = set()
        for place, one in enumerate(node.args):
            if one in varied and (name := _positional(function, place, len(callee.args))):
                names.add(name)
        names |= {word.arg for word in node.keywords if word.arg in function.params and word.value in varied}
        if not names or not _each_return(context, function, names, depth):
            return False
    return True


def _positional(function: FunctionFacts, place: int, bound: int) -> str:
    """Return the parameter that an argument fills; empty if it is not known."""
    names = list(function.params)[: function.positional]
    place += bound + int(function.self_param is not None)
    return names[place] if place < len(names) else ""


def _each_return(context: Context, function: FunctionFacts, names: set[str], depth: int) -> bool:
    """Say whether what a function returns goes with some of its parameters, wherever it returns."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return _goes(context, node.body, function.scope, names, {}, depth)
    if not isinstance(node, ast.FunctionDef):
        return False
    given = _variables(context, function)
    for name in names:
        if given.get(name, ()):
            return False  # the parameter is bound anew
    returned = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    return bool(returned) and all(
        one is not None and _goes(context, one, function.scope, names, given, depth) for one in returned
    )


def _variables(context: Context, function: FunctionFacts) -> dict[str, tuple[ast.expr | None, ...]]:
    """Return what the variables of a function are bound to; None stands for what is not followed."""
    found: dict[str, tuple[ast.expr | None, ...]] = {}
    followed: set[ast.expr] = set()
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    followed.add(target)
                    found[target.id] = (*found.get(target.id, ()), node.value)
    for name in _stored(context, function):
        if name not in followed:
            found[name.id] = (*found.get(name.id, ()), None)
    return found


def _stored(context: Context, function: FunctionFacts) -> Iterator[ast.Name]:
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node


def _goes(
    context: Context,
    node: ast.expr,
    scope: Scope,
    names: set[str],
    given: dict[str, tuple[ast.expr | None, ...]],
    depth: int,
) -> bool:
    """Say whether an expression is another number for each value of some parameters."""
    if isinstance(node, ast.Name):
        if node.id in names and not given.get(node.id):
            return True
        made = given.get(node.id, ())
        only = made[0] if len(made) == 1 else None
        return only is not None and _goes(context, only, scope, names, {**given, node.id: ()}, depth)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _goes(context, node.operand, scope, names, given, depth)
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, _ARITHMETIC):
            return False
        sides = [_goes(context, side, scope, names, given, depth) for side in (node.left, node.right)]
        if isinstance(node.op, ast.Pow) and sides == [False, True] and isinstance(node.right, ast.BinOp):
            if isinstance(node.right.op, ast.FloorDiv | ast.Mod):
                return False
        return any(sides)
    if not isinstance(node, ast.Call):
        return False
    word = last_word(node.func)
    if word in _SMOOTH or (word == "float" and len(node.args) == 1):
        return any(_goes(context, one, scope, names, given, depth) for one in node.args)
    if word in _BOUNDS:  # the number of the step itself may be kept within few
        return any(not isinstance(o, ast.Name) and _goes(context, o, scope, names, given, depth) for o in node.args)
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    varied = {one for one in arguments if _goes(context, one, scope, names, given, depth)}
    return changing(context, node, scope, varied, depth + 1)
