"""What is Python in a notebook's cell that is not, as a whole."""

from __future__ import annotations

import re

from nnxmigrate.files.document import Mask, commented, lines_of
from nnxmigrate.files.magics import NotPython, masked

#: How a line begins that goes on with what stands above it.
_GOING_ON = re.compile(rb"[\s)\]}]|(?:else|elif|except|finally)\b")
_JOINED = 8  # how many parts a statement may be of: one with lines in a text that are not indented


def recovered(cell: bytes) -> tuple[bytes, list[Mask]]:
    """Return a cell's text with the statements that are no Python as comments, and these as masked parts.

    Args:
        cell: the cell's source in UTF-8.
    """
    parts = _parts(cell)
    text: list[bytes] = []
    masks: list[Mask] = []
    position = number = 0
    while number < len(parts):
        for end in range(number + 1, min(number + _JOINED, len(parts)) + 1):
            part = b"".join(parts[number:end])
            try:
                python, hidden = masked(part)
            except NotPython:
                continue
            masks += (mask.shifted(position) for mask in hidden)
            break
        else:
            part, end = parts[number], number + 1
            python = b"".join(map(commented, lines_of(part)))
            masks.append(Mask(position, position + len(part)))
        text.append(python)
        position += len(part)
        number = end
    return b"".join(text), masks


def _parts(cell: bytes) -> list[bytes]:
    """Return the parts of a cell that begin with lines without indent."""
    parts: list[list[bytes]] = []
    decorated = False  # whether the line before is a decorator
    for line in lines_of(cell):
        if not parts or not (decorated or not line.strip() or _GOING_ON.match(line)):
            parts.append([])
        parts[-1].append(line)
        decorated = line.startswith(b"@")
    return [b"".join(part) for part in parts]
