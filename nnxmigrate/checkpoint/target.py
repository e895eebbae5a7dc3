"""What the new program has: the leaves of its tree, in every form in which they may be stored."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from nnxmigrate.checkpoint.tree import Leaf, Path


class Layout(enum.Enum):
    """How an NNX state was turned into a tree before it was saved."""

    STATE = "nnx.State"  # saved as it is: the path of a Variable's content ends in ``value``
    PURE = "pure dict"  # through nnx.to_pure_dict: it does not


@dataclass(frozen=True)
class TargetLeaf(Leaf):
    """A leaf that the new program has.

    Attributes:
        rng: whether it belongs to the program's RNG state.
        origin: its path in :attr:`Layout.STATE`, whatever layout it is given in.
        empty: whether it is a ``None`` or an empty container, of which Orbax stores the place alone.
        variable: the name of its Variable's class; empty if it is in none.
        variable_class: that class; None if it is in none.
        tag: of RNG state, the name of its stream in the ``nnx.Rngs`` that made it; empty if unknown.
    """

    rng: bool = False
    origin: Path = ()
    empty: bool = False
    variable: str = ""
    variable_class: type | None = None
    tag: str = ""


Target = Mapping[Layout, Mapping[Path, TargetLeaf]]
"""The tree of the new program, in every layout in which it may have been saved."""
