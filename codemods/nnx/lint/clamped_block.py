"""The last of blocks that do not divide an array evenly, which a dynamic slice begins too early; part of NNX847."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.formula import at, binary, is_number, one_source, operand, same_number
from codemods.nnx.lint.literal_shape import shape_of
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.sizes import sizes_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Each, Item, Param, Sequence, Star, Unknown

_WHOLE = frozenset({"builtins.int", "jax.numpy.int32"})
_UP = frozenset({"math.ceil", "numpy.ceil", "jax.numpy.ceil"})
_SAME_LENGTH = frozenset({"asarray", "array", "astype", "float32", "device_put", "copy"})
# what makes the last block right, or writes it back to where it was read
_CARED_FOR = pattern(r"update_slice|\.at\[|where|mask|valid|minimum|\bmin\(|clip|pad|%|divisib|remain|tail")
_RANGE = "builtins.range"
_DEPTH = 6


def clamped_blocks(context: Context) -> Iterator[CallEvent]:
    """Yield the dynamic slices of as many blocks as are needed for all of an array, each with where it begins.

    The last block begins so early that it ends with the array, and has elements of the block before it again.
    """
    for event, name in foreign(context, "dynamic_slice_in_dim", "dynamic_slice"):
        array = event.value.argument(0, "operand")
        if not name.startswith("jax.lax.") or event.value.starred or array is None or in_test(event.scope):
            continue
        sliced = context.flow.here(array, event.scope)
        for axis, start, size in blocks(context, event, last(name)):
            if _steps_unevenly(context, start, size, sliced, axis):
                found = [_CARED_FOR.findall(text) for text in texts(event.scope, start)]
                words = {word for some in found for word in some}
                # what is written back to where it was read is right, unless it depends on where that is
                if not words or (words == {"update_slice"} and _placed(context, event)):
                    yield event
                continue
            counter = _of_counter(context, start, size)
            if counter is None:
                continue
            rounds = rounds_of(context, counter)
            if rounds is None or not _needed(context, rounds, size, sliced, axis):
                continue
            if not any(_CARED_FOR.search(text) for text in texts(event.scope, counter, rounds)):
                yield event


def blocks(context: Context, event: CallEvent, word: str) -> Iterator[tuple[int, Bound, Bound]]:
    """Yield the axes along which an array is sliced, with where the slice begins and its size."""
    call = context.flow.here(event.value, event.scope)
    if word == "dynamic_slice_in_dim":
        start, size = event.value.argument(1, "start_index"), event.value.argument(2, "slice_size")
        axis = event.value.argument(3, "axis") or Const(0)
        if start is not None and size is not None and isinstance(axis, Const) and isinstance(axis.value, int):
            yield axis.value, context.flow.with_value(call, start), context.flow.with_value(call, size)
        return
    given = (event.value.argument(1, "start_indices"), event.value.argument(2, "slice_sizes"))
    starts, sizes = (context.flow.follow(call, one) if one is not None else None for one in given)
    if starts is None or sizes is None:
        return
    if isinstance(starts.value, Sequence) and isinstance(sizes.value, Sequence):
        for place, (one, other) in enumerate(zip(starts.value.items, sizes.value.items, strict=False)):
            yield place, context.flow.with_value(starts, one), context.flow.with_value(sizes, other)


def _of_counter(context: Context, start: Bound, size: Bound) -> Bound | None:
    """Return what counts the blocks, if a slice begins at that times its size."""
    found = one_source(context, start)
    product = binary(found, ast.Mult) if found is not None else None
    if found is None or product is None:
        return None
    left, right = operand(context, found, product.left), operand(context, found, product.right)
    for counter, factor in ((left, right), (right, left)):
        if same_number(context, factor, size):
            return counter
    return None


def _steps_unevenly(context: Context, start: Bound, size: Bound, sliced: Bound, axis: int) -> bool:
    """Say whether blocks begin at each of ``range(0, n, size)``, of an array of a known n that they do not divide."""
    begin, step = one_source(context, start), one_source(context, size)
    if begin is None or step is None or not isinstance(begin.value, Round | Each):
        return False
    counted = context.flow.follow(begin, begin.value.base)
    value = counted.value
    if not isinstance(value, Call) or len(value.args) != 3 or context.flow.calls.callee_name(counted) != _RANGE:
        return False
    first, end, by = (context.flow.with_value(counted, one) for one in value.args)
    whole = measured(context, end, axis)
    if whole is None or not is_number(context, first, 0) or not same_number(context, by, size):
        return False
    arrays = origins(context, sliced)
    if len(arrays) != 1 or origins(context, whole) != arrays or not isinstance(step.value, Const):
        return False
    length, number = length_of(context, next(iter(arrays)), axis), step.value.value
    return length is not None and type(number) is int and number > 0 and length % number != 0


def length_of(context: Context, array: Bound, axis: int) -> int | None:
    """Return the length of an array along an axis; None if it is not known.

    Args:
        context: the analysis.
        array: one of the places of :func:`origins`, which may be a list that is written.
        axis: the axis, counted from 0.
    """
    value = array.value
    if isinstance(value, Sequence):
        if axis or any(isinstance(one, Star) for one in value.items):
            return None
        return len(value.items)
    shape = shape_of(context, array) or sizes_of(context, array) or ()
    size = shape[axis] if axis < len(shape) else None
    return size if isinstance(size, int) else None


def _placed(context: Context, event: CallEvent) -> bool:
    """Say whether what is written back depends on the place itself too: ``update_slice(out, f(part) + i, (i,))``."""
    loops = {n.target.id for n in event.loops if isinstance(n, ast.For) and isinstance(n.target, ast.Name)}
    for other in context.bodies.calls.get(event.scope, ()):
        if not last_word(other.node.func).startswith("dynamic_update_slice") or len(other.node.args) < 2:
            continue
        pending: list[ast.AST] = [written(context, other.node.args[1], event.scope)]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Name) and node.id in loops:
                return True
            if not (isinstance(node, ast.Call) and last_word(node.func).startswith("dynamic_slice")):
                pending += ast.iter_child_nodes(node)
    return False


def rounds_of(context: Context, counter: Bound) -> Bound | None:
    """Return the number to which something counts from zero, in a loop of Python or of JAX, or over an ``arange``.

    Args:
        context: the analysis.
        counter: what counts.
    """
    found = one_source(context, counter)
    if found is None:
        return None
    value = found.value
    if isinstance(value, Round | Each):
        return _counted(context, context.flow.follow(found, value.base))
    if isinstance(value, Call):
        return _counted(context, found)
    if isinstance(value, Param):  # of a function that lax.map runs
        tracing = context.traced.get(value.function)
        roots = tracing.roots if tracing is not None else []
        if len(roots) != 1 or roots[0].transform != "jax.lax.map" or not isinstance(roots[0].node, ast.Call):
            return None
        found = at(context, roots[0].node, roots[0].scope)
    elif isinstance(value, Unknown) and isinstance(value.node, ast.Call):
        found = operand(context, found, value.node)
    made = found.value
    if not isinstance(made, Call):
        return None
    name = context.flow.calls.callee_name(found)
    if (
        name == "jax.lax.fori_loop"
        and len(made.args) > 1
        and is_number(context, context.flow.with_value(found, made.args[0]), 0)
    ):
        return context.flow.with_value(found, made.args[1])
    place = {"jax.lax.scan": 2, "jax.lax.map": 1}.get(name)
    given = made.argument(place, "xs") if place is not None else None
    return _counted(context, context.flow.follow(found, given)) if given is not None else None


def _counted(context: Context, bound: Bound) -> Bound | None:
    """Return the end of ``range`` or ``arange`` that begins at zero and leaves none out."""
    value = bound.value
    if not isinstance(value, Call) or len(value.args) not in {1, 2} or value.starred:
        return None
    if len(value.args) > 1 and not is_number(context, context.flow.with_value(bound, value.args[0]), 0):
        return None
    name = context.flow.calls.callee_name(bound)
    if name in {"builtins.range", "jax.numpy.arange", "numpy.arange"}:
        return context.flow.with_value(bound, value.args[-1])
    return None


def _needed(context: Context, rounds: Bound, size: Bound, sliced: Bound, axis: int) -> bool:
    """Say whether a number is that of the blocks needed for the whole of an array, the last of them not full."""
    quotient = rounded_up(context, rounds)
    if quotient is None or not same_number(context, quotient[1], size):
        return False
    whole = measured(context, quotient[0], axis)
    return whole is not None and origins(context, whole) == origins(context, sliced)


def rounded_up(context: Context, bound: Bound, depth: int = 0) -> tuple[Bound, Bound] | None:
    """Return of ``ceil(n / size)`` the number and the size.

    Args:
        context: the analysis.
        bound: the number of blocks.
        depth: how many forms were gone through.
    """
    found = one_source(context, bound)
    if found is None or depth > _DEPTH:
        return None
    value = found.value
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(found)
        if name in _WHOLE and value.args:
            return rounded_up(context, context.flow.with_value(found, value.args[0]), depth + 1)
        if last(name) == "cdiv" and len(value.args) == 2:
            return context.flow.with_value(found, value.args[0]), context.flow.with_value(found, value.args[1])
        if name not in _UP or not value.args:
            return None
        inner = one_source(context, context.flow.with_value(found, value.args[0]))
        node = binary(inner, ast.Div) if inner is not None else None
        if inner is None or node is None:
            return None
        return operand(context, inner, node.left), operand(context, inner, node.right)
    node = binary(found, ast.FloorDiv)
    if node is not None:  # (n + size - 1) // size
        size = operand(context, found, node.right)
        less = node.left
        if isinstance(less, ast.BinOp) and isinstance(less.op, ast.Sub) and isinstance(less.left, ast.BinOp):
            if isinstance(less.left.op, ast.Add) and same_number(
                context, operand(context, found, less.left.right), size
            ):
                return operand(context, found, less.left.left), size
        return None
    whole = value.node if isinstance(value, Unknown) else None
    if isinstance(whole, ast.UnaryOp) and isinstance(whole.op, ast.USub) and isinstance(whole.operand, ast.BinOp):
        turned = whole.operand  # -(-n // size)
        if isinstance(turned.op, ast.FloorDiv) and isinstance(turned.left, ast.UnaryOp):
            return operand(context, found, turned.left.operand), operand(context, found, turned.right)
    return None


def measured(context: Context, bound: Bound, axis: int) -> Bound | None:
    """Return the array of which a number is the length along an axis."""
    found = context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Call) and context.flow.calls.callee_name(found) == "builtins.len" and axis == 0:
        return context.flow.with_value(found, value.args[0]) if value.args else None
    if isinstance(value, Item | Indexed) and isinstance(value.base, Attr) and value.base.name == "shape":
        index = value.index.value if isinstance(value, Indexed) else value.index
        if isinstance(index, Const) and index.value == axis:
            return context.flow.with_value(found, value.base.base)
    if isinstance(value, Attr) and value.name == "size" and axis == 0:
        return context.flow.with_value(found, value.base)
    return None


def origins(context: Context, bound: Bound) -> frozenset[Bound]:
    """Return where an array comes from, of as many elements as it has."""
    found: set[Bound] = set()
    pending = [(bound, 0)]
    while pending:
        one, depth = pending.pop()
        for source in context.sources.originals(one):
            value = source.value
            inner = None
            if isinstance(value, Call) and depth < _DEPTH:
                name = context.flow.calls.callee_name(source)
                if name.startswith(("jax.", "numpy.")) and last(name) in _SAME_LENGTH and value.args:
                    inner = value.args[0]
                elif not name and isinstance(value.callee, Attr) and value.callee.name in _SAME_LENGTH:
                    inner = value.callee.base
            if inner is not None:
                pending.append((context.flow.with_value(source, inner), depth + 1))
            else:
                found.add(source)
    return frozenset(found)


def texts(scope: Scope, *bounds: Bound) -> Iterator[str]:
    """Yield the texts of the functions in which blocks are counted and read."""
    scopes = [scope, *(bound.frame.function.scope for bound in bounds if bound.frame is not None)]
    for one in scopes:
        if one.function is not None:
            yield one.module.source.text(one.function.node)
