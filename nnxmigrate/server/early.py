"""What can be said about an edited file at once, while its project is still to be analysed.

That is what a look at the file alone tells, by rules that hardly ask for more, and what the last analysis of the
project found, moved with the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from codemods.nnx.analyse import chosen
from codemods.nnx.findings import Analysis, Finding
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from nnxmigrate.analysing import analysed

#: Rules on names and on what one function does say about a file alone nearly what they say about it within its project,
#: apart from a few that were seen to take findings back. The others speak about objects that come from, or go to, other
#: files.
FAMILIES = ("NNX5", "NNX8")
EXCEPT = frozenset({"NNX830"})


def local(code: str) -> bool:
    """Say whether a rule is asked about a file alone."""
    return code.startswith(FAMILIES) and code not in EXCEPT


@dataclass(frozen=True)
class Carried:
    """Findings about a text, to be moved to what becomes of it.

    Attributes:
        text: the text.
        findings: what the rules found.
        loud: the comments that silence nothing.
    """

    text: bytes
    findings: tuple[Finding, ...] = ()
    loud: tuple[Finding, ...] = ()

    def to(self, text: bytes) -> Carried:
        """Return the findings about another text, without their fixes, and without those whose place was edited."""
        first = _alike(self.text, text)
        most = min(len(self.text), len(text)) - first
        rest = _alike(self.text[::-1][:most], text[::-1][:most])
        last, by = len(self.text) - rest, len(text) - len(self.text)

        ends = first - (text[first : first + 1].isalnum() or text[first : first + 1] == b"_")  # a word may have grown
        tail = text[: len(text) - rest][-1:]
        starts = last + (tail.isalnum() or tail in (b"_", b"."))

        def moved(some: Iterable[Finding]) -> tuple[Finding, ...]:
            before = (replace(one, fix=None) for one in some if one.end <= ends)
            behind = (
                replace(one, start=one.start + by, end=one.end + by, fix=None)
                for one in some
                if one.start >= starts and one.end > ends
            )
            return (*before, *behind)

        return Carried(text, moved(self.findings), moved(self.loud))


def _alike(one: bytes, other: bytes) -> int:
    """Return with how many same bytes two texts begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def alone(source: Source, options: Options, stop: Callable[[], bool] | None) -> Analysis:
    """Return what rules that ask little of other files say about a file.

    Args:
        source: the file.
        options: what is looked for.
        stop: asked now and then whether the result is still wanted.

    Raises:
        Stopped: if it was not.
    """
    codes = tuple(sorted(rule.code for rule in chosen(options) if local(rule.code)))
    return analysed([source], replace(options, select=codes or ("none",), extend=()), stop=stop)
