"""The command ``status``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import click

from nnxmigrate.cli.advice import old_pins
from nnxmigrate.cli.common import Choices, selection
from nnxmigrate.cli.execute import examine
from nnxmigrate.cli.remaining import record_of
from nnxmigrate.files.discovery import display
from nnxmigrate.outcome import Outcome, Status
from nnxmigrate.recorded import Record
from nnxmigrate.rules import all_rules
from nnxmigrate.settings import Settings
from nnxmigrate.visible import visible_lines


@click.command()
@selection
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def status(paths: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """List what is left to do of a migration, by file and by rule.

    PATHS are files and folders, by default the working directory. Listed are what a run would find now, and what
    earlier runs left and noted in .nnxmigrate-left.toml or in TODO comments. Nothing is changed. Exit status as of
    `migrate --check`.
    """
    paths = paths or (".",)
    if "-" in paths:
        raise click.UsageError("`status` is about files; `nnxmigrate --check -` is about code from stdin")
    choices = Choices(paths, given)
    settings = Settings(
        options=choices.options(lint=False),
        unsafe_fixes=bool(choices.get("unsafe_fixes", "unsafe-fixes", False)),
        write=False,
        jobs=choices.jobs(),
        per_file=choices.per_file(),
    )
    record = record_of(paths)
    outcome, scope = examine(choices, paths, settings, record=record)
    finished = not (outcome.left or outcome.fixed or outcome.by_status[Status.FAILED])
    pins = old_pins(scope, scope.project.paths) if finished else []
    shown = _record(outcome, record) if as_json else _text(outcome, record, paths, pins)
    click.echo(visible_lines(shown))
    sys.exit(outcome.exit_code)


def _text(outcome: Outcome, record: Record, paths: tuple[str, ...], pins: list[str]) -> str:
    lines = [f"{file.path}: failed: {file.reason}" for file in outcome.by_status[Status.FAILED]]
    summaries = {rule.code: rule.summary for rule in all_rules()}
    if outcome.left:
        lines.append("Left by file:")
        lines += (f"  {count:5}  {path}" for path, count in Counter(one.path for one in outcome.left).most_common())
        lines.append("Left by rule:")
        for code, count in Counter(one.code for one in outcome.left).most_common():
            lines.append(f"  {count:5}  {code}  {summaries.get(code, '')}".rstrip())
        lines.append("Where:")
        lines += (f"  {one.place}: {one.code} {one.message}" for one in outcome.left)
    lines += outcome.flax
    left = len(outcome.left)
    done = max(record.most - left, 0)
    total = f" of {record.most}" if record.most > left else ""
    failed = outcome.by_status[Status.FAILED]
    count = len(outcome.fixed)
    fixable = f"fixed by `nnxmigrate {' '.join(paths)}`"
    if left:
        lines.append(f"{left}{total} left" + (f", {done} done" if done else ""))
    elif count:
        which = f"All {count} findings are" if count > 1 else "The only finding is"
        lines.append(f"{which} {fixable}; nothing is left to do by hand.")
    elif failed or pins:
        lines.append(f"Nothing is left to do in {'the other files' if failed else 'the code'}.")
    else:
        lines.append("Nothing is left to do.")
    if left and count:
        lines.append(f"{count} more {'is' if count == 1 else 'are'} {fixable}")
    lines += (
        f"The pins still say {why}, under which the new code does not run: `nnxmigrate doctor --bump` raises them."
        for why in pins
    )
    return "\n".join(lines)


def _record(outcome: Outcome, record: Record) -> str:
    return json.dumps(
        {
            "left": len(outcome.left),
            "most": max(record.most, len(outcome.left)),
            "fixable": len(outcome.fixed),
            "list": display(record.file) if record.entries else None,
            "by_file": Counter(one.path for one in outcome.left),
            "by_rule": Counter(one.code for one in outcome.left),
            "findings": [
                {"code": one.code, "place": one.place, "message": one.message, "help": one.help} for one in outcome.left
            ],
            "failed": {file.path: file.reason for file in outcome.by_status[Status.FAILED]},
            "exit_code": outcome.exit_code,
        },
        indent=2,
    )
