"""The report as one page for a browser, which needs nothing else."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape as quoted

from nnxmigrate.links import rule_url
from nnxmigrate.outcome import Diagnostic, FileOutcome, Outcome, Status
from nnxmigrate.report.diff import patch
from nnxmigrate.rules import all_rules, severity
from nnxmigrate.version import __version__
from nnxmigrate.visible import visible_lines

_CSS = """
:root { color-scheme: light dark; --line: #8884; --add: #2da44e33; --del: #cf222e33; --mark: #9a670033; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
td.number { text-align: right; }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .5rem; font-size: 13px; }
.add { background: var(--add); } .del { background: var(--del); } .mark { background: var(--mark); }
summary { cursor: pointer; font-weight: 600; margin: .5rem 0; } .help, .meta { opacity: .8; }
.error { color: #cf222e; } .warning { color: #9a6700; } .info, .hint { color: #0969da; }
.filters { position: sticky; top: 0; background: Canvas; padding: .5rem 0; border-bottom: 1px solid var(--line); }
[hidden] { display: none; }
"""
_SCRIPT = """
const rule = document.getElementById('rule'), file = document.getElementById('file');
function filter() {
  let shown = 0;
  for (const one of document.querySelectorAll('[data-code], [data-diff]')) {
    const codes = (one.dataset.code ?? one.dataset.diff).split(' ');
    const hidden = (rule.value && !codes.includes(rule.value)) || (file.value && one.dataset.path !== file.value);
    one.hidden = hidden;
    shown += !hidden && one.dataset.code !== undefined;
  }
  for (const group of document.querySelectorAll('details.group'))
    group.hidden = ![...group.querySelectorAll('[data-code], [data-diff]')].some(one => !one.hidden);
  document.getElementById('shown').textContent = shown + (shown === 1 ? ' finding shown' : ' findings shown');
}
rule.addEventListener('change', filter); file.addEventListener('change', filter); filter();
"""
_CLASSES = {"+": "add", "-": "del", "@": "mark"}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(outcome: Outcome, command: str = "", now: datetime | None = None) -> str:
    """Return a page with a summary, and for every file its findings and its changes.

    Args:
        outcome: what the run came to.
        command: the command line, as a user would write it.
        now: when it was run.
    """
    words = {status: status.value for status in Status} | ({} if outcome.written else {Status.CHANGED: "would change"})
    counts = ", ".join(f"{len(files)} {words[status]}" for status, files in outcome.by_status.items() if files)
    when = (now or datetime.now().astimezone()).strftime("%Y-%m-%d %H:%M %Z").strip()
    body = [f"<h1>nnxmigrate {__version__}</h1>", f'<p class="meta">{when}</p>']
    body += [f"<p><code>{_text(command)}</code></p>"] if command else []
    body += [f"<p>{_text(line)}</p>" for line in (*outcome.flax, *outcome.told)]
    body += [f"<p>Files: {counts or 'none'}.</p>", _rules(outcome), *_filters(outcome)]
    body += _section("Failed", (_file(file, outcome) for file in outcome.by_status[Status.FAILED]))
    body += _section("Findings left", (_file(file, outcome) for file in _with_findings(outcome)))
    verb = "Changed" if outcome.written else "Would change"
    body += _section(verb, (_diff(file, outcome) for file in outcome.by_status[Status.CHANGED]))
    body += _section("Rules", _explained(outcome))
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>nnxmigrate</title><style>{_CSS}</style>"
    )
    script = [f"<script>{_SCRIPT}</script>"] if outcome.left or outcome.fixed else []
    parts = ("<!doctype html>", f'<html lang="en"><head>{head}</head><body>', *body, *script, "</body></html>", "")
    return "\n".join(parts).encode("utf-8", "replace").decode("utf-8")


def _section(title: str, entries: Iterable[str]) -> list[str]:
    content = list(entries)
    return [f"<h2>{title}</h2>", *content] if content else []


def _codes(outcome: Outcome) -> list[str]:
    return sorted({one.code for one in (*outcome.left, *outcome.fixed)})


def _rules(outcome: Outcome) -> str:
    """Return the table of how often each rule fixed or found something."""
    fixed, left = (Counter(one.code for one in some) for some in (outcome.fixed, outcome.left))
    rows = [
        f'<tr><td>{_linked(rule.code)}</td><td class="{rule.level}">{rule.level}</td>'
        f'<td class="number">{fixed[rule.code]}</td><td class="number">{left[rule.code]}</td>'
        f"<td>{_text(rule.summary)}</td></tr>"
        for rule in all_rules()
        if fixed[rule.code] or left[rule.code]
    ]
    if not rows:
        return "<p>Nothing was found.</p>"
    verb = "fixed" if outcome.written else "would fix"
    return f"<table><tr><th>rule</th><th></th><th>{verb}</th><th>left</th><th></th></tr>{''.join(rows)}</table>"


def _filters(outcome: Outcome) -> Iterator[str]:
    if not (outcome.left or outcome.fixed):
        return
    paths = dict.fromkeys(one.path for one in (*outcome.left, *outcome.fixed))
    rules = "".join(f"<option>{code}</option>" for code in _codes(outcome))
    files = "".join(f"<option>{_text(path)}</option>" for path in paths)
    yield (
        f'<p class="filters"><label>Rule <select id="rule"><option value="">all</option>{rules}</select></label> '
        f'<label>File <select id="file"><option value="">all</option>{files}</select></label> '
        '<span id="shown"></span></p>'
    )


def _with_findings(outcome: Outcome) -> Iterator[FileOutcome]:
    paths = {one.path for one in outcome.left}
    return (file for file in outcome.files if file.path in paths and file.status is not Status.FAILED)


def _file(file: FileOutcome, outcome: Outcome) -> str:
    reason = f"<p>{_text(file.reason)}</p>" if file.reason else ""
    findings = "".join(_finding(one) for one in outcome.left if one.path == file.path)
    group = ' class="group"' if findings else ""
    return f"<details open{group}><summary>{_text(file.path)}</summary>{reason}{findings}</details>"


def _finding(one: Diagnostic) -> str:
    cell = f"cell {one.start.cell}, " if one.start.cell else ""
    help_text = f'<br><span class="help">{_text(one.help)}</span>' if one.help else ""
    place = f"{cell}line {one.start.line}, column {one.start.column}"
    for other in one.related:
        help_text += f"<br>{other.where}: {_text(other.message)}"
    level = severity(one.code)
    return (
        f'<div data-code="{one.code}" data-path="{_text(one.path)}">'
        f'<p><b>{_linked(one.code)}</b> <a href="#{one.code}">why</a> <span class="{level}">{level}</span> {place}: '
        f"{_text(one.message)}{help_text}</p><pre>{_text(one.line)}</pre></div>"
    )


def _linked(code: str) -> str:
    """Return a code as a link to its page."""
    url = rule_url(code)
    return f'<a href="{_text(url)}">{_text(code)}</a>' if url else _text(code)


def _diff(file: FileOutcome, outcome: Outcome) -> str:
    codes = " ".join(sorted({one.code for one in outcome.fixed if one.path == file.path}))
    cells = _cells(file) if file.path.endswith(".ipynb") else None
    if cells is None:
        lines = patch(Outcome([file])).decode("utf-8", "replace").splitlines()
        shown = _pre(line for line in lines if not line.startswith(("diff ", "--- ", "+++ ")))
    else:
        shown = "".join(f"<p>Cell {number}</p>{_pre(lines)}" for number, lines in cells)
    inner = f'<div data-diff="{codes}" data-path="{_text(file.path)}">{shown}</div>'
    return f'<details class="group"><summary>{_text(file.path)}</summary>{inner}</details>'


def _cells(file: FileOutcome) -> list[tuple[int, list[str]]] | None:
    """Return the changes of a notebook by the number of the cell; None if its cells cannot be told apart."""
    try:
        before, after = (json.loads(data)["cells"] for data in (file.before, file.after))
        texts = [["".join(cell["source"]).splitlines() for cell in cells] for cells in (before, after)]
    except (ValueError, KeyError, TypeError):
        return None
    if len(texts[0]) != len(texts[1]):
        return None
    return [
        (number, list(difflib.unified_diff(old, new, lineterm=""))[2:])
        for number, (old, new) in enumerate(zip(*texts, strict=True), 1)
        if old != new
    ]


def _text(text: str) -> str:
    """Return a text as part of a page."""
    return quoted(visible_lines(text))


def _pre(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(_coloured(line) for line in lines) + "</pre>"


def _coloured(line: str) -> str:
    kind = _CLASSES.get(line[:1])
    return f'<span class="{kind}">{_text(line)}</span>' if kind else _text(line)


def _explained(outcome: Outcome) -> Iterator[str]:
    """Yield what the rules say that found something."""
    codes = set(_codes(outcome))
    for rule in all_rules():
        if rule.code in codes:
            why = "".join(f"<p>{_text(part)}</p>" for part in rule.why.strip().split("\n\n"))
            yield (
                f'<h3 id="{rule.code}">{rule.code} {_text(rule.name)}: {_text(rule.summary)}</h3>{why}'
                f'<p class="help">{rule.level}, since Flax {rule.since}. {_text(rule.source)}</p>'
            )
