"""The report as JUnit XML, which most CI services show: one test case a file."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from nnxmigrate.outcome import Diagnostic, Outcome, Status
from nnxmigrate.report import Style
from nnxmigrate.visible import visible_lines

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML 1.0


def junit(outcome: Outcome, style: Style) -> str:
    """Return one suite; findings are failures, files that could not be handled are errors."""
    shown = [*outcome.left, *(() if outcome.written else outcome.fixed)]
    by_path: dict[str, list[Diagnostic]] = {}
    for one in shown:
        by_path.setdefault(one.path, []).append(one)
    failed = outcome.by_status[Status.FAILED]
    counts = {"tests": len(outcome.files), "failures": len(shown), "errors": len(failed)}
    attributes = {"name": "nnxmigrate", **{key: str(count) for key, count in counts.items()}}
    suite = ET.Element("testsuite", {**attributes, "skipped": str(len(outcome.by_status[Status.SKIPPED]))})
    for file in outcome.files:
        case = ET.SubElement(suite, "testcase", {"name": _clean(file.path), "classname": "nnxmigrate"})
        if file.status is Status.FAILED:
            ET.SubElement(case, "error", {"message": _clean(file.reason)})
        elif file.status is Status.SKIPPED:
            ET.SubElement(case, "skipped", {"message": _clean(file.reason)})
        for one in by_path.get(file.path, []):
            failure = ET.SubElement(case, "failure", {"type": one.code, "message": _clean(f"{one.code} {one.message}")})
            failure.text = _clean(f"{one.place}: {one.message}\n{one.help}\n{one.line.strip()}")
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", visible_lines(text))
