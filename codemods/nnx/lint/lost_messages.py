"""NNX940: messages along the edges of a graph, or shares of particles, of which each node or cell keeps one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import operand
from codemods.nnx.lint.many_to_one import may_repeat
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.repeated_index import lost_updates
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import elements, first_element, last_word
from codemods.nnx.values import Attr, Call, Changed, Const, Item, Param, Unknown, Value

_RECEIVERS = frozenset({"receivers", "receiver", "receiver_idx", "receivers_idx", "receiver_ids", "recv"})
_SENDERS = frozenset({"senders", "sender", "sender_idx", "senders_idx", "sender_ids", "send"})
_EMPTY = frozenset({"jax.numpy.zeros", "jax.numpy.zeros_like"})
# numbers of which each comes once, and what adds up or picks from several
_ONCE = frozenset({"arange", "permutation", "argsort", "unique", "nonzero", "flatnonzero", "roll", "iota", "range"})
_JOINING = frozenset({"concatenate", "hstack", "repeat", "tile", "append", "stack"})
_REDUCING = frozenset(
    {"sum", "mean", "max", "min", "prod", "segment_sum", "segment_max", "segment_min", "segment_mean", "dot", "einsum",
     "scan", "norm", "any", "all", "argmax", "shape", "zeros_like", "ones_like"}
)  # fmt: skip
_MANY = 150
_End = tuple[str, object]


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("set"):
        if event.scope.module not in context.asked or len(event.value.args) != 1 or in_test(event.scope):
            continue
        if event in context.shared(lost_updates):  # which NNX744 speaks of
            continue
        if _shares(context, event):
            yield _found(event)
            continue
        place = _place(event)
        if place is None or any(k.arg == "unique_indices" for k in event.node.keywords):
            continue
        target, index = place
        twice = _written_twice(context, index, event.scope)
        receiver = end_of(context, index, event.scope)
        if not (twice or receiver is not None) or not _empty(context, event, target):
            continue
        along = receiver is not None and _along(context, event, receiver)
        if not (twice and _vector(context, event)) and not along:
            continue
        if not twice and _each_once(context, index, event.scope):
            continue
        yield _found(event)


def _found(event: CallEvent) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        event.node,
        "an index that comes more than once is set more than once, and only one of its values is left",
        "use .at[...].add(...) to sum them, or jax.ops.segment_sum",
    )


def _shares(context: Context, event: CallEvent) -> bool:
    """Say whether the shares that many particles have in their cells are set: ``.at[left].set(mass * (1 - part))``."""
    callee, func = event.value.callee, event.node.func
    at = callee.base if isinstance(callee, Attr) else None
    node = func.value if isinstance(func, ast.Attribute) else None
    if not isinstance(at, Item) or not isinstance(at.base, Attr) or at.base.name != "at":
        return False
    if not isinstance(node, ast.Subscript) or any(k.arg == "unique_indices" for k in event.node.keywords):
        return False
    cells = [n for n in ast.walk(node.slice) if isinstance(n, ast.Name)]
    parts = [n for n in ast.walk(event.node.args[0]) if isinstance(n, ast.Name)]
    if not any(_fraction(context, part, {cell.id for cell in cells}, event.scope) for part in parts):
        return False
    indices = elements(node.slice)
    values = [event.scope.module.values.get(one) for one in indices]
    return _begun(context, event, at.base.base) and all(
        one is not None and may_repeat(context, context.flow.here(one, event.scope)) for one in values
    )


def _fraction(context: Context, name: ast.Name, cells: set[str], scope: Scope) -> bool:
    """Say whether a variable is the part of a position behind the edge of its cell: ``place - left``."""
    made = written(context, name, scope)
    return (
        isinstance(made, ast.BinOp)
        and isinstance(made.op, ast.Sub)
        and isinstance(made.right, ast.Name)
        and made.right.id in cells
    )


def _begun(context: Context, event: CallEvent, target: Value) -> bool:
    """Say whether an array was made of zeros, before what was put into it with ``at``."""
    for source in context.sources.originals(context.flow.here(target, event.scope)):
        made = source.value
        while isinstance(made, Call) and isinstance(made.callee, Attr) and made.callee.name in {"set", "add"}:
            base = made.callee.base
            inner = base.base if isinstance(base, Item) else None
            if not isinstance(inner, Attr) or inner.name != "at":
                return False
            made = inner.base
        if (
            not isinstance(made, Call)
            or context.flow.calls.callee_name(context.flow.with_value(source, made)) not in _EMPTY
        ):
            return False
    return True


def _place(event: CallEvent) -> tuple[Value, ast.expr] | None:
    """Return the array and the one index in ``array.at[index].set(value)``, also in ``array.at[index, :]``."""
    callee, func = event.value.callee, event.node.func
    at = callee.base if isinstance(callee, Attr) else None
    node = func.value if isinstance(func, ast.Attribute) else None
    if not isinstance(at, Item) or not isinstance(at.base, Attr) or at.base.name != "at":
        return None
    if not isinstance(node, ast.Subscript):
        return None
    index = node.slice
    if isinstance(index, ast.Tuple):
        whole = all(isinstance(one, ast.Slice) or constant(one) is Ellipsis for one in index.elts[1:])
        if not whole or not index.elts:
            return None
        index = index.elts[0]
    return at.base.base, index


def _empty(context: Context, event: CallEvent, target: Value) -> bool:
    """Say whether the array was made of zeros, into which nothing was put before."""
    if isinstance(target, Changed):
        return False
    sources = context.sources.originals(context.flow.here(target, event.scope))
    return bool(sources) and all(
        isinstance(one.value, Call) and context.flow.calls.callee_name(one) in _EMPTY for one in sources
    )


def end_of(context: Context, node: ast.expr, scope: Scope) -> _End | None:
    """Return which end of the edges of a graph an expression is, and of which edges; None for others.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
    """
    word = node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
    word = word if isinstance(word, str) else "" if isinstance(node, ast.Subscript) else last_word(node)
    if word in _RECEIVERS:
        return "receivers", None
    if word in _SENDERS:
        return "senders", None
    part = _part(node)
    if part is None and isinstance(node, ast.Name):
        part = _unpacked(context, node.id, scope)
    return part


def _part(node: ast.expr) -> _End | None:
    """Return one column of an array that is called edges: ``edges[:, 1]``, ``edge_index[0]`` or ``edges.T[0]``."""
    if not isinstance(node, ast.Subscript):
        return None
    base = node.value.value if isinstance(node.value, ast.Attribute) and node.value.attr == "T" else node.value
    index = node.slice
    if isinstance(index, ast.Tuple) and len(index.elts) == 2:
        one, other = index.elts
        index = one if isinstance(other, ast.Slice) else other if isinstance(one, ast.Slice) else index
    number = constant(index)
    if number in (0, 1, -1) and "edge" in last_word(base).lower():
        return ast.dump(base), bool(number)
    return None


def _unpacked(context: Context, name: str, scope: Scope) -> _End | None:
    """Return which column of some edges a variable is that is assigned once."""
    stores = context.bodies.stores(scope, name)
    if len(stores) != 1:
        return None
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if target is stores[0]:
            return _part(value)
        if isinstance(target, ast.Tuple) and stores[0] in target.elts and len(target.elts) == 2:
            place = target.elts.index(stores[0])
            if isinstance(value, ast.Tuple) and len(value.elts) == 2:
                return _part(value.elts[place])
            base = value.value if isinstance(value, ast.Attribute) and value.attr == "T" else value
            if "edge" in last_word(base).lower() and not isinstance(base, ast.Call):
                return ast.dump(base), bool(place)
    return None


def _along(context: Context, event: CallEvent, receiver: _End) -> bool:
    """Say whether what is set is computed of the nodes at the other end of the edges, one value for each edge."""
    written = _gathered(context, event.node.args[0], event.scope)
    if written is not None and _opposite(receiver, written):
        return True
    seen: set[Bound] = set()
    waiting = [context.flow.here(event.value.args[0], event.scope)]
    while waiting and len(seen) < _MANY:
        for source in context.sources.originals(waiting.pop()):
            if source in seen:
                continue
            seen.add(source)
            found = _end_of_gather(context, source, event.scope)
            if found is not None and _opposite(receiver, found):
                return True
            waiting += _parts(context, source)
    return False


def _end_of_gather(context: Context, source: Bound, default: Scope) -> _End | None:
    """Return the end of edges at which a value takes nodes, by its syntax or by the names of values."""
    value = source.value
    if isinstance(value, Item | Indexed):
        return _index_end(value.index.value if isinstance(value, Indexed) else value.index)
    if not isinstance(value, Call | Unknown) or not isinstance(value.node, ast.expr):
        return None
    scope = source.frame.function.scope if source.frame is not None else default.module.scope
    return _gathered(context, value.node, scope)


def _index_end(index: Value) -> _End | None:
    """Return the end of edges that an array is indexed with, by the names of values."""
    if isinstance(index, Indexed):
        index = Item(index.base, index.index.value)
    word = getattr(index, "name", "")
    if isinstance(index, Item) and isinstance(index.base, Param) and "edge" in index.base.name.lower():
        if index.index in (Const(0), Const(1)):
            return ast.dump(ast.Name(index.base.name, ast.Load())), index.index == Const(1)
    if isinstance(index, Item):
        word = getattr(index.index, "value", "")
    return ("senders", None) if word in _SENDERS else ("receivers", None) if word in _RECEIVERS else None


def _gathered(context: Context, node: ast.expr, scope: Scope) -> _End | None:
    """Return the end of edges at which an expression takes nodes: ``x[senders]`` or ``jnp.take(x, senders)``."""
    for one in _own(node):
        index = one.slice if isinstance(one, ast.Subscript) else None
        if isinstance(one, ast.Call) and last_word(one.func) == "take" and len(one.args) == 2:
            index = one.args[1]
        found = end_of(context, first_element(index), scope) if index is not None else None
        if found is not None:
            return found
    return None


def _own(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of an expression, those left out of which only a sum or the like is used."""
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Call) and last_word(one.func) in _REDUCING:
            continue
        if isinstance(one, ast.expr):
            yield one
        if not isinstance(one, ast.Lambda):
            waiting += ast.iter_child_nodes(one)


