"""The report as workflow commands, which GitHub shows beside the code."""

from __future__ import annotations

import os

from nnxmigrate.outcome import Diagnostic, Outcome, Status
from nnxmigrate.report import Style
from nnxmigrate.rules import severity
from nnxmigrate.visible import visible_lines


def github(outcome: Outcome, style: Style) -> str:
    """Return one command a finding; failures are errors, findings are as bad as their rules."""
    lines = [
        f"::error file={_property(_slashed(file.path))},title=nnxmigrate::{_message(file.reason)}"
        for file in outcome.by_status[Status.FAILED]
    ]
    if not style.quiet:
        lines += [_command(one) for one in outcome.left]
        if not outcome.written:
            lines += [_command(one) for one in outcome.fixed]
    return "\n".join(lines)


def _command(one: Diagnostic) -> str:
    # A cell's columns mean nothing in the notebook's file, its lines do.
    place = "" if one.start.cell else f",col={one.start.column}"
    text = _message(f"{one.place}: {one.code} {one.message}" + (f"\n{one.help}" if one.help else ""))
    path = _property(_slashed(one.path))
    kind = {"error": "error", "warning": "warning"}.get(severity(one.code), "notice")
    return f"::{kind} file={path},line={one.start.file_line}{place},title=nnxmigrate ({one.code})::{text}"


def _slashed(path: str) -> str:
    return path.replace(os.sep, "/")


def _message(text: str) -> str:
    return visible_lines(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
