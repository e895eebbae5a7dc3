"""NNX888: the gradient of distances between all points, those of a point to itself among them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.all_pairs import all_pairs
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.around import around
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.beside_loss import beside_loss
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.nearest_image import before_wrapping
from codemods.nnx.lint.places import each, foreign, formula_of, position
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.lint.syntax import argument, assignments, constant, new_axis
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Call, Param, Unknown


def _check(context: Context) -> Iterator[Finding]:
    places: dict[FunctionFacts, list[tuple[Scope, ast.expr, ast.expr]]] = {}
    differences: dict[ast.expr, ast.expr] = {}
    for pairs in all_pairs(context):
        if not pairs.root:
            differences[pairs.node] = pairs.points
        elif pairs.scope.function is not None:
            places.setdefault(pairs.scope.function, []).append((pairs.scope, pairs.node, pairs.points))
    for scope, root, under, norm in _roots(context):
        function = scope.function
        points = _points(context, under, scope, norm, differences)
        if points is not None and function is not None:
            places.setdefault(function, []).append((scope, root, points))
        elif function is not None:
            for caller, given in _with_itself(context, function, _two_sides(context, under, scope, norm)):
                if caller.scope.function is not None:
                    places.setdefault(caller.scope.function, []).append((caller.scope, caller.node, given))
    if not places:
        return
    seen: set[ast.AST] = set()
    for function, names in Reach(context, places).functions():
        for scope, root, points in places.get(function, ()):
            if root not in seen and mentions(points, names):
                if beside_loss(context, function, root):
                    continue
                seen.add(root)
                yield finding(
                    RULE.code,
                    scope,
                    root,
                    f"the distance of a point of `{ast.unparse(points)}` to itself is 0, where the root has no "
                    "gradient: it is NaN, also where it is multiplied by 0",
                    "make the square safe first: safe = jnp.where(square > 0, square, 1.0)",
                )


def _roots(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.expr, bool]]:
    """Yield the roots in functions, each with what is under it, and whether it is that of a norm, which squares."""
    for event, name in foreign(context, "norm", "sqrt"):
        if event.scope.function is not None and name in {"jax.numpy.linalg.norm", "jax.numpy.sqrt"} and event.node.args:
            yield event.scope, event.node, event.node.args[0], name.endswith("norm")
    for scope, node in each(context, ast.BinOp):
        if scope.function is not None and isinstance(node.op, ast.Pow) and constant(node.right) in {0.5, -0.5}:
            yield scope, node, node.left, False


def _with_itself(
    context: Context, function: FunctionFacts, sides: tuple[Param, Param] | None
) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield the calls that give a function of two sets of points the same one twice, with what they give."""
    for caller in context.flow.sites.callers(function) if sides is not None else ():
        if caller.scope.module not in context.asked or caller.value.starred or caller.node.keywords:
            continue
        places = [position(side) for side in sides or ()]
        if max(places) >= len(caller.node.args) or context.flow.calls.name(caller):
            continue
        one, two = (caller.node.args[place] for place in places)
        same = caller.value.args[places[0]] == caller.value.args[places[1]] and ast.dump(one) == ast.dump(two)
        if same and isinstance(one, ast.Name | ast.Attribute):
            yield caller, one


def _two_sides(context: Context, under: ast.expr, scope: Scope, norm: bool) -> tuple[Param, Param] | None:
    """Return the two parameters whose points are all taken from each other under a root, by their squares."""
    difference = _written(under if norm else _squared(_written(under, scope)), scope)
    if not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
        return None
    one, two = (_spread(_operand(context, side, scope)) for side in (difference.left, difference.right))
    if one is None or two is None or one[1] == two[1]:
        return None
    first, second = (scope.module.values.get(side[0]) for side in (one, two))
    if not isinstance(first, Param) or not isinstance(second, Param) or first == second:
        return None
    return (first, second) if first.function is second.function is scope.function else None


def _points(
    context: Context, under: ast.expr, scope: Scope, norm: bool, differences: dict[ast.expr, ast.expr]
) -> ast.expr | None:
    """Return the points of which all differences are taken, if what is under a root is their squares.

    Args:
        context: the analysis.
        under: what is under the root.
        scope: where that stands.
        norm: whether the root is that of a norm, which squares.
        differences: the calls that give the differences of all pairs of points, with the points.
    """
    inner: ast.expr | None = under
    if not norm:
        inner = _squared(_written(inner, scope))
    difference = before_wrapping(context, _written(inner, scope), scope)
    if difference in differences:
        return differences[difference]
    if isinstance(difference, ast.Call):
        return _given_to_pairs(context, difference, scope)
    if not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
        return None
    one, two = (_spread(_operand(context, side, scope)) for side in (difference.left, difference.right))
    if one is None or two is None:
        return _against_rows(difference)
    if ast.dump(one[0]) != ast.dump(two[0]) or one[1] == two[1]:
        return None
    values = scope.module.values
    return one[0] if values.get(one[0]) == values.get(two[0]) else None


