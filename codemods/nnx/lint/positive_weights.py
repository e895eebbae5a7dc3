"""First weights that are drawn between zero and a bound instead of between minus the bound and it; part of NNX553."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.around import around
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_WEIGHT = pattern(r"^(w|weights?|kernel|wt?_?\d+|[wu]_\w{1,6}|(w|weight|kernel)s?_\w+|\w+_(w|weight|kernel))$", re.I)
_MAKER = pattern(r"init|weight|glorot|xavier|kaiming|lecun|(^|_)he(_|$)|dense|linear|layer", re.I)
# what is drawn from zero on with a reason, and networks whose weights are positive
_MEANT = pattern(
    r"positive|non_?neg|monoton|convex|icnn|nmf|decay|phase|freq|mask|gate|angle|noise|attenuat|conduct|rate|embed|prob",
    re.I,
)
_INITIALIZERS = ("jax.nn.initializers.", "flax.nnx.initializers.", "flax.linen.initializers.")
_DEPTH = 3  # variables that a bound goes through


def positive_weights(context: Context) -> Iterator[tuple[Scope, ast.AST]]:
    """Yield the draws of first weights that are scaled by the root of the layer's size, and are never below zero.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "uniform"):
        scope, call = event.scope, event.node
        if event.value.starred or in_test(scope) or any(k.arg is None for k in call.keywords):
            continue
        if name.startswith(_INITIALIZERS):
            scale = argument(call, 0, "scale")
            held = around(context, scope).get(call)
            if scale is not None and isinstance(held, ast.keyword) and held.arg == "kernel_init":
                if _root(context, scale, scope, 0) is not None:
                    yield scope, call
        elif name == "jax.random.uniform" and constant(argument(call, 3, "minval") or ast.Constant(0)) == 0:
            if _drawn(context, call, scope):
                yield scope, call


def _drawn(context: Context, call: ast.Call, scope: Scope) -> bool:
    """Say whether a draw has the shape of a weight, and its scale, and becomes one."""
    shape, above = argument(call, 1, "shape"), around(context, scope)
    if scope.function is None or not isinstance(shape, ast.Tuple | ast.Name):
        return False
    if isinstance(shape, ast.Tuple) and len(shape.elts) < 2:
        return False
    whole: ast.expr = call
    holder = above.get(call)
    if isinstance(holder, ast.Assign):  # u = uniform(key, shape); limit * u
        name = holder.targets[0] if len(holder.targets) == 1 else None
        reads = context.bodies.reads(scope, name.id) if isinstance(name, ast.Name) else []
        if argument(call, 4, "maxval") is None and len(reads) == 1 and isinstance(name, ast.Name):
            if len(context.bodies.stores(scope, name.id)) == 1:
                whole = reads[0]
    start = whole
    while isinstance(one := above.get(whole), ast.BinOp) and isinstance(one.op, ast.Mult | ast.Div):
        if isinstance(one.op, ast.Div) and one.right is whole:
            return False
        whole = one
    parts = [part for part in _scales(whole) if part is not start]
    bound = argument(call, 4, "maxval")
    if bound is not None and constant(bound) != 1:
        parts.append(bound)
    if not parts or not _scaled(context, parts, shape, scope):
        return False
    return _is_weight(context, whole, scope)


def _scales(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what a product is made of, with what it is divided by."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield from _scales(node.left)
        yield node.right
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _scales(node.left)
        yield from _scales(node.right)
    else:
        yield from factors(node)


def _scaled(context: Context, parts: list[ast.expr], shape: ast.Tuple | ast.Name, scope: Scope) -> bool:
    """Say whether numbers and a root of one of the sizes of a shape are all that scales it."""
    sizes = {ast.dump(one) for one in shape.elts} if isinstance(shape, ast.Tuple) else set[str]()
    found = False
    for part in parts:
        if constant(part) is not None:
            continue
        root = _root(context, part, scope, 0)
        if root is None:
            return False
        found = found or any(ast.dump(n) in sizes or _size_of(n, shape) for n in _expanded(context, root, scope))
    return found


def _expanded(context: Context, root: ast.expr, scope: Scope) -> Iterator[ast.AST]:
    """Yield the parts of an expression, and of those that its variables are the names of."""
    for node in ast.walk(root):
        yield node
        made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
        yield from ast.walk(made) if made is not None else ()


def _size_of(node: ast.AST, shape: ast.expr) -> bool:
    """Say whether an expression is ``shape[0]`` of a shape that is handed in."""
    same = isinstance(node, ast.Subscript) and ast.dump(node.value) == ast.dump(shape)
    return same and isinstance(shape, ast.Name)


def _root(context: Context, node: ast.expr, scope: Scope, depth: int) -> ast.expr | None:
    """Return what a bound is the root of, or of the inverse of which: ``6 / (n + m)``; None if it is no root."""
    if isinstance(node, ast.Call) and last_word(node.func) in {"sqrt", "rsqrt"} and len(node.args) == 1:
        return node.args[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and constant(node.right) in (0.5, -0.5):
        return node.left
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
        sides = [one for one in (node.left, node.right) if constant(one) is None]
        return _root(context, sides[0], scope, depth) if len(sides) == 1 else None
    inner = made_by(context, node, scope) if isinstance(node, ast.Name) and depth < _DEPTH else None
    return _root(context, inner, scope, depth + 1) if inner is not None else None


def _is_weight(context: Context, whole: ast.expr, scope: Scope) -> bool:
    """Say whether an array becomes a weight as it is: by its name, or what makes it."""
    function, above = scope.function, around(context, scope)
    assert function is not None
    text = scope.module.source.text(function.node)
    owner = function.owner.name if function.owner is not None else ""
    if _MEANT.search(f"{text} {owner} {scope.module.source.path.rpartition('/')[2]}"):
        return False
    holder = above.get(whole)
    while isinstance(holder, ast.Call) and last_word(holder.func) in {"Param", "asarray", "array", "Variable"}:
        whole, holder = holder, above.get(holder)
    if isinstance(holder, ast.Dict):
        keys = [key for key, value in zip(holder.keys, holder.values, strict=True) if value is whole]
        return bool(keys) and bool(_WEIGHT.search(str(constant(keys[0]))))
    if isinstance(holder, ast.keyword):
        return bool(_WEIGHT.search(holder.arg or ""))
    if isinstance(holder, ast.Return):
        return bool(_MAKER.search(function.name)) and "bias" not in function.name
    if isinstance(holder, ast.Tuple) and isinstance(above.get(holder), ast.Return):
        return bool(_MAKER.search(function.name)) and holder.elts[0] is whole
    if not isinstance(holder, ast.Assign) or len(holder.targets) != 1:
        return False
    target = holder.targets[0]
    if isinstance(target, ast.Subscript):
        return bool(_WEIGHT.search(str(constant(target.slice))))
    if not _WEIGHT.search(last_word(target)):
        return False
    if isinstance(target, ast.Name):
        moved = [above.get(one) for one in context.bodies.reads(scope, target.id)]
        if any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add | ast.Sub) for one in moved):
            return False
        return len(context.bodies.stores(scope, target.id)) == 1
    return True
