"""The greatest label where the number of classes or segments is wanted, which is one more; part of NNX581."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word

# where the labels and their number stand
_COUNTING: dict[str, tuple[tuple[int, str], tuple[int, str]]] = {
    "jax.nn.one_hot": ((0, "x"), (1, "num_classes")),
    "flax.nnx.one_hot": ((0, "x"), (1, "num_classes")),
    "jax.numpy.bincount": ((0, "x"), (9, "length")),
    **{
        f"jax.ops.segment_{word}": ((1, "segment_ids"), (2, "num_segments"))
        for word in ("sum", "prod", "max", "min")
    },
}  # fmt: skip
_NUMBER = frozenset({"int", "item"})
_GREATEST = frozenset({"max", "amax"})


def counted_by_largest(context: Context) -> Iterator[tuple[CallEvent, ast.expr]]:
    """Yield the calls that are given the greatest of their labels for the number of these, with the labels.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, *{name.rpartition(".")[2] for name in _COUNTING}):
        if name not in _COUNTING or event.value.starred or in_test(event.scope):
            continue
        labels, count = (argument(event.node, *place) for place in _COUNTING[name])
        if labels is None or count is None:
            continue
        greatest = _greatest(context, count, event.scope)
        if greatest is not None and ast.unparse(greatest) == ast.unparse(labels):
            yield event, labels


def _greatest(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the array of which a number is the greatest: ``int(labels.max())``."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    while isinstance(made, ast.Call) and last_word(made.func) in _NUMBER:
        inner = made.args[0] if made.args else made.func.value if isinstance(made.func, ast.Attribute) else None
        made = inner
    if not isinstance(made, ast.Call) or last_word(made.func) not in _GREATEST or made.keywords or len(made.args) > 1:
        return None
    return array_of(made)
