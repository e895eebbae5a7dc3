"""The report as SARIF 2.1.0, the form that code scanning services read.

The form is defined in https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from nnxmigrate.files.document import Spot
from nnxmigrate.links import rule_url
from nnxmigrate.outcome import Diagnostic, FileOutcome, Outcome, Status
from nnxmigrate.report import Style
from nnxmigrate.rules import all_rules, severity
from nnxmigrate.version import __version__

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

#: What the format calls the severities.
LEVELS = {"error": "error", "warning": "warning", "info": "note", "hint": "note"}


def sarif(outcome: Outcome, style: Style) -> str:
    """Return a log of one run; what was not written counts among the results."""
    shown = [*outcome.left, *(() if outcome.written else outcome.fixed)]
    results = []
    seen: dict[str, int] = {}
    for one in shown:
        print_ = _fingerprint(one)
        seen[print_] = seen.get(print_, 0) + 1
        results.append(_result(one, f"{print_}:{seen[print_]}"))
    run = {
        "tool": {"driver": driver({one.code for one in shown})},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not outcome.by_status[Status.FAILED],
                "toolExecutionNotifications": [
                    *(_notification(file) for file in outcome.by_status[Status.FAILED]),
                    *({"level": "note", "message": {"text": line}} for line in outcome.told),
                ],
            }
        ],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def driver(codes: Collection[str]) -> dict[str, Any]:
    """Return what is said of the program, and of the rules that have results: nobody looks the others up."""
    rules = [
        {
            "id": rule.code,
            "name": rule.name,
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.why},
            "help": {"text": f"{rule.why}\nSource: {rule.source}"},
            "defaultConfiguration": {"level": LEVELS[rule.level]},
            "properties": {"tags": [rule.kind.value, f"flax-{rule.since}"]},
            **({"helpUri": rule_url(rule.code)} if rule_url(rule.code) else {}),
        }
        for rule in all_rules()
        if rule.code in codes
    ]
    return {"name": "nnxmigrate", "version": __version__, "rules": rules}


def _result(one: Diagnostic, fingerprint: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.code,
        "level": LEVELS[severity(one.code)],
        "message": {"text": one.message + (f"\n{one.help}" if one.help else "")},
        "locations": [
            {"physicalLocation": {"artifactLocation": _uri(one.path), "region": _region(one.start, one.end)}}
        ],
        "partialFingerprints": {"nnxmigrate/v1": fingerprint},
    }
    if one.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": {
                    "artifactLocation": _uri(one.path),
                    "region": _region(other.start, other.end),
                },
                "message": {"text": other.message},
            }
            for number, other in enumerate(one.related, 1)
        ]
    # A fix of a notebook would have to speak of the JSON text, and these places speak of cells.
    if one.replacements and not any(part.start.cell for part in one.replacements):
        paths = dict.fromkeys(part.path for part in one.replacements)
        changes = [
            {
                "artifactLocation": _uri(path),
                "replacements": [
                    {"deletedRegion": _region(part.start, part.end), "insertedContent": {"text": part.text}}
                    for part in one.replacements
                    if part.path == path
                ],
            }
            for path in paths
        ]
        result["fixes"] = [{"description": {"text": one.help or one.message}, "artifactChanges": changes}]
    return result


def _notification(file: FileOutcome) -> dict[str, Any]:
    location = {"physicalLocation": {"artifactLocation": _uri(file.path)}}
    return {"level": "error", "message": {"text": file.reason}, "locations": [location]}


def _region(start: Spot, end: Spot) -> dict[str, int]:
    if start.cell:
        return {"startLine": start.file_line}
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _uri(path: str) -> dict[str, str]:
    slashed = quote(path.replace(os.sep, "/"))
    return {"uri": f"file://{slashed}" if os.path.isabs(path) else slashed}


def _fingerprint(one: Diagnostic) -> str:
    """Return a digest that stays the same when lines above the finding come and go."""
    parts = (one.code, one.path.replace(os.sep, "/"), one.line.strip())
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]
