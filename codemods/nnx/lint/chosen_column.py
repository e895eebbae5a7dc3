"""What `take_along_axis` picked of each row, still a column, against one number for each row; part of NNX800."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.array_calls import array_of, axis_of, is_method
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.places import each, foreign, formula_of, in_test, written
from codemods.nnx.lint.syntax import argument, constant, keyword, new_axis
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Free, Function, Unknown

_PICKING = frozenset({"jax.numpy.take_along_axis", "numpy.take_along_axis"})
_REDUCING = frozenset({"max", "amax", "min", "amin", "sum", "mean", "argmax", "argmin", "logsumexp"})
_LOSSES = ("squared_error", "l2_loss", "huber_loss", "log_cosh")
# what there is one of for each example; another vector may well be meant to make a table with the column
_FOR_EACH = pattern(
    r"(^|_)(returns?|rewards?|rets?|adv|advs|advantages?|weights?|masks?|dones?|terminals?|targets?|labels?|values?)$",
    re.I,
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_DEPTH = 6  # how many expressions one is followed through

Place = tuple[ast.expr, Scope]


def chosen_columns(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield the operations and losses of a column of chosen values and a vector, each with its body.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"take_along_axis") for module in context.asked.modules):
        return
    for scope, node in each(context, ast.BinOp):
        if not scope.module.source.mentions(b"take_along_axis") or not isinstance(node.op, _OPERATORS):
            continue
        if _unlike(context, node.left, node.right, scope):
            yield scope, node
    for event, name in foreign(context, *_LOSSES):
        one, two = argument(event.node, 0, "predictions"), argument(event.node, 1, "targets")
        if not name.startswith("optax.") or not event.scope.module.source.mentions(b"take_along_axis"):
            continue
        if one is not None and two is not None and _unlike(context, one, two, event.scope):
            yield event.scope, event.node


def _unlike(context: Context, one: ast.expr, two: ast.expr, scope: Scope) -> bool:
    """Say whether one of two expressions is a column of chosen values, and the other has one number for each row."""
    for left, right in ((one, two), (two, one)):
        if not isinstance(left, ast.Name | ast.Call | ast.UnaryOp):
            continue
        rows = _chosen_from(context, left, scope)
        if rows is not None and not in_test(scope) and _for_each_row(context, right, scope, rows, 0):
            return True
    return False


def _made(context: Context, node: ast.expr, scope: Scope) -> Place:
    """Return the expression of which a variable is the name, also one of a function around, and where it stands."""
    found = written(context, node, scope)
    if found is not node or not isinstance(node, ast.Name):
        return found, scope
    value = scope.module.values.get(node)
    if isinstance(value, Free):
        outer = context.flow.resolve(context.flow.here(value, scope))
        made = outer.value.node if isinstance(outer.value, Call | Unknown) else None
        if outer.frame is not None and isinstance(made, ast.expr):
            return made, outer.frame.function.scope
    return node, scope


def _chosen_from(context: Context, node: ast.expr, scope: Scope) -> Place | None:
    """Return the matrix of each of whose rows one element was picked, if that is still a column.

    The index is a vector with a new axis: ``actions[:, None]``, which a number of one example cannot be.
    """
    call, home = _made(context, node, scope)
    while isinstance(call, ast.UnaryOp):
        call, home = _made(context, call.operand, home)
    if not isinstance(call, ast.Call) or last_word(call.func) != "take_along_axis":
        return None
    value = home.module.values.get(call)
    if not isinstance(value, Call) or context.flow.calls.callee_name(context.flow.here(value, home)) not in _PICKING:
        return None
    matrix, index = argument(call, 0, "arr"), argument(call, 1, "indices")
    along = constant(argument(call, 2, "axis"))
    if matrix is None or index is None or along not in (1, -1) or isinstance(along, bool):
        return None
    return (matrix, home) if _column(_made(context, index, home)[0]) else None


def _column(node: ast.expr) -> bool:
    """Say whether an expression is a vector with a second axis: v[:, None], v.reshape(-1, 1), expand_dims(v, 1)."""
    if isinstance(node, ast.Call) and last_word(node.func) == "astype" and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        whole, new = node.slice.elts
        plain = isinstance(whole, ast.Slice) and whole.lower is None and whole.upper is None
        return plain and new_axis(new)
    if not isinstance(node, ast.Call):
        return False
    if last_word(node.func) == "reshape":
        sizes = node.args[-1].elts if node.args and isinstance(node.args[-1], ast.Tuple) else node.args[-2:]
        return [constant(one) for one in sizes] == [-1, 1]
    return last_word(node.func) == "expand_dims" and constant(argument(node, 1, "axis")) == 1


def _for_each_row(context: Context, node: ast.expr, scope: Scope, rows: Place, depth: int) -> bool:
    """Say whether an expression certainly has one axis: a reduction of the rows of such a matrix, or a sum with one."""
    if depth > _DEPTH:
        return False
    if _FOR_EACH.search(last_word(node)) and Arrays(context, {}).written(node, scope).axes == 1:
        return True
    node, scope = _made(context, node, scope)
    if isinstance(node, ast.UnaryOp):
        return _for_each_row(context, node.operand, scope, rows, depth + 1)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right) if isinstance(node.op, _OPERATORS) else ()
        return any(_for_each_row(context, side, scope, rows, depth + 1) for side in sides)
    if isinstance(node, ast.Subscript):
        return _picked(context, node, scope, rows)
    if not isinstance(node, ast.Call):
        return False
    word = last_word(node.func)
    if word in {"stop_gradient", "astype", "asarray"}:
        inner = node.func.value if word == "astype" and isinstance(node.func, ast.Attribute) else None
        inner = inner if inner is not None else (node.args[0] if node.args else None)
        return inner is not None and _for_each_row(context, inner, scope, rows, depth + 1)
    if word == "squeeze":
        inner = array_of(node)
        return inner is not None and _chosen_from(context, inner, scope) is not None
    if word in _REDUCING:
        matrix, along = array_of(node), constant(axis_of(node))
        if matrix is None or along not in (1, -1) or isinstance(along, bool) or keyword(node, "keepdims") is not None:
            return False
        return len(node.args) <= (1 if is_method(node) else 2) and _matrix(context, matrix, scope, rows)
    if isinstance(node.func, ast.Call) and last_word(node.func.func) == "vmap" and len(node.args) == 2:
        return _element(node.func) and _matrix(context, node.args[0], scope, rows)
    value = scope.module.values.get(node)
    bound = context.flow.here(value, scope) if isinstance(value, Call) else None
    invoked = context.flow.calls.invoked(bound) if bound is not None and _own(context, bound) else []
    if len(invoked) != 1 or invoked[0][0].gradient:
        return False
    function = invoked[0][0].function
    formula = formula_of(context, function)
    return formula is not None and _for_each_row(context, formula, function.scope, rows, depth + 1)


def _own(context: Context, call: Bound) -> bool:
    """Say whether a call calls a function of the project as it is written, and nothing that a transform made of it."""
    assert isinstance(call.value, Call)
    return isinstance(context.flow.resolve(context.flow.follow(call, call.value.callee)).value, Function)


def _picked(context: Context, node: ast.Subscript, scope: Scope, rows: Place) -> bool:
    """Say whether one element of each row is picked: q[jnp.arange(n), best], or a column without its second axis."""
    index = node.slice
    if not isinstance(index, ast.Tuple) or len(index.elts) != 2:
        return False
    first, second = index.elts
    if constant(second) == 0 and isinstance(first, ast.Slice) and first.lower is None and first.upper is None:
        return _chosen_from(context, node.value, scope) is not None
    ranged = _made(context, first, scope)[0]
    if not isinstance(ranged, ast.Call) or last_word(ranged.func) != "arange":
        return False
    return not isinstance(second, ast.Slice | ast.Constant) and _matrix(context, node.value, scope, rows)


def _element(mapped: ast.Call) -> bool:
    """Say whether a function that is mapped picks an element of a row: lambda row, i: row[i]."""
    given = mapped.args[0] if len(mapped.args) == 1 and not mapped.keywords else None
    if not isinstance(given, ast.Lambda) or not isinstance(given.body, ast.Subscript):
        return False
    names = [one.arg for one in given.args.args]
    body = given.body
    read = [one.id for one in (body.value, body.slice) if isinstance(one, ast.Name)]
    return len(names) == 2 and read == names


def _matrix(context: Context, node: ast.expr, scope: Scope, rows: Place) -> bool:
    """Say whether an array has two axes: the one that was picked from, or what the same function or a twin gives."""
    if Arrays(context, {}).written(node, scope).axes == 2:
        return True
    names = [one.id for one in (node, rows[0]) if isinstance(one, ast.Name)]
    if len(names) == 2 and _plain(names[0]) == _plain(names[1]):
        return True
    one, two = _made(context, node, scope)[0], _made(context, *rows)[0]
    if ast.dump(one) == ast.dump(two):
        return True
    if not isinstance(one, ast.Call) or not isinstance(two, ast.Call):
        return False
    words = [last_word(call.func) for call in (one, two)]
    # a target network is a copy of the network
    same = _plain(words[0]) == _plain(words[1]) or any("target" in word.lower().split("_") for word in words)
    return bool(words[0] and words[1]) and same and len(one.args) == len(two.args)


def _plain(word: str) -> str:
    """Return a name without what tells the second of two networks, or the value of the next step."""
    parts = word.lower().split("_")
    return "_".join(p for p in parts if p not in {"target", "online", "next", "new", "tp1", "t", "t1", ""})
