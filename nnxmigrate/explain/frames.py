"""Which line of a traceback is the user's own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from nnxmigrate.explain.message import read

_PYTHON = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>[^\n]+))?')
_IPYTHON = re.compile(
    r"(?:File |Cell )(?P<path>In\s?\[\d+\]|[^\s:]+\.py)(?:, line |:)(?P<line>\d+)(?:, in (?P<name>[\w.<>]+))?"
)
_PYTEST = re.compile(r"^(?P<path>[^\s:]+\.py):(?P<line>\d+): (?P<name>in [\w.<>]+|\w+)?$", re.MULTILINE)
_ELSEWHERE = re.compile(r"site-packages|dist-packages|[/\\]lib[/\\]python\d|[/\\]Lib[/\\]|^<|runpy")


@dataclass(frozen=True)
class Frame:
    """A place in a traceback.

    Attributes:
        path: the file, or the cell of a notebook.
        line: its line.
        function: the function; empty if the traceback does not say it.
        text: the line of code; empty if the traceback does not show it.
    """

    path: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        inside = f" in {self.function}" if self.function else ""
        return f"{self.path}:{self.line}{inside}" + (f": {self.text}" if self.text else "")


def own_frame(text: str) -> Frame | None:
    """Return the innermost place of a traceback that is in no installed package; None if it shows none.

    Of several tracebacks the last counts, which ended the program.

    Args:
        text: what was printed.
    """
    plain = read(text).text
    _, _, last = plain.rpartition("Traceback (most recent call last)")
    for part in (last, plain):
        for pattern in (_PYTHON, _IPYTHON, _PYTEST):
            own = [match for match in pattern.finditer(part) if not _ELSEWHERE.search(match["path"])]
            if own:
                return _frame(part, own[-1])
    return None


def _frame(text: str, match: re.Match[str]) -> Frame:
    following = text[match.end() :].split("\n")[1:2] if match.re is _PYTHON else []
    code = following[0].strip() if following else ""
    if code.startswith(("File ", "Traceback")) or re.fullmatch(r"[~^ ]*", code):
        code = ""
    name = (match["name"] or "").strip().removeprefix("in ")
    return Frame(match["path"], int(match["line"]), "" if name.endswith(("Error", "Exception")) else name, code)
