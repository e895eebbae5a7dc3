"""Trees of code in syntax that is newer than the Python that runs this.

LibCST reads the syntax of every Python. What the running one does not know is replaced by something of the same length
that it knows and that means the same to the rules: type parameters by blanks, ``type X = Y`` by an assignment,
f-strings with quotes or lines in them by their expressions. So all positions stay, and only such files cost anything.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import libcst

_LINE_ENDS = b"\r\n"
_PLACES = 20  # how many places in newer syntax are replaced one by one; a file with more is gone over as a whole
_LONG = 200  # how many lines are looked at by themselves


def parse(code: str | bytes, path: str = "<unknown>") -> ast.Module:
    """Return the syntax tree of a module, also of one in newer syntax.

    Args:
        code: the module; bytes as Python reads them.
        path: its name in errors.

    Raises:
        SyntaxError: if the text is no Python, or none of which a tree can be made here.
        ValueError: if bytes are no text.
        RecursionError: if it is nested too deeply.
    """
    try:
        return ast.parse(code, path)
    except SyntaxError as error:
        text = code if isinstance(code, str) else code.decode("utf-8")
        return _newer(text, path, error)


def _newer(text: str, path: str, error: SyntaxError) -> ast.Module:
    """Return the tree of a text that the running Python refused."""
    import libcst

    if error.msg.startswith("too many nested"):
        raise error  # no version reads it, and to look for what does takes minutes
    older = _around_errors(text.encode(), error)
    try:
        if older is not None:
            return ast.parse(older.decode(), path)
        module = libcst.parse_module(text)
    except (libcst.ParserSyntaxError, RecursionError):
        raise error from None
    try:
        return ast.parse(_Older(text.encode(), module).made().decode(), path)
    except (SyntaxError, RecursionError, UnicodeDecodeError, IndexError):
        running = ".".join(map(str, sys.version_info[:2]))
        message = f"{error.msg} (in Python {running}, which runs nnxmigrate; run it with a newer one)"
        raise SyntaxError(message, (path, error.lineno, error.offset, error.text)) from error


def _around_errors(data: bytes, error: SyntaxError) -> bytes | None:
    """Replace newer syntax in the statements alone that hold it: to go over a whole file takes a second.

    Args:
        data: a module.
        error: why it was refused.

    Returns:
        A module that is accepted; None if there is none by these means.
    """
    for _ in range(_PLACES):
        if error.lineno is None:
            return None
        lines = data.splitlines(keepends=True)
        for first, last in _statements(lines, error.lineno - 1):
            window = b"".join(lines[first:last])
            made = _alone(window)
            if made is None or made == window:
                continue
            candidate = b"".join(lines[:first]) + made + b"".join(lines[last:])
            try:
                ast.parse(candidate)
            except SyntaxError as other:
                if other.lineno is None or first < other.lineno <= last:
                    continue
                data, error = candidate, other
                break
            except (RecursionError, ValueError):
                return None
            return candidate
        else:
            return None
    return None


def _statements(lines: list[bytes], at: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of lines that may be statements around a line: itself, its block, and the blocks around it."""
    if at >= len(lines):
        return
    yield at, at + 1
    first = at
    while True:
        depth = _indentation(lines[first])
        last = first + 1
        while last < len(lines) and (not lines[last].strip() or _indentation(lines[last]) > depth):
            last += 1
        if lines[last : last + 1] and lines[last].lstrip().startswith((b")", b"]", b"}")):
            last += 1
        if last - first > _LONG:
            return
        if last > at:
            yield first, last
        above = first - 1
        while above >= 0 and (not lines[above].strip() or _indentation(lines[above]) >= depth):
            above -= 1
        if above < 0:
            return
        first = above