def _given_to_pairs(context: Context, node: ast.Call, scope: Scope) -> ast.expr | None:
    """Return the points that a function of the project gets, if it gives all their differences: ``moves(x)``."""
    call = scope.module.values.get(node)
    if not isinstance(call, Call) or call.starred:
        return None
    called = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))]
    formula = formula_of(context, called[0]) if len(called) == 1 else None
    if formula is None or isinstance(formula, ast.Call):
        return None
    points = _points(context, formula, called[0].scope, True, {})
    param = called[0].scope.module.values.get(points) if points is not None else None
    if not isinstance(param, Param) or param.function is not called[0]:
        return None
    place = position(param)
    return argument(node, place, param.name) if place >= 0 else None


def _operand(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return one side of a difference, or what the variable is that stands there: ``rows = x[None]``."""
    bound = context.bodies.stores(scope, node.id) if isinstance(node, ast.Name) and scope.function is not None else []
    if len(bound) != 1:
        return node
    above = around(context, scope)
    statement = above.get(bound[0])
    while isinstance(statement, ast.Tuple | ast.List):
        statement = above.get(statement)
    pairs = assignments(statement) if statement is not None else ()
    return next((made for target, made in pairs if target is bound[0]), node)


def _against_rows(difference: ast.BinOp) -> ast.expr | None:
    """Return the points of ``x[:, None] - x``, where the second operand is taken for ``x[None]``."""
    for spread, plain in ((difference.left, difference.right), (difference.right, difference.left)):
        one = _spread(spread)
        if one is not None and ast.dump(one[0]) == ast.dump(plain) and one[1] in {"[1]", ast.dump(ast.Constant(1))}:
            return plain
    return None


def _written(node: ast.expr | None, scope: Scope) -> ast.expr | None:
    """Return the expression that a variable stands for, or an expression itself."""
    if not isinstance(node, ast.Name):
        return node
    value = scope.module.values.get(node)
    inner = value.node if isinstance(value, Unknown | Call) else None
    return inner if isinstance(inner, ast.expr) else None


def _squared(node: ast.expr | None) -> ast.expr | None:
    """Return what a sum of squares is the sum of."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "sum":
        return None
    return squared(array_of(node))


def _spread(node: ast.expr) -> tuple[ast.expr, str] | None:
    """Return what gets another axis by ``x[:, None]`` or the like, and where."""
    if isinstance(node, ast.Call) and last_word(node.func) == "expand_dims" and node.args:
        axis = argument(node, 1, "axis")
        return (node.args[0], ast.dump(axis)) if axis is not None else None
    if not isinstance(node, ast.Subscript):
        return None
    parts = elements(node.slice)
    new = [i for i, part in enumerate(parts) if new_axis(part)]
    whole = all(new_axis(p) or (isinstance(p, ast.Slice) and not (p.lower or p.upper)) or _rest(p) for p in parts)
    return (node.value, str(new)) if len(new) == 1 and whole else None


def _rest(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


RULE = lint_rule(
    "NNX888",
    "distance-to-itself",
    "the gradient of the distances between all points, with those of a point to itself",
    why="""\
The differences `x[:, None] - x[None]` are 0 on the diagonal, where the derivative of the root is infinite: the gradient
is NaN, also where the diagonal is masked or multiplied by 0 afterwards. The square has to be made safe before the root.
""",
    source="JAX FAQ, section on where and gradients; jax issues on norm at zero; measured: NaN",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def energy(x):
    r = jnp.linalg.norm(x[:, None] - x[None, :], axis=-1)
    return jnp.sum(jnp.exp(-r) * (1.0 - jnp.eye(len(x))))


force = jax.grad(energy)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def energy(x):
    delta = x[:, None] - x[None, :]
    square = jnp.sum(delta**2, axis=-1)
    safe = jnp.where(square > 0, square, 1.0)
    r = jnp.where(square > 0, jnp.sqrt(safe), 0.0)
    smooth = jnp.sqrt(jnp.sum(delta**2, axis=-1) + 1e-6)
    return jnp.sum(jnp.exp(-r) + smooth)


force = jax.grad(energy)
""",
    ),
)
