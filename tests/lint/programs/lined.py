"""Pairs in one text: a line behind ``-|`` is in the wrong program only, one behind ``+|`` in the right one only."""

from __future__ import annotations

from tests.lint.programs import Pair


def lined(code: str, text: str, since: str = "0.12", missed: bool = False, slow: bool = False) -> Pair:
    """Return a pair.

    Args:
        code: the rule that finds the mistake.
        text: both programs.
        since: the first Flax release in which it is wrong; the default is what the optimizers' API asks for.
        missed: whether no default rule finds it yet.
        slow: whether only its speed is wrong.
    """
    return Pair(code, _only(text, "-|"), _only(text, "+|"), since, missed=missed, slow=slow)


def _only(text: str, mark: str) -> str:
    """Return the lines of one program."""
    lines = (line.removeprefix(mark) for line in text.splitlines() if line[:2] == mark or line[:2] not in {"-|", "+|"})
    return "\n".join(lines) + "\n"
