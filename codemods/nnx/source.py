"""One Python text and the places in it."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from codemods.nnx.annotated import as_assignments
from codemods.nnx.newer import parse
from codemods.nnx.nodes import by_type, every
from codemods.nnx.patterns import needed, pattern

Node = TypeVar("Node", bound=ast.AST)
_T = TypeVar("_T")
_LINE = pattern(rb"\r\n|\r|\n")
# how scripts that notebooks were exported to mark their cells: by Jupytext, and by nbconvert
_CELL = pattern(rb"^# (?:(?:%%|\+)(?:\s|$)|In\[[\d ]*\]:)")


@dataclass(frozen=True, eq=False)
class Source:
    """A Python module as text.

    Attributes:
        path: the name under which findings are reported; unique in a project.
        data: the text in UTF-8, without a byte order mark. Whatever the file's own encoding is,
            offsets and columns count bytes of this text, as :mod:`ast` does.
        module: dotted module name, used to resolve the project's own imports; None if unknown.
        package: whether the module is the ``__init__`` of a package.
        notebook: whether the text is made of a notebook's code cells.
        cells: the lines of the text in which a notebook's code cells begin, ascending.
        failed: the lines of those whose stored output is an error, each with the name of that.
    """

    path: str
    data: bytes
    module: str | None = None
    package: bool = False
    notebook: bool = False
    cells: tuple[int, ...] = ()
    failed: tuple[tuple[int, str], ...] = ()

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree.

        Raises:
            SyntaxError: if the text is no Python, or if its syntax is too new to be read here.
            RecursionError: if it is nested too deeply.
        """
        tree = parse(self.data.decode("utf-8"), self.path)
        as_assignments(tree)
        return tree

    @cached_property
    def _analyses(self) -> dict[Callable[[Source], Any], Any]:
        return {}

    def once(self, analysis: Callable[[Source], _T]) -> _T:
        """Return what an analysis of this source alone comes to, such as :func:`codemods.nnx.walk.walk`.

        It is done when it is first asked for: a project that is analysed again analyses changed sources only.

        Args:
            analysis: the analysis; the same function each time.
        """
        if analysis not in self._analyses:
            self._analyses[analysis] = analysis(self)
        found: _T = self._analyses[analysis]
        return found

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree, outer ones first, without operators and contexts."""
        return every(self.tree)

    @cached_property
    def _by_type(self) -> dict[type[ast.AST], list[ast.AST]]:
        return by_type(self.nodes)

    def of_type(self, *kinds: type[Node]) -> Iterator[Node]:
        """Yield the nodes of some types, one type after the other."""
        for kind in kinds:
            yield from self._by_type.get(kind, ())  # type: ignore[misc]

    @cached_property
    def _words(self) -> dict[bytes, bool]:
        return {}

    def mentions(self, word: bytes) -> bool:
        """Say whether a word stands anywhere in the text; rules ask so of every node before anything else."""
        found = self._words.get(word)
        if found is None:
            found = self._words[word] = word in self.data
        return found

    @cached_property
    def _matches(self) -> dict[re.Pattern[bytes], bool]:
        return {}

    @cached_property
    def _lower(self) -> bytes:
        return self.data.lower()

    def matches(self, words: re.Pattern[bytes]) -> bool:
        """Say whether a pattern is found anywhere in the text, which is searched once for it.

        Args:
            words: a pattern that lives as long as the program does.
        """
        found = self._matches.get(words)
        if found is None:
            needs = needed(words)
            possible = not needs or any(word in self._lower for word in needs)
            found = self._matches[words] = possible and words.search(self.data) is not None
        return found

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text as Python counts them: a form feed begins none."""
        return [line.decode(errors="replace") for line in self.data.splitlines()]

    @property
    def file_name(self) -> str:
        """The name of the file without the folders before it."""
        return self.path.replace("\\", "/").rpartition("/")[2]

    @cached_property
    def cell_starts(self) -> tuple[int, ...]:
        """The lines in which cells begin, ascending: of a notebook, or of a script that it was exported to."""
        marked = b"# %%" in self.data or b"# In[" in self.data or (b"# +" in self.data and b"jupytext" in self.data)
        if self.cells or not marked:
            return self.cells
        return tuple(n for n, line in enumerate(_LINE.split(self.data), 1) if _CELL.match(line))

    def cell_end(self, place: int) -> int:
        """Return the line behind the last one of a cell.

        Args:
            place: which cell it is, from 1 on.
        """
        return self.cell_starts[place] if place < len(self.cell_starts) else len(self.line_starts) + 1

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the text alone; the tree and the facts are found faster than they are sent."""
        return Source, (self.path, self.data, self.module, self.package, self.notebook, self.cells, self.failed)

    @cached_property
    def line_starts(self) -> list[int]:
        """Byte offset of the first byte of every line."""
        return [0, *(match.end() for match in _LINE.finditer(self.data))]

    @property
    def newline(self) -> bytes:
        """The line end that the text uses, as its first line shows; a line feed if it has only one line."""
        found = _LINE.search(self.data)
        return found.group() if found else b"\n"

    def offset(self, line: int, column: int) -> int:
        """Return the byte offset of a 1-based line and a 0-based byte column."""
        return self.line_starts[line - 1] + column

    def position(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and the 1-based character column of a byte offset."""
        line = bisect_right(self.line_starts, offset)
        head = self.data[self.line_starts[line - 1] : offset]
        return line, len(head.decode("utf-8", "replace")) + 1

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the byte range of a node that has a position."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return start, end

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node that has a position."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")

    def faithful(self, node: ast.expr) -> bool:
        """Say whether the text at a node's position is the node; before Python 3.12 it is not within f-strings."""
        try:
            text = self.text(node)
            body = parse(f"({text})", self.path).body[0]
            return isinstance(body, ast.Expr) and ast.dump(body.value) == _loaded(node)
        except (SyntaxError, ValueError, IndexError):
            return False

    def bare(self, node: ast.expr) -> bool:
        """Say whether a node is a tuple without parentheses around it, as ``(1, 2), 3`` is."""
        if not isinstance(node, ast.Tuple):
            return False
        try:
            return not isinstance(ast.parse(f"f{self.text(node)}", mode="eval").body, ast.Call)
        except SyntaxError:
            return True

    def awkward(self, node: ast.expr) -> bool:
        """Say whether an expression cannot stand as it is between parentheses as the only argument."""
        return isinstance(node, ast.Yield | ast.YieldFrom) or self.bare(node)

    def line(self, number: int) -> str:
        """Return the text of a 1-based line without its end."""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] if number < len(self.line_starts) else len(self.data)
        return self.data[start:end].decode("utf-8", "replace").rstrip("\r\n")


def _loaded(node: ast.expr) -> str:
    """Return a dump of an expression as if it were read, whatever is done with it."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")
