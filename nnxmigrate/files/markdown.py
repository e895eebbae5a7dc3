"""Python in fenced blocks of Markdown and MyST files; the blocks of one file share one scope."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from nnxmigrate.files.document import Mask, PlainDocument, Unreadable, commented, lines_of
from nnxmigrate.files.magics import NotPython, masked
from nnxmigrate.files.python import BOM

_OPEN = re.compile(rb"([ \t]*)(`{3,}|~{3,})[ \t]*(.*?)[ \t]*\Z")
_PYTHON = re.compile(rb"(?:py|i?python3?)\b|\{code-cell\}|\{\.?python|\{code-block\}[ ]*python", re.IGNORECASE)


@dataclass
class _Block:
    """The lines of one fenced block.

    Attributes:
        indent: what stands before the fence.
        first: index of the fence's own line.
        last: index behind the last line of code.
    """

    indent: bytes
    first: int
    last: int = field(default=0)


def read_markdown(raw: bytes) -> PlainDocument:
    """Return the document of a Markdown file: as long as the file, all that is not Python masked by comments.

    A block that is no Python by itself (a session with prompts, a fragment) is masked too.

    Raises:
        Unreadable: if the file is not UTF-8.
    """
    text = raw[len(BOM) :] if raw.startswith(BOM) else raw
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not valid utf-8 at byte {error.start}") from error
    lines = lines_of(text)
    result = [commented(line) for line in lines]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    masks: list[Mask] = []
    position = 0
    for block in _blocks(lines):
        opening = _opening(lines[block.first], bool(block.indent))
        begin, end = starts[block.first + 1], starts[block.last]
        try:
            code, hidden = masked(opening + b"".join(_without_options(lines[block.first + 1 : block.last])))
        except NotPython:
            continue
        result[block.first : block.last] = [code, *[b""] * (block.last - block.first - 1)]
        masks.append(Mask(position, begin, None if block.indent else begin))
        masks += (mask.shifted(starts[block.first]) for mask in hidden)
        position = end
    masks.append(Mask(position, len(text) + 1))
    return PlainDocument(raw, b"".join(result), tuple(masks))


def _opening(line: bytes, indented: bool) -> bytes:
    """Return what stands in the place of a fence: a comment, or an `if` whose body is an indented block."""
    body = line.rstrip(b"\r\n")
    return b"if 1:" + b" " * (len(body) - 5) + line[len(body) :] if indented else commented(line)


def _blocks(lines: list[bytes]) -> list[_Block]:
    """Return the closed Python blocks."""
    found: list[_Block] = []
    fence: bytes | None = None
    block: _Block | None = None
    for number, line in enumerate(lines):
        match = _OPEN.match(line.rstrip(b"\r\n"))
        if match is None:
            continue
        indent, ticks, info = match.groups()
        if fence is None:
            fence = ticks
            block = _Block(indent, number) if _PYTHON.match(info) else None
        elif ticks.startswith(fence) and not info:
            if block is not None and number > block.first + 1:
                found.append(replace(block, last=number))
            fence = None
    return found


def _without_options(code: list[bytes]) -> list[bytes]:
    """Return the lines of a MyST code cell, its options (``:tags: …``, or YAML between ``---``) as comments."""
    count = 0
    if code[0].strip() == b"---":
        count = next((n for n, line in enumerate(code[1:], 2) if line.strip() == b"---"), 0)
    else:
        while count < len(code) and code[count].lstrip().startswith(b":"):
            count += 1
    return [*map(commented, code[:count]), *code[count:]]
