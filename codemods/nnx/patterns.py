"""Regular expressions that are compiled when they are first asked for: most runs ask for few of the rules' patterns."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class Later:
    """Stands for a compiled pattern, and becomes one with its first use.

    Attributes:
        text: the regular expression.
        flags: flags of :mod:`re`.
        needs: words of which one stands in lower case in the lower case of every text that it is found in; none if
            that is not known.
    """

    def __init__(self, text: str | bytes, flags: int, needs: tuple[bytes, ...]) -> None:
        self.text = text
        self.flags = flags
        self.needs = needs

    def __getattr__(self, name: str) -> Any:
        made = re.compile(self.text, self.flags)
        self.__dict__.update({word: getattr(made, word) for word in _METHODS})
        return getattr(made, name)


_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "split", "sub", "subn")


def pattern(text: AnyStr, flags: int = 0, needs: tuple[bytes, ...] = ()) -> re.Pattern[AnyStr]:
    """Return what behaves as ``re.compile(text, flags)`` does, but whose errors come with its first use.

    Functions of :mod:`re` do not take it as their pattern: its methods are to be called.

    Args:
        text: the regular expression, for texts or for bytes.
        flags: flags of :mod:`re`.
        needs: words in lower case of which one stands, in capitals or not, in every text that it is found in. They are
            found much faster than alternatives are, see :meth:`codemods.nnx.source.Source.matches`.
    """
    return cast("re.Pattern[AnyStr]", Later(text, flags, needs))


def needed(words: re.Pattern[bytes]) -> tuple[bytes, ...]:
    """Return what :func:`pattern` was told that a pattern needs; nothing of other patterns."""
    found: tuple[bytes, ...] = getattr(words, "needs", ())
    return found
