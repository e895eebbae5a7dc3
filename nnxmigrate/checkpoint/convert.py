"""Carry out a planned conversion: compute, write, verify, commit."""

from __future__ import annotations

import errno
import hashlib
import pathlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from nnxmigrate.checkpoint.destination import Destination
from nnxmigrate.checkpoint.distributed import gathered, is_leader, number, share, together, told_by_leader
from nnxmigrate.checkpoint.errors import READABLE, CheckpointError, DamagedError
from nnxmigrate.checkpoint.estimate import Estimate, estimate, require_space
from nnxmigrate.checkpoint.files import Folder, LocalFolder, RemoteFolder, is_remote, quiet_native
from nnxmigrate.checkpoint.hashing import NAME as HASH
from nnxmigrate.checkpoint.index import ranges
from nnxmigrate.checkpoint.integrity import require_complete
from nnxmigrate.checkpoint.job import ItemJob, Job, timed
from nnxmigrate.checkpoint.journal import NAME as JOURNAL
from nnxmigrate.checkpoint.journal import Journal
from nnxmigrate.checkpoint.layout import MARK, UNFINISHED, Checkpoint
from nnxmigrate.checkpoint.nodes import MODEL
from nnxmigrate.checkpoint.objects import ObjectPair, ObjectTransfer
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.sidecars import COMMIT, HANDLERS, commit_text, handlers_after_split, is_sidecar
from nnxmigrate.checkpoint.target import TargetLeaf
from nnxmigrate.checkpoint.transfer import Pair, Transfer, Transferred, pair
from nnxmigrate.checkpoint.tree import Path, array_nbytes
from nnxmigrate.checkpoint.verify import restore_with_orbax, verify_item
from nnxmigrate.checkpoint.writing import change_copy, copied_files, is_array_file, may_be_linked, write_values

AnyFolder = LocalFolder | RemoteFolder

Progress = Callable[[str, int], None]
"""Called with a stage, ``copy`` or ``verify``, and the number of bytes that were just dealt with."""

LARGE_VALUE = 32 << 20  # bytes of a chunk above which it is never in memory as a whole

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
    try:
        with together("looking at the source"), timed(job.seconds, "check"):
            for one in job.items if is_leader() else ():
                if isinstance(one.item.folder, LocalFolder):
                    _require_complete(job.checkpoint, one, one.item.folder)
        if is_remote(job.destination):
            with quiet_native():
                _run_remote(job, values, progress)
        else:
            _run_local(job, values, progress)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CheckpointError("the disk is full; nothing was left behind") from error
        if isinstance(error, PermissionError):
            raise CheckpointError(f"{error.filename}: permission denied; nothing was left behind", READABLE) from error
        raise CheckpointError(f"writing failed, nothing was left behind: {error}") from error


def _require_complete(checkpoint: Checkpoint, one: ItemJob, folder: LocalFolder) -> None:
    """Check that all data of an item are there.

    Raises:
        CheckpointError: as :func:`require_complete`; where there are other steps, with these as the way out.
    """
    try:
        require_complete(folder, one.tree)
    except CheckpointError as error:
        raise error.or_else(checkpoint.beside(one.step.name)) from error


def _initial_values(job: Job) -> dict[Path, Any]:
    if job.program is None:
        return {}
    added: dict[Path, TargetLeaf] = {leaf.origin: leaf for _, plan in job.converted for leaf in plan.added}
    values = job.program.initial(added.values())
    job.sizes = job.program.sizes
    return values


def _run_local(job: Job, values: dict[Path, Any], progress: Progress) -> None:
    """Write to a folder: every process its share of the files, the first one everything else."""
    with ExitStack() as stack:
        destination: Destination | None = None
        building = ""
        of = fingerprint(job)
        with together("making the destination"):
            if is_leader():
                found = cost_of(job, measured=False)
                if found:
                    require_space(found, job.destination)
                destination = stack.enter_context(Destination(pathlib.Path(job.destination), of))
                building = str(destination.building)
                job.notes += [f"removed {name}, left behind by a run that was killed" for name in destination.swept]
        root = LocalFolder(pathlib.Path(told_by_leader(building)))
        journal = destination.journal if destination else _journal(root.path, of)
        stack.callback(journal.close)
        _fill(job, root, journal, values, progress)
        with together("moving the result to its place"), timed(job.seconds, "commit"):
            if destination:
                destination.commit()


def _journal(building: pathlib.Path, of: str) -> Journal:
    """Return the journal of a process that is not the first."""
    return Journal(building / f"{JOURNAL}-{number()}" if of else None, of)


