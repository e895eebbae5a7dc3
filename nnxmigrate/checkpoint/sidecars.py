"""The small JSON files that Orbax keeps beside the arrays of an item, rewritten for a plan."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

from nnxmigrate.checkpoint.plan import Kept, Plan
from nnxmigrate.checkpoint.target import TargetLeaf
from nnxmigrate.checkpoint.tree import DICT_KEY, Path, StoredTree

METADATA = "_METADATA"
SHARDING = "_sharding"
STRINGS = "_strings.json"
ARRAY_METADATAS = "array_metadatas"
HANDLERS = "_CHECKPOINT_METADATA"
COMMIT = "commit_success.txt"

_SINGLE_DEVICE = {"sharding_type": "SingleDeviceSharding", "device_str": "TFRT_CPU_0"}


def is_sidecar(path: str) -> bool:
    """Say whether the file at ``path`` in an item is one that :func:`rewritten` writes."""
    return path in (METADATA, SHARDING, STRINGS) or path.startswith(f"{ARRAY_METADATAS}/")


def rewritten(tree: StoredTree, plan: Plan, strings: Mapping[str, str]) -> dict[str, str]:
    """Return the sidecars of the new item.

    Args:
        tree: the old item.
        plan: what becomes of its leaves.
        strings: the old item's text leaves, by name.

    Returns:
        Contents by path in the item.
    """
    files = {METADATA: _metadata(tree, plan)}
    typed = any(leaf.key_impl for leaf in plan.added) or any(_repaired(kept) for kept in plan.kept)
    if tree.shardings is not None:  # Orbax wants an entry for every array in it, or no file
        files[SHARDING] = json.dumps(_shardings(tree.shardings, plan))
    arrays = tree.array_metadatas or ({"process_0": {"array_metadatas": []}} if typed else {})
    for name, content in arrays.items():
        files[f"{ARRAY_METADATAS}/{name}"] = json.dumps(_array_metadata(content, plan))
    texts = {kept.name: strings[kept.leaf.name] for kept in plan.kept if kept.leaf.name in strings}
    if texts:
        files[STRINGS] = json.dumps(texts)
    return files


def _metadata(tree: StoredTree, plan: Plan) -> str:
    stored = {tuple(str(key["key"]) for key in entry["key_metadata"]): entry for entry in _entries(tree)}
    types = _key_types(plan)
    table: dict[str, Any] = {}
    for kept in (*plan.kept, *plan.empty):
        table[str(kept.path)] = {
            "key_metadata": _keys(kept.path, types),
            "value_metadata": stored[kept.leaf.path]["value_metadata"],
        }
    with_shape = any("write_shape" in entry["value_metadata"] for entry in stored.values())
    for leaf in plan.added:
        value: dict[str, Any] = {"value_type": "jax.Array", "skip_deserialize": False}
        if with_shape:
            value["write_shape"] = list(leaf.shape or ())
        table[str(leaf.path)] = {"key_metadata": _keys(leaf.path, types), "value_metadata": value}
    for place in plan.opened:
        content = {"value_type": place.kind, "skip_deserialize": True}
        table[str(place.path)] = {"key_metadata": _keys(place.path, types), "value_metadata": content}
    return json.dumps({**tree.metadata, "tree_metadata": table})


def _entries(tree: StoredTree) -> Iterable[Any]:
    return tree.metadata["tree_metadata"].values()  # type: ignore[no-any-return]


def _key_types(plan: Plan) -> dict[Path, int]:
    """Return the type of the last key of every node and leaf; what is stored decides over what the model says."""
    types: dict[Path, int] = {}
    for leaf in (*plan.added, *plan.opened):
        for depth in range(1, len(leaf.path) + 1):
            types[leaf.path[:depth]] = leaf.key_types[depth - 1]
    for kept in (*plan.kept, *plan.empty):
        moved = len(kept.path) - len(kept.leaf.path)  # keys are put in or taken away at the root only
        for depth in range(1, len(kept.path) + 1):
            old = depth - moved
            same = old > 0 and kept.path[depth - 1] == kept.leaf.path[old - 1]
            if same:
                types[kept.path[:depth]] = kept.leaf.key_types[old - 1]
            else:
                types.setdefault(kept.path[:depth], DICT_KEY)
    return types


def _keys(path: Path, types: Mapping[Path, int]) -> list[dict[str, Any]]:
    return [{"key": key, "key_type": types[path[: depth + 1]]} for depth, key in enumerate(path)]


def _shardings(stored: Mapping[str, str], plan: Plan) -> dict[str, str]:
    """Return the shardings, keyed as Orbax does: URL-safe base64 of the leaf's name."""
    old = {base64.urlsafe_b64decode(key).decode(): value for key, value in stored.items()}
    new = {kept.name: old[kept.leaf.name] for kept in plan.kept if kept.leaf.name in old}
    replicated = _replicated(plan, old)
    new |= {leaf.name: replicated for leaf in plan.added}
    return {base64.urlsafe_b64encode(name.encode()).decode(): value for name, value in new.items()}


