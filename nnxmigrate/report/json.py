"""The report as one JSON object, for programs."""

from __future__ import annotations

import json as encoder
from typing import Any

from nnxmigrate.files.document import Spot
from nnxmigrate.outcome import Diagnostic, Outcome, Status
from nnxmigrate.report import Style
from nnxmigrate.rules import severity
from nnxmigrate.version import __version__


def json(outcome: Outcome, style: Style) -> str:
    """Return everything about a run; files that stayed as they were are only counted."""
    content = {
        "version": __version__,
        "written": outcome.written and bool(outcome.by_status[Status.CHANGED]),
        "flax": list(outcome.flax),
        "notes": list(outcome.told),
        "exit_code": outcome.exit_code,
        "counts": {status.name.lower(): len(files) for status, files in outcome.by_status.items()},
        "left_out": sum(1 for file in outcome.by_status[Status.UNCHANGED] if file.reason),
        "files": [
            {"path": file.path, "status": file.status.name.lower(), "reason": file.reason, "internal": file.internal}
            for file in outcome.files
            if file.status is not Status.UNCHANGED
        ],
        "findings": [_finding(one) for one in outcome.left],
        "fixed": [_finding(one) for one in outcome.fixed],
    }
    return encoder.dumps(content, indent=2)


def _finding(one: Diagnostic) -> dict[str, Any]:
    edits = [
        {"path": part.path, "start": _spot(part.start), "end": _spot(part.end), "text": part.text}
        for part in one.replacements
    ]
    return {
        **{key: getattr(one, key) for key in ("code", "path", "message", "help")},
        "severity": severity(one.code),
        "start": _spot(one.start),
        "end": _spot(one.end),
        "fix": {"safety": one.safety.value, "edits": edits} if one.safety else None,
        "related": [
            {"start": _spot(other.start), "end": _spot(other.end), "message": other.message} for other in one.related
        ],
    }


def _spot(spot: Spot) -> dict[str, int]:
    """Return line and column, and in a notebook the cell."""
    place = {"line": spot.line, "column": spot.column}
    return place if spot.cell is None else {"cell": spot.cell, **place}
