"""Mistakes that the cell of a notebook shows on purpose, as its comments say."""

from __future__ import annotations

import re
from bisect import bisect_right

from codemods.nnx.findings import Finding
from codemods.nnx.source import Source

_SAID = re.compile(
    r"\b(fails?|failures?|failing|oops|unexpected(ly)?|undefined behaviou?r|non-desirable|undesirable|immutable"
    r"|wrong|incorrect|mistakes?|not allowed|bad (idea|practice|example|way)|out[- ]of[- ]bounds?"
    r"|(do|does|did|will|would|wo|should)(n'?t| not) (work|do|be done)"
    r"|(raise|throw|cause|give|produce|get|lead to|result in)(s|ed|d|ing)? (an? )?([\w-]+ ){0,2}(error|exception)s?"
    r"|(gives?|gets?|leads? to|results? in) the same (result|value|number)s?)\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"^\s*#(?!\s*(%%|\+))|(?<=\s)#\s")


def on_purpose(source: Source, finding: Finding) -> bool:
    """Say whether a notebook shows a mistake and says so: beside it, right above it, or where its cell begins.

    Args:
        source: the source of the finding.
        finding: the finding, about a mistake.
    """
    if not source.cell_starts:
        return False
    lines = source.data.decode().splitlines()
    first = source.position(finding.start)[0]
    last = source.position(max(finding.start, finding.end - 1))[0]
    place = bisect_right(source.cell_starts, first)
    begin = source.cell_starts[place - 1] if place else 1
    beside = list(range(first, last + 1))
    above = first - 1
    while above >= begin and _alone(lines[above - 1]):
        beside.append(above)
        above -= 1
    head = begin
    while head < first and (_alone(lines[head - 1]) or not lines[head - 1].strip()):
        beside.append(head)
        head += 1
    return any(_SAID.search(_comment(lines[number - 1])) for number in set(beside) if number <= len(lines))


def _alone(line: str) -> bool:
    return line.lstrip().startswith("#")


def _comment(line: str) -> str:
    """Return the comment of a line, empty if it has none."""
    found = _COMMENT.search(line)
    return line[found.end() :] if found else ""
