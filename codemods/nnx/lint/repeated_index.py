"""NNX744: an update that reads and sets the items of an array of indices, of which several may be the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import batched
from codemods.nnx.lint.counted_once import counted_once
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.many_to_one import has_axes, in_order, is_number, may_repeat
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Comprehension, Const, Item, Param, Sequence, Unknown, Value

_METHODS = {"+": "add", "-": "subtract", "*": "multiply", "maximum": "max", "minimum": "min"}
_OPERATIONS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_FUNCTIONS = {"add": "+", "subtract": "-", "multiply": "*", "maximum": "maximum", "minimum": "minimum"}
_DEPTH = 8


def _check(context: Context) -> Iterator[Finding]:
    for event, method in context.shared(lost_updates).items():
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "an index that comes more than once is set more than once, each time from the old item: all but one update "
            "are lost",
            f"use .at[...].{method}(...), which takes every one of them",
        )
    for scope, node, advice in counted_once(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "an index that comes more than once is set more than once, each time from the old item: all but one "
            "addition are lost",
            f"use {advice}, which takes every one of them",
        )


def lost_updates(context: Context) -> dict[CallEvent, str]:
    """Return the calls of ``set`` that change items of which several may be the same, with the method to call instead.

    Args:
        context: the analysis.
    """
    found: dict[CallEvent, str] = {}
    for event in context.bodies.named("set"):
        if event.scope.module not in context.asked or len(event.value.args) != 1 or in_test(event.scope):
            continue
        place = _place(event)
        if place is None or any(name == "unique_indices" for name, _ in event.value.keywords):
            continue
        array, index = place
        changed = _changed(context, event, array, index)
        if changed is None:
            continue
        operation, other = changed
        if _reads(event.scope, other, array, 0):
            continue
        if (
            not _several(context, index, event.scope)
            and not _counted(context, event, array, index, operation, other)
            and not (operation in {"+", "-"} and _of_many(context, event, index, other))
        ):
            continue
        if operation == "*" and not _axes(context, other, event.scope):
            continue  # as much for every item, whichever is picked twice
        found[event] = _METHODS[operation]
    return found


def _place(event: CallEvent) -> tuple[Value, Value] | None:
    """Return the array and the index in ``array.at[index].set(value)``."""
    callee = event.value.callee
    at = callee.base if isinstance(callee, Attr) else None
    if not isinstance(at, Item) or not isinstance(at.base, Attr) or at.base.name != "at":
        return None
    return at.base.base, at.index


def _changed(context: Context, event: CallEvent, array: Value, index: Value) -> tuple[str, ast.expr] | None:
    """Return how the items at the index are changed, and what is added to them or the like."""
    values = event.scope.module.values
    given = event.value.args[0]
    node: ast.AST = given.node if isinstance(given, Unknown | Call) else event.node.args[0]
    sides: tuple[ast.expr, ast.expr]
    if isinstance(node, ast.BinOp):
        operation = _OPERATIONS.get(type(node.op), "")
        sides = node.left, node.right
    elif isinstance(node, ast.Call) and isinstance(given, Call) and len(node.args) == 2 and not node.keywords:
        name = context.flow.calls.callee_name(context.flow.here(given, event.scope))
        operation = _FUNCTIONS.get(last(name), "") if name.startswith("jax.numpy.") else ""
        sides = node.args[0], node.args[1]
    else:
        return None
    if not operation:
        return None
    for one, other in ((sides[0], sides[1]), (sides[1], sides[0])):
        if _same(values.get(one), array, index) and (operation != "-" or one is sides[0]):
            return operation, other
    return None


def _same(value: Value | None, array: Value, index: Value) -> bool:
    """Say whether a value is ``array[index]`` or ``array.at[index].get()``."""
    if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "get":
        at = value.callee.base
        base = at.base if isinstance(at, Item) else None
        return (
            isinstance(at, Item)
            and isinstance(base, Attr)
            and base.name == "at"
            and _alike(base.base, array)
            and _alike(at.index, index)
        )
    return isinstance(value, Item) and _alike(value.base, array) and _alike(value.index, index)


def _alike(one: Value, two: Value) -> bool:
    """Say whether two values are one: of tuples and slices that are written twice, whether their parts are."""
    if one is two:
        return True
    if isinstance(one, Sequence) and isinstance(two, Sequence):
        return len(one.items) == len(two.items) and all(map(_alike, one.items, two.items))
    if isinstance(one, Unknown) and isinstance(two, Unknown) and isinstance(one.node, ast.Slice):
        full = ast.dump(ast.Slice())
        return ast.dump(one.node) == full and isinstance(two.node, ast.Slice) and ast.dump(two.node) == full
    if isinstance(one, Item) and isinstance(two, Item):
        return _alike(one.base, two.base) and _alike(one.index, two.index)
    if isinstance(one, Attr) and isinstance(two, Attr):
        return one.name == two.name and _alike(one.base, two.base)
    return one == two


def _reads(scope: Scope, node: ast.AST, array: Value, depth: int) -> bool:
    """Say whether an expression reads an array, as a step towards a target does: then the last one may be meant."""
    values = scope.module.values
    for one in ast.walk(node):
        value = values.get(one)
        if value is None:
            continue
        if _alike(value, array) or depth > _DEPTH:
            return True
        inner = value
        while isinstance(inner, Item | Attr):
            inner = inner.base
        made = inner.node if isinstance(inner, Unknown | Call) else None
        if made is not None and made is not one and made is not node and _reads(scope, made, array, depth + 1):
            return True
    return False


def _several(context: Context, index: Value, scope: Scope) -> bool:
    """Say whether an index is an array, of which several elements may be the same: with others, as pairs."""
    items = index.items if isinstance(index, Sequence) and isinstance(index.node, ast.Tuple) else (index,)
    found = False
    for one in items:
        if isinstance(one, Const) or (isinstance(one, Unknown) and isinstance(one.node, ast.Slice)):
            if one == Const(None):
                return False
            continue
        if is_number(context, context.flow.here(one, scope)):
            continue
        if not _array(context, one, scope) or not may_repeat(context, context.flow.here(one, scope)):
            return False
        found = True
    return found


# what counts how often something comes
_COUNTS = pattern(r"(^|_)(counts?|cnts?|counter|hist(ogram)?|freqs?|frequenc(y|ies)|occurrences|tally|visits?)(_|\d*$)")


def _counted(context: Context, event: CallEvent, array: Value, index: Value, operation: str, other: ast.expr) -> bool:
    """Say whether one is added for each item of an array of indices to what counts how often each comes."""
    func = event.node.func
    at = func.value if isinstance(func, ast.Attribute) else None
    named = at.value.value if isinstance(at, ast.Subscript) and isinstance(at.value, ast.Attribute) else None
    if operation != "+" or constant(other) not in (1, 1.0) or named is None:
        return False
    if not _COUNTS.search(last_word(named).lower()):
        return False
    items = index.items if isinstance(index, Sequence) and isinstance(index.node, ast.Tuple) else (index,)
    bounds = [context.flow.here(_picked(one), event.scope) for one in items if not _whole(one)]
    several = any(_sliced(one) or has_axes(context, one) for one in bounds)
    if not several and len(items) == 1 and isinstance(at, ast.Subscript):
        several = bool(_ITEMS.search(last_word(at.slice).lower())) and _as_it_is(context, items[0], at.slice)
    if not several or any(in_order(context, one) for one in bounds):
        return False
    return not any(_all_apart(source) for one in bounds for source in context.sources.originals(one))


# what is picked, of many
_ITEMS = pattern(
    r"(^|_)(ind(ices|exes|s)|idxs|ids|states|tokens|labels|bins|cells|words|actions|arms|choices|nodes|clusters|codes"
    r"|assignments|classes|categories|symbols|buckets|experts|predictions|preds|hashes|items|users|receivers|senders)$"
)
# what belongs to many of the things that come with it
_MANY = pattern(
    r"(^|_)(tokens|(token|input|word|segment|cell|bin|cluster)_ids|receivers|senders|segments|bins|labels)$"
)
_APART = pattern(r"uniq|distinct|perm|sort|top|mask|slot|free")


def _of_many(context: Context, event: CallEvent, index: Value, other: ast.expr) -> bool:
    """Say whether an index is called what comes more than once, as the tokens of a text or the cells of particles."""
    func = event.node.func
    at = func.value if isinstance(func, ast.Attribute) else None
    if not isinstance(at, ast.Subscript) or isinstance(other, ast.Constant):
        return False
    items = index.items if isinstance(index, Sequence) and isinstance(index.node, ast.Tuple) else (index,)
    picked = [one for one in items if not _whole(one)]
    nodes = [one for one in elements(at.slice) if not isinstance(one, ast.Slice | ast.Constant)]
    if len(picked) != 1 or len(nodes) != 1 or not _MANY.search(last_word(nodes[0]).lower()):
        return False
    if not _as_it_is(context, picked[0], nodes[0]):
        return False
    return not in_order(context, context.flow.here(picked[0], event.scope))


def _as_it_is(context: Context, index: Value, node: ast.expr) -> bool:
    """Say whether an index is what a function is called with by that name, and no round or map gets a part of it."""
    if not isinstance(index, Param) or not isinstance(node, ast.Name) or index.name != node.id:
        return False
    function = index.function
    if _APART.search(node.id.lower()) or function in context.shared(batched) or function in context.shared(_bodies):
        return False
    marks = [last_word(n.annotation) for n in function.node.args.args if n.arg == index.name and n.annotation]
    given = context.sources.originals(Bound(index))
    return not {"int", "slice"} & {*marks} and not any(is_number(context, one) or _all_apart(one) for one in given)


def _all_apart(source: Bound) -> bool:
    """Say whether a value is an array that is written with other numbers at all its places."""
    value = source.value
    numbers = constant(value.node.args[0]) if isinstance(value, Call) and value.node.args else None
    return isinstance(numbers, list | tuple) and len({str(one) for one in numbers}) == len(numbers)


def _bodies(context: Context) -> frozenset[FunctionFacts]:
    """Return the functions that loops of JAX call with the elements of arrays, or their counter."""
    return frozenset(root.function for root in context.traced.roots if root.transform.startswith("jax.lax."))


def _picked(value: Value) -> Value:
    """Return the entry of a tuple that a value is, as after ``a, b = x, y``."""
    index = value.index if isinstance(value, Item) else None
    if isinstance(value, Item) and isinstance(value.base, Sequence) and isinstance(index, Const):
        if isinstance(index.value, int) and index.value < len(value.base.items):
            return value.base.items[index.value]
    return value


def _whole(index: Value) -> bool:
    """Say whether an index is a number, or all of an axis."""
    return isinstance(index, Const) or _is_slice(index)


def _sliced(bound: Bound) -> bool:
    """Say whether a value has an axis: a part of an array from one place to another, or an array of a comprehension."""
    value = bound.value
    if isinstance(value, Call):
        return last_word(value.node.func) in {"array", "asarray"} and any(
            isinstance(one, Comprehension) for one in value.args
        )
    picked = value.index if isinstance(value, Item) else None
    return any(_is_slice(one) for one in (picked.items if isinstance(picked, Sequence) else (picked,)))


def _is_slice(index: Value | None) -> bool:
    return isinstance(index, Unknown) and isinstance(index.node, ast.Slice)


def _array(context: Context, value: Value, scope: Scope) -> bool:
    return has_axes(context, context.flow.here(value, scope))


def _axes(context: Context, node: ast.expr, scope: Scope) -> bool:
    value = scope.module.values.get(node)
    return constant(node) is None and value is not None and _array(context, value, scope)


RULE = lint_rule(
    "NNX744",
    "lost-item-updates",
    "x.at[indices].set(x[indices] + value), or x[indices] += value of NumPy, with indices that come more than once",
    why="""\
`x.at[i].set(x[i] + v)` reads all items first and then sets them: of several updates of the same item only one is left.
Cells of many particles, bins of many values and drawn indices come more than once. `x.at[i].add(v)` adds all of them.
Where every index is another, as with `jnp.arange` or a permutation, both are the same. `counts[labels] += 1` of a NumPy
array does the same and counts each label once: `np.add.at(counts, labels, 1)` and `np.bincount` count all of them.
""",
    source="JAX documentation of jax.numpy.ndarray.at; measured: one of the updates is left, without an error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

positions = jax.random.uniform(jax.random.key(0), (100,))
cells = jnp.floor(positions * 8).astype(jnp.int32)
counts = jnp.zeros(8)
counts = counts.at[cells].set(counts[cells] + 1)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

positions = jax.random.uniform(jax.random.key(0), (100,))
cells = jnp.floor(positions * 8).astype(jnp.int32)
counts = jnp.zeros(8)
counts = counts.at[cells].add(1)
""",
    ),
)
