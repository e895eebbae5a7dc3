"""The pipeline: read, analyse, fix in memory, prove, write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from codemods.nnx.findings import Failure
from nnxmigrate.attempt import Attempt, Broken, Fixer
from nnxmigrate.files.atomic import Disk, WriteFailed, Writer
from nnxmigrate.files.discovery import Found
from nnxmigrate.fixing import ABSENT
from nnxmigrate.outcome import FileOutcome, Outcome, Status
from nnxmigrate.project import Project, concerned, load
from nnxmigrate.settings import Settings
from nnxmigrate.twins import said_once


def run(found: Iterable[Found], settings: Settings) -> Outcome:
    """Do everything that the settings ask for to the files found."""
    return run_project(load(found, settings.options.lint), settings)


def run_project(project: Project, settings: Settings, writer: Writer | None = None) -> Outcome:
    """Do everything that the settings ask for to files already read.

    A file in which fixes do not prove themselves, or that cannot be written, is left alone together with all other
    parts of these fixes; the rest is fixed without it.

    Args:
        project: the files.
        settings: what is asked for.
        writer: where changed files go; the disk if None.
    """
    writer = writer or Disk()
    fixer = Fixer(project, settings)
    barred: dict[str, Failure] = {}
    while True:
        try:
            attempt = fixer.attempt(barred)
        except Broken as error:
            fresh = {failure.path: failure for failure in error.failures if failure.path not in barred}
            if not fresh:
                raise
            barred |= fresh
            continue
        protected = _protected(project, attempt, writer) if settings.write else {}
        if not protected:
            break
        barred |= protected
    unwritten = _write(project, attempt, writer) if settings.write else {}
    return _outcome(project, settings, attempt, barred | unwritten, unwritten)


def _changes(project: Project, attempt: Attempt) -> dict[str, bytes]:
    """Return the new bytes of the files that change."""
    old = project.documents
    return {
        path: document.raw
        for path, document in attempt.documents.items()
        if path not in old or old[path].raw != document.raw
    }


def _protected(project: Project, attempt: Attempt, writer: Writer) -> dict[str, Failure]:
    """Return the files to change that may not be written."""
    reasons = {path: writer.refusal(project.paths.get(path, path)) for path in _changes(project, attempt)}
    return {path: Failure(path, f"cannot be changed: {reason}") for path, reason in reasons.items() if reason}


def _write(project: Project, attempt: Attempt, writer: Writer) -> dict[str, Failure]:
    """Write the changes, the files that share fixes together; return those that were not written."""
    changes = _changes(project, attempt)
    failures: dict[str, Failure] = {}
    for group in _linked(changes, attempt):
        places = {path: project.paths.get(path, path) for path in group}
        old = {path: project.documents[path].raw if path in project.documents else None for path in group}
        try:
            writer.write(
                {place: changes[path] for path, place in places.items()},
                {place: old[path] for path, place in places.items()},
            )
        except WriteFailed as error:
            failures |= {path: Failure(path, _reason(place, error)) for path, place in places.items()}
    return failures


def _reason(place: str, error: WriteFailed) -> str:
    """Return what became of a file when another one, or itself, could not be written."""
    if place == error.path:
        return f"cannot be written: {error}"
    if place in error.unrestored:
        return f"was changed and could not be changed back when {error.path} could not be written"
    return f"left alone, as {error.path} cannot be written"


def _linked(paths: Iterable[str], attempt: Attempt) -> list[set[str]]:
    """Return the paths in groups that share fixes."""
    groups = [{path} for path in paths]
    for fix in attempt.fixes:
        touched = [group for group in groups if group & fix.paths]
        if len(touched) > 1:
            groups = [group for group in groups if group not in touched]
            groups.append(set().union(*touched))
    return groups


def _outcome(
    project: Project,
    settings: Settings,
    attempt: Attempt,
    failures: Mapping[str, Failure],
    unwritten: Mapping[str, Failure],
) -> Outcome:
    """Put together what happened to every file and every finding."""
    lost = [one for one in attempt.fixed if one.path in unwritten]
    fixed = [one for one in attempt.fixed if one.path not in unwritten]
    left = attempt.left_before
    if settings.write:
        left = [one for one in attempt.left if one.path not in unwritten]
        left += [one for one in attempt.left_before if one.path in unwritten] + lost
    order = {path: number for number, path in enumerate(attempt.documents)}
    left = sorted(left, key=lambda one: (order[one.path], one.start.cell or 0, one.start.line, one.start.column))
    left = said_once(left)
    failures = {failure.path: failure for failure in attempt.failures} | dict(failures)
    changes = {path: data for path, data in _changes(project, attempt).items() if path not in unwritten}
    with_findings = {one.path for one in left}
    created = [path for path in changes if path not in project.paths]
    settled = {path: FileOutcome(path, Status.FAILED, failure.message) for path, failure in unwritten.items()}
    settled |= project.troubles
    files = [
        settled.get(path)
        or _file(path, project, failures.get(path), changes.get(path), path in with_findings, settings.options.lint)
        for path in (*project.paths, *created)
    ]
    return Outcome(files, left, fixed, settings.write, unanswered=attempt.unanswered)


def _file(
    path: str, project: Project, failure: Failure | None, new: bytes | None, finding: bool, lint: bool
) -> FileOutcome:
    document = project.documents.get(path, ABSENT)
    if failure is not None:
        serious = failure.internal or concerned(document.raw, lint)
        return FileOutcome(path, Status.FAILED if serious else Status.SKIPPED, failure.message, failure.internal)
    if new is not None:
        return FileOutcome(path, Status.CHANGED, before=document.raw, after=new, created=path not in project.paths)
    if document is ABSENT:
        return FileOutcome(path, Status.UNCHANGED, "uses no JAX" if lint else "uses no NNX")
    return FileOutcome(path, Status.FINDINGS if finding else Status.UNCHANGED)
