"""Whether a parameter that is static could be an ordinary one: it is only a number in formulas over arrays."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.nodes import last_word

_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
#: Functions of JAX that take numbers of any kind, place by place.
_PLACE_BY_PLACE = frozenset(
    {"where", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "abs", "absolute", "cos",
     "sin", "tan", "tanh", "power", "pow", "float_power", "maximum", "minimum", "clip", "multiply", "add", "subtract",
     "divide", "true_divide", "asarray", "array", "float32", "float64", "sum", "mean", "sigmoid", "relu", "softplus",
     "negative", "logaddexp", "sign", "dot", "vdot", "max", "min", "stack", "hstack"}
)  # fmt: skip
_HOMES = ("jax.numpy.", "jax.nn.", "jax.lax.")
_DEPTH = 4
_VARIABLES = 8  # through how many of them a number is followed


def ordinary(context: Context, function: FunctionFacts, name: str, depth: int = 0) -> bool:
    """Say whether a parameter is read only as a number in formulas, also in functions that it is handed on to.

    What sets a shape, an axis, an index or a length, is asked about by ``if`` or counts rounds is no such number.

    Args:
        context: the analysis.
        function: the function.
        name: the parameter.
        depth: how many calls it was followed from.
    """
    scope = function.scope
    parents = {child: node for node in ast.walk(function.node) for child in ast.iter_child_nodes(node)}
    pending, followed, read = [name], {name}, False
    while pending:
        one = pending.pop()
        for node in ast.walk(function.node):
            if not isinstance(node, ast.Name) or node.id != one or not isinstance(node.ctx, ast.Load):
                continue
            read = True
            into = _into(context, scope, node, parents, depth)
            if into is None or len(followed) > _VARIABLES:
                return False
            pending += into - followed
            followed |= into
    return read


def _into(
    context: Context, scope: Scope, node: ast.expr, parents: dict[ast.AST, ast.AST], depth: int
) -> set[str] | None:
    """Return the variables that are made with what is read at a place; None if it is no number in a formula there.

    What stands beside other things in a formula is followed too, since a shape may be made of it.
    """
    place: ast.AST = node
    while True:
        outer = parents.get(place)
        if (
            (isinstance(outer, ast.BinOp) and isinstance(outer.op, _ARITHMETIC))
            or (isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.USub | ast.UAdd))
            or (isinstance(outer, ast.Compare) and isinstance(parents.get(outer), ast.Call))
            or (isinstance(outer, ast.Subscript) and place is outer.value)
            or (isinstance(outer, ast.Tuple | ast.List) and _joined(parents.get(outer), outer))
        ):
            place = outer
        elif isinstance(outer, ast.Call) and place in outer.args:
            value = scope.module.values.get(outer)
            called = context.flow.calls.callee_name(context.flow.here(value, scope)) if value is not None else ""
            if called.startswith(_HOMES):
                if called.rpartition(".")[2] not in _PLACE_BY_PLACE:
                    return None
                if _first_alone(called.rpartition(".")[2]) and outer.args[0] is not place:
                    return None  # an axis or a kind
                return set()
            return set() if _handed_on(context, scope, outer, place, depth) else None
        elif isinstance(outer, ast.Return):
            return set()
        elif isinstance(outer, ast.Lambda):
            return set() if place is outer.body else None
        elif isinstance(outer, ast.Assign | ast.AugAssign | ast.AnnAssign) and place is outer.value:
            targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
            names = {one.id for one in targets if isinstance(one, ast.Name)}
            return names if len(names) == len(targets) else None
        elif isinstance(outer, ast.Tuple | ast.List | ast.Dict) and isinstance(parents.get(outer), ast.Return):
            return set()
        else:
            return None


def _first_alone(word: str) -> bool:
    return word in {"sum", "mean", "asarray", "array", "max", "min", "stack", "hstack"}


def _joined(call: ast.AST | None, parts: ast.AST) -> bool:
    """Say whether a call makes one array of some numbers and arrays."""
    joins = isinstance(call, ast.Call) and last_word(call.func) in {"array", "asarray", "stack", "hstack"}
    return joins and isinstance(call, ast.Call) and call.args[:1] == [parts]


def _handed_on(context: Context, scope: Scope, call: ast.Call, place: ast.AST, depth: int) -> bool:
    """Say whether an argument of a call is an ordinary number for the functions of the project that are called."""
    value = scope.module.values.get(call)
    if value is None or depth >= _DEPTH or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    if last_word(call.func) in {"float"}:
        return False  # asks for a number of Python
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    if not invoked:
        return False
    index = next(i for i, one in enumerate(call.args) if one is place)
    for callee, _ in invoked:
        function = callee.function
        names = list(function.params)[: function.positional]
        at = index + len(callee.args) + int(function.self_param is not None)
        if callee.gradient or at >= len(names) or not ordinary(context, function, names[at], depth + 1):
            return False
    return True
