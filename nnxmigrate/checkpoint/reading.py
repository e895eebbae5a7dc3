"""Read what an Orbax item holds, without its values: ``_METADATA``, its companions and the arrays' headers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError, DamagedError, unreadable
from nnxmigrate.checkpoint.files import Folder
from nnxmigrate.checkpoint.tree import Leaf, Path, StoredTree, dotted

ARRAY_KINDS = {"jax.Array", "np.ndarray", "scalar"}
_HEADERS = {False: ".zarray", True: "zarr.json"}  # by use of Zarr's version 3
_DTYPE = re.compile(r"[<>|]([biufc])(\d+)")
_DTYPE_NAMES = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}


def store_spec(folder: Folder, ocdbt: bool) -> dict[str, Any]:
    """Return the TensorStore key-value store that holds an item's arrays, each below the leaf's name."""
    return {"driver": "ocdbt", "base": folder.spec} if ocdbt else folder.spec


def read_tree(folder: Folder) -> StoredTree:
    """Return the tree of the item in ``folder``.

    Raises:
        CheckpointError: if a part of the metadata is missing, unreadable or of an unknown form.
    """
    metadata = _json(folder, "_METADATA")
    if metadata is None:
        raise DamagedError(f"{folder}: _METADATA is missing")
    if metadata.get("value_metadata_tree"):
        raise CheckpointError(f"{folder}: saved with Orbax's rich types, which this tool does not read")
    files = folder.files()
    ocdbt, zarr3 = "manifest.ocdbt" in files, bool(metadata.get("use_zarr3"))
    array_metadatas = _array_metadatas(folder)
    recorded = _recorded(array_metadatas)
    entries = [_entry(folder, name, entry) for name, entry in _table(folder, metadata).items()]
    full = [leaf for leaf, skipped in entries if not skipped]
    headers = _headers(folder, ocdbt, zarr3, [leaf.name for leaf in full if leaf.kind in ARRAY_KINDS])
    leaves = {leaf.path: _with_header(leaf, headers, recorded) for leaf in full}
    return StoredTree(
        leaves=leaves,
        empty={leaf.path: leaf for leaf, skipped in entries if skipped},
        ocdbt=ocdbt,
        zarr3=zarr3,
        keys_known=bool(array_metadatas),
        dense=metadata.get("store_array_data_equal_to_fill_value") is True,
        metadata=metadata,
        shardings=_json(folder, "_sharding"),
        array_metadatas=array_metadatas,
    )


def open_array(folder: Folder, name: str, ocdbt: bool, zarr3: bool) -> Any:
    """Return the TensorStore array of a leaf, to be read."""
    import tensorstore

    spec = store_spec(folder, ocdbt)
    spec = {**spec, "path": f"{spec.get('path', '')}{name}/"}
    return tensorstore.open({"driver": "zarr3" if zarr3 else "zarr", "kvstore": spec}, open=True, read=True).result()


def header_name(zarr3: bool) -> str:
    """Return the name of the file that describes an array, below the leaf's name."""
    return _HEADERS[zarr3]


def _json(folder: Folder, name: str) -> Any:
    content = folder.read(name)
    if content is None:
        return None
    try:
        return json.loads(content)
    except ValueError as error:
        raise DamagedError(f"{folder}/{name}: not the JSON that Orbax writes: {error}") from error


def _table(folder: Folder, metadata: Any) -> Mapping[str, Any]:
    table = metadata.get("tree_metadata") if isinstance(metadata, dict) else None
    if not isinstance(table, dict):
        raise DamagedError(f"{folder}/_METADATA: without the table of leaves that Orbax writes")
    return table


def _entry(folder: Folder, name: str, entry: Any) -> tuple[Leaf, bool]:
    """Return a leaf of the table, still without its header, and whether it has no content."""
    try:
        keys, value = entry["key_metadata"], entry["value_metadata"]
        path: Path = tuple(str(key["key"]) for key in keys)
        leaf = Leaf(path, tuple(key["key_type"] for key in keys), value["value_type"])
        return leaf, bool(value.get("skip_deserialize"))
    except (KeyError, TypeError) as error:
        raise DamagedError(f"{folder}/_METADATA: the entry of {name} is not as Orbax writes it") from error


def _array_metadatas(folder: Folder) -> dict[str, Any]:
    if "array_metadatas" not in folder.folders():
        return {}
    below = folder.child("array_metadatas")
    return {name: _json(below, name) for name in below.files() if name.startswith("process_")}


