"""Mistakes that the cell of a notebook shows on purpose, as its comments or its names say."""

from __future__ import annotations

import re
from bisect import bisect_right

from codemods.nnx.findings import Finding
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source

_SAID = pattern(
    r"\b(fails?|failures?|failing|oops|unexpected(ly)?|undefined behaviou?r|non-desirable|undesirable|immutable"
    r"|wrong|incorrect|mistakes?|not allowed|bad (idea|practice|example|way)|out[- ]of[- ]bounds?"
    r"|(do|does|did|will|would|wo|should)(n'?t| not) (work|do|be done)"
    r"|(raise|throw|cause|give|produce|get|lead to|result in)(s|ed|d|ing)? (an? )?([\w-]+ ){0,2}(error|exception)s?"
    r"|(gives?|gets?|leads? to|results? in) the same (result|value|number)s?"
    r"|same (inputs?|arguments?|keys?|seeds?)\b.*\bsame (results?|outputs?|values?|numbers?))\b",
    re.IGNORECASE,
)
# what begins a comment and judges what follows
_JUDGED = pattern(
    r"\s*(bad|wrong|incorrect|don'?t|never do)(\s+(do|use|try|write)\s+(this|that|it)\b|\s*([:!.]|$))", re.IGNORECASE
)
_TOY = pattern(
    r"(f|g|h|fn|fun|func|foo|bar|baz|func\w?\d|f\d|\w*impure\w*|\w*side_effect\w*|bad_\w+|wrong_\w+|broken_\w+|toy_\w+"
    r"|(not|non)_?diff\w*)"
)
# notebooks that are about mistakes
_ABOUT = pattern(r"sharp[ _-]?(bits?|edges?)|gotchas?|pitfalls?|common[ _-](mistakes|errors)", re.IGNORECASE)
_DEFINED = pattern(r"(\s*)(?:async )?def (\w+)")
_COUNTER = pattern(r"class Counter\b")
_RANDOM = ("NNX773", "NNX83")
_COMMENT = pattern(r"^\s*#(?!\s*(%%|\+))|(?<=\s)#\s")


def on_purpose(source: Source, finding: Finding) -> bool:
    """Say whether a notebook shows a mistake and says so: beside it, right above it, or where its cell begins.

    Args:
        source: the source of the finding.
        finding: the finding, about a mistake.
    """
    if not source.cell_starts:
        return False
    if _ABOUT.search(source.path.replace("\\", "/").rpartition("/")[2]):
        return True
    lines = source.lines
    first = source.position(finding.start)[0]
    last = source.position(max(finding.start, finding.end - 1))[0]
    place = bisect_right(source.cell_starts, first)
    begin = source.cell_starts[place - 1] if place else 1
    if finding.code == "NNX804" and any(_COUNTER.match(line) for line in lines[begin - 1 : first]):
        return True  # the counter that shows what a side effect is
    if not finding.code.startswith(_RANDOM) and _TOY.fullmatch(_function(lines[begin - 1 : first])):
        return True  # of a tutorial
    beside = list(range(first, last + 1))
    above = first - 1
    while above >= begin and is_comment(lines[above - 1]):
        beside.append(above)
        above -= 1
    head = begin
    while head < first and (is_comment(lines[head - 1]) or not lines[head - 1].strip()):
        beside.append(head)
        head += 1
    comments = [_comment(lines[number - 1]) for number in set(beside) if number <= len(lines)]
    return any(_SAID.search(one) or _JUDGED.match(one) for one in comments)


def _function(lines: list[str]) -> str:
    """Return the outermost function around the last of some lines of a cell; empty if there is none."""
    depth = len(lines[-1]) - len(lines[-1].lstrip()) if lines else 0
    name = ""
    for line in reversed(lines):
        found = _DEFINED.match(line)
        if found and (len(found[1]) < depth or line is lines[-1]):
            name, depth = found[2], len(found[1])
        elif line.strip() and not line[0].isspace() and line is not lines[-1] and not line.startswith((")", "@", "#")):
            break
    return name


def is_comment(line: str) -> bool:
    """Say whether a line holds a comment and nothing else."""
    return line.lstrip().startswith("#")


def _comment(line: str) -> str:
    """Return the comment of a line, empty if it has none."""
    found = _COMMENT.search(line)
    return line[found.end() :] if found else ""
