"""Comments and logical lines of a Python text."""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from nnxmigrate.files.document import Document

_NOT_CODE = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


class Comment(NamedTuple):
    """A comment.

    Attributes:
        line: its 1-based line.
        column: 0-based column of its ``#``, in characters.
        text: the comment with its ``#``.
        alone: whether nothing else stands in the line.
    """

    line: int
    column: int
    text: str
    alone: bool


class Layout(NamedTuple):
    """The comments of a text, and the 1-based lines in which its logical lines begin."""

    comments: Sequence[Comment]
    logical: Sequence[int]

    def statement(self, line: int) -> int:
        """Return the first line of the logical line that a line belongs to."""
        place = bisect_right(self.logical, line)
        return self.logical[place - 1] if place else 1


def layout(document: Document) -> Layout:
    """Read the comments and logical lines of a text; none if it is not Python."""
    text = document.text.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    comments: list[Comment] = []
    logical: list[int] = []
    fresh = True
    try:
        for kind, value, (line, column), _, whole in tokenize.generate_tokens(io.StringIO(text).readline):
            if kind == tokenize.COMMENT:
                comments.append(Comment(line, column, value, not whole[:column].strip()))
            elif kind == tokenize.NEWLINE:
                fresh = True
            elif fresh and kind not in _NOT_CODE:
                fresh = False
                if not logical or logical[-1] != line:
                    logical.append(line)
    except (tokenize.TokenError, SyntaxError):
        return Layout((), ())
    return Layout(comments, logical)
