"""Research scripts, each with a mistake that people ask about, and the same script without it.

They stand in text files. A script begins with a line ``=== its mistake | CODE`` that may go on with ``slow``,
``missed`` or ``since=VERSION``, as :class:`~tests.lint.programs.Pair` has them, and with where the mistake is known
from. Between ``<<<`` and ``|||`` stands what is wrong, between that and ``>>>`` what is right.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.lint.programs import Pair

_FOLDER = Path(__file__).parent
_MARKED = re.compile(r"^<<<\n(.*?)^\|\|\|\n(.*?)^>>>\n", re.M | re.S)


def _read(text: str) -> dict[str, Pair]:
    """Return the scripts of one file, by the names of their mistakes."""
    found: dict[str, Pair] = {}
    for part in re.split(r"^=== ", text, flags=re.M)[1:]:
        head, body = part.split("\n", 1)
        name, _, marks = head.partition(" | ")
        code, *words = marks.split()
        since = next((word.removeprefix("since=") for word in words if word.startswith("since=")), "0.10")
        wrong, right = (_MARKED.sub(rf"\{side}", body + "\n") for side in (1, 2))
        found[f"research: {name}"] = Pair(code, wrong, right, since, "slow" in words, "missed" in words)
    return found


PAIRS: dict[str, Pair] = {
    name: pair for file in sorted(_FOLDER.glob("research_*.txt")) for name, pair in _read(file.read_text()).items()
}
