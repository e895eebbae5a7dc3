"""NNX746: a function of shapes that jax.tree.map gives their numbers one by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, passed
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Comprehension,
    Const,
    Function,
    Item,
    Mapping,
    Ref,
    Sequence,
    Star,
    Value,
)

_MAPS = {
    "jax.tree.map": 0,
    "jax.tree_map": 0,
    "jax.tree_util.tree_map": 0,
    "jax.tree.map_with_path": 1,
    "jax.tree_util.tree_map_with_path": 1,
}
_MAKERS = frozenset(
    f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("zeros", "ones", "empty", "full")
) | {"jax.ShapeDtypeStruct"}
_DRAWS = frozenset(
    f"jax.random.{name}" for name in ("normal", "uniform", "truncated_normal", "bernoulli", "exponential", "gumbel")
)
_SHAPES = frozenset({"jax.numpy.shape", "numpy.shape"})
_TREES = (Mapping, Sequence, Comprehension, Changed)
_DEPTH = 4  # how many dicts and lists stand in each other
_POSITIONS = {"truncated_normal": 3, "bernoulli": 2}  # of the others it is the second


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "map", "tree_map", "map_with_path", "tree_map_with_path"):
        before = _MAPS.get(name)
        if before is None or event.value.starred or event.value.argument(3, "is_leaf") is not None:
            continue
        if len(event.value.args) < 2 or event.value.keyword("is_leaf") is not None:
            continue
        lengths, numbers = _shapes(context, event)
        of_leaves = not lengths and _of_leaves(context, context.flow.here(event.value.args[1], event.scope))
        if not lengths and not of_leaves:
            continue
        if _as_shape(context, event, before) and (
            of_leaves
            or _differ(lengths)
            or "shape" in ast.unparse(event.node.args[1]).lower()
            or _taken_for_arrays(context, event)
        ):
            message = "a tuple is a tree: the function gets the numbers of each shape one by one"
        elif (numbers or of_leaves) and _as_tuple(context, event, before):
            message = "a tuple is a tree: the function gets numbers, and takes them for tuples"
        else:
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            message,
            "say what a leaf is: is_leaf=lambda x: isinstance(x, tuple)",
        )


def _of_leaves(context: Context, tree: Bound) -> bool:
    """Say whether a tree holds the shapes of the leaves of another: ``jax.tree.map(lambda p: p.shape, params)``."""
    found = [*context.sources.originals(tree)]
    return bool(found) and all(_takes_shapes(context, one) for one in found)


def _takes_shapes(context: Context, made: Bound) -> bool:
    call = made.value
    before = _MAPS.get(context.flow.calls.callee_name(made)) if isinstance(call, Call) else None
    if not isinstance(call, Call) or before is None or call.starred or len(call.args) < 2:
        return False
    mapped = context.flow.resolve(context.flow.follow(made, call.args[0])).value
    if isinstance(mapped, Ref):
        return mapped.name in _SHAPES and before == 0
    function = mapped.facts if isinstance(mapped, Function) else None
    if function is None or function.generator or len(function.returns) != 1 or function.positional <= before:
        return False
    leaf, taken = function.params[list(function.params)[before]], function.returns[0]
    if isinstance(taken, Call) and len(taken.args) == 1:
        taken_by = context.flow.calls.callee_name(context.flow.here(taken, function.scope))
        return taken.args[0] is leaf and taken_by in _SHAPES
    return isinstance(taken, Attr) and taken.name == "shape" and taken.base is leaf


def _differ(lengths: set[int]) -> bool:
    """Say whether tuples are of different lengths, one of them that of a scalar's or vector's shape."""
    return len(lengths) > 1 and min(lengths) <= 1


def _taken_for_arrays(context: Context, event: CallEvent) -> bool:
    """Say whether an entry of what the map gives is computed with as with an array, and not as with a tuple."""
    values = event.scope.module.values

    def entry(node: ast.expr) -> bool:
        value = values.get(node) if isinstance(node, ast.Subscript) else None
        return isinstance(value, Item) and value.base is event.value

    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.Attribute) and entry(node.value) and not hasattr(tuple, node.attr):
            return True
        for side, other in ((node.left, node.right), (node.right, node.left)) if isinstance(node, ast.BinOp) else ():
            if entry(side) and made_by_jax(context, values.get(other), event.scope):
                return True
    return False


def _shapes(context: Context, event: CallEvent) -> tuple[set[int], bool]:
    """Return how long the tuples in the dict or list are that is mapped, and whether all that they hold is numbers.

    Args:
        context: the analysis.
        event: the call of the map.
    """
    given = context.flow.here(event.value.args[1], event.scope)
    found = context.sources.all_of(given, lambda value: isinstance(value, _TREES))
    lengths: set[int] = set()
    numbers = True
    for one in found or ():
        known = _tuples(context, one)
        if known is None:
            return set(), False
        lengths |= {len(items) for items in known}
        numbers = numbers and all(isinstance(v, Const) and type(v.value) is int for items in known for v in items)
    return lengths, numbers


def _tuples(context: Context, tree: Bound, depth: int = 0) -> list[tuple[Value, ...]] | None:
    """Return the tuples that a dict or list of such holds; None if it holds something else."""
    entries = _entries(context, tree.value) if depth <= _DEPTH else None
    if entries is None:
        return None
    found: list[tuple[Value, ...]] = []
    for item in entries:
        one = context.flow.follow(tree, item)
        if isinstance(one.value, _TREES) and not _is_tuple(one.value):
            inner = _tuples(context, one, depth + 1)
            if inner is None:
                return None
            found += inner
        elif isinstance(one.value, Sequence) and _is_tuple(one.value):
            items = tuple(context.flow.follow(one, part).value for part in one.value.items)
            if any(isinstance(part, Sequence | Mapping) for part in items):
                return None
            found.append(items)
        else:
            return None
    return found


def _is_tuple(value: Value) -> bool:
    return isinstance(value, Sequence) and isinstance(value.node, ast.Tuple)


def _entries(context: Context, tree: Value) -> list[Value] | None:
    """Return the entries of a dict or list: of one that a loop fills or a comprehension makes, those of one round.

    Args:
        context: the analysis.
        tree: the dict or list.
    """
    if isinstance(tree, Mapping):
        return [item for key, item in tree.items if key is not None] if all(key for key, _ in tree.items) else None
    if isinstance(tree, Sequence):
        whole = isinstance(tree.node, ast.List) and not any(isinstance(item, Star) for item in tree.items)
        return list(tree.items) if whole else None
    if isinstance(tree, Comprehension):
        return [tree.element]
    if not isinstance(tree, Changed) or not _one_more(tree.node):
        return None
    before = _entries(context, tree.before) if isinstance(tree.before, Mapping | Sequence | Changed) else []
    return [*before, tree.value] if before is not None else None


def _one_more(node: ast.AST) -> bool:
    """Say whether a change gives a container one entry: ``d[key] = value`` or ``parts.append(value)``."""
    return isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
    )


def _mapped(context: Context, event: CallEvent, before: int) -> list[tuple[FunctionFacts, str]]:
    """Return the function of the project that is mapped, and which of its parameters gets the leaves; behind it the
    functions to which it hands them. None of them asks what it was given."""
    function = _only(context, event.value.args[0], event)
    if function is None or function.positional <= before:
        return []
    param = list(function.params)[before]
    if any(context.bodies.stores(function.scope, param)) or _tested(context, function):
        return []
    found = [(function, param)]
    for call in context.bodies.calls.get(function.scope, ()):
        if function.params[param] not in call.value.given:
            continue
        helper = _only(context, call.value.callee, call)
        if helper is None or _tested(context, helper):
            continue
        for name, one in helper.params.items():
            if passed(call, one) is function.params[param] and not any(context.bodies.stores(helper.scope, name)):
                found.append((helper, name))
    return found


def _only(context: Context, value: Value, event: CallEvent) -> FunctionFacts | None:
    """Return the one plain function of the project that a value is."""
    callees = context.flow.calls.callables(context.flow.here(value, event.scope))
    if len(callees) != 1 or callees[0].gradient or callees[0].args or callees[0].receiver is not None:
        return None
    return callees[0].function if not callees[0].function.decorators else None


def _as_shape(context: Context, event: CallEvent, before: int) -> bool:
    """Say whether what is mapped makes an array of what it gets as its shape."""
    direct = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    if isinstance(direct, Ref):
        return direct.name in _MAKERS and before == 0 and len(event.value.args) == 2
    return any(
        _makes(context, one, function.params[param])
        for function, param in _mapped(context, event, before)
        for one in context.bodies.calls.get(function.scope, ())
    )


def _makes(context: Context, event: CallEvent, param: Value) -> bool:
    """Say whether a call makes an array whose shape is a parameter."""
    name = context.flow.calls.name(event)
    if event.value.starred or name not in _MAKERS | _DRAWS:
        return False
    position = 0 if name in _MAKERS else _POSITIONS.get(name.rpartition(".")[2], 1)
    return event.value.argument(position, "shape") is param


def _as_tuple(context: Context, event: CallEvent, before: int) -> bool:
    """Say whether what is mapped does with what it gets what no number can do: its length, an item, its parts."""
    return any(
        _no_number(node, param)
        for function, param in _mapped(context, event, before)
        for node in context.bodies.nodes(function.scope)
    )


def _no_number(node: ast.AST, param: str) -> bool:
    if isinstance(node, ast.Subscript | ast.Starred):
        return _is(node.value, param)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"len", "tuple", "list"}:
        return len(node.args) == 1 and _is(node.args[0], param)
    return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _tested(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function asks what it was given, as by ``isinstance``, or goes on in another way."""
    nodes = context.bodies.nodes(function.scope)
    return any(isinstance(node, ast.If | ast.IfExp | ast.Try) for node in nodes)


RULE = lint_rule(
    "NNX746",
    "mapped-shapes",
    "jax.tree.map over shapes, which are trees of numbers",
    why="""\
A tuple is a tree of its parts, so `jax.tree.map(jnp.zeros, {"w": (3, 4), "b": (4,)})` calls the function with 3, with 4
and with 4, and makes tuples of vectors. `is_leaf` says that a tuple is one leaf.
""",
    source="jax documentation of jax.tree.map and pytrees; measured on JAX 0.10.2",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

shapes = {"kernel": (3, 4), "bias": (4,)}
params = jax.tree.map(lambda shape: jnp.zeros(shape), shapes)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

shapes = {"kernel": (3, 4), "bias": (4,)}
params = jax.tree.map(lambda shape: jnp.zeros(shape), shapes, is_leaf=lambda x: isinstance(x, tuple))
""",
    ),
)
