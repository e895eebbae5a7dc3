"""The tree functions of JAX: what they are called and where their arguments stand."""

from __future__ import annotations

from typing import NamedTuple

from codemods.nnx.values import Call, Value


class TreeFunction(NamedTuple):
    """A function that takes a tree apart.

    Attributes:
        tree: position of the tree whose structure decides.
        is_leaf: position of ``is_leaf``; None if it goes by keyword only.
        maps: whether the first argument is called with leaves.
        tree_name: the keyword of the tree.
    """

    tree: int
    is_leaf: int | None
    maps: bool = False
    tree_name: str = "tree"

    def tree_of(self, call: Call) -> Value | None:
        """Return the tree that a call takes apart."""
        return call.argument(self.tree, self.tree_name)

    def leaf_test(self, call: Call) -> Value | None:
        """Return the ``is_leaf`` that a call gives."""
        return call.keyword("is_leaf") if self.is_leaf is None else call.argument(self.is_leaf, "is_leaf")


_FUNCTIONS = {
    "map": TreeFunction(1, None, maps=True),
    "map_with_path": TreeFunction(1, None, maps=True),
    "leaves": TreeFunction(0, 1),
    "leaves_with_path": TreeFunction(0, 1),
    "flatten": TreeFunction(0, 1),
    "flatten_with_path": TreeFunction(0, 1),
    "structure": TreeFunction(0, 1),
    "reduce": TreeFunction(1, 3),
    "all": TreeFunction(0, None),
}

#: Last parts of their names, for a quick look before a value is followed.
SHORT_NAMES = frozenset([*_FUNCTIONS, *(f"tree_{name}" for name in _FUNCTIONS)])


def tree_function(name: str) -> TreeFunction | None:
    """Return what is known of a function by its full name.

    >>> tree_function("jax.tree_util.tree_leaves").is_leaf
    1
    """
    home, _, last = name.rpartition(".")
    if home == "jax.tree":
        return _FUNCTIONS.get(last)
    if home in {"jax.tree_util", "jax"} and last.startswith("tree_"):
        return _FUNCTIONS.get(last.removeprefix("tree_"))
    return None
