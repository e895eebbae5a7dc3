"""``nnxmigrate explain``: from an error message to its cause and fix."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from pathlib import Path

import click

from nnxmigrate.explain.frames import Frame, own_frame
from nnxmigrate.explain.match import Match, matches
from nnxmigrate.explain.table import ENTRIES

_WIDTH = 100
_SHOWN = 200  # characters of a message


@click.command()
@click.argument("text", nargs=-1, metavar="[ERROR TEXT]")
@click.option("--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read it from a file.")
@click.option("--json", "as_json", is_flag=True, help="Print all matches as JSON.")
def explain(text: tuple[str, ...], file: Path | None, as_json: bool) -> None:
    """Explain an error or warning that Flax, JAX, Orbax or Optax printed.

    Takes one line or a whole traceback, as an argument, from a file or on standard input, and says what caused it,
    which line of your own code led to it, which Flax releases raise it, how to mend it and which rules find the code.

    \b
    nnxmigrate explain "Missing required argument `wrt`"
    python train.py 2>&1 | nnxmigrate explain

    The exit code is 0 if the error is known, 1 if not, 2 if there is no input.
    """
    source = _input(text, file)
    found = matches(source, ENTRIES)
    place = own_frame(source)
    if as_json:
        record = {
            "recognised": bool(found),
            "place": vars(place) if place else None,
            "matches": [_record(match) for match in found],
        }
        click.echo(json.dumps(record, indent=2))
    elif found:
        click.echo(_answer(found, place))
    elif code := re.fullmatch(r"\s*(NNX\d{3})\s*", source):
        click.echo(f"{code[1]} is a rule: `nnxmigrate rule {code[1]}` explains it.")
    else:
        click.echo("This error is not known. `nnxmigrate lint` and `nnxmigrate doctor` may still find its cause.")
        if place:
            click.echo(f"  your line  {place}")
    sys.exit(0 if found else 1)


def _input(text: tuple[str, ...], file: Path | None) -> str:
    if file is not None:
        if text:
            raise click.UsageError("give the error as text or with --file, not both")
        source = file.read_bytes().decode("utf-8", "replace")
    elif text and text != ("-",):
        source = " ".join(text)
        if len(text) == 1 and "\n" not in source and os.path.isfile(source):
            source = Path(source).read_bytes().decode("utf-8", "replace")
    else:
        if sys.stdin.isatty():
            raise click.UsageError("give the error as an argument, with --file, or on standard input")
        source = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not source.strip():
        raise click.UsageError("the error text is empty")
    return source


def _headline(match: Match) -> str:
    line = " ".join(match.message.text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _record(match: Match) -> dict[str, object]:
    entry = match.entry
    return {
        "key": entry.key,
        "title": entry.title,
        "certain": match.certain,
        "message": match.message.text,
        "versions": entry.versions,
        "cause": entry.cause,
        "fix": entry.fix,
        "rules": list(entry.rules),
    }


def _answer(found: list[Match], place: Frame | None) -> str:
    best, *others = found
    entry = best.entry
    rules = ", ".join(entry.rules)
    rows = [
        ("message", _headline(best)),
        ("your line", str(place) if place else ""),
        ("raised by", entry.versions),
        ("cause", entry.cause),
        ("fix", entry.fix),
        ("rules", f"{rules} (`nnxmigrate rule {entry.rules[0]}` says more)" if rules else ""),
    ]
    doubt = "" if best.certain else " (possibly; the whole traceback would tell)"
    lines = [f"{entry.key}: {entry.title}{doubt}"]
    for name, value in rows:
        if value:
            lines.append(textwrap.fill(value, _WIDTH, initial_indent=f"  {name:<11}", subsequent_indent=" " * 13))
    if others:
        lines.append("Also possible:")
        lines += [f"  {match.entry.key}: {match.entry.title}" for match in others]
    return "\n".join(lines)
