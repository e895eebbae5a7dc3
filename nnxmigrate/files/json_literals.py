"""Where the string literals of a JSON text stand, and how to change one without touching the rest."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]', re.DOTALL)
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)

Key = tuple[str | int, ...]


class Literal(NamedTuple):
    """A string in a JSON text.

    Attributes:
        key: the object keys and list indexes that lead to it.
        start: index of the character behind its opening quote.
        end: index of its closing quote.
        body: what stands between the quotes, escapes included.
    """

    key: Key
    start: int
    end: int
    body: str

    @property
    def value(self) -> str:
        """The string it stands for."""
        return str(json.loads(f'"{self.body}"', strict=False))

    def cut(self, offset: int) -> int:
        """Return the index within ``body`` at which the byte ``offset`` of the value's UTF-8 form begins."""
        starts, ends = [], [0]
        for match in _CHARACTER.finditer(self.body):
            starts.append(match.start())
            ends.append(ends[-1] + len(json.loads(f'"{match.group()}"', strict=False).encode("utf-8")))
        starts.append(len(self.body))
        return starts[bisect_left(ends, offset)]


def literals(text: str, wanted: Callable[[Sequence[str | int]], bool]) -> Iterator[Literal]:
    """Yield string values, not keys, of a valid JSON text in order.

    Args:
        text: the text.
        wanted: says by the keys and indexes that lead to a value whether it is wanted.
    """
    stack: list[str | int] = []  # what leads to the value that comes next
    in_object: list[bool] = []
    at_key = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "{" or token == "[":
            in_object.append(token == "{")
            stack.append("" if token == "{" else 0)
            at_key = token == "{"
        elif token in "}]":
            in_object.pop()
            stack.pop()
            at_key = False
        elif token == ",":
            at_key = in_object[-1]
            if not at_key:
                stack[-1] = int(stack[-1]) + 1
        elif token == ":":
            at_key = False
        elif at_key:
            stack[-1] = json.loads(token, strict=False)
        elif wanted(stack):
            yield Literal(tuple(stack), match.start() + 1, match.end() - 1, token[1:-1])
