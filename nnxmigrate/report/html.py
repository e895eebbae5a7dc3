"""The report as one page that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape

from nnxmigrate import __version__
from nnxmigrate.links import rule_url
from nnxmigrate.outcome import Diagnostic, FileOutcome, Outcome, Status
from nnxmigrate.report.diff import patch
from nnxmigrate.rules import all_rules

_CSS = """
:root { color-scheme: light dark; --line: #8884; --add: #2da44e33; --del: #cf222e33; --mark: #9a670033; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
td.number { text-align: right; }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; font-size: 13px; }
.add { background: var(--add); } .del { background: var(--del); } .mark { background: var(--mark); }
summary { cursor: pointer; font-weight: 600; margin: .5rem 0; } .help { opacity: .8; }
"""
_CLASSES = {"+": "add", "-": "del", "@": "mark"}


def page(outcome: Outcome) -> str:
    """Return a page with a summary, and for every file its findings and its changes."""
    counts = ", ".join(f"{len(files)} {status.value}" for status, files in outcome.by_status.items() if files)
    body = [f"<h1>nnxmigrate {__version__}</h1>", f"<p>Files: {counts or 'none'}.</p>", _rules(outcome)]
    body += _section("Failed", (_file(file, outcome) for file in outcome.by_status[Status.FAILED]))
    body += _section("Findings left", (_file(file, outcome) for file in _with_findings(outcome)))
    verb = "Changed" if outcome.written else "Would change"
    body += _section(verb, (_diff(file) for file in outcome.by_status[Status.CHANGED]))
    head = f'<meta charset="utf-8"><title>nnxmigrate</title><style>{_CSS}</style>'
    text = "\n".join(("<!doctype html>", f'<html lang="en"><head>{head}</head><body>', *body, "</body></html>", ""))
    return text.encode("utf-8", "replace").decode("utf-8")


def _section(title: str, entries: Iterable[str]) -> list[str]:
    content = list(entries)
    return [f"<h2>{title}</h2>", *content] if content else []


def _rules(outcome: Outcome) -> str:
    """Return the table of how often each rule fixed or found something."""
    fixed, left = (Counter(one.code for one in some) for some in (outcome.fixed, outcome.left))
    rows = [
        f'<tr><td>{_linked(rule.code)}</td><td class="number">{fixed[rule.code]}</td>'
        f'<td class="number">{left[rule.code]}</td>'
        f"<td>{escape(rule.summary)}</td></tr>"
        for rule in all_rules()
        if fixed[rule.code] or left[rule.code]
    ]
    if not rows:
        return "<p>Nothing was found.</p>"
    verb = "fixed" if outcome.written else "would fix"
    return f"<table><tr><th>rule</th><th>{verb}</th><th>left</th><th></th></tr>{''.join(rows)}</table>"


def _with_findings(outcome: Outcome) -> Iterator[FileOutcome]:
    paths = {one.path for one in outcome.left}
    return (file for file in outcome.files if file.path in paths and file.status is not Status.FAILED)


def _file(file: FileOutcome, outcome: Outcome) -> str:
    reason = f"<p>{escape(file.reason)}</p>" if file.reason else ""
    findings = "".join(_finding(one) for one in outcome.left if one.path == file.path)
    return f"<details open><summary>{escape(file.path)}</summary>{reason}{findings}</details>"


def _finding(one: Diagnostic) -> str:
    cell = f"cell {one.start.cell}, " if one.start.cell else ""
    help_text = f'<br><span class="help">{escape(one.help)}</span>' if one.help else ""
    place = f"{cell}line {one.start.line}, column {one.start.column}"
    return f"<p><b>{_linked(one.code)}</b> {place}: {escape(one.message)}{help_text}</p><pre>{escape(one.line)}</pre>"


def _linked(code: str) -> str:
    """Return a code as a link to its page."""
    url = rule_url(code)
    return f'<a href="{escape(url)}">{escape(code)}</a>' if url else escape(code)


def _diff(file: FileOutcome) -> str:
    lines = patch(Outcome([file])).decode("utf-8", "replace").splitlines()
    shown = "\n".join(_coloured(line) for line in lines if not line.startswith(("diff ", "--- ", "+++ ")))
    return f"<details><summary>{escape(file.path)}</summary><pre>{shown}</pre></details>"


def _coloured(line: str) -> str:
    kind = _CLASSES.get(line[:1])
    return f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line)
