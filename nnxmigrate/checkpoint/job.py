"""A conversion before it is carried out: what was asked for, what was found, what would be done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from nnxmigrate.checkpoint.choosing import choose_form
from nnxmigrate.checkpoint.destination import require_findable, require_free
from nnxmigrate.checkpoint.errors import READABLE, CheckpointError
from nnxmigrate.checkpoint.files import Folder, is_remote, local_path, open_folder
from nnxmigrate.checkpoint.initialise import CompiledSizes, Program
from nnxmigrate.checkpoint.layout import Checkpoint, Item, Kind, Step, chosen_items, chosen_steps, find_checkpoint
from nnxmigrate.checkpoint.nodes import MODEL, OPTIMIZER, holds_optimizer
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.reading import read_tree
from nnxmigrate.checkpoint.rng import find_streams
from nnxmigrate.checkpoint.transfer import Transferred
from nnxmigrate.checkpoint.tree import StoredTree
from nnxmigrate.checkpoint.wishes import Wishes

SUFFIX = "_nnx011"


@dataclass(frozen=True)
class Request:
    """What shall be converted, and how.

    Attributes:
        source: path or URL of the old checkpoint.
        destination: path or URL of the new one; None for the old one with :data:`SUFFIX`.
        make: builds the new program's model, or whatever it saves; None to drop RNG state only.
        eager: True to really build the model, None to do so only if it cannot be traced.
        step: number of the step, ``all``, or None for the latest; for roots of a CheckpointManager.
        items: names of the items to convert; none for all trees, or for the one that holds RNG state.
        wishes: renames and exceptions.
        link: whether data files are shared with the source through hard links.
        verify: whether what was written is compared with the source and opened with Orbax.
        from_disk: whether copies are read back past the system's cache, however small they are.
        check: whether nothing will be written, so that no destination is needed.
    """

    source: str
    destination: str | None = None
    make: Callable[[], Any] | None = None
    eager: bool | None = None
    step: str | None = None
    items: Sequence[str] = ()
    wishes: Wishes = field(default_factory=Wishes)
    link: bool = False
    verify: bool = True
    from_disk: bool = False
    check: bool = False


@dataclass(frozen=True)
class ItemJob:
    """What happens to one item: converted, or copied as it is if there is no plan."""

    step: Step
    item: Item
    tree: StoredTree
    plan: Plan | None


@dataclass
class Job:
    """A conversion that was planned and can be carried out.

    Attributes:
        request: what was asked for.
        checkpoint: what was found.
        destination: path or URL of the new checkpoint.
        items: what happens to every item of the chosen steps.
        notes: what the user should know, a line each.
        program: the new program; None without a model.
        shared: whether the converted items of a step are parts of one state.
        sizes: buffers of the compiled function; None if nothing was compiled.
        seconds: how long each stage took, by name.
        done: what was transferred; None until it was.
        compared: bytes that were compared with the source.
    """

    request: Request
    checkpoint: Checkpoint
    destination: str
    items: list[ItemJob]
    notes: list[str]
    program: Program | None
    shared: bool = False
    sizes: CompiledSizes | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    done: Transferred | None = None
    compared: int = 0

    @property
    def converted(self) -> list[tuple[ItemJob, Plan]]:
        """The items that have a plan, each with it."""
        return [(job, job.plan) for job in self.items if job.plan]

    @property
    def result(self) -> str:
        """Path or URL of what the new program loads: the source itself if nothing needs converting."""
        return str(self.checkpoint.folder) if self.needless else self.destination

    @property
    def needless(self) -> bool:
        """Whether every item is already what the new program expects."""
        return all(plan.needless for _, plan in self.converted)


Programs = dict[bool, Program]
"""Programs that were traced, by whether an optimizer stands beside its model in their trees."""


def plan_job(request: Request, programs: Programs | None = None) -> Job:
    """Find out what lies at the source and what would be done with it; nothing is written.

    Args:
        request: what is asked for.
        programs: those that were traced for other requests with the same model; filled in.

    Raises:
        CheckpointError: if the source or the model cannot be used, or a wish cannot be met. A tree that does not fit
            the model is no error yet; see :meth:`Plan.require_fit`.
    """
    seconds: dict[str, float] = {}
    notes: list[str] = []
    with timed(seconds, "read"):
        folder, destination = places(request.source, request.destination, request.check)
        try:
            checkpoint = find_checkpoint(folder)
            steps = chosen_steps(checkpoint, request.step)
            found = [(step, item, tree) for step in steps for item, tree in _trees(checkpoint, step)]
        except OSError as error:
            raise CheckpointError(f"{error.filename or folder}: cannot be read: {error.strerror}", READABLE) from error
        for step in steps:
            chosen_items(step, request.items)  # refuses names of no tree
    if checkpoint.kind is Kind.STEPS and request.step is None and len(checkpoint.steps) > 1:
        notes.append(f"step {steps[0].number} is the latest of {len(checkpoint.steps)}; --step all converts every one")
    if checkpoint.passed_over and request.step in (None, "all"):
        names = ", ".join(checkpoint.passed_over)
        notes.append(f"passed over, as no finished tree is there or its _CHECKPOINT_METADATA is gone: {names}")
    begun = checkpoint.begun(request.step) if request.step in (None, "all") else {}
    if begun:
        numbers, names = (", ".join(map(str, some)) for some in (begun, begun.values()))
        what = "steps {} were begun and never" if len(begun) > 1 else "step {} was begun and never"
        notes.append(f"{what.format(numbers)} finished; of it nothing but {names} is left, which is passed over")
    program = None
    if request.make:
        with timed(seconds, "trace"):
            optimizer = any(holds_optimizer(tree.leaves) for _, _, tree in found)
            traced = programs if programs is not None else {}
            if optimizer not in traced:
                traced[optimizer] = Program(request.make, request.eager, optimizer)
            program = traced[optimizer]
    wishes = request.wishes
    apart = all(_is_split(step, [tree for at, _, tree in found if at is step]) for step in steps)
    if apart and wishes.split:
        wishes = replace(wishes, split=False)
        notes.append(f"it is split already, into the items {MODEL} and {OPTIMIZER}")
    items: list[ItemJob] = []
    shared = False
    with timed(seconds, "plan"):
        program = (program.in_items() if apart and program else None) or program
        by_step = [(step, [(item, tree) for at, item, tree in found if at is step]) for step in steps]
        program, choices = choose_form(by_step, program, request.items, wishes, request.eager)
        for (step, trees), chosen in zip(by_step, choices, strict=True):
            items += [ItemJob(step, item, tree, chosen.plans.get(item.name)) for item, tree in trees]
            _require_names(step, items)
            shared = shared or chosen.shared
    job = Job(request, checkpoint, destination, items, notes, program, shared, seconds=seconds)
    job.notes += dict.fromkeys(_notes(job))  # steps and parts of one state may have the same
    if _writes_keys(job):
        require_findable(destination)
    return job


def _writes_keys(job: Job) -> bool:
    """Say whether there will be typed keys in the result."""
    if job.request.check or job.needless:
        return False
    plans = [plan for _, plan in job.converted]
    return any(kept.key_impl for plan in plans for kept in plan.kept) or any(
        leaf.key_impl for plan in plans for leaf in plan.added
    )


def _is_split(step: Step, trees: Sequence[StoredTree]) -> bool:
    """Say whether a step has a model and an optimizer that does not hold it as two items."""
    names = {item.name for item in step.items}
    return {MODEL, OPTIMIZER} <= names and not any(holds_optimizer(tree.leaves) for tree in trees)


def _trees(checkpoint: Checkpoint, step: Step) -> list[tuple[Item, StoredTree]]:
    """Return the items of a step and what they hold.

    Raises:
        CheckpointError: as :func:`read_tree`; where there are other steps, with these as the way out.
    """
    try:
        return [(item, read_tree(item.folder)) for item in step.items]
    except CheckpointError as error:
        raise error.or_else(checkpoint.beside(step.name)) from error


def _require_names(step: Step, items: Sequence[ItemJob]) -> None:
    """Refuse to split an optimizer into items of which a step has one already.

    Raises:
        CheckpointError: naming it.
    """
    there = {item.name for item in step.items} | set(step.others)
    for one in items:
        if one.step is step and one.plan and one.plan.parts != ("",):
            taken = sorted(set(one.plan.parts) & (there - {one.item.name}))
            if taken:
                raise CheckpointError(
                    f"--optimizer split makes the items {' and '.join(one.plan.parts)} of {one.item.name}, but another "
                    f"item {taken[0]} is there already",
                    f"if that holds the same model, --drop {MODEL} leaves this copy out instead, for a factory that "
                    "returns a dict with the names of the items",
                )


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the wall time of a block to ``seconds[stage]``."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + time.perf_counter() - start


def places(source: str, destination: str | None, check: bool) -> tuple[Folder, str]:
    """Return the folder that is converted, and where the result goes.

    Args:
        source: path or URL of the old checkpoint.
        destination: path or URL of the new one; None for the old one with :data:`SUFFIX`.
        check: whether nothing will be written.

    Raises:
        CheckpointError: if the source cannot be used, or the destination is taken or lies in it.
    """
    folder = open_folder(source)
    wanted = destination or f"{str(folder).rstrip('/')}{SUFFIX}"
    wanted = wanted.rstrip("/") if is_remote(wanted) else str(local_path(wanted))
    if not check:
        require_free(wanted, str(folder))
    return folder, wanted


def _notes(job: Job) -> Iterator[str]:
    if job.program:
        yield from job.program.notes
    for one, plan in job.converted:
        where = f"{one.item.name}: " if one.item.name else ""
        yield from (f"{where if not job.shared else ''}{note}" for note in plan.notes)
        if not one.tree.keys_known and any(leaf.dtype == "uint32" for leaf in one.tree.leaves.values()):
            yield f"{where}the checkpoint does not say which arrays are typed keys (array_metadatas is missing)"
        if one.tree.shardings is None:
            yield f"{where}_sharding is missing: restore with a target, or keys become numbers and arrays NumPy's"
    for one in job.items:
        if one.plan is None and find_streams(one.tree.leaves):
            yield f"{one.item.name}: holds RNG state too, but is copied as it is; name it with --item to convert it"
