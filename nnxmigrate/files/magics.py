"""IPython's own syntax in notebook cells, masked so that the rest parses as Python."""

from __future__ import annotations

import ast
import re
import warnings

from codemods.nnx.newer import parse
from nnxmigrate.files.document import Mask, commented, lines_of

#: Cell magics whose body is Python run in the notebook's own scope.
_PYTHON_CELLS = frozenset({"capture", "prun", "time", "timeit"})
#: Line magics that run a Python statement; their options are masked with them.
_STATEMENT = re.compile(
    rb"[ \t]*(%(?:time|timeit|prun|memit|mprun)(?:[ \t]+-\w+(?:[ \t]*(?:\d+|\{[^{}]*\}|\$\w+))?)*[ \t]+)(?=[^-\s])"
)
_ASSIGNED = re.compile(rb"[ \t]*[\w.,\[\]'\" \t]+=[ \t]*([!%].*)")
_LINE_MAGIC = re.compile(rb"[ \t]*([%!?].*)")
_PLAIN = re.compile(rb"[!%]\w")  # a line that is hardly anything else than a magic
_HELP = re.compile(rb"[ \t]*([^#\s].*\?)[ \t]*$")
_CELL_MAGIC = re.compile(rb"[ \t]*%%(\w+)")
_INDENT = re.compile(rb"[ \t]+(?=[^ \t\r\n])")
#: Magics and aliases that notebooks call without a percent sign; masked only where the line is no Python.
_BARE = re.compile(
    rb"((?:pip3?|conda|mamba|cd|ls|ll|mkdir|rmdir|cp|mv|rm|cat|head|tail|less|more|man|load_ext|reload_ext|unload_ext"
    rb"|matplotlib|pylab|config|env|set_env|autoreload|run|pinfo2?)[ \t]+[^=\s(\[,:].*)"
)


class NotPython(Exception):
    """A cell is neither Python nor Python with IPython's magics; the message says where."""


def masked(cell: bytes) -> tuple[bytes, list[Mask]]:
    """Return a cell's text as Python of the same length, and the parts that were masked.

    Args:
        cell: the cell's source in UTF-8.

    Raises:
        NotPython: if the cell is no Python even then.
    """
    lines = lines_of(cell)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    masks: list[Mask] = []
    first = next((n for n, line in enumerate(lines) if line.strip()), None)
    if first is not None and (magic := _CELL_MAGIC.match(lines[first])):
        if magic.group(1).decode() not in _PYTHON_CELLS:
            return b"".join(map(commented, lines)), [Mask(0, len(cell))]
        masks.append(Mask(starts[first], starts[first + 1], resume=starts[first + 1]))
        lines[first] = commented(lines[first])
        first += 1
    masks += _indented(lines, starts, first or 0)
    while (bad := _first_error(b"".join(lines))) is not None:
        number, message = bad
        number = min(max(number, 1), len(lines)) - 1
        span = _mask_line(lines, number)
        if span is None and _is_newer(b"".join(lines)):
            break
        later = (n for n in range(number + 1, len(lines)) if _PLAIN.match(lines[n]))
        if span is None and (after := next(later, None)) is not None:  # the error may be newer syntax before a magic
            number, span = after, _mask_line(lines, after)
        if span is None:
            raise NotPython(f"line {number + 1}: {message}")
        begin, last, end = span
        masks.append(Mask(starts[number] + begin, starts[last] + end, resume=starts[number] + begin))
    return b"".join(lines), sorted(masks, key=lambda mask: mask.start)


def _indented(lines: list[bytes], starts: list[int], since: int) -> list[Mask]:
    """Mask the indent of a cell's first line in all lines that have it, as IPython takes it away from the whole cell.

    A form feed in its place begins the line anew for Python, so that the text keeps its length.
    """
    first = next((line for line in lines[since:] if line.strip()), b"")
    indent = _INDENT.match(first)
    if indent is None:
        return []
    masks = []
    for number in range(since, len(lines)):
        line, end = lines[number], indent.end()
        if line.startswith(indent.group()):
            lines[number] = line[: end - 1] + b"\f" + line[end:]
            masks.append(Mask(starts[number], starts[number] + end))
    return masks


def _first_error(code: bytes) -> tuple[int, str] | None:
    """Return the line and the message of the first syntax error; None if there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code.decode("utf-8"))
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    except (ValueError, RecursionError) as error:
        raise NotPython(str(error)) from error
    return None


def _is_newer(code: bytes) -> bool:
    """Say whether a text that the running Python refuses is Python; asked last: it is dear, and magics are many."""
    try:
        parse(code.decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _mask_line(lines: list[bytes], number: int) -> tuple[int, int, int] | None:
    """Mask the magic in a line and in those that continue it.

    Returns:
        The offset in the line where the mask begins, the last line masked, and the offset in that line where the
        mask ends; None if there is no magic.
    """
    line = lines[number]
    body = line.rstrip(b"\r\n")
    if statement := _STATEMENT.match(body):
        begin, end = statement.span(1)
        lines[number] = line[:begin] + b"0" + b" " * (end - begin - 2) + b";" + line[end:]
        return begin, number, end
    found = _LINE_MAGIC.match(body) or _ASSIGNED.match(body) or _HELP.match(body) or _BARE.match(body)
    if found is None:
        return None
    begin, end = found.span(1)
    last = number
    lines[number] = line[:begin] + b"0" + b" " * (end - begin - 1) + line[end:]
    while body.endswith(b"\\") and last + 1 < len(lines):
        last += 1
        body = lines[last].rstrip(b"\r\n")
        end = len(body)
        lines[last] = commented(lines[last])
    return begin, last, end
