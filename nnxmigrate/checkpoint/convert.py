"""Carry out a planned conversion: compute, write, verify, commit."""

from __future__ import annotations

import errno
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from nnxmigrate.checkpoint.destination import Destination
from nnxmigrate.checkpoint.distributed import is_leader, led
from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.files import LocalFolder, RemoteFolder, is_remote
from nnxmigrate.checkpoint.integrity import require_complete
from nnxmigrate.checkpoint.job import ItemJob, Job, timed
from nnxmigrate.checkpoint.layout import UNFINISHED
from nnxmigrate.checkpoint.plan import Plan, TargetLeaf
from nnxmigrate.checkpoint.sidecars import COMMIT, HANDLERS, commit_text, handlers_after_split, is_sidecar
from nnxmigrate.checkpoint.transfer import Transferred, transfer
from nnxmigrate.checkpoint.tree import Path
from nnxmigrate.checkpoint.verify import reopen_with_orbax, verify_item
from nnxmigrate.checkpoint.writing import is_array_file, write_local, write_values

Progress = Callable[[str, int], None]
"""Called with a stage, ``copy`` or ``verify``, and the number of bytes that were just dealt with."""

_PYTREE_HANDLER = "orbax.checkpoint._src.handlers.pytree_checkpoint_handler.PyTreeCheckpointHandler"


def run_job(job: Job, progress: Progress = lambda stage, count: None) -> None:
    """Carry out a planned conversion.

    The destination is absent or complete at every moment; the source is only read. In a store without renaming, the
    file that marks a finished checkpoint is written last.

    Args:
        job: the plan; how long it took and how much was transferred and compared are filled in.
        progress: told about copied and compared bytes.

    Raises:
        MisfitError: if a tree does not fit the model.
        CheckpointError: if the source is damaged, the destination is taken, or writing or verifying fails; in a job
            of several processes in each of them.
    """
    for _, plan in job.converted:
        plan.require_fit()
    if job.needless:
        return
    with timed(job.seconds, "initialise"):
        values = _initial_values(job)  # in every process: the model may live on the devices of all
    with led():
        if is_leader():
            _run(job, values, progress)


def _run(job: Job, values: dict[Path, Any], progress: Progress) -> None:
    with timed(job.seconds, "check"):
        for one in job.items:
            if isinstance(one.item.folder, LocalFolder):
                require_complete(one.item.folder, one.tree)
    try:
        if is_remote(job.destination):
            _run_remote(job, values, progress)
        else:
            _run_local(job, values, progress)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CheckpointError("the disk is full; nothing was left behind") from error
        raise CheckpointError(f"writing failed, nothing was left behind: {error}") from error


def _initial_values(job: Job) -> dict[Path, Any]:
    if job.program is None:
        return {}
    added: dict[Path, TargetLeaf] = {leaf.origin: leaf for _, plan in job.converted for leaf in plan.added}
    values = job.program.initial(added.values())
    job.sizes = job.program.sizes
    return values


def _run_local(job: Job, values: dict[Path, Any], progress: Progress) -> None:
    with Destination(pathlib.Path(job.destination)) as destination:
        job.notes += [f"removed {name}, left behind by a run that was killed" for name in destination.swept]
        _write(job, LocalFolder(destination.building), values, progress)
        with timed(job.seconds, "commit"):
            destination.commit()


def _run_remote(job: Job, values: dict[Path, Any], progress: Progress) -> None:
    root = RemoteFolder(job.destination)
    if root.files() or root.folders():
        raise CheckpointError(f"{job.destination} exists already", "remove it, or name another destination")
    try:
        _write(job, root, values, progress)
        with timed(job.seconds, "commit"):
            for step in {id(one.step): one.step for one in job.items}.values():
                (root.child(step.name) if step.name else root).write(COMMIT, commit_text(job.destination).encode())
    except BaseException:
        root.remove()
        raise


