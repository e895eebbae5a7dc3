"""NNX634: a replay buffer that draws from all its places, filled or not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import is_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_COUNTED = pattern(rb"min(imum)?\(\s*(self\.)?\w+(\.\w+)? ?\+ ?", needs=(b"min",))
_DRAWING = frozenset({"randint", "choice", "integers", "randrange", "sample", "permutation"})
_FULL = pattern(rb"(?i)full|warm_?up|prefill|learning_starts", needs=(b"full", b"warm", b"prefill", b"learning_starts"))


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        if not module.source.matches(_COUNTED) or is_test(module):
            continue
        if any(other.source.matches(_FULL) for other in context.project.modules if _speaks_of(other.source.data)):
            continue  # perhaps it is drawn from a full one alone
        for cls in module.classes:
            for size, capacity in _counts(cls):
                yield from _drawn(cls, size, capacity)


def _speaks_of(text: bytes) -> bool:
    lower = text.lower()
    return b"buffer" in lower or b"replay" in lower or b"memory" in lower


def _counts(cls: ClassFacts) -> Iterator[tuple[str, str]]:
    """Yield what counts the filled places of a class, with the number of all: ``self.size = min(self.size + 1, n)``."""
    for node in ast.walk(cls.node):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
            continue
        call, size = node.value, ast.unparse(node.targets[0])
        if last_word(call.func) not in {"min", "minimum"} or len(call.args) != 2 or not size.startswith("self."):
            continue
        for one, other in (call.args, call.args[::-1]):
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Add) and ast.unparse(one.left) == size:
                if ast.unparse(other).startswith("self."):
                    yield size, ast.unparse(other)


def _drawn(cls: ClassFacts, size: str, capacity: str) -> Iterator[Finding]:
    """Yield the draws of a method that goes up to the number of all places and never asks how many are filled."""
    for method in cls.methods.values():
        if size in ast.unparse(method.node) or isinstance(method.node, ast.Lambda):
            continue
        for node in ast.walk(method.node):
            if not isinstance(node, ast.Call) or last_word(node.func) not in _DRAWING:
                continue
            given = [*node.args, *(k.value for k in node.keywords)]
            if any(ast.unparse(one) in {capacity, f"range({capacity})", f"jnp.arange({capacity})"} for one in given):
                yield finding(
                    RULE.code,
                    method.scope,
                    node,
                    f"until the buffer is full, this draws places that are not filled yet, `{size}` of {capacity} are",
                    f"draw up to {size}",
                )
                return


_BAD = """\
import jax.numpy as jnp
import numpy as np


class Buffer:
    def __init__(self, capacity, width):
        self.capacity, self.size, self.place = capacity, 0, 0
        self.seen = np.zeros((capacity, width))

    def add(self, row):
        self.seen[self.place] = row
        self.place = (self.place + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, count):
        places = np.random.randint(0, self.capacity, size=count)
        return jnp.asarray(self.seen[places])
"""

RULE = lint_rule(
    "NNX634",
    "empty-places",
    "a replay buffer that draws from all its places, filled or not",
    why="""\
A buffer that has places for a million transitions and holds a thousand gives zeros in 999 of 1000 draws, and the agent
learns of states, actions and rewards that are all zero.
""",
    source="questions on replay buffers; measured: rows of zeros",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("randint(0, self.capacity", "randint(0, self.size"),),
)
