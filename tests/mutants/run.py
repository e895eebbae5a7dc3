"""Find untested lines of rules: ``python -m tests.mutants.run [--each N] [--seed N] [--jobs N] PATH...``.

Each mutant is a copy of the project with one small change in one of the given files: a condition is negated, a ``not``
dropped, ``and`` and ``or`` swapped, a returned or yielded value replaced by nothing, or a constant changed. The rules'
examples and the tests of the file's family run on it, without real Flax. A mutant that passes them all is printed: it
means the same as the original, or a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.environments import WITHOUT

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = "tests/rules/test_examples.py::test_text"
SECONDS = 120  # a mutant that takes longer loops for ever
EMPTY = {"list": "[]", "tuple": "()", "dict": "{}", "set": "set()", "frozenset": "frozenset()", "bool": "False"}


@dataclass(frozen=True)
class Mutant:
    """A change of one file.

    Attributes:
        path: the file, below the project's folder.
        line: where the change is, from 1.
        start, end: the replaced bytes.
        old, new: their text and what takes its place.
    """

    path: Path
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.old.split())}  ->  {self.new}"


def mutants(path: Path) -> list[Mutant]:
    """Return every mutant of a file, in no particular order.

    Raises:
        OSError: the file cannot be read.
        SyntaxError: the file is no Python.
    """
    data = (ROOT / path).read_bytes()
    starts = [0]
    for text in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(text))
    made = {}
    for node, new in _changes(ast.parse(data)):
        if ast.unparse(node) == new:
            continue
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        made[start, end, new] = Mutant(path, node.lineno, start, end, data[start:end].decode(), new)
    return list(made.values())


def _changes(tree: ast.AST, returns: str = "") -> Iterator[tuple[ast.expr, str]]:
    """Yield expressions below a node and what to write in their place.

    Args:
        tree: the node.
        returns: the return annotation of the function around it.
    """
    if isinstance(tree, ast.FunctionDef):
        returns = "" if tree.returns is None else ast.unparse(tree.returns)
    yield from _own_changes(tree, returns)
    for field, value in ast.iter_fields(tree):
        if field in {"annotation", "returns"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_prose(child):
                yield from _changes(child, returns)


def _is_prose(node: ast.AST) -> bool:
    """Tell docstrings, formatted texts and the descriptions of rules, where a change proves nothing."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in {"Rule", "Example"}
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _own_changes(node: ast.AST, returns: str) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield from _negated(test)
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield from _negated(test)
        case ast.BoolOp(op=op, values=values):
            swapped = ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield node, f"({ast.unparse(swapped)})"
            for value in values:
                yield from _negated(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool({ast.unparse(operand)})"
        case ast.Return(value=ast.expr() as value) if returns.endswith("| None"):
            yield value, "None"
        case ast.Return(value=ast.expr() as value) if (kind := returns.partition("[")[0]) in EMPTY:
            yield value, EMPTY[kind]
            if kind == "bool":
                yield from _negated(value)
        case ast.Yield():
            yield node, "(yield from ())"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value)):
            yield node, str(value + 1)
        case ast.Constant(value=str(value)) if " " not in value:
            yield node, repr(value + "_")


def _negated(test: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Yield the opposite of a condition, unless its parts are changed anyway."""
    if not isinstance(test, (ast.BoolOp, ast.UnaryOp, ast.Constant)):
        yield test, f"(not ({ast.unparse(test)}))"


def survives(mutant: Mutant, copy: Path) -> bool:
    """Tell whether all tests pass with a mutant.

    Args:
        mutant: the change.
        copy: a copy of the project that nothing else uses now; it is left as it was.

    Raises:
        RuntimeError: pytest ended in another way than by passing or failing tests.
    """
    file = copy / mutant.path
    data = file.read_bytes()
    file.write_bytes(data[: mutant.start] + mutant.new.encode() + data[mutant.end :])
    try:
        return _passes(copy, mutant.path.parent)
    finally:
        file.write_bytes(data)


def _passes(copy: Path, folder: Path) -> bool:
    """Tell whether the tests for a folder of rules pass in a copy of the project."""
    family = Path("tests") / folder.name
    tests = [str(family)] if (ROOT / family).is_dir() else []
    command = [sys.executable, "-m", "pytest", *tests, EXAMPLES, "-xq", "-p", "no:cacheprovider"]
    quick = {**os.environ, WITHOUT: "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=quick, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in {0, 1, 2}:  # passed, failed, not importable
        raise RuntimeError(done.stdout + done.stderr)
    return done.returncode == 0


def _copied(folder: Path) -> Path:
    """Return a copy of the project whose compiled files go by content: two mutants may share size and time."""
    for name in ("codemods", "nnxmigrate", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    compiling = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "."]
    subprocess.run(compiling, cwd=folder, check=True)
    return folder


def main() -> int:
    """Run mutants and print those that survive; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.run", description="Find untested lines of rules.")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or folder of rules")
    parser.add_argument("--each", type=int, default=6, help="how many mutants of each file to try (default 6)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many to try at once")
    chosen = parser.parse_args()
    files = [file for path in chosen.paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    tried = []
    for file in files:
        path = file.resolve().relative_to(ROOT)
        every = mutants(path)
        tried += random.Random(f"{chosen.seed} {path}").sample(every, min(chosen.each, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(chosen.jobs):
            copies.put(_copied(Path(folder) / str(number)))
        broken = [
            parent for parent in sorted({m.path.parent for m in tried}) if not _passes(Path(folder) / "0", parent)
        ]
        if broken:
            sys.exit(f"tests fail without any mutant: {', '.join(map(str, broken))}")

        def survivor(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return survives(mutant, copy)
            finally:
                copies.put(copy)

        alive = 0
        with ThreadPoolExecutor(chosen.jobs) as pool:
            for mutant, lives in zip(tried, pool.map(survivor, tried), strict=True):
                if lives:
                    alive += 1
                    print(mutant, flush=True)
    print(f"{len(tried)} mutants, {len(tried) - alive} killed, {alive} survived")
    return int(alive > 0)


if __name__ == "__main__":
    sys.exit(main())