def _replicated(plan: Plan, shardings: Mapping[str, str]) -> str:
    """Return a sharding without a split dimension on the devices that the checkpoint was written from."""
    names = [*(leaf.name for leaf in plan.dropped), *(kept.leaf.name for kept in plan.kept)]
    found = [json.loads(shardings[name]) for name in names if name in shardings]
    for sharding in found:
        if sharding.get("sharding_type") == "NamedSharding":
            return json.dumps({**sharding, "partition_spec": []})
    return json.dumps(found[0] if found else _SINGLE_DEVICE)


def _array_metadata(content: Any, plan: Plan) -> Any:
    entries = {entry["array_metadata"]["param_name"]: entry["array_metadata"] for entry in content["array_metadatas"]}
    new = []
    for kept in plan.kept:
        entry = entries.get(kept.leaf.name)
        if entry is None and _repaired(kept):
            entry = _array_entry(kept.leaf.chunks or kept.leaf.shape or (), None)
        if entry is not None:
            extra = {"random_key_impl": kept.key_impl} if kept.key_impl else entry.get("ext_metadata")
            new.append({**entry, "param_name": kept.name, "ext_metadata": extra})
    new += [{**_array_entry(leaf.shape or (), leaf), "param_name": leaf.name} for leaf in plan.added]
    return {**content, "array_metadatas": [{"array_metadata": entry} for entry in new]}


def _array_entry(shape: tuple[int, ...], leaf: TargetLeaf | None) -> dict[str, Any]:
    implementation = leaf.key_impl if leaf else None
    return {
        "write_shape": list(shape),
        "chunk_shape": list(shape),
        "ext_metadata": {"random_key_impl": implementation} if implementation else None,
    }


def _repaired(kept: Kept) -> bool:
    return kept.key_impl != kept.leaf.key_impl


def handlers_after_split(content: bytes | None, item: str, parts: Iterable[str], handler: str) -> str:
    """Return ``_CHECKPOINT_METADATA`` after ``item`` was split into ``parts``.

    Args:
        content: the old file; None if there is none.
        item: the old item's name; empty if it was the whole checkpoint.
        parts: names of the new items.
        handler: full name of the Orbax handler to record if none was.
    """
    recorded = json.loads(content or b"{}")
    old = recorded.get("item_handlers")
    handlers = dict(old) if isinstance(old, dict) else {}
    used = handlers.pop(item, old if isinstance(old, str) else None) or handler
    return json.dumps({**recorded, "item_handlers": {**handlers, **dict.fromkeys(parts, used)}})


def commit_text(destination: str) -> str:
    """Return the content of the file that marks a finished checkpoint."""
    return f"Checkpoint commit was successful to {destination}"