def _fill(job: Job, root: LocalFolder, journal: Journal, values: dict[Path, Any], progress: Progress) -> None:
    """Write and verify everything below a local folder."""
    check = job.request.verify
    job.done = Transferred()
    files = Transfer(root.path, journal, check, lambda count: progress("copy", count), from_disk=job.request.from_disk)
    objects = ObjectTransfer(check, False, lambda count: progress("copy", count))
    with together("copying"), timed(job.seconds, "copy"):
        files.copy(share((one.size, str(one.destination), one) for one in _file_pairs_of(job, root)))
        objects.copy(share((one.size or 0, one.copy, one) for one in _object_pairs_of(job, root)))
        job.done.add(files.done)
        job.done.add(objects.done)
        job.compared = objects.done.compared
    with together("changing the index"), timed(job.seconds, "copy"):
        if is_leader():
            _write(job, root, values, progress)
    if check:
        with together("verifying"), timed(job.seconds, "verify"):
            files.sync()
            files.tell(lambda count: progress("verify", count))
            files.verify()
            job.compared += files.done.compared
            if is_leader():
                _verify(job, root, values, progress)
    _tell_shares(job)
    if job.done.resumed:
        job.notes.append(f"{job.done.resumed:,} bytes were there already, from a run that was interrupted")


def _tell_shares(job: Job) -> None:
    """Count what all processes of a job copied and compared."""
    assert job.done is not None
    copied = gathered(job.done.copied)
    job.done.copied, job.compared = sum(copied), sum(gathered(job.compared))
    job.done.resumed, job.done.linked = sum(gathered(job.done.resumed)), sum(gathered(job.done.linked))
    if len(copied) > 1:
        shares = ", ".join(f"{amount:,}" for amount in copied)
        job.notes.append(f"{len(copied)} processes copied, in bytes: {shares}")


def _run_remote(job: Job, values: dict[Path, Any], progress: Progress) -> None:
    """Write to a store that cannot rename: the file that marks a finished checkpoint is written last."""
    root = RemoteFolder(job.destination)
    of = fingerprint(job)
    resume = False
    with together("looking at the destination"):
        there = list(root.walk())
        resume = MARK in there and root.read(MARK) == of.encode()
        if there and not resume:
            raise CheckpointError(f"{job.destination} exists already", "remove it, or name another destination")
    with together("writing to the destination"):
        if is_leader():
            root.write(MARK, of.encode())  # also shows at once whether writing is allowed
    job.done = Transferred()
    objects = ObjectTransfer(job.request.verify, resume, lambda count: progress("copy", count))
    try:
        with together("copying"), timed(job.seconds, "copy"):
            objects.copy(share((one.size or 0, one.copy, one) for one in _object_pairs_of(job, root)))
            job.done.add(objects.done)
            job.compared = objects.done.compared
        with together("changing the index"), timed(job.seconds, "copy"):
            if is_leader():
                _write(job, root, values, progress)
        with together("verifying"), timed(job.seconds, "verify"):
            if is_leader() and job.request.verify:
                _verify(job, root, values, progress)
        with together("marking the result as finished"), timed(job.seconds, "commit"):
            for step in {id(one.step): one.step for one in job.items}.values() if is_leader() else ():
                (root.child(step.name) if step.name else root).write(COMMIT, commit_text(job.destination).encode())
            if is_leader():
                root.remove(MARK)
    except CheckpointError as error:
        kept = f"what was copied stays there for the next run of the same command, or remove {job.destination}"
        raise CheckpointError(str(error), "; ".join(filter(None, (error.hint, kept)))) from error
    _tell_shares(job)
    if objects.within:
        job.notes.append(f"{objects.within:,} bytes were copied by the store itself")
    if job.done.resumed:
        job.notes.append(f"{job.done.resumed:,} bytes were there already, from a run that was interrupted")


def cost_of(job: Job, measured: bool = True) -> Estimate | None:
    """Return what carrying out ``job`` will cost; None where its files are not on a local disk.

    Args:
        job: a conversion that was planned.
        measured: whether the source is read for a moment, to say how long it will take.
    """
    if not isinstance(job.checkpoint.folder, LocalFolder) or is_remote(job.destination):
        return None
    destination = pathlib.Path(job.destination)
    pairs = [(one.source, one.nbytes, one.link) for one in _file_pairs_of(job, LocalFolder(destination))]
    sizes = sum(
        path.stat().st_size
        for one, plan in job.converted
        if isinstance(one.item.folder, LocalFolder)
        and any(_by_values(one, part, to) for part, to in _parts(one, plan, LocalFolder(destination)))
        for path in one.item.folder.path.rglob("*")
        if path.is_file()
    )
    files = [(path, 0 if link else size) for path, size, link in pairs]
    found = estimate(files, destination, job.request.verify, measured)
    return replace(found, nbytes=found.nbytes + sizes)


def fingerprint(job: Job) -> str:
    """Return a digest of what is converted and of the state of its files, by which an interrupted run is recognised."""
    source = job.checkpoint.folder
    digest = hashlib.sha256(f"{source}\0{job.destination}\0{HASH}".encode())
    for path in source.walk():
        digest.update(f"{path}\0".encode())
        if isinstance(source, LocalFolder):
            stat = (source.path / path).stat()
            digest.update(f"{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino}\0".encode())
    return digest.hexdigest()


