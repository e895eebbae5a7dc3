"""NNX833: seeds that lose bits."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Const

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}
_SEEDED = frozenset({"jax.random.key", "jax.random.PRNGKey", "flax.nnx.Rngs"})


def _check(context: Context) -> Iterator[Finding]:
    if any(b"enable_x64" in module.source.data.lower() for module in context.project.modules):
        return
    flow = context.flow
    for event, name in foreign(context, "key", "PRNGKey", "Rngs"):
        if name not in _SEEDED:
            continue
        for node in (*event.node.args, *(k.value for k in event.node.keywords)):
            value = event.scope.module.values.get(node)
            if value is None or isinstance(node, ast.Starred):
                continue
            made = flow.resolve(flow.here(value, event.scope))
            inner = made.value
            number = inner.value if isinstance(inner, Const) else _number(getattr(inner, "node", None))
            if isinstance(number, int) and number >= 2**32:  # of a clock the lower bits are as good as all
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    "only the lower 32 bits of a seed count, unless 64-bit mode is on",
                    "use a seed below 2**32",
                )


def _number(node: ast.AST | None, depth: int = 0) -> int | None:
    """Return the value of a small calculation with literal integers, such as ``2**40``; None if it is none."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS or depth > 4:
        return None
    left, right = _number(node.left, depth + 1), _number(node.right, depth + 1)
    if left is None or right is None or abs(left) > 2**64 or not 0 <= right < 2**64:
        return None
    if isinstance(node.op, ast.Pow | ast.LShift) and right > 128:
        return None
    return _OPERATORS[type(node.op)](left, right)


RULE = lint_rule(
    "NNX833",
    "seed-truncated",
    "a seed of more than 32 bits",
    why="""\
JAX works with 32 bits by default: `jax.random.PRNGKey(0x123456789)` is the key of `0x23456789`, so that different
seeds may give the same numbers; in compiled code such a seed raises OverflowError.
""",
    source="JAX tutorial, which uses 0x123456789; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    default=False,
    bad=(
        """\
import jax

key = jax.random.PRNGKey(0x123456789)
""",
    ),
    clean=(
        """\
import jax

key = jax.random.PRNGKey(0xFFFFFFFF)
""",
    ),
)
