"""Where in a tree of dicts a program put its model: nodes below which leaves are stored."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from nnxmigrate.checkpoint.rng import Stream
from nnxmigrate.checkpoint.tree import Leaf, Path, is_below

MODEL = "model"
OPTIMIZER = "optimizer"
OPT_STATE = "opt_state"
STEP = "step"


def holds_optimizer(leaves: Mapping[Path, Leaf]) -> bool:
    """Say whether a tree is the state of an ``nnx.Optimizer`` of 0.10, which holds its model too.

    It has a ``model`` and a ``step``, an unsigned number in a Variable as those of the model are. Transformations
    without state have no ``opt_state``, and classes derived from ``nnx.Optimizer`` may have more. A dict of a model and
    the number of a step that the program counted is none.
    """
    model = [path for path in leaves if path[0] == MODEL and len(path) > 1]
    steps = [leaf for path, leaf in leaves.items() if path in ((STEP,), (STEP, "value"))]
    counted = any(step.shape == () and str(step.dtype).startswith("uint") for step in steps)
    bare = (STEP,) in leaves and all(path[-1] == "value" for path in model)
    return counted and not bare and bool(model)


def nodes_above(stored: Collection[Path], wanted: Collection[Path]) -> list[Path]:
    """Return the nodes below which all wanted paths are stored."""
    first = next(iter(wanted), ())
    nodes = {path[: -len(first)] for path in stored if first and path[-len(first) :] == first}
    return sorted((node for node in nodes if all((*node, *path) in stored for path in wanted)), key=str)


def with_streams(nodes: Iterable[Path], streams: Iterable[Stream]) -> list[Path]:
    """Return the nodes below which there is RNG state.

    Averages of a model's parameters and what an optimizer remembers of each have the names of the model, but none.
    """
    return [node for node in nodes if any(is_below(stream.path, node) for stream in streams)]


def with_streams_apart(
    stored: Collection[Path], mount: Path, streams: Iterable[Stream], new: Collection[Path]
) -> list[Path]:
    """Return the nodes of a tree that hold RNG state of the model below another node, and nothing else.

    So it is where a program saved the parts of a model below a key each, as ``nnx.split`` gives them.

    Args:
        stored: the paths of all stored leaves.
        mount: the node below which all other leaves of the model are stored.
        streams: the stored streams.
        new: the paths of the model's own streams.
    """
    halves = {leaf.path for stream in streams for leaf in stream.leaves}
    ordinary = [path for path in stored if path not in halves]
    found = set()
    for stream in streams:
        path = stream.path
        for depth in range(1, len(path)):
            if path[depth:] in new or path[depth:-1] in new:  # Flax 0.10 has several streams where a layer now has one
                found.add(path[:depth])
    apart = (node for node in found if not (is_below(node, mount) or is_below(mount, node)))
    return sorted(node for node in apart if not any(is_below(path, node) for path in ordinary))


def bare(path: Path) -> Path:
    """Return a path as a pure dict has it, which does not name the value of a Variable."""
    return path[:-1] if path[-1:] == ("value",) else path


def joined_by(path: Path) -> str:
    """Return what a program joined the names of a leaf's path by; empty if it did not: no attribute's name has it."""
    last = bare(path)[-1:] or ("",)
    return next((separator for separator in "/." if separator in last[0].strip(separator)), "")


def nested_all(nodes: Iterable[Path], inner: str) -> str:
    """Return the dicts that put the same at several nodes of a tree, none below another, as Python."""
    return nested_each(dict.fromkeys(nodes, inner))


def nested_each(inner: Mapping[Path, str]) -> str:
    """Return the dicts that put something at each of several nodes of a tree, none below another, as Python."""
    tree: dict[str, dict[Path, str]] = {}
    for node, text in inner.items():
        if not node:
            return text
        tree.setdefault(node[0], {})[node[1:]] = text
    return "{" + ", ".join(f"{key!r}: {nested_each(rest)}" for key, rest in tree.items()) + "}"


def nested(node: Path, inner: str) -> str:
    """Return the dicts that put something at a node of a tree, as Python.

    Args:
        node: the node.
        inner: what is put there.
    """
    return nested_all([node], inner)
