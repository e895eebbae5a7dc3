"""What lies at a path: which kind of Orbax checkpoint, with which steps and items. Files alone are read."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError, DamagedError
from nnxmigrate.checkpoint.files import NOT_ORBAX, Folder

UNFINISHED = ".orbax-checkpoint-tmp"
MARK = "nnxmigrate-unfinished"  # in a store, the file that says which conversion is under way
_PARTS = {"_METADATA", "_CHECKPOINT_METADATA", "manifest.ocdbt", "_sharding", "orbax.checkpoint"}
_STEP = re.compile(r"(?:.*_)?(\d+)")
#: Those of flax.training.checkpoints, and what programs wrote by hand.
_OTHER_FILE = re.compile(r"checkpoint|.+_\d+|.+\.(?:msgpack|pkl|pickle|npz)")


class Kind(enum.Enum):
    """How the items of a checkpoint are arranged."""

    TREE = "one tree"  # StandardCheckpointer, PyTreeCheckpointer, AsyncCheckpointer: the path is the item
    ITEMS = "named items"  # a Composite, or one step of a CheckpointManager
    V1 = "Orbax v1"  # orbax.checkpoint.experimental.v1: items beside a file `orbax.checkpoint`
    STEPS = "CheckpointManager"  # a folder of steps


@dataclass(frozen=True)
class Item:
    """A folder that holds one stored tree.

    Attributes:
        name: its name in the step; empty if the step itself is the tree.
        folder: where it is.
    """

    name: str
    folder: Folder


@dataclass(frozen=True)
class Step:
    """One saved state of a program.

    Attributes:
        name: the name of its folder below the root of a CheckpointManager, else empty.
        kind: tree, items or v1.
        folder: where it is.
        items: its trees.
        others: names of items that are no trees, such as JSON metadata and lone keys.
        handlers: the class names of the Orbax handlers that wrote it, by item name; as far as recorded.
    """

    name: str
    kind: Kind
    folder: Folder
    items: tuple[Item, ...]
    others: tuple[str, ...]
    handlers: dict[str, str]

    @property
    def number(self) -> int:
        """Its step number; -1 if it is no CheckpointManager's."""
        return _number(self.name)


def _number(name: str) -> int:
    """Return the number of the step in a folder; -1 if it is none's."""
    match = _STEP.fullmatch(name)
    return int(match[1]) if match else -1


@dataclass(frozen=True)
class Checkpoint:
    """Everything at one path.

    Attributes:
        kind: how it is arranged.
        folder: where it is.
        steps: its steps in ascending order; exactly one unless it is a CheckpointManager's root.
        passed_over: names of later steps' folders that hold no finished tree.
        unfinished: names of the folders in which Orbax began to save steps that are nowhere finished, in their order.
        damaged: what is wrong with steps that cannot be told apart into items, by the names of their folders.
    """

    kind: Kind
    folder: Folder
    steps: tuple[Step, ...]
    passed_over: tuple[str, ...] = ()
    damaged: Mapping[str, CheckpointError] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()

    def begun(self, wish: str | None) -> dict[int, str]:
        """Return the steps that were begun and never finished, each with the folder that is left of it.

        Args:
            wish: a step's number, ``all``, or None for the latest; then steps before that one are of no interest.
        """
        latest = max((step.number for step in self.steps), default=-1)
        found = {_number(name.partition(UNFINISHED)[0]): name for name in self.unfinished}
        return {
            number: name
            for number, name in found.items()
            if wish in ("all", str(number)) or (wish is None and number > latest)
        }

    @property
    def broken(self) -> set[str]:
        """The folders of steps that no program can load; a CheckpointManager would take them for steps all the same."""
        if self.kind is not Kind.STEPS:
            return set()
        there = {step.name for step in self.steps}
        names = [name for name in self.folder.folders() if _STEP.fullmatch(name) and name not in there]
        return {name for name in names if _holds_parts(self.folder.child(name))}

    def beside(self, name: str) -> str:
        """Return the way out where the step in a folder of this name is damaged; empty if there is no other step."""
        others = [step.number for step in self.steps if step.name != name]
        if self.kind is not Kind.STEPS or not others:
            return ""
        return f"--step {others[-1]} takes another step; --step all takes the others once {name} is moved away"


def find_checkpoint(folder: Folder) -> Checkpoint:
    """Say what lies in ``folder``.

    Raises:
        CheckpointError: if it is no finished Orbax checkpoint of trees.
    """
    if UNFINISHED in folder.name:
        raise CheckpointError(
            f"{folder}: unfinished: the program that wrote it stopped before Orbax was done",
            "save it again and wait: checkpointer.wait_until_finished(), or use an earlier step",
        )
    if MARK in folder.files():
        raise CheckpointError(
            f"{folder}: unfinished: a conversion to here was interrupted", "run it again, and it goes on where it ended"
        )
    step = _find_step("", folder)
    if step:
        return Checkpoint(step.kind, folder, (step,))
    names = [name for name in folder.folders() if _STEP.fullmatch(name)]
    steps, damaged = _find_steps(folder, names)
    if steps:
        steps.sort(key=lambda step: step.number)
        there = {*(step.name for step in steps), *damaged}
        later = [name for name in names if name not in there and _number(name) > steps[-1].number]
        passed_over = tuple(sorted(later, key=_number))
        return Checkpoint(Kind.STEPS, folder, tuple(steps), passed_over, damaged, _unfinished(folder, names))
    if damaged:
        raise next(iter(damaged.values()))
    why = _why_not(folder)
    said = f"{folder}: no Orbax checkpoint of a tree: {why}"
    raise DamagedError(said) if "damaged" in why else CheckpointError(said, NOT_ORBAX if "msgpack" in why else "")


