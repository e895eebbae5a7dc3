"""The report for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import click

from nnxmigrate.outcome import Diagnostic, FileOutcome, Outcome, Status
from nnxmigrate.report import Style
from nnxmigrate.visible import harmless, visible, visible_lines


def text(outcome: Outcome, style: Style) -> str:
    """Return findings one by one, failures, and a summary."""
    outcome = harmless(outcome)
    parts = list(_failures(outcome))
    if not style.quiet:
        if style.statistics:
            parts += _counts("", outcome.left)
        else:
            parts += (_entry(one) for one in outcome.left)
        if style.verbose:
            mark = "fixed" if outcome.written else "would fix"
            parts += (f"{one.place}: {one.code} [{mark}] {one.message}" for one in outcome.fixed)
            parts += (f"{file.path}: skipped: {file.reason}" for file in outcome.by_status[Status.SKIPPED])
            parts += (f"{file.path}: left out: {file.reason}" for file in _left_out(outcome))
        parts += map(visible_lines, (*outcome.flax, *outcome.told))
        parts += _summary(outcome)
        parts += (f"Next: {line}" for line in style.next)
        if style.undo:
            parts.append(f"Undo: {visible(style.undo)}")
    return "\n".join(parts)


def _entry(one: Diagnostic) -> str:
    """Return a finding with its way out."""
    from nnxmigrate.rules import severity

    mark = f" [{one.safety.value} fix]" if one.safety else ""
    colour = {"error": "red", "warning": "yellow"}.get(severity(one.code), "cyan")
    head = f"{click.style(one.place, bold=True)}: {click.style(one.code, fg=colour)} {one.message}{mark}"
    places = (  # those aside that the message names
        f"{other.where}: {other.message}" for other in one.related if other.where not in one.message
    )
    return "\n    ".join(filter(None, (head, *one.help.split("\n"), *places)))


def _failures(outcome: Outcome) -> Iterator[str]:
    for file in outcome.by_status[Status.FAILED]:
        request = "\n    This is a defect of nnxmigrate; please report it." if file.internal else ""
        yield f"{click.style(file.path, bold=True)}: {click.style('failed', fg='red')}: {file.reason}{request}"


def _summary(outcome: Outcome) -> Iterator[str]:
    changed = outcome.by_status[Status.CHANGED]
    yield from _counts("Fixed:" if outcome.written else "Would fix:", outcome.fixed)
    verb = "changed" if outcome.written else "would change"
    counts = [(f"{_files(changed)} {verb}", changed)]
    counts += [
        (f"{_files(outcome.by_status[status])} {status.value}", outcome.by_status[status])
        for status in (Status.UNCHANGED, Status.FINDINGS, Status.SKIPPED, Status.FAILED)
    ]
    left_out = _left_out(outcome)
    if left_out:
        words, files = counts[1]
        counts[1] = f"{words} ({len(left_out)} left out: {left_out[0].reason})", files
    yield (", ".join(words for words, files in counts if files) or "no files") + _left(outcome)


def _left(outcome: Outcome) -> str:
    """Return how many findings are left, and how bad they are."""
    if not outcome.left:
        return ""
    from codemods.nnx.rule import SEVERITIES
    from nnxmigrate.rules import severity

    found = Counter(severity(one.code) for one in outcome.left)
    words = {"error": "errors", "warning": "warnings", "info": "infos", "hint": "hints"}
    kinds = [
        f"{found[kind]} {kind if found[kind] == 1 else words[kind]}" for kind in reversed(SEVERITIES) if found[kind]
    ]
    return f"; {len(outcome.left)} finding{'s' * (len(outcome.left) != 1)} left: {', '.join(kinds)}"


def _left_out(outcome: Outcome) -> list[FileOutcome]:
    """Return the files that were not analysed because they cannot matter."""
    return [file for file in outcome.by_status[Status.UNCHANGED] if file.reason]


def _files(files: list[FileOutcome]) -> str:
    return f"{len(files)} file{'s' * (len(files) != 1)}"


def _counts(title: str, diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    """Yield how often each rule is among diagnostics."""
    counts = Counter(one.code for one in diagnostics)
    if counts and title:
        yield title
    for code, count in sorted(counts.items()):
        yield f"  {count:5}  {code}  {_summaries().get(code, '')}".rstrip()


def _summaries() -> dict[str, str]:
    from nnxmigrate.rules import all_rules

    return {rule.code: rule.summary for rule in all_rules()}
