"""Which rules changed the code that had run when the outputs parted."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from nnxmigrate.outcome import Diagnostic
from nnxmigrate.verify.running import Entered


@dataclass(frozen=True)
class Suspect:
    """A place that a rule changed, or that it reported and left, in code that ran.

    Attributes:
        code: the rule.
        path: the file, relative to the project.
        line: the line of the old code.
        text: the line as it was.
        function: the function around it.
        changed: whether the place was changed; otherwise it is left to do.
    """

    code: str
    path: str
    line: int
    text: str
    function: str
    changed: bool


def suspects(
    root: Path,
    changed: Iterable[Diagnostic],
    left: Iterable[Diagnostic],
    entered: Sequence[Entered],
    printed: int | None = None,
    test: str | None = None,
) -> list[Suspect]:
    """Return the places in functions that were entered, those entered last first: the nearest to the difference.

    Args:
        root: the copy of the old code; paths of findings are below it.
        changed: findings that were fixed.
        left: findings that were not.
        entered: the functions of the old code that were entered.
        printed: only those entered before so many lines had been printed; None for all.
        test: only those entered in this test; None for all.
    """
    order: dict[tuple[str, int], int] = {}
    for number, call in enumerate(entered):
        before = printed is None or call.printed <= printed
        mine = test is None or not call.test or _same_test(call.test, test)
        if before and mine:
            order[call.path, call.line] = number
    found: dict[tuple[str, str, int], tuple[int, Suspect]] = {}
    for ones, was_changed in ((changed, True), (left, False)):
        for one in ones:
            for path, line in _places(one):
                relative = _relative(root, path)
                function, first = _around(root / relative, line)
                if (relative, first) not in order:
                    continue
                number = order[relative, first]
                text = _lines(root / relative)[line - 1].strip() if line <= len(_lines(root / relative)) else ""
                suspect = Suspect(one.code, relative, line, text, function, was_changed)
                found.setdefault((one.code, relative, line), (number, suspect))
    ranked = sorted(found.values(), key=lambda pair: (not pair[1].changed, -pair[0], pair[1].line))
    return [suspect for _, suspect in ranked]


def _same_test(one: str, other: str) -> bool:
    """Say whether two names, as pytest and its report have them, are of one test."""
    module, _, name = one.partition("::")
    return other in (one, f"{module.removesuffix('.py')}::{name}") or one.split("::")[-1] == other.split("::")[-1]


def _places(one: Diagnostic) -> Iterable[tuple[str, int]]:
    """Yield the places of a finding and of what its fix replaces."""
    yield one.path, one.start.file_line
    for part in one.replacements:
        yield part.path, part.start.file_line


def _relative(root: Path, path: str) -> str:
    try:
        return Path(path).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return path


@cache
def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


@cache
def _functions(path: Path) -> list[tuple[int, int, str]]:
    """Return first line, last line and name of every function and class of a file, the outermost first."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    found: list[tuple[int, int, str]] = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                found.append((first, child.end_lineno or first, prefix + child.name))
                walk(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.Lambda):
                found.append((child.lineno, child.end_lineno or child.lineno, f"{prefix}<lambda>"))
                walk(child, prefix)
            else:
                walk(child, prefix)

    walk(tree, "")
    return found


def _around(path: Path, line: int) -> tuple[str, int]:
    """Return the innermost function that holds a line, and the line that it begins in; a module begins in line 1.

    The head of a function, its decorators and defaults, runs in the scope around it, but what is changed there matters
    when it is called.
    """
    name, first = "<module>", 1
    for start, end, found in _functions(path):
        if start <= line <= end and not found.endswith("<lambda>"):
            name, first = found, start
    return name, first


def by_rule(found: Iterable[Suspect]) -> Mapping[str, list[Suspect]]:
    """Return suspects by their rule, in the order of the first of each."""
    grouped: dict[str, list[Suspect]] = {}
    for one in found:
        grouped.setdefault(one.code, []).append(one)
    return grouped