def _unfinished(folder: Folder, names: Sequence[str]) -> tuple[str, ...]:
    """Return the folders of steps that were begun, but for those that were saved again as ``names``."""
    there = {_number(name) for name in names}
    begun = [name for name in folder.folders() if UNFINISHED in name]
    numbers = {name: _number(name.partition(UNFINISHED)[0]) for name in begun}
    return tuple(sorted((name for name in begun if numbers[name] not in {-1, *there}), key=lambda one: numbers[one]))


def chosen_steps(checkpoint: Checkpoint, wish: str | None) -> tuple[Step, ...]:
    """Return the steps that are converted.

    Args:
        checkpoint: what was found.
        wish: a step's number, ``all``, or None for the latest.

    Raises:
        CheckpointError: if there is no such step, or it is damaged.
    """
    if checkpoint.kind is not Kind.STEPS:
        if wish is not None:
            raise CheckpointError(f"--step {wish}: {checkpoint.folder} is not the root of a CheckpointManager")
        return checkpoint.steps
    latest = max(step.number for step in checkpoint.steps)
    for name, error in checkpoint.damaged.items():
        if wish in ("all", name, str(_number(name))) or (wish is None and _number(name) > latest):
            raise error.or_else(checkpoint.beside(name)) from error
    if wish == "all":
        return checkpoint.steps
    if wish is None:
        return checkpoint.steps[-1:]
    found = tuple(step for step in checkpoint.steps if wish in (step.name, str(step.number)))
    if not found:
        unfinished = [name for name in checkpoint.passed_over if wish in (name, str(_number(name)))]
        unfinished += checkpoint.begun(wish).values()
        why = f"{checkpoint.folder}/{unfinished[0]} holds no finished tree; " if unfinished else ""
        numbers = ", ".join(str(step.number) for step in checkpoint.steps)
        raise CheckpointError(f"--step {wish}: {why}there is {numbers}")
    return found


def chosen_items(step: Step, wishes: Sequence[str]) -> tuple[Item, ...]:
    """Return the items of ``step`` that are converted: those named in ``wishes``, or all trees.

    Raises:
        CheckpointError: if a wish names no tree.
    """
    names = [item.name for item in step.items]
    for wish in wishes:
        if wish not in names:
            there = ", ".join(name for name in names if name) or "one tree without a name"
            raise CheckpointError(f"--item {wish}: no such tree; there is {there}")
    return tuple(item for item in step.items if not wishes or item.name in wishes)


def _holds_parts(folder: Folder) -> bool:
    """Say whether a folder holds anything that Orbax writes for a step or one of its items."""
    places = (folder, *(folder.child(name) for name in folder.folders()))
    return any(_PARTS & set(place.files()) for place in places)


def _find_steps(folder: Folder, names: Sequence[str]) -> tuple[list[Step], dict[str, CheckpointError]]:
    """Return the steps in some folders below a manager's, and what is wrong with those that are damaged.

    One that is damaged says nothing about the others.
    """
    steps: list[Step] = []
    damaged: dict[str, CheckpointError] = {}
    for name in names:
        try:
            step = _find_step(name, folder.child(name))
        except CheckpointError as error:
            damaged[name] = error
        else:
            steps += [step] if step else []
    return steps, damaged


def _find_step(name: str, folder: Folder) -> Step | None:
    """Return the step in ``folder``; None if it holds no tree."""
    files = folder.files()
    handlers = _handlers(folder)
    if "_METADATA" in files:
        return Step(name, Kind.TREE, folder, (Item("", folder),), (), handlers)
    folders = [one for one in folder.folders() if UNFINISHED not in one]
    items = tuple(Item(one, folder.child(one)) for one in folders if folder.child(one).read("_METADATA") is not None)
    lost = [one for one in folders if one in handlers and folder.child(one).read("manifest.ocdbt") is not None]
    lost = [one for one in lost if one not in {item.name for item in items}]
    if lost:
        raise DamagedError(f"{folder}/{lost[0]}: _METADATA is missing: the checkpoint is damaged")
    if not items or not ({"_CHECKPOINT_METADATA", "orbax.checkpoint"} & set(files)):
        return None
    kind = Kind.V1 if "orbax.checkpoint" in files else Kind.ITEMS
    others = tuple(one for one in folders if one not in {item.name for item in items})
    return Step(name, kind, folder, items, others, handlers)


def _handlers(folder: Folder) -> dict[str, str]:
    """Return the short names of the recorded handlers; none if nothing readable is recorded."""
    try:
        recorded: Any = json.loads(folder.read("_CHECKPOINT_METADATA") or b"{}").get("item_handlers") or {}
    except (ValueError, AttributeError) as error:
        raise DamagedError(f"{folder}/_CHECKPOINT_METADATA: not the JSON that Orbax writes: {error}") from error
    if isinstance(recorded, str):
        recorded = {"": recorded}
    return {item: handler.rpartition(".")[2] for item, handler in recorded.items() if isinstance(handler, str)}


def _why_not(folder: Folder) -> str:
    files, folders = folder.files(), folder.folders()
    if any(UNFINISHED in name for name in folders):
        return "there are unfinished steps only"
    if "manifest.ocdbt" in files:
        return "_METADATA is missing: the checkpoint is damaged"
    others = [name for name in files if _OTHER_FILE.fullmatch(name)]
    if others:
        return f"{others[0]} is a msgpack, pickle or NumPy file"
    if not files and not folders:
        return "the folder is empty"
    below = [name for name in folders if folder.child(name).read("_METADATA") is not None]
    if below:
        return f"there are several below it; name one of them: {', '.join(below[:8])}"
    return "_METADATA is missing here and in its sub-folders"
