"""Write the new form of one item: its files copied and its index changed, or its values copied one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.files import Folder, LocalFolder, RemoteFolder
from nnxmigrate.checkpoint.plan import Kept, Plan
from nnxmigrate.checkpoint.reading import ARRAY_KINDS, store_spec
from nnxmigrate.checkpoint.sidecars import STRINGS, rewritten
from nnxmigrate.checkpoint.target import TargetLeaf
from nnxmigrate.checkpoint.transfer import Progress, Transferred
from nnxmigrate.checkpoint.tree import Path, StoredTree, leaf_of

_BATCH = 64 << 20  # bytes of values that wait in memory for one commit
MANIFEST = "manifest.ocdbt"
_REPLACED = {"manifest.ocdbt", ".zarray", "zarr.json"}  # written anew when something changes, so never shared


def copied_files(source: Folder, tree: StoredTree, plan: Plan) -> Iterator[tuple[str, str]]:
    """Give the files of an item's arrays that are copied as they are, and the paths of their copies.

    The database's manifest is not among them: it is written when everything else is there.

    Args:
        source: the old item.
        tree: what it holds.
        plan: what becomes of it.
    """
    folders = {} if tree.ocdbt else {kept.leaf.name: kept.name for kept in plan.kept}
    for path in source.walk():
        leaf = leaf_of(path, folders)
        if not is_array_file(path, tree) or path == MANIFEST:
            continue
        if tree.ocdbt:
            yield path, path
        elif leaf:
            yield path, folders[leaf] + path.removeprefix(leaf)


def may_be_linked(path: str) -> bool:
    """Say whether a file may be shared through a hard link. TensorStore never rewrites data files."""
    return path.rpartition("/")[2] not in _REPLACED


def change_copy(
    source: Folder,
    destination: LocalFolder | RemoteFolder,
    tree: StoredTree,
    plan: Plan,
    values: Mapping[Path, Any],
) -> int:
    """Make the new item of copied files: change the database's index, add new arrays, write the metadata.

    Args:
        source: the old item.
        destination: the new one, with all of :func:`copied_files` in it.
        tree: what the old item holds.
        plan: what becomes of it.
        values: initial values of the added leaves, by origin.

    Returns:
        The number of bytes written.

    Raises:
        CheckpointError: if TensorStore cannot write.
    """
    context = _context()
    written = 0
    try:
        if tree.ocdbt:
            manifest = source.read(MANIFEST) or b""
            destination.write(MANIFEST, manifest)
            written += len(manifest)
            _change_database(destination, tree, plan, values, context)
        else:
            _write_arrays(destination, tree, plan.added, values, context, None)
    except ValueError as error:
        raise CheckpointError(f"{destination}: writing failed: {error}") from error
    return written + _write_sidecars(source, destination, tree, plan)


def write_values(
    source: Folder,
    destination: LocalFolder | RemoteFolder,
    tree: StoredTree,
    plan: Plan,
    values: Mapping[Path, Any],
    progress: Progress,
) -> Transferred:
    """Write an item by copying every stored value into a new store, still without decoding it.

    For stores without files, and for parts of an item that get a folder each. Holds the largest chunk in memory.

    Args:
        source: the old item.
        destination: folder of the new item.
        tree: what the old item holds.
        plan: what becomes of it, or of one of its parts.
        values: initial values of the added leaves, by origin.
        progress: told about copied bytes.

    Raises:
        CheckpointError: if TensorStore cannot read or write.
    """
    import tensorstore

    done = Transferred()
    context = _context()
    try:
        old = tensorstore.KvStore.open(store_spec(source, tree.ocdbt), context=context).result()
        spec = store_spec(destination, tree.ocdbt)
        new = tensorstore.KvStore.open(spec, context=context).result()
        for batch in _batches(old, plan.kept):
            transaction = tensorstore.Transaction()
            for key, content in batch:
                new.with_transaction(transaction).write(key, content).result()
                done.copied += len(content)
                progress(len(content))
            transaction.commit_async().result()
        _write_arrays_at(spec, tree.zarr3, plan.added, values, context, None)
        done.copied += _write_sidecars(source, destination, tree, plan)
    except ValueError as error:
        raise CheckpointError(f"copying values of {source} failed: {error}") from error
    return done


def is_array_file(path: str, tree: StoredTree) -> bool:
    """Say whether the file at ``path`` in an item belongs to its arrays."""
    if tree.ocdbt:
        top = path.partition("/")[0]
        return top in ("manifest.ocdbt", "d") or top.startswith("ocdbt.process_")
    return leaf_of(path, tree.names) != ""


def _change_database(folder: Folder, tree: StoredTree, plan: Plan, values: Mapping[Path, Any], context: Any) -> None:
    """Drop, rename and add leaves in a copied OCDBT database, by one transaction on its index; values stay in place."""
    import tensorstore

    spec = store_spec(folder, True)
    store = tensorstore.KvStore.open(spec, context=context).result()
    transaction = tensorstore.Transaction(atomic=True)
    changed = store.with_transaction(transaction)
    moved = [kept for kept in plan.kept if kept.renamed and kept.leaf.kind in ARRAY_KINDS]
    for name in leaving(tree, plan):
        changed.delete_range(_below(name)).result()
    for kept in moved:
        old = tensorstore.KvStore.open({**spec, "path": f"{kept.leaf.name}/"}, context=context).result()
        new = tensorstore.KvStore.open({**spec, "path": f"{kept.name}/"}, context=context).result()
        old.experimental_copy_range_to(new.with_transaction(transaction)).result()
    _write_arrays(folder, tree, plan.added, values, context, transaction)
    transaction.commit_async().result()


def leaving(tree: StoredTree, plan: Plan) -> list[str]:
    """Return the names of the arrays that do not stay where they are: dropped, renamed or in another part."""
    stay = {kept.leaf.name for kept in plan.kept if not kept.renamed}
    return [leaf.name for leaf in tree.leaves.values() if leaf.kind in ARRAY_KINDS and leaf.name not in stay]


def _below(name: str) -> Any:
    """Return the range of the keys below ``name/``."""
    import tensorstore

    return tensorstore.KvStore.KeyRange(f"{name}/", f"{name}0")  # "0" follows "/" in ASCII


def _write_arrays(
    folder: Folder,
    tree: StoredTree,
    leaves: Iterable[TargetLeaf],
    values: Mapping[Path, Any],
    context: Any,
    transaction: Any,
) -> None:
    _write_arrays_at(store_spec(folder, tree.ocdbt), tree.zarr3, leaves, values, context, transaction)


def _write_arrays_at(
    spec: dict[str, Any],
    zarr3: bool,
    leaves: Iterable[TargetLeaf],
    values: Mapping[Path, Any],
    context: Any,
    transaction: Any,
) -> None:
    """Write new arrays, each as one chunk, as Orbax does."""
    import tensorstore

    for leaf in leaves:
        value = values[leaf.origin]
        shape = list(value.shape)
        chunks: dict[str, Any] = {"chunks": shape, "compressor": {"id": "zstd", "level": 1}}
        if zarr3:
            chunks = {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}}}
        array = tensorstore.open(
            {
                "driver": "zarr3" if zarr3 else "zarr",
                "kvstore": {**spec, "path": f"{spec.get('path', '')}{leaf.name}/"},
                "metadata": {"shape": shape, **chunks},
                "store_data_equal_to_fill_value": True,
            },
            dtype=value.dtype.name,
            create=True,
            context=context,
            transaction=transaction,
        ).result()
        array.write(value).result()


def _batches(store: Any, kept: Iterable[Kept]) -> Iterator[list[tuple[str, bytes]]]:
    """Give new keys and contents of all values of the ``kept`` leaves, in groups of bounded size."""
    batch: list[tuple[str, bytes]] = []
    size = 0
    for one in kept:
        if one.leaf.kind not in ARRAY_KINDS:
            continue
        for key in store.list(_below(one.leaf.name)).result():
            content = store.read(key).result().value
            batch.append((f"{one.name}/{key.decode().removeprefix(one.leaf.name + '/')}", content))
            size += len(content)
            if size >= _BATCH:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _write_sidecars(source: Folder, destination: LocalFolder | RemoteFolder, tree: StoredTree, plan: Plan) -> int:
    """Write the JSON files beside the arrays; return their size in bytes."""
    files = rewritten(tree, plan, json.loads(source.read(STRINGS) or b"{}"))
    for name, content in files.items():
        destination.write(name, content.encode())
    return sum(len(content.encode()) for content in files.values())


def _context() -> Any:
    """Return a new TensorStore context; stores that share data by reference must share it."""
    import tensorstore

    return tensorstore.Context()
