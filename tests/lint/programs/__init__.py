"""Whole programs, wrong and right ones in pairs, as people ask about them: all of them run under real Flax."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """\
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.b = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.b(self.drop(self.norm(nnx.relu(self.a(x)))))


def total(tree):
    leaves = jax.tree.leaves(nnx.state(tree, nnx.Param) if isinstance(tree, nnx.Module) else tree)
    return f"{sum(float(jnp.abs(leaf).sum()) for leaf in leaves):.4f}"


x = jnp.linspace(-1.0, 1.0, 32).reshape(8, 4)
y = jnp.linspace(0.0, 1.0, 16).reshape(8, 2)
labels = jnp.arange(8) % 2
"""
WHOLE = "# whole\n"  # begins a program without HEAD


@dataclass(frozen=True)
class Pair:
    """A mistake, and the program without it.

    Attributes:
        code: the rule that finds the mistake.
        wrong: the program, behind :data:`HEAD` unless it begins with :data:`WHOLE`; of several files, a line
            ``# file: name.py`` begins each but the main one, which comes first.
        right: what it should have been; it prints something else, or does not raise.
        since: the first Flax release in which it is wrong.
        slow: whether only its speed is wrong.
        missed: whether no rule finds it yet.
    """

    code: str
    wrong: str
    right: str
    since: str = "0.10"
    slow: bool = False
    missed: bool = False


def files(text: str) -> dict[str, str]:
    """Return the files of a program by path."""
    main, *others = text.split("# file: ")
    found = {"main.py": main if main.startswith(WHOLE) else HEAD + main}
    for other in others:
        name, _, body = other.partition("\n")
        found[name.strip()] = body
    return found
