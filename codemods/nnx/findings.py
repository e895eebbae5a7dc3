"""What an analysis says about a project: findings, and the fixes that some of them carry."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from codemods.nnx.edits import Edit

if TYPE_CHECKING:
    from codemods.nnx.facts import Scope


class Safety(enum.Enum):
    """How sure it is that a fix keeps the meaning of the program."""

    SAFE = "safe"
    UNSAFE = "unsafe"  # applied only when the user asks for unsafe fixes


@dataclass(frozen=True, eq=False)
class Fix:
    """Edits that are made together, in one or several files, or not at all.

    Attributes:
        edits: pairs of a source path and an edit of that source.
        safety: whether the fix may be made without being asked for.
    """

    edits: tuple[tuple[str, Edit], ...]
    safety: Safety = Safety.SAFE

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the sources that the fix changes."""
        return frozenset(path for path, _ in self.edits)


@dataclass(frozen=True)
class Related:
    """Another place of the same source that a finding is about too.

    Attributes:
        start: offset of its first byte.
        end: offset behind its last byte.
        message: what it has to do with the finding.
    """

    start: int
    end: int
    message: str


@dataclass(frozen=True, eq=False)
class Finding:
    """One thing that a rule has to say about one place.

    Attributes:
        code: the rule's code, such as ``NNX101``.
        path: the source's path.
        start: offset of the first byte of the place.
        end: offset behind its last byte.
        message: what is wrong there, one line without a full stop.
        help: the way out, one line; may be empty.
        fix: edits that mend it. Several findings may share one fix object; it is then made once, for all.
        notable: whether the user should read it even after it was fixed.
        related: other places that have to do with it.
    """

    code: str
    path: str
    start: int
    end: int
    message: str
    help: str = ""
    fix: Fix | None = None
    notable: bool = False
    related: tuple[Related, ...] = ()


def finding(
    code: str,
    scope: Scope,
    node: ast.AST,
    message: str,
    help: str = "",
    fix: Fix | None = None,
    notable: bool = False,
    related: Sequence[tuple[ast.AST, str]] = (),
) -> Finding:
    """Return a finding about a node of a scope's module; of a definition only the first line is marked."""
    source = scope.module.source
    start, end = source.span(node)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        end = start + len(source.line(node.lineno).encode()) - node.col_offset
    others = tuple(Related(*source.span(other), words) for other, words in related)
    return Finding(code, source.path, start, end, message, help, fix, notable, others)


@dataclass(frozen=True)
class Failure:
    """A source that could not be analysed.

    Attributes:
        path: the source's path.
        message: the reason, with line and column where there is one.
        internal: True if the reason is a defect of the analysis and not of the source.
    """

    path: str
    message: str
    internal: bool = False


@dataclass
class Analysis:
    """Everything an analysis found.

    Attributes:
        findings: in order of path and position.
        failures: the sources that could not be analysed.
        unanswered: how many questions about values were cut short, since they branch too much.
    """

    findings: list[Finding] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unanswered: int = 0
