"""Running the pipeline for a command, and handing its outcome to the reports."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from codemods.nnx.options import Options
from nnxmigrate import garbage
from nnxmigrate.cli.common import Choices, command_line
from nnxmigrate.files.atomic import WriteFailed, Writer, write_all
from nnxmigrate.files.discovery import Found, discover
from nnxmigrate.files.document import Unreadable
from nnxmigrate.outcome import FileOutcome, Outcome, Status, joined
from nnxmigrate.progress import Progress, tell
from nnxmigrate.project import Files, Project, chosen, concerned, read, read_document
from nnxmigrate.report import Style, report
from nnxmigrate.run import run_project
from nnxmigrate.settings import Settings

if TYPE_CHECKING:
    from nnxmigrate.cli.remaining import Scope
    from nnxmigrate.recorded import Record


class _Captured:
    """Keeps what would be written."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def refusal(self, path: str) -> str | None:
        """Refuse nothing."""
        return None

    def write(self, contents: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """Keep new bytes."""
        self.contents |= contents


class Command(enum.Enum):
    """Which command runs the pipeline."""

    MIGRATE = "migrate"
    LINT = "lint"
    SPEEDUP = "speedup"


def execute(
    choices: Choices, paths: Sequence[str], settings: Settings, given: Mapping[str, Any], command: Command
) -> Outcome:
    """Run the pipeline over the paths, or over stdin if the only path is ``-``, and print what came out.

    Args:
        choices: the user's choices.
        paths: the paths given.
        settings: what is to be done.
        given: options of the command line by parameter name.
        command: the command that asks.
    """
    with garbage.kept():
        return _executed(choices, paths, settings, given, command)


def _executed(
    choices: Choices, paths: Sequence[str], settings: Settings, given: Mapping[str, Any], command: Command
) -> Outcome:
    style = Style(choices.output_format(), bool(given["quiet"]), bool(given["verbose"]), bool(given.get("statistics")))
    stdout_taken = bool(given.get("diff"))
    if "-" in paths:
        stdout_taken |= settings.fix and settings.write
        outcome = _filtered(settings, choices, given["stdin_filename"] or "stdin.py")
    else:
        outcome, style = _files(choices, paths, settings, given, command, style)
    outcome = replace(outcome, threshold=choices.threshold())
    if given.get("diff") or given.get("patch"):
        from nnxmigrate.report.diff import base, on_one_line, patch, show

        folder = base(outcome)
        if given.get("diff"):
            for_people = sys.stdout.isatty()
            show(patch(outcome, folder, for_people))
            for name in () if for_people else on_one_line(outcome):
                told = f"{name} is stored on one line, and so is its change: --html shows it line by line."
                click.echo(told, err=True)
        else:
            _save(given["patch"], patch(outcome, folder))
        if os.path.abspath(folder) != os.getcwd():
            click.echo(f"The paths are relative to {folder}: apply it there.", err=True)
    if given["html"]:
        from nnxmigrate.report.html import page

        _save(given["html"], page(outcome, command_line()).encode("utf-8"))
    text = report(outcome, style)
    if text:
        click.echo(text, err=stdout_taken)
    return outcome


def _files(
    choices: Choices,
    paths: Sequence[str],
    settings: Settings,
    given: Mapping[str, Any],
    command: Command,
    style: Style,
) -> tuple[Outcome, Style]:
    """Run over files, and do what the command asks for with what is left."""
    from nnxmigrate.cli import advice, remaining
    from nnxmigrate.recorded import BASELINE, place

    guarded = None
    if settings.write:
        from nnxmigrate.cli.git import Guarded

        guarded = Guarded(bool(choices.get("require_clean", "require-clean", False)))
    record = remaining.record_of(paths)
    with Progress():
        outcome, scope = examine(choices, paths, settings, guarded, record if command is not Command.SPEEDUP else None)
    if not outcome.files and (left := advice.left_out(paths, bool(choices.exclude()[0]))):
        outcome = replace(outcome, notes=(*outcome.notes, left))
    if guarded is not None:
        warning = guarded.warning()
        if warning:
            click.echo(f"warning: {warning}", err=True)
        style = replace(style, undo="" if advice.COMMITTING.get() else guarded.undo())
    if command is Command.MIGRATE and settings.write:
        remaining.remember(record, outcome, scope, settings.todo)
    configured = choices.get("", "baseline", None)
    baseline = given.get("baseline") or (choices.beside_configuration(configured) if configured else None)
    if given.get("write_baseline"):
        note = remaining.write_baseline(outcome, baseline or place(paths, BASELINE))
        outcome = replace(outcome, left=(), notes=(note,))
    elif given.get("add_ignore"):
        note = remaining.add_ignores(outcome, scope.project)
        outcome = replace(outcome, left=[one for one in outcome.left if one.code == "NNX001"], notes=(note,))
    elif command is Command.LINT and baseline:
        outcome = remaining.without_baseline(outcome, baseline)
    if command is Command.MIGRATE:
        after = [*advice.after_migrate(outcome, scope, settings, record.file)]
        if outcome.by_status[Status.CHANGED] and not choices.get("include_markdown", "include-markdown", False):
            after += advice.not_looked_at(_found(choices, paths, markdown=True))
        style = replace(style, next=tuple(after))
    elif command is Command.LINT:
        style = replace(style, next=tuple(advice.after_lint(outcome, scope, settings)))
    return outcome, style


def examine(
    choices: Choices,
    paths: Sequence[str],
    settings: Settings,
    writer: Writer | None = None,
    record: Record | None = None,
) -> tuple[Outcome, Scope]:
    """Run the pipeline over the paths, and add what earlier runs left.

    Args:
        choices: the user's choices.
        paths: the paths given.
        settings: what is to be done.
        writer: where changed files go; the disk if None.
        record: what earlier runs left; what is done is taken out of it.
    """
    from nnxmigrate.cli.remaining import Scope, recall

    files = read(_found(choices, paths), settings.options.lint)
    outcome, options = _remembered(files, replace(settings, cache=choices.cache(paths)), choices, writer)
    scope = Scope(paths, files, options)
    return (recall(record, outcome, scope) if record is not None else outcome), scope


def _remembered(
    files: Files, settings: Settings, choices: Choices, writer: Writer | None = None
) -> tuple[Outcome, list[Options]]:
    """Run the pipeline, or return what it came to before, if that is known and left nothing to write."""
    if settings.cache is None or not files.marked:
        return run_parts(chosen(files), settings, choices, writer)
    from nnxmigrate.cache.outcomes import remembered

    return remembered(
        files, settings, choices.versions(), settings.cache, lambda: run_parts(chosen(files), settings, choices, writer)
    )


def run_parts(
    project: Project, settings: Settings, choices: Choices, writer: Writer | None = None
) -> tuple[Outcome, list[Options]]:
    """Run the pipeline for every part of a project with the versions that it asks for, and join what came out."""
    if not project.documents:
        return run_project(project, settings, writer), []
    from nnxmigrate.versions.jax_pins import newest_jax
    from nnxmigrate.versions.parts import parts

    tell("asking which versions the project wants")
    outcomes, every = [], []
    for wanted, part in parts(project, *choices.versions()):
        options = replace(settings.options, origin=wanted.origin, targets=wanted.targets, settled=wanted.settled)
        if options.lint and choices.versions()[1] is None:  # who names the target asks for a JAX that runs it
            options = replace(options, jax=newest_jax({name: part.paths.get(name, name) for name in part.documents}))
        outcome = run_project(part, replace(settings, options=options), writer)
        outcomes.append(replace(outcome, flax=(str(wanted),) if wanted.why else ()))
        every.append(options)
    return joined(outcomes, list(project.paths)), every


def _save(path: str, data: bytes) -> None:
    try:
        write_all({path: data})
    except WriteFailed as error:
        raise click.UsageError(f"{path} cannot be written: {error}") from error


def _found(choices: Choices, paths: Sequence[str], markdown: bool = False) -> Iterator[Found]:
    exclude, base = choices.exclude()
    markdown = markdown or bool(choices.get("include_markdown", "include-markdown", False))
    forced = bool(choices.get("force_exclude", "force-exclude", False))
    return discover(paths, exclude=exclude, base=base, markdown=markdown, forced=forced)


def _filtered(settings: Settings, choices: Choices, name: str) -> Outcome:
    """Read code from stdin and, where files would be written, print the new code."""
    raw = sys.stdin.buffer.read()
    captured = _Captured()
    try:
        project = Project(
            {name: name}, {name: read_document(name, raw)} if concerned(raw, settings.options.lint) else {}
        )
        outcome, _ = run_parts(project, settings, choices, captured)
    except Unreadable as error:
        outcome = Outcome([FileOutcome(name, Status.FAILED, str(error))])
    if settings.fix and settings.write:
        sys.stdout.buffer.write(captured.contents.get(name, raw))
        sys.stdout.buffer.flush()
    return outcome