_Ranges = list[tuple[int, int]] | None


def _copies(job: Job, root: AnyFolder) -> Iterator[tuple[Folder, str, AnyFolder, str, _Ranges]]:
    """Give all files that are copied as they are: folder and path of the file, and of the copy, and parts of it."""
    source = job.checkpoint.folder
    for path in _rest(job):
        if _rewritten(job, path) is None:
            yield source, path, root, path, None
    for one, plan in job.converted:
        for part, target in _parts(one, plan, root):
            if _by_values(one, part, target):
                continue
            needed = None
            if _divided(one, part):
                needed = ranges(one.item.folder, {kept.leaf.name for kept in part.kept})
            for path, copy in copied_files(one.item.folder, one.tree, part):
                if needed is None or path in needed:
                    yield one.item.folder, path, target, copy, needed[path] if needed is not None else None


def _file_pairs_of(job: Job, root: AnyFolder) -> Iterator[Pair]:
    """Give the files that are copied from a local folder to another."""
    for source, path, target, copy, needed in _copies(job, root):
        if isinstance(source, LocalFolder) and isinstance(target, LocalFolder):
            yield pair(source.path / path, target.path / copy, job.request.link and may_be_linked(path), needed)


def _object_pairs_of(job: Job, root: AnyFolder) -> Iterator[ObjectPair]:
    """Give the files that are copied from or to a store."""
    for source, path, target, copy, _ in _copies(job, root):
        if not (isinstance(source, LocalFolder) and isinstance(target, LocalFolder)):
            yield ObjectPair(source, target, path, copy)


def _divided(one: ItemJob, plan: Plan) -> bool:
    """Say whether a database is divided, so that this part needs some of its values only."""
    whole = len(plan.kept) + len(plan.dropped) == len(one.tree.leaves)
    return one.tree.ocdbt and not whole


def _by_values(one: ItemJob, plan: Plan, target: AnyFolder) -> bool:
    """Say whether an item's values are copied one by one: those of a database that is divided.

    That packs them close together, but holds the largest one in memory. Where values may be too large for that, the
    parts of the data files that hold them are copied to where they are, and all else becomes a hole.
    """
    local = isinstance(one.item.folder, LocalFolder) and isinstance(target, LocalFolder)
    large = any(
        array_nbytes(kept.leaf.chunks or (), kept.leaf.dtype) > LARGE_VALUE for kept in plan.kept if kept.leaf.dtype
    )
    return _divided(one, plan) and not (local and large)


def _write(job: Job, root: AnyFolder, values: dict[Path, Any], progress: Progress) -> None:
    """Write what is no copy of a file."""
    assert job.done is not None
    _write_rest(job, root, lambda count: progress("copy", count))
    for one, plan in job.converted:
        for part, target in _parts(one, plan, root):
            source = one.item.folder
            if _by_values(one, part, target):
                done = write_values(source, target, one.tree, part, values, lambda count: progress("copy", count))
                job.done.add(done)
            else:
                job.done.copied += change_copy(source, target, one.tree, part, values)


def _verify(job: Job, root: AnyFolder, values: dict[Path, Any], progress: Progress) -> None:
    """Prove what is no copy of a file."""
    for one, plan in job.converted:
        for part, target in _parts(one, plan, _reopened(root)):
            try:
                job.compared += verify_item(
                    one.item.folder,
                    target,
                    one.tree,
                    part,
                    values,
                    _by_values(one, part, target),
                    lambda count: progress("verify", count),
                )
            except DamagedError as error:
                raise error.or_else(job.checkpoint.beside(one.step.name)) from error
            if job.program is not None and isinstance(target, LocalFolder):
                name = target.path.name if plan.parts != ("",) else ""
                alone = part.mounted and name == MODEL  # the program's tree is the model's
                whole = alone or not (job.shared or part.mounted or part.part_of)
                restore_with_orbax(target.path, part, job.program, "" if alone else name, whole, values)


def _parts(one: ItemJob, plan: Plan, root: AnyFolder) -> Iterator[tuple[Plan, AnyFolder]]:
    """Give the plans of the new items that an item becomes, and their folders."""
    step = root.child(one.step.name) if one.step.name else root
    for part in plan.parts:
        name = part or one.item.name
        yield plan.part(part), step.child(name) if name else step


def _write_rest(job: Job, root: AnyFolder, progress: Callable[[int], None]) -> None:
    """Write what belongs to no converted item and is no copy of a file: what says how the checkpoint was written."""
    assert job.done is not None
    source = job.checkpoint.folder
    for path in _rest(job):
        content = _rewritten(job, path)
        if content is not None and not is_remote(job.destination):  # there it is written at the very end
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
    others = {*(step.name for step in job.checkpoint.steps), *job.checkpoint.broken} - chosen
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


def _reopened(root: AnyFolder) -> AnyFolder:
    """Return the folder as it is now; a remote one remembers what it held when it was listed."""
    return root if isinstance(root, LocalFolder) else RemoteFolder(root.url)
