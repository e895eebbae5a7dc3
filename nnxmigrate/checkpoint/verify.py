"""Prove that a new item holds what was planned, and that the new program's own tree can be restored from it.

Copied files are proven by their hashes, see :mod:`nnxmigrate.checkpoint.transfer`. Here follows what was written anew:
the index, which must refer to the same places of the same files, the metadata, and the values that were added.
"""

from __future__ import annotations

import itertools
import math
import pathlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError, unreadable
from nnxmigrate.checkpoint.files import Folder, LocalFolder, RemoteFolder
from nnxmigrate.checkpoint.index import Content, contents
from nnxmigrate.checkpoint.initialise import Program
from nnxmigrate.checkpoint.integrity import require_whole_chunks
from nnxmigrate.checkpoint.plan import Kept, Plan
from nnxmigrate.checkpoint.reading import ARRAY_KINDS, open_array, read_tree, store_spec
from nnxmigrate.checkpoint.target import Layout, TargetLeaf
from nnxmigrate.checkpoint.transfer import PIECE, Progress
from nnxmigrate.checkpoint.tree import Path, StoredTree, array_nbytes, dotted, leaf_of
from nnxmigrate.checkpoint.writing import leaving

_DECODED = 64 << 20  # bytes of a chunk up to which it is decoded where nothing else tells whether it is whole


def verify_item(
    source: Folder,
    destination: LocalFolder | RemoteFolder,
    tree: StoredTree,
    plan: Plan,
    values: Mapping[Path, Any],
    by_values: bool,
    progress: Progress,
) -> int:
    """Prove that a new item holds what was planned, given that its files are copies of the old one's.

    Args:
        source: the old item.
        destination: the new item.
        tree: what the old item holds.
        plan: what was planned for it.
        values: initial values of the added leaves, by origin.
        by_values: whether values were written one by one; they are then compared one by one, in bounded pieces.
        progress: told about compared bytes.

    Returns:
        The number of bytes compared.

    Raises:
        CheckpointError: naming the first difference, or the value that cannot be read.
    """
    compared = 0
    try:
        if by_values:
            compared = _compare_values(source, destination, tree, plan, progress)
        elif tree.ocdbt:
            _require_references(source, destination, tree, plan)
        if not tree.ocdbt and isinstance(destination, LocalFolder):
            for kept in plan.kept:
                if not require_whole_chunks(destination.path, kept.leaf, kept.name, tree.zarr3, source):
                    _decode(destination, kept, tree.zarr3, source)
        _require_planned(read_tree(destination), plan)
        _require_values(destination, tree, plan, values)
    except ValueError as error:
        raise CheckpointError(f"{source}: a stored value cannot be read: {error}") from error
    return compared


def _require_references(source: Folder, destination: Folder, tree: StoredTree, plan: Plan) -> None:
    """Compare the indices: every kept key leads to the same place of the same file, and there is no key too many."""
    old, new = contents(source), contents(destination)
    gone = set(leaving(tree, plan))
    wanted = {key: content for key, content in old.items() if leaf_of(key, gone) == ""}
    renamed = {kept.leaf.name: kept.name for kept in plan.kept if kept.renamed}
    for key, content in old.items():
        name = leaf_of(key, renamed)
        if name:
            wanted[renamed[name] + key.removeprefix(name)] = content
    added = {leaf.name for leaf in plan.added}
    wanted = {key: content for key, content in wanted.items() if leaf_of(key, added) == ""}
    found = {key: content for key, content in new.items() if leaf_of(key, added) == ""}
    for key in sorted({*wanted, *found}):
        if wanted.get(key) != found.get(key):
            what = "is missing" if key not in found else "is too much" if key not in wanted else "leads elsewhere"
            raise CheckpointError(f"verification failed: the index of {destination}: {key} {what}")


def _compare_values(source: Folder, destination: Folder, tree: StoredTree, plan: Plan, progress: Progress) -> int:
    """Compare the stored values of all kept leaves piece by piece; return how many bytes there were."""
    import tensorstore

    old = tensorstore.KvStore.open(store_spec(source, tree.ocdbt)).result()
    new = tensorstore.KvStore.open(store_spec(destination, tree.ocdbt)).result()
    sizes = {key: _size(content) for key, content in contents(source).items()} if tree.ocdbt else {}
    total = 0
    for kept in plan.kept:
        if kept.leaf.kind not in ARRAY_KINDS:
            continue
        keys = [_keys(store, name) for store, name in ((old, kept.leaf.name), (new, kept.name))]
        if keys[0] != keys[1]:
            raise CheckpointError(f"verification failed: {kept.name}: {len(keys[1])} of {len(keys[0])} values arrived")
        for key in keys[0]:
            there, here = f"{kept.leaf.name}/{key}", f"{kept.name}/{key}"
            for part in _parts(sizes.get(there)):
                one, two = (store.read(at, byte_range=part).result() for store, at in ((old, there), (new, here)))
                if one.value != two.value or one.state != two.state:
                    raise CheckpointError(f"verification failed: the stored bytes of {here} differ")
                total += len(one.value)
                progress(len(one.value))
    return total


def _size(content: Content) -> int:
    return content[2] if isinstance(content, tuple) else len(content)


def _parts(size: int | None) -> Iterator[slice | None]:
    """Give the ranges in which a value is read: all of it if it is small or nothing tells how long it is."""
    if size is None or size <= PIECE:
        yield None
        return
    for start in range(0, size, PIECE):
        yield slice(start, min(start + PIECE, size))


