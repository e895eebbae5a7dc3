"""Changes as a patch that ``git apply`` takes, and as coloured text."""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Iterator

import click

from nnxmigrate.outcome import FileOutcome, Outcome, Status
from nnxmigrate.visible import visible

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def base(outcome: Outcome) -> str:
    """Return the folder that a patch is applied in: the working directory, or one above if a file is not below it."""
    folders = [os.path.dirname(os.path.abspath(file.path)) for file in outcome.by_status[Status.CHANGED]]
    try:
        return os.path.commonpath([os.getcwd(), *folders])
    except ValueError:  # on several drives
        return os.getcwd()


def patch(outcome: Outcome, folder: str | None = None, readable: bool = False) -> bytes:
    """Return the changes of all files; paths are relative to a folder, by default that of :func:`base`.

    Notebooks that are stored on one line are one line of a patch too. For people who only read it, they are compared as
    if they were stored as usual.

    There are no ``diff --git`` lines: with them git takes paths as relative to the top of the repository.
    """
    folder = folder or base(outcome)
    return b"".join(part for file in outcome.by_status[Status.CHANGED] for part in _file(file, folder, readable))


def on_one_line(outcome: Outcome) -> list[str]:
    """Return the paths of the changed notebooks that are stored on one line."""
    return [file.path for file in outcome.by_status[Status.CHANGED] if _is_one_line(file)]


def _is_one_line(file: FileOutcome) -> bool:
    return file.path.endswith(".ipynb") and b"\n" not in file.before.strip() and bool(file.before.strip())


def _spread(notebook: bytes) -> bytes:
    """Return a notebook as it is usually stored: every line of a cell on one of its own."""
    return json.dumps(json.loads(notebook), indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _file(file: FileOutcome, folder: str, readable: bool) -> Iterator[bytes]:
    name = os.path.relpath(file.path, folder).replace(os.sep, "/")
    old, new = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    if file.created:
        old = b"/dev/null"
    before, after = file.before, file.after
    if readable and _is_one_line(file):
        before, after = _spread(before), _spread(after)
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), old, new)
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[bytes]:
    """Split where git does: behind line feeds only."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [line for line in data.split(b"\n")[-1:] if line]


def _quoted(name: str) -> bytes:
    """Return a path as git writes it: in C's quotes if it holds anything special."""
    raw = os.fsencode(name)
    if all(32 <= byte < 127 and byte not in b'"\\' for byte in raw):
        return raw + b"\t" * (b" " in raw)
    escapes = {ord('"'): b'\\"', ord("\\"): b"\\\\", 9: b"\\t", 10: b"\\n", 13: b"\\r"}
    plain = (escapes.get(byte) or (bytes([byte]) if 32 <= byte < 127 else b"\\%03o" % byte) for byte in raw)
    return b'"' + b"".join(plain) + b'"'


def show(diff: bytes) -> None:
    """Print a patch: for people in colours, for programs byte for byte."""
    if sys.stdout.isatty():
        lines = diff.decode("utf-8", "replace").split("\n")
        click.echo("\n".join(_coloured(line) for line in lines), nl=False)
    else:
        click.echo(diff, nl=False)


def _coloured(line: str) -> str:
    line, end = (line[:-1], "\r") if line.endswith("\r") else (line, "")
    line = visible(line.replace("\t", "    "))
    if line.startswith(("diff ", "--- ", "+++ ")):
        return click.style(line, bold=True) + end
    colour = _COLOURS.get(line[:1])
    return (click.style(line, fg=colour) if colour else line) + end
