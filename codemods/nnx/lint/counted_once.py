"""Additions to items of arrays of NumPy at several indices at once, of which equal ones count once; part of NNX744."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.many_to_one import has_axes, in_order, may_repeat
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, entry_word, keyword, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Changed, Free, Item, Loop, Param

_MAKING = frozenset({"zeros", "ones", "zeros_like", "ones_like", "full", "full_like", "empty", "empty_like"})
# there is one of these for each example, and many examples have the same
_CLASSES = pattern(
    r"(\w+_)?(labels|preds|predictions|predicted|targets|assignments?|assigns?|tokens|actions|states|segments|"
    r"(segment|cluster|label|class|token)_ids)",
    re.I,
)
_SAME = frozenset(
    {"asarray", "array", "device_get", "astype", "ravel", "flatten", "reshape", "squeeze", "copy", "clip"}
)
_DRAWING = frozenset({"integers", "randint"})  # of NumPy's generators
_DEPTH = 6


def counted_once(context: Context) -> Iterator[tuple[Scope, ast.stmt, str]]:
    """Yield the additions to items of arrays of NumPy at several indices, with what adds up all of them.

    Args:
        context: the analysis.
    """
    for scope, node in each(context, ast.AugAssign, ast.Assign):
        if not scope.module.source.mentions(b"numpy"):
            continue
        target, given = _added(node)
        if target is None or given is None or not isinstance(target.value, ast.Name | ast.Attribute) or in_test(scope):
            continue
        if _several(context, target.slice, scope) and _of_numpy(context, target.value, scope):
            index = ast.unparse(target.slice)
            yield scope, node, f"np.add.at({ast.unparse(target.value)}, {index}, {ast.unparse(given)})"


def _added(node: ast.stmt) -> tuple[ast.Subscript | None, ast.expr | None]:
    """Return where something is added, and what: of ``counts[i] += 1`` and of ``counts[i] = counts[i] + 1``."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Subscript):
        return (node.target, node.value) if isinstance(node.op, ast.Add) else (None, None)
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Subscript):
        return None, None
    given = _beside(node.value, ast.unparse(target))
    return (target, given) if given is not None else (None, None)


def _beside(total: ast.expr, text: str) -> ast.expr | None:
    """Return what is added to an expression of some text."""
    if not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Add):
        return None
    if ast.unparse(total.left) == text:
        return total.right
    return total.left if ast.unparse(total.right) == text else None


def _several(context: Context, index: ast.expr, scope: Scope) -> bool:
    """Say whether an index is one of arrays that hold the same numbers several times."""
    parts = elements(index)
    arrays = [one for one in parts if not isinstance(one, ast.Slice) and type(constant(one)) is not int]
    sure = [one for one in arrays if _repeats(context, one, scope, 0)]
    return bool(sure) and all(one in sure or _largest(context, one, scope) for one in arrays)


def _repeats(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether an expression has a class, a bin or a state for each of many examples."""
    value = scope.module.values.get(node)
    if depth > _DEPTH or value is None or (isinstance(node, ast.Name) and _looped(context, node, scope)):
        return False
    bound = context.flow.here(value, scope)
    if in_order(context, bound):
        return False
    if has_axes(context, bound) and may_repeat(context, bound):
        return True
    made = written(context, node, scope)
    if isinstance(made, ast.Call):
        if last_word(made.func) in _DRAWING and keyword(made, "size") is not None:
            return True
        inner = array_of(made) if last_word(made.func) in _SAME else None
        return inner is not None and _repeats(context, inner, scope, depth + 1)
    if isinstance(made, ast.Subscript) and not isinstance(constant(made.slice), str):
        cut = elements(made.slice)  # labels[start:end]
        return len(cut) == 1 and isinstance(cut[0], ast.Slice) and _repeats(context, made.value, scope, depth + 1)
    given = isinstance(scope.module.values.get(made), Param | Free | Item)
    return given and _CLASSES.fullmatch(entry_word(made)) is not None


def _largest(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the class with the largest value, of one example or of each of many."""
    made = written(context, node, scope)
    while isinstance(made, ast.Call) and last_word(made.func) in _SAME and (inner := array_of(made)) is not None:
        made = written(context, inner, scope)
    return isinstance(made, ast.Call) and last_word(made.func) in {"argmax", "argmin"}


def _looped(context: Context, name: ast.Name, scope: Scope) -> bool:
    """Say whether a loop binds a variable, to one element after the other."""
    loops = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.For | ast.comprehension))
    return any(name.id in names_in(loop.target) for loop in loops)


def _of_numpy(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an array is one that NumPy has made."""
    value = scope.module.values.get(node)
    while isinstance(value, Changed | Loop):
        value = value.before
    found = list(context.sources.originals(context.flow.here(value, scope))) if value is not None else []
    found = [one for one in found if not isinstance(one.value, Changed)]  # itself, after an addition
    names = [context.flow.calls.callee_name(one) if isinstance(one.value, Call) else "" for one in found]
    return bool(names) and all(one.startswith("numpy.") and last(one) in _MAKING for one in names)