def _keys(store: Any, name: str) -> list[str]:
    import tensorstore

    keys = store.list(tensorstore.KvStore.KeyRange(f"{name}/", f"{name}0")).result()  # "0" follows "/"
    return sorted(key.decode().removeprefix(f"{name}/") for key in keys)


def _decode(folder: LocalFolder, kept: Kept, zarr3: bool, source: Folder) -> None:
    """Decode every chunk of an array, one at a time; chunks too large for that are left to who restores them.

    Raises:
        CheckpointError: if one cannot be decoded; it names the source, of which the folder holds a proven copy.
    """
    leaf = kept.leaf
    if leaf.dtype is None or leaf.chunks is None or array_nbytes(leaf.chunks, leaf.dtype) > _DECODED:
        return
    array = open_array(folder, kept.name, False, zarr3)
    counts = [math.ceil(length / chunk) if chunk else 0 for length, chunk in zip(array.shape, leaf.chunks, strict=True)]
    for index in itertools.product(*(range(count) for count in counts)):
        ranges = zip(index, leaf.chunks, array.shape, strict=True)
        box = tuple(slice(at * chunk, min((at + 1) * chunk, length)) for at, chunk, length in ranges)
        try:
            array[box].read().result()
        except ValueError as error:
            said = str(error).replace(f"{folder}/{kept.name}/", f"{source}/{leaf.name}/")
            what = f"damaged: {leaf.name}: a stored value cannot be read"
            raise unreadable(source, ValueError(said), what) from error


def _require_planned(found: StoredTree, plan: Plan) -> None:
    """Compare names, types, shapes and places without content with the plan."""
    planned = {kept.path: replace(kept.leaf, path=kept.path, key_impl=kept.key_impl).described for kept in plan.kept}
    planned |= {leaf.path: leaf.described for leaf in plan.added}
    planned |= {kept.path: "" for kept in plan.empty} | {place.path: "" for place in plan.opened}
    seen = {path: leaf.described for path, leaf in found.leaves.items()} | dict.fromkeys(found.empty, "")
    if seen != planned:
        wrong = sorted(dotted(path) for path, _ in seen.items() ^ planned.items())
        raise CheckpointError(f"verification failed: not as planned: {', '.join(dict.fromkeys(wrong))}")


def _require_values(
    folder: LocalFolder | RemoteFolder, tree: StoredTree, plan: Plan, values: Mapping[Path, Any]
) -> None:
    for leaf in plan.added:
        stored = open_array(folder, leaf.name, tree.ocdbt, tree.zarr3).read().result()
        if stored.tobytes() != values[leaf.origin].tobytes():
            raise CheckpointError(f"verification failed: {leaf.name} was not stored as computed")


def restore_with_orbax(
    destination: pathlib.Path, plan: Plan, program: Program, part: str, whole: bool, values: Mapping[Path, Any]
) -> None:
    """Let Orbax restore the new item into the new program's own tree, as the printed code does.

    Orbax compares the trees, ``None`` and empty places included, and reads metadata and RNG state; leaves that are
    kept are not loaded, for which it knows placeholders.

    Args:
        destination: folder of the new item.
        plan: what was planned for it.
        program: the new program.
        part: which of the items an optimizer was split into this is; empty if it was not.
        whole: whether the item holds the program's whole tree, so that the trees can be compared.
        values: initial values of the added leaves, by origin.

    Raises:
        CheckpointError: if Orbax sees another tree, other types or other values, or cannot read them.
    """
    import jax
    import orbax.checkpoint as ocp
    from etils import epath  # type: ignore[import-not-found]

    path = epath.Path(destination)
    added = {leaf.name: leaf for leaf in plan.added}
    handler = ocp.PyTreeCheckpointHandler()
    here = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
    try:
        if whole:
            tree = program.abstract(part, plan.layout is Layout.PURE, plan.within)
            names = [dotted(leaf) for leaf in program.names(part, plan.layout, plan.within)]
            shape = jax.tree.structure(tree)
        else:
            found = handler.metadata(path)
            flat, shape = jax.tree.flatten(getattr(found, "tree", found), is_leaf=lambda one: hasattr(one, "shape"))
            names = [getattr(one, "name", "") for one in flat]
        arguments = [ocp.ArrayRestoreArgs(sharding=here) if name in added else ocp.RestoreArgs() for name in names]
        restored = handler.restore(
            path,
            args=ocp.args.PyTreeRestore(
                item=jax.tree.unflatten(shape, [0 if name in added else ocp.PLACEHOLDER for name in names]),
                restore_args=jax.tree.unflatten(shape, arguments),
            ),
        )
    except (ValueError, OSError, TypeError, KeyError) as error:
        raise CheckpointError(f"verification failed: Orbax cannot restore {destination}: {error}") from error
    finally:
        handler.close()
    for name, value in zip(names, jax.tree.leaves(restored), strict=True):
        if name in added:
            _require_equal(added[name], value, values[added[name].origin])


def _require_equal(leaf: TargetLeaf, restored: Any, wanted: Any) -> None:
    """Compare what Orbax restored with what was computed, the type of a key included."""
    import jax
    import numpy

    typed = isinstance(restored, jax.Array) and jax.dtypes.issubdtype(restored.dtype, jax.dtypes.prng_key)
    implementation = str(jax.random.key_impl(restored)) if typed else None
    data = numpy.asarray(jax.random.key_data(restored) if typed else restored)
    if implementation != leaf.key_impl or data.shape != wanted.shape or data.tobytes() != wanted.tobytes():
        raise CheckpointError(f"verification failed: Orbax restores {leaf.name} with another type or value")
