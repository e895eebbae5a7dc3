"""Parts of the flat vector of a dict, which are taken in another order than that of its sorted keys; part of NNX797."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import assignments, constant, names_in
from codemods.nnx.nodes import last_word

_ROUNDS = 4  # through how many assignments the flat vector is followed
# what gives a number for each place of the vector, or a vector like it
_KEEPING = frozenset({"grad", "hessian", "solve", "inv", "diag", "sqrt", "exp"})


def sliced_leaves(
    context: Context, keys_of: Callable[[Bound], tuple[str, ...] | None]
) -> Iterator[tuple[Scope, ast.expr, str, tuple[str, ...]]]:
    """Yield the slices that are called like a key of a dict and hold what belongs to another one.

    Args:
        context: the analysis.
        keys_of: gives the sorted keys of a dict; None for other trees.

    Yields:
        The scope, the slice, the key that it is called by, and all keys in their order.
    """
    for event, name in foreign(context, "ravel_pytree"):
        given = event.value.argument(0, "pytree")
        if name != "jax.flatten_util.ravel_pytree" or given is None or in_test(event.scope):
            continue
        flat = _flat(event)
        keys = keys_of(context.flow.here(given, event.scope)) if flat else None
        if keys is None or len(keys) < 2:
            continue
        vectors = _vectors(context, event.scope, flat)
        for node in context.bodies.nodes(event.scope):
            if not isinstance(node, ast.Assign) or node.lineno <= event.node.lineno:
                continue
            for target, part in assignments(node):
                key = last_word(target)
                if key in keys and isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                    if part.value.id in vectors and _misplaced(part.slice, key, keys):
                        yield event.scope, part, key, keys


def _flat(event: CallEvent) -> str:
    """Return the variable that gets the flat vector."""
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    first = target.elts[0] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    return first.id if isinstance(first, ast.Name) else ""


def _vectors(context: Context, scope: Scope, flat: str) -> set[str]:
    """Return the variables of a function that are computed with the flat vector, place by place."""
    found = {flat}
    for _ in range(_ROUNDS):
        for node in context.bodies.nodes(scope):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                words = {last_word(n.func) for n in ast.walk(node.value) if isinstance(n, ast.Call)}
                known = isinstance(node.value, ast.BinOp) or bool(words & _KEEPING)
                if names_in(node.value) & found and known and not isinstance(node.value, ast.Subscript):
                    found.add(node.targets[0].id)
    return found


def _misplaced(index: ast.expr, key: str, keys: tuple[str, ...]) -> bool:
    """Say whether a slice begins where another key does: at the first place, or goes to the end."""
    if not isinstance(index, ast.Slice):
        return (constant(index) == 0 and key != keys[0]) or (constant(index) == -1 and key != keys[-1])
    begins = index.lower is None or constant(index.lower) == 0
    ends = index.upper is None
    if index.step is not None or (begins and ends):
        return False
    return (begins and key != keys[0]) or (ends and key != keys[-1])
