"""One known error: the wordings it appears in, its cause and the way out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

_QUOTES = str.maketrans(dict.fromkeys('`"\u00b4\u2018\u2019\u201c\u201d', "'"))
_BLANK = re.compile(r"\s+")


def squeezed(text: str) -> str:
    """Return ``text`` without white space and with all kinds of quotation marks made ``'``.

    Terminals and notebooks wrap messages anywhere, inside words too, and wordings changed their quotation
    marks between releases; two texts that differ in nothing else are the same squeezed.
    """
    return _BLANK.sub("", text).translate(_QUOTES)


@dataclass(frozen=True)
class Wording:
    """A form in which an error appears.

    Attributes:
        pattern: regular expression for a part of the message. Blanks in it are for the reader: it is compared
            with the squeezed message, so it must not rely on blanks, and writes every quotation mark as ``'``.
        context: regular expression for anything in the whole input, frames included, that tells this error from
            others with the same message. Without it the match is possible at best: where the input has no frames
            to look at, or they mention NNX.
        required: whether there is no match at all without the context.
    """

    pattern: str
    context: str = ""
    required: bool = False

    @cached_property
    def message(self) -> re.Pattern[str]:
        """The compiled pattern, for squeezed messages."""
        return re.compile(_BLANK.sub("", self.pattern))

    @cached_property
    def surroundings(self) -> re.Pattern[str] | None:
        """The compiled context, for squeezed input; None if the message suffices."""
        return re.compile(_BLANK.sub("", self.context)) if self.context else None


@dataclass(frozen=True)
class Entry:
    """One known error.

    Attributes:
        key: stable name in kebab-case.
        title: what happened, one line.
        wordings: all forms in which it appears.
        cause: why, in a sentence or more.
        fix: what to do, in a sentence or more.
        versions: the releases that raise it, in words.
        rules: codes of the rules that find or mend the code that raises it.
    """

    key: str
    title: str
    wordings: tuple[Wording, ...]
    cause: str
    fix: str
    versions: str
    rules: tuple[str, ...] = field(default=())
