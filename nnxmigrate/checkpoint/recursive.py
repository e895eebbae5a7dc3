"""All checkpoints in a tree of folders: runs, their steps, and what else an experiment leaves."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from nnxmigrate.checkpoint.answer import reasons
from nnxmigrate.checkpoint.convert import run_job
from nnxmigrate.checkpoint.destination import require_free
from nnxmigrate.checkpoint.errors import READABLE, CheckpointError, MisfitError
from nnxmigrate.checkpoint.files import NOT_ORBAX, LocalFolder, is_remote, local_path
from nnxmigrate.checkpoint.job import SUFFIX, Job, Programs, Request, plan_job
from nnxmigrate.checkpoint.layout import UNFINISHED, Kind, find_checkpoint

_BY_HAND = {".msgpack", ".pkl", ".pickle", ".npz"}
_MARKS = {"_METADATA", "_CHECKPOINT_METADATA", "orbax.checkpoint", "manifest.ocdbt"}


def find_all(root: pathlib.Path) -> Iterator[tuple[pathlib.Path, CheckpointError | None]]:
    """Give the folders below ``root``, or itself, that are checkpoints, in order; with an error those that are damaged.

    Unfinished ones and what this program left behind are passed over. Of a manager with damaged steps every step is
    given by itself.
    """
    if UNFINISHED in root.name or ".nnxmigrate-tmp-" in root.name:
        return
    folder = LocalFolder(root)
    try:
        found = find_checkpoint(folder)
    except OSError as error:
        yield root, CheckpointError(f"{error.filename or root}: cannot be read: {error.strerror}", READABLE)
        return
    except CheckpointError as error:
        if _MARKS & set(folder.files()):
            yield root, error
            return
    else:
        if not found.damaged:
            yield root, None
            return
    for name in folder.folders():
        if not (root / name).is_symlink():
            yield from find_all(root / name)


@dataclass(frozen=True)
class Outcome:
    """What became of one checkpoint.

    Attributes:
        source: where it is.
        status: ``written``, ``planned``, ``needed``, ``needless``, ``there already``, ``refused`` or ``failed``.
        detail: why, or what was done, in one line.
        job: its plan; None if there is none.
    """

    source: str
    status: str
    detail: str
    job: Job | None = None

    @property
    def code(self) -> int:
        """The exit code that it stands for."""
        return {"refused": 1, "needed": 1, "failed": 2}.get(self.status, 0)


def convert_all(request: Request, dry_run: bool) -> Iterator[Outcome]:
    """Convert all checkpoints below a folder, each to the same place below the destination; one after the other.

    The model is traced once. What is there already is left as it is, so the command can be repeated. One that cannot
    be converted does not stop the others.

    Args:
        request: as for one checkpoint; without a step all steps of managers are converted.
        dry_run: whether nothing is written.

    Raises:
        CheckpointError: if the folder does not exist or holds no checkpoint.
    """
    if is_remote(request.source) or (request.destination and is_remote(request.destination)):
        raise CheckpointError("--recursive goes through local folders only")
    root = local_path(request.source)
    if not root.is_dir():
        raise CheckpointError(f"{root}: no such folder")
    place = local_path(request.destination) if request.destination else root.with_name(root.name + SUFFIX)
    if not request.check and not place.exists():
        require_free(str(place), str(root))
    found = [one for one in find_all(root) if place not in (one[0], *one[0].parents)]
    if not found:
        by_hand = any(path.suffix in _BY_HAND for path in root.rglob("*"))
        raise CheckpointError(f"{root}: no Orbax checkpoint in it or below it", NOT_ORBAX if by_hand else "")
    programs: Programs = {}
    for path, damage in found:
        target = place / path.relative_to(root)
        yield _outcome(path, target, damage, request, dry_run, programs)


def _outcome(
    path: pathlib.Path,
    target: pathlib.Path,
    damage: CheckpointError | None,
    request: Request,
    dry_run: bool,
    programs: Programs,
) -> Outcome:
    try:
        if damage:
            raise damage
        if not request.check and os.path.lexists(target):
            return Outcome(str(path), "there already", str(target))
        steps = find_checkpoint(LocalFolder(path)).kind is Kind.STEPS
        own = replace(
            request, source=str(path), destination=str(target), step=(request.step or "all") if steps else None
        )
        job = plan_job(own, programs)
        for _, plan in job.converted:
            plan.require_fit()
        if job.needless:
            return Outcome(str(path), "needless", "; ".join(reasons(job)), job)
        if request.check:
            return Outcome(str(path), "needed", "; ".join(reasons(job)), job)
        if dry_run:
            return Outcome(str(path), "planned", str(target), job)
        run_job(job)
        return Outcome(str(path), "written", str(target), job)
    except MisfitError as error:
        return Outcome(str(path), "refused", _one_line(error))
    except CheckpointError as error:
        return Outcome(str(path), "failed", _one_line(error))


def _one_line(error: CheckpointError) -> str:
    text, hint = (" ".join(part.split()) for part in (str(error), error.hint))
    return f"{text} ({hint})" if hint else text
