"""Compare a new item with the old one, value by value, and let Orbax itself open it."""

from __future__ import annotations

import itertools
import math
import pathlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.files import Folder, LocalFolder, RemoteFolder
from nnxmigrate.checkpoint.plan import Kept, Plan, TargetLeaf
from nnxmigrate.checkpoint.reading import ARRAY_KINDS, read_tree, store_spec
from nnxmigrate.checkpoint.transfer import Progress
from nnxmigrate.checkpoint.tree import Path, StoredTree, dotted


def verify_item(
    source: Folder,
    destination: LocalFolder | RemoteFolder,
    tree: StoredTree,
    plan: Plan,
    values: Mapping[Path, Any],
    progress: Progress,
) -> int:
    """Prove that a new item holds what was planned.

    Every stored value of every kept leaf is compared byte by byte. Without OCDBT, where no index tells a chunk's
    length, every chunk is decoded too. Then the names and types are read back and compared with the plan.

    Args:
        source: the old item.
        destination: the new item.
        tree: what the old item holds.
        plan: what was planned for it.
        values: initial values of the added leaves, by origin.
        progress: told about compared bytes.

    Returns:
        The number of bytes compared.

    Raises:
        CheckpointError: naming the first difference, or the value that cannot be read.
    """
    import tensorstore

    compared = 0
    try:
        old = tensorstore.KvStore.open(store_spec(source, tree.ocdbt)).result()
        new = tensorstore.KvStore.open(store_spec(destination, tree.ocdbt)).result()
        for kept in plan.kept:
            if kept.leaf.kind in ARRAY_KINDS:
                compared += _compare(old, new, kept, progress)
                if not tree.ocdbt:
                    _decode(destination, kept, tree.zarr3)
    except ValueError as error:
        raise CheckpointError(f"{source}: a stored value cannot be read: {error}") from error
    _require_planned(read_tree(destination), plan)
    _require_values(destination, tree, plan, values)
    return compared


def reopen_with_orbax(destination: pathlib.Path, plan: Plan, values: Mapping[Path, Any]) -> None:
    """Let Orbax read the new item's metadata and restore its added leaves; the others are not loaded.

    Args:
        destination: folder of the new item.
        plan: what was planned for it.
        values: initial values of the added leaves, by origin.

    Raises:
        CheckpointError: if Orbax sees other arrays or other values than planned, or cannot read them.
    """
    import jax
    import orbax.checkpoint as ocp
    from etils import epath  # type: ignore[import-not-found]

    path = epath.Path(destination)
    added = {leaf.name: leaf for leaf in plan.added}
    arrays = {kept.name for kept in plan.kept if kept.leaf.kind in ARRAY_KINDS} | set(added)
    handler = ocp.PyTreeCheckpointHandler()
    try:
        found = handler.metadata(path)
        flat, shape = jax.tree.flatten(getattr(found, "tree", found), is_leaf=lambda one: hasattr(one, "shape"))
        seen = {one.name for one in flat if hasattr(one, "shape")}
        if seen != arrays:
            raise CheckpointError(f"verification failed: Orbax sees other leaves: {', '.join(sorted(seen ^ arrays))}")
        names = [getattr(one, "name", "") for one in flat]
        sharding = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        arguments = [ocp.ArrayRestoreArgs(sharding=sharding) if name in added else ocp.RestoreArgs() for name in names]
        restored = handler.restore(
            path,
            args=ocp.args.PyTreeRestore(
                item=jax.tree.unflatten(shape, [0 if name in added else ocp.PLACEHOLDER for name in names]),
                restore_args=jax.tree.unflatten(shape, arguments),
            ),
        )
    except (ValueError, OSError, TypeError, KeyError) as error:
        raise CheckpointError(f"verification failed: Orbax cannot read {destination}: {error}") from error
    finally:
        handler.close()
    for name, value in zip(names, jax.tree.leaves(restored), strict=True):
        if name in added:
            _require_equal(added[name], value, values[added[name].origin])


