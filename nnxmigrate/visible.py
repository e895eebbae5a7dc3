"""Text from files, made harmless for terminals: what controls one is shown as an escape."""

from __future__ import annotations

import re
from dataclasses import replace

from nnxmigrate.outcome import Diagnostic, FileOutcome, Outcome

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_BUT_LINES = re.compile(r"(?![\n\t])[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Return a text with control characters and changes of direction escaped, line ends too.

    >>> visible("a\\x1b[31m\\nb")
    'a\\\\x1b[31m\\\\nb'
    """
    return _CONTROL.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """Return the same of a text of several lines, which stay lines."""
    return _BUT_LINES.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode()


def harmless(outcome: Outcome) -> Outcome:
    """Return an outcome whose words can be printed."""
    return replace(
        outcome,
        files=[_file(one) for one in outcome.files],
        left=[_finding(one) for one in outcome.left],
        fixed=[_finding(one) for one in outcome.fixed],
    )


def _file(one: FileOutcome) -> FileOutcome:
    return replace(one, path=visible(one.path), reason=visible_lines(one.reason))


def _finding(one: Diagnostic) -> Diagnostic:
    message, help_text = visible_lines(one.message), visible_lines(one.help)
    return replace(one, path=visible(one.path), message=message, help=help_text, line=visible_lines(one.line))
