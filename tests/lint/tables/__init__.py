"""Tables of cases: what each lint rule finds, and look-alikes that it leaves alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cases:
    """The cases of one rule.

    Attributes:
        bad: programs; the lines that end in a comment with a code are found with that code, and no others.
        clean: programs in which no lint rule finds anything.
    """

    bad: tuple[str, ...]
    clean: tuple[str, ...]
