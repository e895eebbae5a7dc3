"""The report as JUnit XML, which most CI services show: a test case for each finding."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from nnxmigrate.outcome import Diagnostic, Outcome, Status
from nnxmigrate.report import Style
from nnxmigrate.visible import visible_lines

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML 1.0


def junit(outcome: Outcome, style: Style) -> str:
    """Return one suite; each finding is a test case that failed, each file without any is one of its own."""
    shown = [*outcome.left, *(() if outcome.written else outcome.fixed)]
    by_path: dict[str, list[Diagnostic]] = {}
    for one in shown:
        by_path.setdefault(one.path, []).append(one)
    suite = ET.Element("testsuite", {"name": "nnxmigrate"})
    for file in outcome.files:
        found = by_path.get(file.path, [])
        for one in found:
            case = _case(suite, f"{one.place}: {one.code}")
            failure = ET.SubElement(case, "failure", {"type": one.code, "message": _clean(f"{one.code} {one.message}")})
            failure.text = _clean(f"{one.place}: {one.message}\n{one.help}\n{one.line.strip()}")
        if file.status is Status.FAILED:
            ET.SubElement(_case(suite, file.path), "error", {"message": _clean(file.reason)})
        elif file.status is Status.SKIPPED:
            ET.SubElement(_case(suite, file.path), "skipped", {"message": _clean(file.reason)})
        elif not found:
            _case(suite, file.path)
    skipped, failed = (len(outcome.by_status[status]) for status in (Status.SKIPPED, Status.FAILED))
    counts = {"tests": len(suite), "failures": len(shown), "errors": failed, "skipped": skipped}
    suite.attrib.update({key: str(count) for key, count in counts.items()})
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode")


def _case(suite: ET.Element, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", {"name": _clean(name), "classname": "nnxmigrate"})


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", visible_lines(text))