def _opposite(one: _End, other: _End) -> bool:
    """Say whether two ends are the different ones of the same edges."""
    if isinstance(one[1], bool) or isinstance(other[1], bool):
        return one[0] == other[0] and one[1] != other[1]
    return one[0] != other[0]


def _parts(context: Context, source: Bound) -> list[Bound]:
    """Return what a value is computed from, element by element."""
    flow, value = context.flow, source.value
    if isinstance(value, Call):
        if last(flow.calls.callee_name(source)) in _REDUCING or last_word(value.node.func) in _REDUCING:
            return []
        given = [flow.with_value(source, one) for one in value.given]
        method = isinstance(value.callee, Attr) and not flow.calls.callee_name(source)
        return [*given, flow.with_value(source, value.callee.base)] if method else given  # type: ignore[attr-defined]
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        if isinstance(value.node.op, ast.MatMult):
            return [operand(context, source, value.node.left)]
        return [operand(context, source, value.node.left), operand(context, source, value.node.right)]
    return []


def _each_once(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an index may be known to have each number once: it counts, and nothing is joined or repeated."""
    value = scope.module.values.get(node)
    waiting = [context.flow.here(value, scope)] if value is not None else []
    seen: set[Bound] = set()
    words: set[str] = set()
    while waiting and len(seen) < _MANY:
        for source in context.sources.originals(waiting.pop()):
            if source in seen:
                continue
            seen.add(source)
            if isinstance(source.value, Call):
                words.add(last_word(source.value.node.func))
            waiting += _parts(context, source)
    return bool(words & _ONCE) and not words & _JOINING


def _written_twice(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an index is an array that is written with a number that comes twice."""
    value = scope.module.values.get(node)
    if value is None or isinstance(node, ast.Constant | ast.Slice):
        return False
    sources = context.sources.originals(context.flow.here(value, scope))
    return bool(sources) and all(_has_twice(context, one) for one in sources)


def _has_twice(context: Context, source: Bound) -> bool:
    value = source.value
    if not isinstance(value, Call) or not value.node.args:
        return False
    if context.flow.calls.callee_name(source) not in {"jax.numpy.array", "jax.numpy.asarray", "numpy.array"}:
        return False
    numbers = constant(value.node.args[0])
    plain = isinstance(numbers, list | tuple) and all(type(one) is int for one in numbers)
    return plain and isinstance(numbers, list | tuple) and len(set(numbers)) < len(numbers)


def _vector(context: Context, event: CallEvent) -> bool:
    """Say whether several different values are set: an array that is written, drawn, or gathered."""
    for source in context.sources.originals(context.flow.here(event.value.args[0], event.scope)):
        value = source.value
        name = context.flow.calls.callee_name(source) if isinstance(value, Call) else ""
        if isinstance(value, Call) and name in {"jax.numpy.array", "jax.numpy.asarray", "numpy.array"}:
            numbers = constant(value.node.args[0]) if value.node.args else None
            if not isinstance(numbers, list | tuple) or len({str(one) for one in numbers}) < len(numbers):
                return False
        elif not name.startswith("jax.random."):
            return False
    return True


_BAD = """\
import jax.numpy as jnp


def summed(x, senders, receivers):
    messages = jnp.tanh(x[senders])
    return jnp.zeros_like(x).at[receivers].set(messages)


print(summed(jnp.arange(3.0), jnp.array([0, 2]), jnp.array([1, 1])))
"""

RULE = lint_rule(
    "NNX940",
    "lost-messages",
    "x.at[receivers].set(messages), where a node gets messages from several others",
    why="""\
`.at[receivers].set(messages)` writes each message over the last one of the same node: of all messages that a node gets
one is left, and which one is not defined. `.at[receivers].add(messages)` or `jax.ops.segment_sum` add them up.
""",
    source="JAX documentation of jax.numpy.ndarray.at; measured: one message is left, without an error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace(".set(", ".add("),),
)
