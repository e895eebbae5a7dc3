"""Recognise RNG state in a stored tree by its structure and types, never by its name.

An NNX RNG stream is a node with exactly two children, ``key`` and ``count``. The count is uint32 of some shape
``S``, the key's data are uint32 of shape ``S + (2,)`` (threefry) or ``S + (4,)`` (rbg). Orbax records for typed keys
which implementation they belong to; with that record a stream is certain. Without it (Orbax before 0.11.7, or key
data saved as numbers) it is probable: the new program's own tree decides, and the place where it stands.

In 0.10 a layer that draws random numbers holds a whole ``nnx.Rngs`` as ``rngs``, from 0.11 on a single stream of its
own. An ``nnx.Rngs`` or a stream that the program itself holds is stored in the same way by both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nnxmigrate.checkpoint.tree import Leaf, Path

_KEY_WORDS = (2, 4)  # uint32 words per key: threefry, rbg
_USUAL = {2: "threefry2x32", 4: "rbg"}  # the implementation of keys without a type, by their words

#: What stands beside ``rngs`` in the layers of Flax 0.10 that hold one; a Dropout has nothing but its ``rngs``.
_LAYERS = (
    frozenset[str](),  # Dropout
    frozenset({"query", "key", "value", "out"}),  # MultiHeadAttention
    frozenset({"dense_i", "dense_h"}),  # SimpleCell, OptimizedLSTMCell, GRUCell
    frozenset({"ii", "if_", "ig", "io", "hi", "hf", "hg", "ho"}),  # LSTMCell
    frozenset({"cell"}),  # RNN
    frozenset({"forward_rnn", "backward_rnn"}),  # Bidirectional
)
_OPTIONAL = frozenset({"query_ln", "key_ln", "cached_key", "cached_value", "cache_index", "recurrent_dropout"})


@dataclass(frozen=True)
class Stream:
    """One RNG stream.

    Attributes:
        path: the node that holds the key and the count.
        key: the key's leaf.
        count: the count's leaf.
    """

    path: Path
    key: Leaf
    count: Leaf

    @property
    def certain(self) -> bool:
        """Whether the checkpoint itself says that the key is one."""
        return self.key.key_impl is not None

    @property
    def leaves(self) -> tuple[Leaf, Leaf]:
        """The key and the count."""
        return self.key, self.count


def find_streams(leaves: Mapping[Path, Leaf]) -> list[Stream]:
    """Return the RNG streams among the ``leaves`` of a tree, certain and probable ones, in order of their paths.

    A lone typed key without a count is the user's data, not a stream.
    """
    children = _children(leaves)
    streams = []
    for node, names in children.items():
        if names != {"key", "count"}:
            continue
        key, count = (_content((*node, name), children, leaves) for name in ("key", "count"))
        if key and count and _fit(key, count):
            streams.append(Stream(node, key, count))
    return sorted(streams, key=lambda stream: stream.path)


def layer_streams(leaves: Mapping[Path, Leaf], streams: Sequence[Stream]) -> set[Path]:
    """Return the paths of those ``streams`` that can only be a layer's of Flax 0.10.

    That is a node ``rngs`` of nothing but streams, in a node whose other children are those of a layer which holds an
    ``nnx.Rngs`` in 0.10 and a single stream from 0.11 on. What the program's own modules hold has kept its place.
    """
    children = _children(leaves)
    paths = {stream.path for stream in streams}

    def of_streams(node: Path) -> bool:
        return all((*node, name) in paths for name in children[node])

    return {path for path in paths if path and of_streams(path[:-1]) and _is_layers(path[:-1], children)}


def lone_counts(leaves: Mapping[Path, Leaf]) -> set[Path]:
    """Return the leaves that can only be counts of a layer's streams of 0.10 whose keys were not saved.

    Programs left the keys out, as by ``nnx.Not(nnx.RngKey)``, while Orbax could not store them.
    """
    children = _children(leaves)
    found: set[Path] = set()
    for node in children:
        if not _is_layers(node, children):
            continue
        counts = [_content((*node, name, "count"), children, leaves) for name in children[node]]
        alone = all(children.get((*node, name)) == {"count"} for name in children[node])
        if alone and all(count is not None and count.dtype == "uint32" for count in counts):
            found |= {count.path for count in counts if count is not None}
    return found if len(found) < len(leaves) else set()


def unproven_streams(
    leaves: Mapping[Path, Leaf], streams: Sequence[Stream], new: Collection[Path], renamed: Callable[[Path], Path]
) -> set[Path]:
    """Return the paths of those ``streams`` that may as well be data of the program's: a pair of unsigned numbers.

    A stream is proven by its recorded type; by its place in a layer, or in an ``nnx.Rngs`` with one that is; or by a
    stream that the new program has there, or in the place of that ``nnx.Rngs``. Where no key at all has a type, as
    before Orbax 0.11.7, a node ``rngs`` of nothing but streams is proof enough.

    Args:
        leaves: all leaves of the stored tree.
        streams: the streams in it.
        new: the nodes of the new program's streams.
        renamed: gives a stored path its new one.
    """
    typed = any(leaf.key_impl for leaf in leaves.values())
    children = _children(leaves)
    paths = {stream.path for stream in streams}
    proven = {stream.path for stream in streams if stream.certain} | layer_streams(leaves, streams)
    holders = {path[:-1] for path in proven if path}

    def shown(path: Path) -> bool:
        place = renamed(path)
        if place in new or (place and place[:-1] in new):
            return True
        alone = bool(path) and all((*path[:-1], name) in paths for name in children[path[:-1]])
        return alone and (path[:-1] in holders or (not typed and path[-2:-1] == ("rngs",)))

    return {path for path in paths - proven if not shown(path)}


def proven_streams(leaves: Mapping[Path, Leaf]) -> list[Stream]:
    """Return the streams among the ``leaves`` of a new program of whose Variables nothing is known, as of pure dicts.

    Their keys have a type, or they stand where a layer of Flax has its stream.
    """
    children = _children(leaves)
    return [one for one in find_streams(leaves) if one.certain or _is_layers(one.path, children)]


def own_streams(leaves: Iterable[Path], streams: Iterable[Path]) -> set[Path]:
    """Return the nodes of those ``streams`` of a new program that are not the one a layer of Flax has.

    Args:
        leaves: the paths of all leaves of the program.
        streams: the nodes of streams.
    """
    children = _children(leaves)
    return {path for path in streams if not _is_layers(path, children)}


def implementation_notes(old: Sequence[Leaf], new: Sequence[Leaf]) -> Iterator[str]:
    """Say where keys that are computed are of another kind than those in whose place they are put.

    A program restores only keys of the implementation of which it makes its own.

    Args:
        old: the stored keys of streams that are left out.
        new: the typed keys that are put in their place.
    """
    if not old or not new:
        return
    kinds = {leaf.key_impl for leaf in new}
    words = {_words(leaf) for leaf in new}
    others = {leaf.key_impl for leaf in old if leaf.key_impl} - kinds
    others |= {_USUAL[_words(leaf)] for leaf in old if not leaf.key_impl and _words(leaf) not in words}
    if others:
        stored, made = (" and ".join(sorted(filter(None, some))) for some in (others, kinds))
        first = min(filter(None, others))
        yield (
            f"the stored keys are of the implementation {stored}, the new ones of {made}, and the program restores "
            f"only such as it makes: if it sets jax_default_prng_impl, run this with JAX_DEFAULT_PRNG_IMPL={first} in "
            "the environment, or let the factory's module set it"
        )
    if not all(leaf.key_impl for leaf in old):
        yield (
            "keys were stored as numbers, and the new ones are typed keys: a program that restores them as numbers, "
            "as jax.random.key_data gives them, gets typed keys too"
        )


def _words(key: Leaf) -> int:
    """Return of how many numbers a key is made."""
    return key.shape[-1] if key.shape else 0


def _children(leaves: Iterable[Path]) -> dict[Path, set[str]]:
    """Return the names of what stands in every node."""
    children: dict[Path, set[str]] = {(): set()}
    for path in leaves:
        for depth in range(len(path)):
            children.setdefault(path[:depth], set()).add(path[depth])
    return children


def _is_layers(node: Path, children: Mapping[Path, set[str]]) -> bool:
    """Say whether a node is what a layer of Flax has as ``rngs``, an ``nnx.Rngs`` in 0.10 and a stream from 0.11 on."""
    if node[-1:] != ("rngs",) or len(node) < 2:
        return False
    return frozenset(children[node[:-1]] - {"rngs"} - _OPTIONAL) in _LAYERS


def _content(path: Path, children: Mapping[Path, set[str]], leaves: Mapping[Path, Leaf]) -> Leaf | None:
    """Return the leaf at ``path``, or at its ``value`` if it is a Variable's node with nothing else in it."""
    if path in leaves:
        return leaves[path]
    return leaves.get((*path, "value")) if children.get(path) == {"value"} else None


def _fit(key: Leaf, count: Leaf) -> bool:
    return (
        key.dtype == count.dtype == "uint32"
        and key.shape is not None
        and key.shape[:-1] == count.shape
        and key.shape[-1:] in {(words,) for words in _KEY_WORDS}
    )