def _write(job: Job, root: LocalFolder | RemoteFolder, values: dict[Path, Any], progress: Progress) -> None:
    """Write the new checkpoint below ``root`` and verify it."""
    job.done = Transferred()
    with timed(job.seconds, "copy"):
        _copy_rest(job, root, lambda count: progress("copy", count))
        for one, plan in job.converted:
            for part, target in _parts(one, plan, root):
                done = _write_item(job, one, part, target, values, progress)
                job.done.copied += done.copied
                job.done.linked += done.linked
    if not job.request.verify:
        return
    with timed(job.seconds, "verify"):
        for one, plan in job.converted:
            for part, target in _parts(one, plan, _reopened(root)):
                job.compared += verify_item(
                    one.item.folder, target, one.tree, part, values, lambda count: progress("verify", count)
                )
                if isinstance(target, LocalFolder):
                    reopen_with_orbax(target.path, part, values)


def _write_item(
    job: Job,
    one: ItemJob,
    plan: Plan,
    target: LocalFolder | RemoteFolder,
    values: dict[Path, Any],
    progress: Progress,
) -> Transferred:
    def told(count: int) -> None:
        progress("copy", count)

    source = one.item.folder
    whole = len(plan.kept) + len(plan.dropped) == len(one.tree.leaves)
    if whole and isinstance(source, LocalFolder) and isinstance(target, LocalFolder):
        return write_local(source, target.path, one.tree, plan, values, job.request.link, told)
    return write_values(source, target, one.tree, plan, values, told)


def _parts(
    one: ItemJob, plan: Plan, root: LocalFolder | RemoteFolder
) -> Iterator[tuple[Plan, LocalFolder | RemoteFolder]]:
    """Give the plans of the new items that an item becomes, and their folders."""
    step = root.child(one.step.name) if one.step.name else root
    for part in plan.parts:
        name = part or one.item.name
        yield plan.part(part), step.child(name) if name else step


def _copy_rest(job: Job, root: LocalFolder | RemoteFolder, progress: Callable[[int], None]) -> None:
    """Copy what belongs to no converted item: other items, the files that say how the checkpoint was written."""
    assert job.done is not None
    source = job.checkpoint.folder
    for path in _rest(job):
        content = _rewritten(job, path)
        if content is None and isinstance(source, LocalFolder) and isinstance(root, LocalFolder):
            job.done.copied += transfer([(source.path / path, root.path / path)], False, progress).copied
            continue
        content = content if content is not None else source.read(path) or b""
        root.write(path, content)
        job.done.copied += len(content)
        progress(len(content))
    for one, plan in job.converted:
        path = f"{one.step.name}/{HANDLERS}".removeprefix("/")
        if plan.parts != ("",):
            handlers = handlers_after_split(source.read(path), one.item.name, plan.parts, _PYTREE_HANDLER)
            root.write(path, handlers.encode())


def _rest(job: Job) -> Iterator[str]:
    """Give the paths of the files that belong to no converted item."""
    chosen = {one.step.name for one in job.items}
    others = {step.name for step in job.checkpoint.steps} - chosen
    items = {"/".join(filter(None, (one.step.name, one.item.name))): (one, plan) for one, plan in job.converted}
    split = {one.step.name for one, plan in job.converted if plan.parts != ("",)}
    for path in job.checkpoint.folder.walk():
        if path.partition("/")[0] in others or UNFINISHED in path:
            continue
        folder, _, file = path.rpartition("/")
        if file == HANDLERS and folder in split:
            continue
        owner = next((where for where in items if not where or path.startswith(f"{where}/")), None)
        if owner is not None:
            one, plan = items[owner]
            inner = path[len(owner) + 1 :] if owner else path
            if is_sidecar(inner) or is_array_file(inner, one.tree) or (plan.parts != ("",) and owner != one.step.name):
                continue
        yield path


def _rewritten(job: Job, path: str) -> bytes | None:
    """Return the new content of a file that names its own checkpoint; None for all others."""
    return commit_text(job.destination).encode() if path.rpartition("/")[2] == COMMIT else None


def _reopened(root: LocalFolder | RemoteFolder) -> LocalFolder | RemoteFolder:
    """Return the folder as it is now; a remote one remembers what it held when it was listed."""
    return root if isinstance(root, LocalFolder) else RemoteFolder(root.url)