def _recorded(array_metadatas: Mapping[str, Any]) -> dict[str, str]:
    """Return the recorded PRNG implementations of typed keys, by leaf name."""
    found: dict[str, str] = {}
    for file, content in array_metadatas.items():
        try:
            for entry in content["array_metadatas"]:
                implementation = (entry["array_metadata"].get("ext_metadata") or {}).get("random_key_impl")
                if implementation:
                    found[entry["array_metadata"]["param_name"]] = implementation
        except (KeyError, TypeError, AttributeError) as error:
            raise DamagedError(f"array_metadatas/{file}: not as Orbax writes it") from error
    return found


def _joining(folder: Folder, zarr3: bool) -> str:
    """Say how the database's root is made anew from what every process wrote; empty if a part of that is lost too.

    Orbax makes it when a checkpoint is complete, but below a folder with ``[`` in its name it finds nothing to join.
    What is printed is a command for a shell; it takes COPY as an absolute path, as Orbax does.
    """
    parts = [name for name in folder.folders() if name.startswith("ocdbt.process_")]
    if not parts or any("manifest.ocdbt" not in folder.child(name).files() for name in parts):
        return ""
    place = "a copy without [ in its path" if "[" in str(folder) else "a copy of it"
    return (
        f"what the processes wrote is there, and Orbax joins it, in {place}:\n"
        "    python -c 'import asyncio, sys; import orbax.checkpoint as ocp; from etils import epath; "
        "types = ocp.type_handlers; path = epath.Path(sys.argv[1]).absolute(); "
        f"asyncio.run(types.merge_ocdbt_per_process_files(path, types.get_ts_context(), {zarr3}))' COPY"
    )


def _headers(folder: Folder, ocdbt: bool, zarr3: bool, names: list[str]) -> dict[str, Any]:
    """Return the arrays' headers, by leaf name."""
    keys = {name: f"{name}/{header_name(zarr3)}" for name in names}
    if ocdbt:
        import tensorstore

        try:
            store = tensorstore.KvStore.open(store_spec(folder, True)).result()
            futures = {name: store.read(key) for name, key in keys.items()}
            contents = {name: future.result() for name, future in futures.items()}
        except ValueError as error:
            raise unreadable(folder, error) from error
        found = {name: read.value if read.state == "value" else None for name, read in contents.items()}
    else:
        found = {name: folder.read(key) for name, key in keys.items()}
    lost = [name for name, content in found.items() if content is None]
    if lost and not ocdbt and any(name == "d" or name.startswith("ocdbt.process_") for name in folder.folders()):
        raise DamagedError(
            f"{folder}: damaged: manifest.ocdbt, the database's root, is missing", _joining(folder, zarr3)
        )
    if lost:
        raise DamagedError(f"{folder}: damaged: the array of {lost[0]} is missing ({len(lost)} such leaves)")
    try:
        return {name: json.loads(content or b"") for name, content in found.items()}
    except ValueError as error:
        raise DamagedError(f"{folder}: damaged: an array's header is not JSON: {error}") from error


def _with_header(leaf: Leaf, headers: Mapping[str, Any], recorded: Mapping[str, str]) -> Leaf:
    header = headers.get(leaf.name)
    if header is None:
        return leaf
    try:
        if header["zarr_format"] == 3:
            dtype = header["data_type"]
            chunks = header["chunk_grid"]["configuration"]["chunk_shape"]
            names = [one["name"] for one in header.get("codecs", ())]
            codec = {("bytes",): "", ("bytes", "zstd"): "zstd"}.get(tuple(names))
        else:
            dtype, chunks = _dtype_name(header["dtype"]), header["chunks"]
            codec = "" if header.get("compressor") is None else str(header["compressor"]["id"])
            codec = None if header.get("filters") else codec
        return Leaf(
            leaf.path,
            leaf.key_types,
            leaf.kind,
            shape=tuple(header["shape"]),
            dtype=str(dtype),
            key_impl=recorded.get(dotted(leaf.path)),
            chunks=tuple(chunks),
            codec=codec,
        )
    except (KeyError, TypeError) as error:
        raise DamagedError(f"{leaf.name}: the array's header is not as Zarr writes it") from error


def _dtype_name(stored: Any) -> str:
    """Return NumPy's name of a dtype in Zarr's version 2, such as ``float32`` for ``<f4``."""
    match = _DTYPE.fullmatch(str(stored))
    if not match:
        return str(stored)
    name, size = _DTYPE_NAMES[match[1]], int(match[2])
    return name if name == "bool" else f"{name}{8 * size}"