def _compare(old: Any, new: Any, kept: Kept, progress: Progress) -> int:
    """Compare all values of one leaf; return how many bytes there were."""
    keys = [_keys(store, name) for store, name in ((old, kept.leaf.name), (new, kept.name))]
    if keys[0] != keys[1]:
        raise CheckpointError(f"verification failed: {kept.name}: {len(keys[1])} of {len(keys[0])} values arrived")
    total = 0
    for key in keys[0]:
        there = old.read(f"{kept.leaf.name}/{key}").result().value
        if there != new.read(f"{kept.name}/{key}").result().value:
            raise CheckpointError(f"verification failed: {kept.name}: the stored bytes of {key} differ")
        total += len(there)
        progress(len(there))
    return total


def _keys(store: Any, name: str) -> list[str]:
    import tensorstore

    keys = store.list(tensorstore.KvStore.KeyRange(f"{name}/", f"{name}0")).result()  # "0" follows "/"
    return sorted(key.decode().removeprefix(f"{name}/") for key in keys)


def _decode(folder: LocalFolder | RemoteFolder, kept: Kept, zarr3: bool) -> None:
    """Decode every chunk of an array, one at a time."""
    array = _open_array(folder, kept.name, False, zarr3)
    chunks = array.chunk_layout.read_chunk.shape
    counts = [math.ceil(length / chunk) if chunk else 0 for length, chunk in zip(array.shape, chunks, strict=True)]
    for index in itertools.product(*(range(count) for count in counts)):
        ranges = zip(index, chunks, array.shape, strict=True)
        box = tuple(slice(at * chunk, min((at + 1) * chunk, length)) for at, chunk, length in ranges)
        array[box].read().result()


def _open_array(folder: LocalFolder | RemoteFolder, name: str, ocdbt: bool, zarr3: bool) -> Any:
    import tensorstore

    spec = store_spec(folder, ocdbt)
    spec = {**spec, "path": f"{spec.get('path', '')}{name}/"}
    return tensorstore.open({"driver": "zarr3" if zarr3 else "zarr", "kvstore": spec}, open=True, read=True).result()


def _require_planned(found: StoredTree, plan: Plan) -> None:
    """Compare names, types and shapes with the plan."""
    planned = {kept.path: replace(kept.leaf, path=kept.path, key_impl=kept.key_impl).described for kept in plan.kept}
    planned |= {leaf.path: leaf.described for leaf in plan.added}
    seen = {path: leaf.described for path, leaf in found.leaves.items()}
    if seen != planned:
        wrong = sorted(dotted(path) for path, _ in seen.items() ^ planned.items())
        raise CheckpointError(f"verification failed: not as planned: {', '.join(dict.fromkeys(wrong))}")


def _require_values(
    folder: LocalFolder | RemoteFolder, tree: StoredTree, plan: Plan, values: Mapping[Path, Any]
) -> None:
    for leaf in plan.added:
        stored = _open_array(folder, leaf.name, tree.ocdbt, tree.zarr3).read().result()
        if stored.tobytes() != values[leaf.origin].tobytes():
            raise CheckpointError(f"verification failed: {leaf.name} was not stored as computed")


def _require_equal(leaf: TargetLeaf, restored: Any, wanted: Any) -> None:
    """Compare what Orbax restored with what was computed, the type of a key included."""
    import jax
    import numpy

    typed = isinstance(restored, jax.Array) and jax.dtypes.issubdtype(restored.dtype, jax.dtypes.prng_key)
    implementation = str(jax.random.key_impl(restored)) if typed else None
    data = numpy.asarray(jax.random.key_data(restored) if typed else restored)
    if implementation != leaf.key_impl or data.shape != wanted.shape or data.tobytes() != wanted.tobytes():
        raise CheckpointError(f"verification failed: Orbax restores {leaf.name} with another type or value")
