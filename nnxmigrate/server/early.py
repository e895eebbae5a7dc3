"""What can be said about an edited file at once, while its project is still to be analysed.

That is what a look at the file alone tells, by rules that hardly ask for more; what the last analysis of the project
found, moved with the text; and in what was edited since, what most other rules say about the file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from codemods.nnx.analyse import chosen
from codemods.nnx.findings import Analysis, Finding
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from nnxmigrate.analysing import analysed

#: Rules on names and on what one function does say about a file alone nearly what they say about it within its project.
#: The others speak about objects that come from, or go to, other files.
FAMILIES = ("NNX5", "NNX8")
#: Rules that were seen to say about a file alone what they do not say about it within its project: that something is
#: not known, above all.
EXCEPT = frozenset({"NNX103", "NNX107", "NNX216", "NNX603", "NNX611", "NNX830"})


def local(code: str) -> bool:
    """Say whether what a rule finds in a file alone counts in all of it, and not only where it was edited."""
    return code.startswith(FAMILIES) and code not in EXCEPT


class Carried(NamedTuple):
    """Findings about a text, to be moved to what becomes of it.

    Attributes:
        text: the text.
        findings: what the rules found.
        loud: the comments that silence nothing.
    """

    text: bytes
    findings: tuple[Finding, ...] = ()
    loud: tuple[Finding, ...] = ()

    def edited(self, text: bytes) -> tuple[int, int, int]:
        """Return where what stays of this text ends in front of an edit, where it goes on, and by how much it moves."""
        first = _alike(self.text, text)
        most = min(len(self.text), len(text)) - first
        rest = _alike(self.text[::-1][:most], text[::-1][:most])
        ends = first - (text[first : first + 1].isalnum() or text[first : first + 1] == b"_")  # a word may have grown
        tail = text[: len(text) - rest][-1:]
        starts = len(self.text) - rest + (tail.isalnum() or tail in (b"_", b"."))
        return ends, starts, len(text) - len(self.text)

    def to(self, text: bytes) -> Carried:
        """Return the findings about another text, without their fixes, and without those whose place was edited."""
        ends, starts, by = self.edited(text)

        def moved(some: Iterable[Finding]) -> tuple[Finding, ...]:
            before = (replace(one, fix=None, related=()) for one in some if one.end <= ends)
            behind = (
                replace(one, start=one.start + by, end=one.end + by, fix=None, related=())
                for one in some
                if one.start >= starts and one.end > ends
            )
            return (*before, *behind)

        return Carried(text, moved(self.findings), moved(self.loud))

    def joined(self, text: bytes, fresh: Iterable[Finding]) -> list[Finding]:
        """Return the findings about another text, with what was found in it alone where that counts."""
        ends, starts, by = self.edited(text)
        counted = [one for one in fresh if local(one.code) or (one.end > ends and one.start < starts + by)]
        return [*counted, *(one for one in self.to(text).findings if not local(one.code))]


def _alike(one: bytes, other: bytes) -> int:
    """Return with how many same bytes two texts begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def alone(source: Source, options: Options, stop: Callable[[], bool] | None) -> Analysis:
    """Return what most rules say about a file alone.

    Args:
        source: the file.
        options: what is looked for.
        stop: asked now and then whether the result is still wanted.

    Raises:
        Stopped: if it was not.
    """
    codes = tuple(sorted(rule.code for rule in chosen(options) if rule.code not in EXCEPT))
    return analysed([source], replace(options, select=codes or ("none",), extend=()), stop=stop)
