"""Byte-range edits: the only way in which source text changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass


class OverlapError(ValueError):
    """Two edits claim the same bytes."""


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace the bytes ``start:end`` of a text by ``text``.

    Attributes:
        start: offset of the first replaced byte in the UTF-8 text.
        end: offset behind the last replaced byte; equal to ``start`` for an insertion.
        text: the new bytes, UTF-8.
        joins: whether other insertions at the same place do no harm, as names added to an import.
        draft: whether the text is left open, because nobody is going to make the edit.
    """

    start: int
    end: int
    text: bytes
    joins: bool = False
    draft: bool = False


def merged(edits: Iterable[Edit]) -> list[Edit]:
    """Return the distinct edits in order of their position; those at one place in that of their texts, blanks aside.

    Args:
        edits: edits of one text, in any order; equal ones count once.

    Raises:
        OverlapError: if two different edits replace a common byte, or insert at the same place.
    """
    ordered = sorted(set(edits), key=lambda edit: (edit.start, edit.end, edit.text.lstrip(), edit))
    for one, two in itertools.pairwise(ordered):
        if two.start < one.end or (two.start == one.start and not (one.joins and two.joins)):
            raise OverlapError(f"edits at {one.start}:{one.end} and {two.start}:{two.end} overlap")
    return ordered


def spliced(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return ``data`` with all ``edits`` made; every other byte is copied as it is.

    Raises:
        OverlapError: see :func:`merged`.
    """
    parts: list[bytes] = []
    position = 0
    for edit in merged(edits):
        parts += (data[position : edit.start], edit.text)
        position = edit.end
    return b"".join((*parts, data[position:]))


def minimal(start: int, old: bytes, new: bytes) -> Edit:
    """Return the smallest edit that turns ``old``, which stands at offset ``start``, into ``new``."""
    head = 0
    limit = min(len(old), len(new))
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return Edit(start + head, start + len(old) - tail, new[head : len(new) - tail])
