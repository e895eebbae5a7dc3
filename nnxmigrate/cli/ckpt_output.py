"""What ``nnxmigrate fix-ckpt`` prints."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from nnxmigrate.checkpoint.errors import CheckpointError
    from nnxmigrate.checkpoint.estimate import Estimate
    from nnxmigrate.checkpoint.job import Job
    from nnxmigrate.checkpoint.loading import Maker
    from nnxmigrate.checkpoint.recursive import Outcome

_COLOURS = {"drop": "red", "add": "green", "rename": "yellow", "keep": None}
_CODES = 3  # kinds of checkpoints of which the code is printed, and places named for each
_EVERY = 30.0  # seconds between two lines about progress where there is no terminal
_STAGES = {"copy": "copying", "verify": "verifying"}


def show(job: Job, every: bool) -> None:
    """Print what was found and what is planned."""
    from nnxmigrate.checkpoint import report

    for line in report.found_lines(job):
        click.echo(line)
    for title, plan in report.titled_plans(job):
        click.echo(f"{title}: {report.summary(plan)}")
        for what, line in report.plan_lines(plan, every):
            click.echo(f"  {click.style(f'{what:<7}', fg=_COLOURS[what])}{line}")
    for note in job.notes:
        click.echo(f"note: {note}")


def tell_of_program(job: Job) -> None:
    """Print what is to be said of the model itself, below an error."""
    for note in job.program.notes if job.program else ():
        click.echo(f"note: {note}")


def show_cost(cost: Estimate | None, destination: str) -> None:
    """Print what a conversion will cost."""
    from nnxmigrate.checkpoint import report

    if cost is None:
        return
    parts = [f"{report.size(cost.nbytes)} in {cost.files} files to copy"]
    if cost.free is not None:
        parts.append(f"{report.size(cost.free)} free there")
    if cost.seconds is not None:
        parts.append(f"about {report.duration(cost.seconds)} if it is written as fast as it is read")
    click.echo(f"to {destination}: {', '.join(parts)}")


def check(job: Job, maker: Maker | None, as_json: bool) -> bool:
    """Print whether a checkpoint needs converting and why; say whether it does."""
    from nnxmigrate.checkpoint import report
    from nnxmigrate.checkpoint.answer import partial_is_enough, reasons
    from nnxmigrate.checkpoint.loading import loading_code, partial_code

    why = reasons(job)
    partial = partial_code(job, maker) if not job.needless and partial_is_enough(job) else None
    if as_json:
        record = report.record(job, "needless" if job.needless else "needed")
        record |= {"reasons": why, "load": loading_code(job, maker) if job.needless else None, "partial": partial}
        click.echo(json.dumps(record, indent=2))
        return not job.needless
    for line in report.found_lines(job):
        click.echo(line)
    for note in job.notes:
        click.echo(f"note: {note}")
    click.echo(f"{'needs no conversion' if job.needless else 'needs converting'}: {'; '.join(why)}")
    if job.needless:
        _print_code("it loads with:", loading_code(job, maker))
    elif partial:
        _print_code("or load it as it is; the new program's RNG state then stays its own:", partial)
    return not job.needless


def conclude(job: Job, maker: Maker | None, as_json: bool, dry_run: bool, notes: Sequence[str]) -> None:
    """Print what was done."""
    from nnxmigrate.checkpoint import report
    from nnxmigrate.checkpoint.answer import reasons
    from nnxmigrate.checkpoint.loading import loading_code

    status = "needless" if job.needless else "planned" if dry_run else "written"
    if as_json:
        record = report.record(job, status)
        record["load"] = loading_code(job, maker)
        record["reasons"] = reasons(job)
        click.echo(json.dumps(record, indent=2))
    elif job.needless:
        click.echo(f"nothing to do: {'; '.join(reasons(job))}; nothing was written")
        _print_code("it loads with:", loading_code(job, maker))
    elif dry_run:
        click.echo(f"would write {job.destination}")
    else:
        assert job.done is not None
        linked = f", {report.size(job.done.linked)} shared with the source" if job.done.linked else ""
        checked = f"; {report.size(job.compared)} compared with the source" if job.compared else ""
        for note in notes:
            click.echo(f"note: {note}")
        click.echo(f"wrote {job.destination}: {report.size(job.done.copied)} copied{linked}{checked}")
        _print_code("load it with:", loading_code(job, maker))


def show_outcome(outcome: Outcome) -> None:
    """Print what became of one checkpoint of many."""
    colour = {0: "green", 1: "yellow", 2: "red"}[outcome.code]
    click.echo(f"{click.style(f'{outcome.status:<14}', fg=colour)}{outcome.source}: {outcome.detail}")


def summarise(outcomes: Sequence[Outcome], maker: Maker | None, as_json: bool) -> None:
    """Print how many checkpoints ended how, and how those that were converted are loaded."""
    from nnxmigrate.checkpoint import report
    from nnxmigrate.checkpoint.loading import loading_code

    counts = dict.fromkeys((outcome.status for outcome in outcomes), 0)
    for outcome in outcomes:
        counts[outcome.status] += 1
    written = [outcome.job for outcome in outcomes if outcome.status == "written" and outcome.job]
    copied = sum(job.done.copied for job in written if job.done)
    if as_json:
        records = [
            {"source": one.source, "status": one.status, "detail": one.detail}
            | ({"notes": one.job.notes} if one.job else {})
            | ({"load": loading_code(one.job, maker)} if one.job and one.status in ("written", "needless") else {})
            for one in outcomes
        ]
        click.echo(
            json.dumps({"status": "summary", "counts": counts, "copied": copied, "checkpoints": records}, indent=2)
        )
        return
    parts = [f"{number} {status}" for status, number in counts.items()]
    click.echo(f"{len(outcomes)} checkpoints: {', '.join(parts)}{f'; {report.size(copied)} copied' if copied else ''}")
    for line in _notes_on(outcomes):
        click.echo(line)
    if written:
        click.echo("files that belong to no checkpoint were not copied")
        groups = _alike([(job.result, loading_code(job, maker)) for job in written])
        for title, code in groups[:_CODES]:
            _print_code(title, code)
        if len(groups) > _CODES:
            click.echo(f"\n{len(groups) - _CODES} more are loaded otherwise: --json prints the code of each")


def _notes_on(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Give what the user should know of many checkpoints: each note once, with those that it is about."""
    about: dict[str, list[str]] = {}
    planned = [outcome for outcome in outcomes if outcome.job]
    for outcome in planned:
        for note in dict.fromkeys(outcome.job.notes if outcome.job else ()):
            about.setdefault(note, []).append(outcome.source)
    for note, sources in about.items():
        places = f" ({_some(sources)})" if len(sources) < len(planned) else ""
        yield f"note: {note}{places}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_CODES]) + (f" and {len(names) - _CODES} more" if len(names) > _CODES else "")


