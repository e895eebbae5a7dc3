"""When garbage is looked for: nearly all that an analysis makes is kept to its end, and the process ends soon after."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

_last = False  # whether the process ends with the command


def last_command() -> None:
    """Note that the process ends with the command that it runs now: nothing need be given back at its end."""
    global _last
    _last = True
    atexit.register(gc.freeze)  # the interpreter looks once more while it ends, which costs a twentieth of a run


@contextmanager
def kept() -> Iterator[None]:
    """Look for garbage only where it is asked for; behind that as before, unless the process ends."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting and not _last:
            gc.enable()


class Heap:
    """Gives back what analyses leave, as often as that keeps a process from growing much.

    Attributes:
        left: bytes of source whose analyses may not have been given back yet.
        largest: the most bytes of source that were analysed together.
    """

    def __init__(self) -> None:
        self.left = 0
        self.largest = 0

    def before(self, size: int) -> None:
        """Give back what is left if that and the analysis of ``size`` bytes need more memory than one alone did."""
        self.largest = max(self.largest, size)
        if not gc.isenabled() and self.left + size > max(self.largest * _MORE, _LITTLE):
            gc.collect()
            self.left = 0
        self.left += size


_MORE = 1.25  # how much more memory than for the largest group may be taken
_LITTLE = 500_000  # bytes of source whose analyses may stay in any case: a look through all of memory takes its time
