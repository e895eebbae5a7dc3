"""NNX911: a last batch of another size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.syntax import keyword

_OPTIONS = {"DataLoader": "drop_last", "batch": "drop_remainder"}


def _check(context: Context) -> Iterator[Finding]:
    for word, option in _OPTIONS.items():
        for event in context.bodies.named(word):
            node = event.node
            sized = bool(node.args) or keyword(node, "batch_size") is not None
            method = isinstance(node.func, ast.Attribute) or word == "DataLoader"
            if sized and method and keyword(node, option) is None and len(node.args) < 2 + (word == "DataLoader"):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    "the last batch may be smaller, and every shape is compiled on its own",
                    f"give {option}=True, or pad the last batch",
                )


RULE = lint_rule(
    "NNX911",
    "ragged-batches",
    "batches without drop_last or drop_remainder",
    why="A batch of another size compiles the step once more; batches of random lengths compile it every time.",
    source="JAX tutorial (`drop_last`); measured: 59 compilations for 59 random lengths",
    check=_check,
    bad=(
        """\
import jax
from torch.utils.data import DataLoader


def loader(data):
    return map(jax.device_put, DataLoader(data, batch_size=32))
""",
    ),
    clean=(
        """\
import jax
from torch.utils.data import DataLoader


def loader(data):
    return map(jax.device_put, DataLoader(data, batch_size=32, drop_last=True))
""",
    ),
    default=False,
)
