"""NNX799: a batch of vectors as the right side of equations, where a matrix is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.sizes import Called, Size, Sizes, followed, sizes_of
from codemods.nnx.values import Call, Const, Sequence, Unknown, Value

# functions that solve equations, with the names of their arguments; whether a vector for each matrix is taken for one
_SOLVING = {
    "jax.numpy.linalg.solve": ("a", "b", False),
    "numpy.linalg.solve": ("a", "b", False),
    "jax.scipy.linalg.solve": ("a", "b", False),
    "jax.scipy.linalg.solve_triangular": ("a", "b", True),
    "jax.scipy.linalg.cho_solve": ("c_and_lower", "b", True),
    "jax.scipy.linalg.lu_solve": ("lu_and_piv", "b", True),
}
_EINSUM = frozenset({"jax.numpy.einsum", "numpy.einsum"})
_DEPTH = 4
_FACTORS = frozenset({"jax.scipy.linalg.cho_factor", "jax.scipy.linalg.lu_factor"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "solve", "solve_triangular", "cho_solve", "lu_solve"):
        if name not in _SOLVING or event.value.starred or in_test(event.scope):
            continue
        first, second, vectors = _SOLVING[name]
        if not vectors and event.value.argument(4, "assume_a") is None and _by_letters(context, event, first, second):
            yield _found(event, second, few=True)
            continue
        matrix = _matrix(context, event, event.value.argument(0, first), name)
        side = _sizes(context, event, event.value.argument(1, second))
        if matrix is None or side is None or len(matrix) < 2 or len(side) < 2:
            continue
        if (vectors or event.value.argument(4, "assume_a") is not None) and len(side) == len(matrix) - 1:
            continue
        if _differ(matrix, side):
            yield _found(event, second, few=len(side) < len(matrix) or len(side) > 2)


def _found(event: CallEvent, second: str, *, few: bool) -> Finding:
    return finding(
        RULE.code,
        event.scope,
        event.node,
        f"the right side is a matrix for each system here, with as many rows as `a` has, and `{second}` holds vectors",
        "give the vectors an axis of their own: solve(a, b[..., None])[..., 0]"
        if few
        else "transpose it: solve(a, b.T).T",
    )


def _by_letters(context: Context, event: CallEvent, first: str, second: str) -> bool:
    """Say whether both sides come from ``einsum``, and the right one has a vector for each matrix of the left one."""
    values = event.value.argument(0, first), event.value.argument(1, second)
    matrix, side = (
        _letters(context, context.flow.here(one, event.scope), 0) if one is not None and followed(context, one) else ""
        for one in values
    )
    return len(matrix) == 3 and len(side) == 2 and side[0] == matrix[0] and side[1] in matrix[1:]


def _letters(context: Context, bound: Bound, depth: int) -> str:
    """Return the letters of the axes that ``einsum`` gives an array, to which matrices may be added."""
    found = context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Call) and value.args and context.flow.calls.callee_name(found) in _EINSUM:
        words = value.args[0]
        text = words.value.replace(" ", "") if isinstance(words, Const) and isinstance(words.value, str) else ""
        return text.partition("->")[2] if "." not in text else ""
    node = value.node if isinstance(value, Unknown) else None
    home = context.bodies.home_of(found, node) if isinstance(node, ast.expr) and depth < _DEPTH else None
    if home is None or node is None or not isinstance(getattr(node, "op", None), ast.Add | ast.Sub | ast.USub):
        return ""
    sides = [home.module.values.get(one) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    every = {_letters(context, context.flow.with_value(found, one), depth + 1) for one in sides if one is not None}
    longest = max(every, key=len, default="")
    return longest if len(longest) > 2 or "" not in every else ""


def _sizes(context: Context, event: CallEvent, value: Value | None) -> Sizes | None:
    if value is None or not followed(context, value):
        return None
    return sizes_of(context, context.flow.here(value, event.scope))


def _matrix(context: Context, event: CallEvent, value: Value | None, name: str) -> Sizes | None:
    """Return the sizes of the matrices, also of those in a pair that is a factor of them."""
    if value is None or name not in {"jax.scipy.linalg.cho_solve", "jax.scipy.linalg.lu_solve"}:
        return _sizes(context, event, value)
    found = context.flow.resolve(context.flow.here(value, event.scope))
    inner: Value | None = None
    if isinstance(found.value, Sequence) and found.value.items:
        inner = found.value.items[0]
    elif isinstance(found.value, Call) and context.flow.calls.callee_name(found) in _FACTORS and found.value.args:
        inner = found.value.args[0]
    return sizes_of(context, context.flow.with_value(found, inner)) if inner is not None else None


def _differ(matrix: Sizes, side: Sizes) -> bool:
    """Say whether the right side has vectors along its last axis, and not as many rows as the matrices."""
    rows, columns, wanted = side[-2], side[-1], matrix[-1]
    if wanted is None or rows is None or columns != wanted:
        return False
    if rows == wanted:  # as many systems as unknowns, by chance: their names tell them apart
        few = len(matrix) == 3 and len(side) == 2
        labels = [one.label if isinstance(one, Called) else "" for one in (rows, matrix[-3], wanted)] if few else []
        return bool(labels) and labels[0] != "" and labels[0] == labels[1] != labels[2]
    if isinstance(rows, int) and isinstance(wanted, int):
        return True
    return len(side) == len(matrix) - 1 and _known(matrix[-3]) and rows == matrix[-3]


def _known(size: Size | None) -> bool:
    return size is not None and size != 1


RULE = lint_rule(
    "NNX799",
    "vectors-for-matrix",
    "a batch of vectors as the right side of linear equations, where a matrix is wanted",
    why="""\
`jnp.linalg.solve(a, b)` takes `b` for a vector only if it has one axis; all others are matrices, whose columns are
solved for. A vector for each of many systems needs an axis of its own: `solve(a, b[..., None])[..., 0]`. Without it
the call raises a ValueError, or with as many systems as unknowns gives something else. Before JAX 0.5 and NumPy 2 it
meant what was written.
""",
    source="jax pull requests 19674 and 25741; measured on JAX 0.6.2 and 0.10.2: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

a = jnp.eye(3) + jax.random.uniform(jax.random.key(0), (16, 3, 3))
b = jax.random.normal(jax.random.key(1), (16, 3))
x = jnp.linalg.solve(a, b)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

a = jnp.eye(3) + jax.random.uniform(jax.random.key(0), (16, 3, 3))
b = jax.random.normal(jax.random.key(1), (16, 3))
x = jnp.linalg.solve(a, b[..., None])[..., 0]
""",
    ),
)
