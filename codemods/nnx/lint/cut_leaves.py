"""Flat vectors of the leaves of a dict that a loop over its entries cuts up in another order; part of NNX797."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.formula import at, same_numbers
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Item

Keys = tuple[str, ...]
_JOINING = frozenset({"concatenate", "hstack"})
_DEPTH = 4


def cut_leaves(
    context: Context,
    inserted: Callable[[ast.expr, Scope], Keys | None],
    leaves: Callable[[ast.expr, Scope], Keys | None],
    leaf_keys: Callable[[Bound], Keys | None],
) -> Iterator[tuple[Scope, ast.expr, Keys]]:
    """Yield the slices of a vector of leaves, which have sorted keys, that a loop puts under keys in another order.

    Args:
        context: the analysis.
        inserted: gives the keys that are not sorted through which a loop goes, with the scope of what it goes over.
        leaves: gives the sorted keys of the dict through whose leaves an expression goes.
        leaf_keys: gives the sorted keys of a dict.
    """
    for scope, loop in each(context, ast.For):
        found = _cut(loop) if not in_test(scope) else None
        keys = inserted(loop.iter, scope) if found is not None else None
        if found is None or keys is None:
            continue
        for source in context.sources.originals(at(context, found.value, scope)):
            if _joined(context, source, leaves, leaf_keys, 0) == tuple(sorted(keys)):
                yield scope, found, keys
                break


def _cut(loop: ast.For) -> ast.Subscript | None:
    """Return the slice ``vector[start : start + size]`` that a loop puts under the key of its round."""
    target = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) and loop.target.elts else loop.target
    grown = {
        node.target.id
        for node in loop.body
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name)
    }
    for node in loop.body if isinstance(target, ast.Name) else ():
        place = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if not isinstance(place, ast.Subscript) or not isinstance(place.slice, ast.Name):
            continue
        if not isinstance(target, ast.Name) or place.slice.id != target.id or not isinstance(node, ast.Assign):
            continue
        for part in ast.walk(node.value):
            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                lower = part.slice.lower if isinstance(part.slice, ast.Slice) else None
                if isinstance(lower, ast.Name) and lower.id in grown:
                    return part
    return None


def _joined(
    context: Context,
    source: Bound,
    leaves: Callable[[ast.expr, Scope], Keys | None],
    leaf_keys: Callable[[Bound], Keys | None],
    depth: int,
) -> Keys | None:
    """Return the sorted keys of the dict whose leaves a vector is joined of, also as an array of another type."""
    value, flow = source.value, context.flow
    if isinstance(value, Item | Indexed) and isinstance(value.base, Call):  # ravel_pytree(tree)[0]
        pair = flow.with_value(source, value.base)
        first = flow.calls.callee_name(pair) == "jax.flatten_util.ravel_pytree" and len(value.base.args) == 1
        return leaf_keys(flow.with_value(pair, value.base.args[0])) if first and _first(value) else None
    if not isinstance(value, Call) or value.starred or not value.node.args or depth > _DEPTH:
        return None
    name = flow.calls.callee_name(source)
    if name.startswith(("numpy.", "jax.numpy.")) and last(name) in _JOINING:
        home = context.bodies.home(value.node)
        return leaves(value.node.args[0], home) if home is not None and last_word(value.node.func) else None
    inner = same_numbers(context, source)
    for one in context.sources.originals(inner) if inner is not None else ():
        keys = _joined(context, one, leaves, leaf_keys, depth + 1)
        if keys is not None:
            return keys
    return None


def _first(value: Item | Indexed) -> bool:
    index = value.index.value if isinstance(value, Indexed) else value.index
    return index == Const(0)
