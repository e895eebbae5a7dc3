"""Batches of which the last is shorter than the others, as far as the program tells: for NNX544."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Frame, Indexed
from codemods.nnx.lint.places import written
from codemods.nnx.lint.sizes import sizes_of
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Unknown, Value

_AROUND = frozenset({"enumerate", "tqdm", "track", "prefetch"})
_SAME = frozenset({"asarray", "array", "device_put"})
_DEPTH = 6
# how often a number goes into another, rounded up: ceil(n / k), -(-n // k), (n + k - 1) // k
_ROUNDED_UP = pattern(r"\bceil\(|^-\(?-.*//|^\(?.*\+ .* - 1\)? // |^\(?.* - 1 \+ .*\)? // ")


def has_short_batch(context: Context, over: ast.expr, body: list[ast.AST], scope: Scope) -> bool:
    """Say whether the last batch that a loop gets has fewer examples than the others.

    Args:
        context: the analysis.
        over: what the loop goes through: a range of places, or what yields the batches.
        body: the nodes of the loop.
        scope: the scope that it stands in.
    """
    while isinstance(over, ast.Call) and last_word(over.func) in _AROUND and over.args:
        over = over.args[0]
    if not isinstance(over, ast.Call):
        return False
    if last_word(over.func) == "range":
        return _cut_short(context, over, body, scope, None)
    value = scope.module.values.get(over)
    if not isinstance(value, Call) or value.starred:
        return False
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    if len(invoked) != 1 or not invoked[0][0].function.generator:
        return False
    function, frame = invoked[0][0].function, invoked[0][1]
    loops = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.For)]
    if len(loops) != 1 or not isinstance(loops[0].iter, ast.Call) or last_word(loops[0].iter.func) != "range":
        return False
    inner = list(ast.walk(loops[0]))
    if any(isinstance(n, ast.If) for n in inner):
        return False
    return _cut_short(context, loops[0].iter, inner, function.scope, frame)


def _cut_short(context: Context, over: ast.Call, body: list[ast.AST], scope: Scope, frame: Frame | None) -> bool:
    """Say whether slices of a length that does not go into the whole are cut out at the places of a range."""
    if any(isinstance(n, ast.Continue | ast.Break) or (isinstance(n, ast.If) and _of_size(n.test)) for n in body):
        return False  # it may leave the short one out, or fill it
    slices = [n for n in body if isinstance(n, ast.Slice) and n.lower is not None and n.upper is not None]
    if any(isinstance(n, ast.Call) and last_word(n.func) in {"pad", "concatenate", "resize"} for n in body):
        return False
    uppers = [written(context, one.upper, scope) for one in slices if one.upper is not None]
    ends = [one for one in uppers if isinstance(one, ast.Call) and last_word(one.func) in {"min", "minimum"}]
    if len(over.args) == 3 and constant(over.args[0]) == 0:
        whole, size = over.args[1], over.args[2]
        text = ast.unparse(size)
        if not any(text in ast.unparse(one) for one in uppers):
            return False
        numbers = [_number(context, one, scope, frame) for one in (whole, size)]
        if numbers[0] is not None and numbers[1]:
            return numbers[0] > numbers[1] and numbers[0] % numbers[1] != 0
        return bool(ends)
    if len(over.args) != 1 or not slices or not any(isinstance(n, ast.Mult) for n in body):
        return False
    count = written(context, over.args[0], scope)
    while isinstance(count, ast.Call) and last_word(count.func) == "int" and count.args:
        count = count.args[0]
    return _ROUNDED_UP.search(ast.unparse(count)) is not None


def _of_size(test: ast.expr) -> bool:
    return any(last_word(n.func if isinstance(n, ast.Call) else n) in {"len", "shape", "size"} for n in ast.walk(test))


def _number(context: Context, node: ast.expr, scope: Scope, frame: Frame | None) -> int | None:
    """Return the number that an expression is, also as the length of an array; None if it is not known."""
    value = scope.module.values.get(node)
    if value is None:
        return None
    bound = Bound(value, frame) if frame is not None else context.flow.here(value, scope)
    found: set[int | None] = set()
    for one in context.sources.originals(bound):
        made = one.value
        if isinstance(made, Const):
            found.add(made.value if type(made.value) is int else None)
        elif isinstance(made, Call) and last_word(made.node.func) == "len" and len(made.args) == 1:
            found.add(_rows(context, context.flow.with_value(one, made.args[0]), 0))
        elif isinstance(made, Item | Indexed) and isinstance(made.base, Attr) and made.base.name == "shape":
            index = made.index.value if isinstance(made, Indexed) else made.index
            first = isinstance(index, Const) and index.value == 0
            found.add(_rows(context, context.flow.with_value(one, made.base.base), 0) if first else None)
        else:
            found.add(None)
    return found.pop() if len(found) == 1 else None


def _rows(context: Context, bound: Bound, depth: int) -> int | None:
    """Return the length of an array along its first axis; None if it is not known."""
    found = {_of_one(context, one, one.value, depth) for one in context.sources.originals(bound)}
    return found.pop() if len(found) == 1 else None


def _of_one(context: Context, bound: Bound, value: Value, depth: int) -> int | None:
    if depth > _DEPTH:
        return None
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        cut = index.node if isinstance(index, Unknown) else None
        if isinstance(index, Sequence) and index.items and isinstance(index.items[0], Unknown):
            cut = index.items[0].node
        ends = [constant(one) for one in (cut.lower, cut.upper)] if isinstance(cut, ast.Slice) else []
        if not isinstance(cut, ast.Slice) or cut.step is not None:
            return None
        if any(one is not None and type(end) is not int for one, end in zip((cut.lower, cut.upper), ends, strict=True)):
            return None
        whole = _rows(context, context.flow.with_value(bound, value.base), depth + 1)
        start, stop = (end if isinstance(end, int) else None for end in ends)
        return len(range(whole)[start:stop]) if whole is not None else None
    if isinstance(value, Call) and not value.starred:
        word = last_word(value.node.func)
        if isinstance(value.callee, Attr) and word in {"astype", "copy"}:
            return _rows(context, context.flow.with_value(bound, value.callee.base), depth + 1)
        if word in _SAME and value.args and not isinstance(value.args[0], Sequence):
            return _rows(context, context.flow.with_value(bound, value.args[0]), depth + 1)
    sizes = sizes_of(context, bound)
    return int(sizes[0]) if sizes and isinstance(sizes[0], int) else None
