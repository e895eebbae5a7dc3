"""Finds the known errors in what a program printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nnxmigrate.explain.entry import Entry, squeezed
from nnxmigrate.explain.message import Message, read

if TYPE_CHECKING:
    from collections.abc import Iterable

_ABOUT = re.compile("flax|nnx")


@dataclass(frozen=True)
class Match:
    """A known error that was recognised.

    Attributes:
        entry: the error.
        message: the message it was recognised in.
        certain: False if the message alone could come from elsewhere and nothing around it tells.
        weight: length of the recognised part, in characters without blanks; longer is more specific.
    """

    entry: Entry
    message: Message
    certain: bool
    weight: int


def matches(text: str, entries: Iterable[Entry]) -> list[Match]:
    """Return the known errors in ``text``, the most probable first, each entry once.

    Certain matches come before possible ones, the exception that ended the program before those that led to it,
    and the longer, more specific wording before the shorter.

    Args:
        text: a traceback or a message, as :func:`nnxmigrate.explain.message.read` takes it.
        entries: the errors to look for.
    """
    report = read(text)
    surroundings = squeezed(report.text)
    silent = report.frames and not _ABOUT.search(surroundings)
    messages = [(message, squeezed(message.text)) for message in report.messages]
    best: dict[str, Match] = {}
    for entry in entries:
        for wording in entry.wordings:
            certain = wording.surroundings is None or wording.surroundings.search(surroundings) is not None
            if not certain and (silent or wording.required):
                continue
            for message, line in messages:
                found = wording.message.search(line)
                if found is None:
                    continue
                match = Match(entry, message, certain, found.end() - found.start())
                if entry.key not in best or _rank(match) > _rank(best[entry.key]):
                    best[entry.key] = match
    return sorted(best.values(), key=_rank, reverse=True)


def _rank(match: Match) -> tuple[bool, bool, int]:
    return match.certain, match.message.last, match.weight
