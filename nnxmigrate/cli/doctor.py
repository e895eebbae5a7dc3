"""``nnxmigrate doctor``: do the releases that a project asks for go together?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from nnxmigrate.doctor import bump, project
from nnxmigrate.doctor.compat import TARGETS
from nnxmigrate.doctor.installed import installed
from nnxmigrate.doctor.judge import Severity, Verdict, judge
from nnxmigrate.doctor.pins import PinError, Reading
from nnxmigrate.files.atomic import WriteFailed, write_all
from nnxmigrate.files.discovery import display
from nnxmigrate.versions.families import family

_MARKS = {Severity.ERROR: "fails", Severity.WARNING: "warning", Severity.NOTE: "note"}
_WHILE_MIGRATING = {
    "0.11": "While you migrate, keep jax==0.7.2: it runs flax 0.10.7 and 0.11.2, so numbers can be compared.",
    "0.12": "While you migrate from flax 0.11.2, jax==0.8.1 runs it and flax 0.12.6; flax 0.12.7 and later need "
    "jax>=0.10.0.",
}


def _target(value: str) -> str:
    found = family(value)
    if found not in TARGETS:
        raise click.BadParameter(f"{value!r} is none of {', '.join(TARGETS)} and latest")
    return found


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path), default=Path("."))
@click.option("--to", "target", type=_target, metavar="VERSION", help="The Flax version that shall run, as 0.12.")
@click.option("--python", metavar="INTERPRETER", help="Judge what this interpreter has installed, too.")
@click.option("--bump", "raising", is_flag=True, help="Raise the pins in place; lock files are never changed.")
@click.option("--diff", is_flag=True, help="Print how --bump would raise the pins, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(path: Path, target: str | None, python: str | None, raising: bool, diff: bool, as_json: bool) -> None:
    """Say whether the releases of Flax, JAX, Orbax, Optax and Python that a project pins, or has, go together.

    PATH is a project or one file. Read are pyproject.toml (PEP 621, dependency groups, Poetry, uv), requirements and
    constraints files, Pipfile, environment.yml, setup.cfg, setup.py, the `pip install` lines of notebooks, and the
    locks of uv, Poetry, PDM and Pipenv.

    The exit code is 0 if all is well, 1 if there are problems, 2 if something could not be read or written.
    """
    if diff and (raising or as_json):
        raise click.UsageError(f"--diff and {'--bump' if raising else '--json'} exclude each other; name one")
    reading = _read(path, python)
    raised = None
    if diff:
        _show(bump.plan(reading.sets, target).contents)
    if raising:
        try:
            raised = bump.plan(reading.sets, target)
            write_all(raised.contents)
        except (OSError, WriteFailed) as error:
            click.echo(f"Error: the pins were not raised: {error}", err=True)
            sys.exit(2)
        reading = _read(path, python)
    verdicts = [judge(pins, target, lambda pattern: project.uses(path, pattern)) for pins in reading.sets]
    if as_json:
        click.echo(json.dumps(_record(verdicts, reading, raised), indent=2))
    else:
        _print(verdicts, reading, raised, target)
    healthy = all(verdict.healthy for verdict in verdicts) and not (raised and raised.stuck)
    sys.exit(2 if reading.errors else 0 if healthy else 1)


def _show(contents: dict[str, bytes]) -> None:
    """Print changes as a patch."""
    from nnxmigrate.outcome import FileOutcome, Outcome, Status
    from nnxmigrate.report.diff import patch, show

    files = [
        FileOutcome(display(name), Status.CHANGED, before=Path(name).read_bytes(), after=data)
        for name, data in contents.items()
    ]
    show(patch(Outcome(files)))


def _read(path: Path, python: str | None) -> Reading:
    reading = project.read(path)
    if python is not None:
        try:
            pins = installed(python)
        except PinError as error:
            reading.errors.append((python, str(error)))
        else:
            if pins.names("flax"):
                reading.sets.append(pins)
            else:
                reading.errors.append((python, "flax is not installed there"))
    return reading


def _print(verdicts: list[Verdict], reading: Reading, raised: bump.Plan | None, target: str | None) -> None:
    for change in raised.changes if raised else ():
        click.echo(f"{change.path}: {change.package} {change.before or '(nothing)'} -> {change.after}")
    for change in raised.stuck if raised else ():
        click.echo(f"{change.path}: {change.package} {change.before} was not found; write {change.after} by hand")
    for verdict in verdicts:
        releases = ", ".join(f"{name} {release}" for name, release in verdict.releases.items())
        verb = {"pins": "an installer takes", "lock": "locked are", "installed": "installed are"}[verdict.pins.kind]
        click.echo(f"{verdict.pins.name}: {verb} {releases or 'releases that are not known'}")
        if not verdict.remarks:
            click.echo("  works: this was measured")
        for remark in verdict.remarks:
            click.echo(f"  {_MARKS[remark.severity]}: {remark.message}")
            if remark.advice:
                click.echo(f"    choose {remark.advice}")
    for file, reason in reading.errors:
        click.echo(f"{file}: cannot be read: {reason}", err=True)
    if not verdicts and not reading.errors:
        click.echo("No pins of flax were found.")
    if target is not None:
        click.echo(_WHILE_MIGRATING[target])
    locks = sorted({verdict.pins.refresh for verdict in verdicts if verdict.pins.kind == "lock"})
    if raised and raised.changes and locks:
        click.echo("Lock files were not changed; renew them with: " + "; ".join(locks))


def _record(verdicts: list[Verdict], reading: Reading, raised: bump.Plan | None) -> dict[str, object]:
    record: dict[str, object] = {
        "sets": [
            {
                "name": verdict.pins.name,
                "path": verdict.pins.path,
                "kind": verdict.pins.kind,
                "pins": {pin.package: pin.text for pin in verdict.pins.pins},
                "releases": {name: str(release) for name, release in verdict.releases.items()},
                "healthy": verdict.healthy,
                "remarks": [
                    {"severity": remark.severity.value, "message": remark.message, "advice": remark.advice}
                    for remark in verdict.remarks
                ],
            }
            for verdict in verdicts
        ],
        "errors": [{"path": path, "message": message} for path, message in reading.errors],
    }
    if raised is not None:
        record["changes"] = [vars(change) for change in raised.changes]
        record["by_hand"] = [vars(change) for change in raised.stuck]
    return record