def _indentation(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _alone(window: bytes) -> bytes | None:
    """Replace what is newer in statements that may be indented; None if they are none."""
    import libcst

    head = b"if 1:\n" if window[:1].isspace() else b""
    try:
        module = libcst.parse_module((head + window).decode())
        return _Older(head + window, module).made()[len(head) :]
    except (libcst.ParserSyntaxError, RecursionError, UnicodeDecodeError, IndexError):
        return None


class _Older:
    """Replaces newer syntax in a text, byte for byte."""

    def __init__(self, data: bytes, module: libcst.Module) -> None:
        from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        self._spans = wrapper.resolve(ByteSpanPositionProvider)
        self._module = module
        self._data = bytearray(data)

    def made(self) -> bytes:
        """Replace everything, outer code first, and return the new text."""
        todo: list[tuple[libcst.CSTNode, bool]] = [(self._module, False)]
        while todo:
            node, part = todo.pop()
            self._replace(node, part)
            kind = type(node).__name__
            part = kind == "ConcatenatedString" or (part and kind in _STRINGS)
            todo += [(child, part) for child in reversed(node.children)]
        return bytes(self._data)

    def _span(self, node: libcst.CSTNode) -> tuple[int, int]:
        span = self._spans[node]
        return span.start, span.start + span.length

    def _replace(self, node: libcst.CSTNode, part: bool) -> None:
        """Replace what is newer in a node itself; ``part`` says that it is part of a string that was replaced."""
        import libcst

        if isinstance(node, libcst.TypeParameters):
            self._blank(*self._span(node), backslashes=True)
        elif isinstance(node, libcst.TypeAlias):
            start = self._span(node)[0]
            self._data[start : start + 4] = b"0;  "
        elif type(node).__name__ in _STRINGS and not part:
            self._string(node)
        elif isinstance(node, libcst.ExceptHandler) and isinstance(node.type, libcst.Tuple):
            self._alternatives(node.type)
        elif sys.version_info < (3, 11) and (
            isinstance(node, libcst.ExceptStarHandler) or (isinstance(node, libcst.Index) and node.star)
        ):
            self._data[self._data.index(b"*", self._span(node)[0])] = ord(" ")

    def _blank(self, start: int, end: int, *, backslashes: bool = False) -> None:
        """Put blanks over a range; where no brackets are around it, its line ends need backslashes before them."""
        for at in range(start, end):
            if self._data[at] not in _LINE_ENDS:
                self._data[at] = ord(" ")
            elif backslashes and self._data[at - 1] not in _LINE_ENDS:
                self._data[at - 1] = ord("\\")

    def _string(self, node: libcst.CSTNode) -> None:
        """Leave of a string that is not known its expressions only: ``0%(one, two,)``."""
        start, end = self._span(node)
        try:
            ast.parse(b"(" + bytes(self._data[start:end]) + b"\n)", mode="eval")
            return
        except SyntaxError:
            kept = [(first, last, bytes(self._data[first:last])) for first, last in self._expressions(node)]
        self._blank(start, end)
        self._data[start : start + 3] = b"0%("
        self._data[end - 1] = ord(")")
        for first, last, text in kept:
            self._data[first : last + 1] = text + b","

    def _expressions(self, node: libcst.CSTNode) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the outermost expressions in a string, with their parentheses."""
        for child in node.children:
            inner = getattr(child, "expression", None)
            if inner is not None:
                first, last = self._span(inner)
                yield (
                    self._span(inner.lpar[0])[0] if getattr(inner, "lpar", ()) else first,
                    self._span(inner.rpar[-1])[1] if getattr(inner, "rpar", ()) else last,
                )
            elif type(child).__name__ in _STRINGS:
                yield from self._expressions(child)

    def _alternatives(self, node: libcst.Tuple) -> None:
        """Write ``except A, B`` as ``except A| B``."""
        if node.lpar:
            return
        for element, following in pairwise(node.elements):
            at = self._data.rindex(b",", self._span(element)[0], self._span(following)[0])
            self._data[at] = ord("|")


_STRINGS = frozenset({"FormattedString", "TemplatedString", "ConcatenatedString"})