def _alike(codes: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the code of each kind of checkpoint with a title, given their places; steps may have other numbers."""
    found: dict[str, list[tuple[str, str]]] = {}
    for place, code in codes:
        shape = re.sub(r"restore\(\d+", "restore(", re.sub(r"# step .*", "", code.replace(place, "")))
        found.setdefault(shape, []).append((place, code))
    groups = []
    for (place, code), *others in found.values():
        more = [one for one, _ in others]
        groups.append((f"load {place}{f', and in the same way {_some(more)},' if more else ''} with:", code))
    return groups


def complain(error: CheckpointError, record: Mapping[str, Any] | None) -> None:
    """Print an error for people, and for machines if there is a record to put it in."""
    if record is not None:
        click.echo(json.dumps({**record, "message": str(error), "hint": error.hint}, indent=2))
    click.echo(f"{click.style('error', fg='red')}: {error}", err=True)
    if error.hint:
        click.echo(f"help: {error.hint}", err=True)


@contextmanager
def progress(total: int | None, shown: bool) -> Iterator[Callable[[str, int], None]]:
    """Show how far the work is and how long it will take: bars on a terminal, else a line every half minute."""
    if not shown:
        yield lambda stage, count: None
        return
    if not sys.stderr.isatty():
        yield _Lines(total).told
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    text = TextColumn("{task.description}")
    columns = (text, BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def told(stage: str, count: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(_STAGES[stage], total=total)
            bars.advance(tasks[stage], count)

        yield told


class _Lines:
    """Says now and then how far each stage is."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._stage = ""
        self._done = 0
        self._start = self._said = time.monotonic()

    def told(self, stage: str, count: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._start = now if self._stage else self._start
            self._stage, self._done = stage, 0
        self._done += count
        if now - self._said < _EVERY:
            return
        self._said = now
        click.echo(self._line(now), err=True)

    def _line(self, now: float) -> str:
        from nnxmigrate.checkpoint import report

        speed = self._done / max(now - self._start, 1e-9)
        text = f"{_STAGES[self._stage]}: {report.size(self._done)}"
        if self._total:
            text += f" of {report.size(self._total)}"
        text += f", {report.size(int(speed))}/s"
        if self._total and speed:
            text += f", about {report.duration(max(0, self._total - self._done) / speed)} left"
        return text


def _print_code(title: str, code: str) -> None:
    click.echo(f"{title}\n")
    click.echo("\n".join(f"    {line}".rstrip() for line in code.splitlines()))
