"""Programs with a mistake that issues, discussions and guides tell of, each beside the same program without it.

They stand in text files. A program begins with ``=== its mistake | CODE``, which may go on with ``since=VERSION``,
``slow`` and ``missed`` as :class:`~tests.lint.programs.Pair` has them, with ``whole`` for a program without the common
head, and then ``|`` and where the mistake is known from. The lines of one of the two programs alone are marked as in
:mod:`tests.lint.programs.lined`.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.lint.programs import WHOLE, Pair
from tests.lint.programs.lined import lined

_FOLDER = Path(__file__).parent


def _read(text: str) -> dict[str, Pair]:
    """Return the programs of one file, by the names of their mistakes."""
    found: dict[str, Pair] = {}
    for part in re.split(r"^=== ", text, flags=re.M)[1:]:
        head, body = part.split("\n", 1)
        name, marks, _ = head.split(" | ", 2)
        code, *words = marks.split()
        since = next((word.removeprefix("since=") for word in words if word.startswith("since=")), "0.12")
        text = WHOLE + body if "whole" in words else body
        found[f"reported: {name}"] = lined(code, text, since, "missed" in words, "slow" in words)
    return found


PAIRS: dict[str, Pair] = {
    name: pair for file in sorted(_FOLDER.glob("reported_*.txt")) for name, pair in _read(file.read_text()).items()
}
