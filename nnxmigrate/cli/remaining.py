"""What runs leave to do, and how later runs know it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import click

from codemods.nnx.options import Options
from nnxmigrate.files.atomic import WriteFailed
from nnxmigrate.files.discovery import display
from nnxmigrate.outcome import Diagnostic, Outcome, Status
from nnxmigrate.project import Files, Project, chosen
from nnxmigrate.recorded import BadRecord, Record, load, place, standing, subtract, texts, with_left


@dataclass(frozen=True)
class Scope:
    """What a run looked at, and for what.

    Attributes:
        paths: the paths that the user named.
        files: the files.
        options: what every part of the project was looked at with.
    """

    paths: Sequence[str]
    files: Files
    options: Sequence[Options]

    @cached_property
    def project(self) -> Project:
        """The texts of the files."""
        return chosen(self.files)

    def looked(self, code: str) -> bool:
        """Say whether the run looked for a rule everywhere."""
        from nnxmigrate.rules import looked_for

        return bool(self.options) and all(looked_for(code, options) for options in self.options)

    def asked(self, code: str) -> bool:
        """Say whether the user wants to hear of a rule."""
        options = self.options[0] if self.options else Options()
        if any(code.startswith(prefix) for prefix in options.ignore):
            return False
        return not options.select or any(code.startswith(prefix) for prefix in options.select)


def record_of(paths: Sequence[str]) -> Record:
    """Return the list of what earlier runs left.

    Raises:
        click.UsageError: if it cannot be read.
    """
    try:
        return load(place(paths))
    except BadRecord as error:
        raise click.UsageError(str(error)) from error


def recall(record: Record, outcome: Outcome, scope: Scope) -> Outcome:
    """Return an outcome with what earlier runs left and this one could not see; drop from the list what is done."""
    if not record.entries:
        return outcome
    names = {record.name(file.path): file.path for file in outcome.files}
    wanted = [names[entry.path] for entry in record.entries if entry.path in names]
    documents = texts(outcome, scope.project.paths, scope.project.documents, wanted)
    more, record.entries = standing(record, outcome, documents, scope.looked)
    return with_left(outcome, [one for one in more if scope.asked(one.code)])


def remember(record: Record, outcome: Outcome, scope: Scope, todo: bool) -> None:
    """Put what is left into the list, but for what has a comment in the code, and write the list."""
    known = {entry.key for entry in record.entries}
    marked = _marked(outcome, scope) if todo else set()
    unchanged = {file.path for file in outcome.by_status[Status.FAILED]}  # the next run finds what is left there
    written = [one for one in outcome.left if one.path not in unchanged]
    fresh = {entry.key: entry for one in written if (entry := record.entry(one)).key not in marked}
    record.entries = [fresh.get(entry.key, entry) for entry in record.entries if entry.key not in marked]
    record.entries += [entry for key, entry in fresh.items() if key not in known]
    record.most = max(record.most, len(record.entries)) if record.entries else 0
    try:
        record.save()
    except (OSError, WriteFailed) as error:
        click.echo(f"warning: what is left could not be written to {display(record.file)}: {error}", err=True)


def _marked(outcome: Outcome, scope: Scope) -> set[tuple[str, str, str]]:
    """Return the keys of findings that have a comment in the code."""
    from nnxmigrate.todo import PREFIX

    record = Record(place(scope.paths))
    documents = texts(outcome, scope.project.paths, scope.project.documents, {one.path for one in outcome.left})
    return {
        record.entry(one).key
        for one in outcome.left
        if one.path in documents and f"{PREFIX}{one.code} {one.message}" in documents[one.path].text.decode("utf-8")
    }


def without_baseline(outcome: Outcome, file: str) -> Outcome:
    """Return an outcome without what a baseline holds, and say how much that was.

    Raises:
        click.UsageError: if it cannot be read.
    """
    import os

    if not os.path.isfile(file):
        raise click.UsageError(f"there is no baseline {file}; --write-baseline makes one")
    try:
        outcome, known, stale = subtract(load(file), outcome)
    except BadRecord as error:
        raise click.UsageError(str(error)) from error
    verb = "is" if stale == 1 else "are"
    gone = f"; {stale} of its entries {verb} gone, --write-baseline drops them" if stale else ""
    notes = [f"{_findings(known)} in the baseline {display(file)} not shown{gone}"] if known or stale else []
    return replace(outcome, notes=(*outcome.notes, *notes))


def write_baseline(outcome: Outcome, file: str) -> str:
    """Write what is left as a baseline, and return what was done.

    Raises:
        click.UsageError: if it cannot be written.
    """
    try:
        load(file)  # nothing else is overwritten
    except BadRecord as error:
        raise click.UsageError(f"{error}; it is not overwritten: --baseline names another file") from error
    record = Record(file)
    record.entries = [replace(record.entry(one), help="") for one in outcome.left]
    try:
        record.save()
    except (OSError, WriteFailed) as error:
        raise click.UsageError(f"{file} cannot be written: {error}") from error
    return f"{_findings(len(record.entries))} written to {display(file)}" if record.entries else "nothing to write"


def _findings(count: int) -> str:
    return f"{count} finding{'s' * (count != 1)}"


def add_ignores(outcome: Outcome, project: Project) -> str:
    """Put a comment that silences it behind every finding left, and return what was done.

    Raises:
        click.UsageError: if files cannot be written.
    """
    from nnxmigrate.files.atomic import write_all
    from nnxmigrate.ignoring import ignored

    by_path: dict[str, list[Diagnostic]] = {}
    for one in outcome.left:
        if one.code != "NNX001":  # that is a comment too many already
            by_path.setdefault(one.path, []).append(one)
    contents: dict[str, bytes] = {}
    old: dict[str, bytes | None] = {}
    placed, failed = 0, []
    for path, found in by_path.items():
        document = project.documents.get(path)
        new, done, refused = ignored(document, found) if document else (b"", 0, found)
        placed += done
        failed += [one.place for one in refused]
        if done and document is not None:
            contents[project.paths[path]] = new
            old[project.paths[path]] = document.raw
    try:
        write_all(contents, old)
    except WriteFailed as error:
        raise click.UsageError(f"the comments were not written: {error}") from error
    rest = f"; no comment can stand at {', '.join(failed)}" if failed else ""
    return f"{_findings(placed)} silenced by comments in {len(contents)} file{'s' * (len(contents) != 1)}{rest}"
