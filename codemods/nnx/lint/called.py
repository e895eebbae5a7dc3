"""What foreign functions give of traced arrays and of Python values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codemods.nnx.lint import status as states
from codemods.nnx.lint.names import NUMPY_ALLOWED, OF_TREES, STATIC_RESULTS, gives_arrays
from codemods.nnx.lint.results import PYTHON_RESULTS, STAGED_RESULTS
from codemods.nnx.lint.status import ARRAY, PYTHON, SHAPE, TREE, UNKNOWN, Grade, Status
from codemods.nnx.lint.traced import STAGED
from codemods.nnx.values import Call

_COMPUTING = frozenset({"abs", "round", "pow", "divmod"})
_GIVING_PYTHON = frozenset(
    {"len", "isinstance", "issubclass", "hasattr", "callable", "type", "id", "str", "repr", "format", "print", "int",
     "float", "bool", "complex", "ord", "chr", "hash", "all", "any", "range"}
)  # fmt: skip
_SAME_PARTS = frozenset({"list", "tuple", "sorted", "reversed", "set", "iter"})
_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves"})
_FLATTEN = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten"})
_SIZES = frozenset({"jax.lax.psum", "jax.lax.axis_size"})  # of a number, how many devices there are times it
_SHAPES = frozenset({"jax.numpy.shape", "numpy.shape", "jax.numpy.broadcast_shapes", "numpy.broadcast_shapes"})


#: What gives a list or tuple of arrays, whose items are no items of an array.
SEVERAL = frozenset(
    f"jax.numpy.{word}"
    for word in ("split", "array_split", "hsplit", "vsplit", "dsplit", "unstack", "meshgrid", "broadcast_arrays",
                 "nonzero", "unravel_index", "tril_indices_from", "triu_indices_from")
) | {"jax.lax.split"}  # fmt: skip


def known_result(name: str, call: Call, args: Sequence[Status], keywords: Mapping[str, Status], level: int) -> Status:
    """Return what a foreign function gives.

    Args:
        name: its full name.
        call: the call.
        args: what its positional arguments are.
        keywords: what its arguments by name are.
        level: how the function around the call is traced.
    """
    every = (*args, *keywords.values())
    holding = any(status.holds for status in every)
    if name.startswith("builtins."):
        return _builtin(name.removeprefix("builtins."), args)
    if name in _SHAPES:
        return SHAPE
    if name in STATIC_RESULTS or name in PYTHON_RESULTS:
        return PYTHON
    if name in _LEAVES and args:
        return states.many(leaf(args[0]))
    if name in _FLATTEN and args:
        return states.sequence((states.many(leaf(args[0])), PYTHON))
    if name.startswith("math."):
        return PYTHON
    if name.startswith("numpy."):
        if holding:  # what does not accept tracers raises, and gives nothing
            return ARRAY if name.rpartition(".")[2] in NUMPY_ALLOWED else UNKNOWN
        return PYTHON if all(status.static for status in every) else UNKNOWN
    if name == "jax.lax.axis_index":
        return ARRAY
    if name in _SIZES:
        return PYTHON if args and all(status.static for status in args) else UNKNOWN if not holding else TREE
    if name in OF_TREES and args and args[0].grade in {Grade.CONTAINER, Grade.TREE}:
        return args[0]
    if name in STAGED_RESULTS:
        traced = holding or (level >= STAGED and every)
        return UNKNOWN if not traced else states.many(ARRAY) if name in SEVERAL else ARRAY
    return TREE if holding and gives_arrays(name) else UNKNOWN


def _builtin(word: str, args: Sequence[Status]) -> Status:
    if word in {"sum", "min", "max"}:
        if len(args) == 1:
            part = args[0].any_part()
            return ARRAY if part.traced or args[0].traced else PYTHON if args[0].static else UNKNOWN
        word = "abs"
    if word in _COMPUTING:
        if any(status.traced for status in args):
            return ARRAY
        return PYTHON if args and all(status.static for status in args) else UNKNOWN
    if word in {"range"}:
        return SHAPE
    if word in _GIVING_PYTHON:
        return PYTHON
    if word in _SAME_PARTS and len(args) == 1:
        if word == "set" and args[0].traced:
            return states.many(PYTHON)  # keys of a dict: a tracer has no hash
        if args[0].traced:
            return states.many(ARRAY) if args[0].grade is Grade.ARRAY else TREE
        return states.many(args[0].any_part()) if args[0].grade is Grade.CONTAINER else UNKNOWN
    if word == "enumerate" and args:
        return states.many(states.sequence((PYTHON, args[0].any_part())))
    if word == "zip":
        return states.many(states.sequence(status.any_part() for status in args))
    return UNKNOWN


def leaf(tree: Status) -> Status:
    """Return what the leaves of a tree are."""
    if tree.traced:
        return ARRAY
    if tree.grade is Grade.CONTAINER:
        return states.join(leaf(part) for part in tree.parts)
    return tree if tree.grade is Grade.PYTHON else UNKNOWN
