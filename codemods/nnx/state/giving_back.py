"""Giving back the memory of runs, whose objects hold each other."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class _Holding(Protocol):
    """What holds other objects, and may be held by them."""

    def let_go(self) -> None:
        """Hold no other object any more, since nobody asks again."""


class _Kept(threading.local):
    """What is to let go in the end; None if nobody asked for that."""

    made: list[_Holding] | None = None


_KEPT = _Kept()


def to_let_go(made: _Holding) -> None:
    """Note something that was made."""
    if _KEPT.made is not None:
        _KEPT.made.append(made)


@contextmanager
def given_back() -> Iterator[None]:
    """Give back in the end what was made inside, which may fill a gigabyte; nothing of it may be used after that.

    A search for circles would take three times as long as to let each object go of the others.
    """
    if _KEPT.made is not None:
        yield  # somebody else does
        return
    made: list[_Holding] = []
    _KEPT.made = made
    try:
        yield
    finally:
        _KEPT.made = None
        for one in made:
            one.let_go()
