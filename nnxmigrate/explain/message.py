"""Takes printed errors apart: what is message, what is frames."""

from __future__ import annotations

import re
from dataclasses import dataclass

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
# What pytest, exception groups, boxes, quotations and launchers put in front of a line.
_MARGIN = re.compile(r"^(?:\[rank\d+\]:|E(?=\s{2})|[>|│┃]|\s)+")
_RAISED = re.compile(
    r"^(?:.*:\d+: )?(?:[\w.]*UnfilteredStackTrace: )?"
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failure)(?=:|$)"
)
_ENDS = (
    "Traceback (most recent call last)",
    'File "',
    "During handling of the above exception",
    "The above exception was the direct cause",
    "For simplicity, JAX has removed",
    "The stack trace below excludes",
    "The preceding stack trace",
    "The stack trace above excludes",
    "-----",
)


@dataclass(frozen=True)
class Message:
    """The message of one exception.

    Attributes:
        text: class and message, lines joined by line feeds.
        last: whether it is the one that ended the program, not one that led to it.
    """

    text: str
    last: bool


@dataclass(frozen=True)
class Report:
    """What a program printed when it failed.

    Attributes:
        text: the whole input without colours and margins.
        messages: the messages found in it, in order; the whole text if it has no recognisable form.
        frames: whether it shows frames, so that a missing frame means something.
    """

    text: str
    messages: tuple[Message, ...]
    frames: bool


def read(text: str) -> Report:
    """Return the parts of a traceback, a log or a bare message.

    Args:
        text: what was printed or copied: one line, a traceback of Python, IPython, pytest or JAX (filtered or not),
            several chained ones; with colours or wrapped lines.
    """
    lines = [_MARGIN.sub("", line.rstrip()) for line in _COLOUR.sub("", text).splitlines()]
    found: list[list[str]] = []
    inside = False
    for line in lines:
        if _RAISED.match(line):
            found.append([line])
            inside = True
        elif line.startswith(_ENDS):
            inside = False
        elif inside:
            found[-1].append(line)
    plain = "\n".join(lines)
    texts = ["\n".join(part).strip() for part in found] or [plain.strip()]
    messages = tuple(Message(part, index == len(texts) - 1) for index, part in enumerate(texts))
    return Report(plain, messages, frames='File "' in plain or "-->" in plain)
