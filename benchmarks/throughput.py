"""CPU seconds of migrating and of linting, beside other tools on the same files: ``python -m benchmarks.throughput``.

Two trees are made of what the Flax test environments hold. *mixed* is flax, jax, optax, orbax and numpy, where few
files mention NNX; *dense* is every installed file that does. Each time is the least of several runs, in CPU seconds
of the program and its children, so that other work on the machine matters little. Migrating really writes, into a
fresh copy of the tree. bump-pydantic, a LibCST codemod of the usual kind, gets a part of the dense tree, because the
whole would take it an hour.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.environments import PINS, environment, python

PACKAGES = ("flax", "jax", "optax", "orbax", "numpy")
LIMIT = 900  # seconds after which a program is ended
PARSE = "import ast, pathlib, sys\nfor f in pathlib.Path(sys.argv[1]).rglob('*.py'): ast.parse(f.read_bytes())"


@dataclass(frozen=True)
class Tree:
    """Files to run over.

    Attributes:
        name: what the tree is called.
        folder: where it is.
        files: number of Python files.
        lines: number of their lines.
    """

    name: str
    folder: Path
    files: int
    lines: int

    @classmethod
    def of(cls, name: str, folder: Path, sources: Iterable[tuple[Path, Path]]) -> Tree:
        """Copy files into a new tree.

        Args:
            name: what the tree is called.
            folder: where it is made.
            sources: pairs of a file and its path in the tree.
        """
        files = lines = 0
        for source, path in sources:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
            files += 1
            lines += source.read_bytes().count(b"\n")
        return cls(name, folder, files, lines)


def installed(version: str, packages: Iterable[str]) -> Iterable[tuple[Path, Path]]:
    """Yield the Python files of packages of an environment, with their paths below site-packages."""
    site = next(python(version).parents[1].glob("lib/python*/site-packages"))
    for package in packages:
        for source in sorted((site / package).rglob("*.py")):
            yield source, source.relative_to(site)


def cpu_seconds(command: list[str], tree: Tree, runs: int) -> float:
    """Return the least CPU seconds of running a command over fresh copies of a tree, whose path is added to it.

    A program that comes to no end gets infinity.
    """
    best = float("inf")
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as scratch:
            copy = shutil.copytree(tree.folder, Path(scratch) / "tree")
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            try:
                done = subprocess.run(
                    [*command, str(copy)], cwd=scratch, capture_output=True, check=False, timeout=LIMIT
                )
            except subprocess.TimeoutExpired:
                return float("inf")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode not in (0, 1):
            tail = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-300:]
            print(f"note: {command[0]} ended with {done.returncode}: {tail}", file=sys.stderr)
        best = min(best, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return best


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3, help="runs of each program (default: 3)")
    parser.add_argument("--no-bump-pydantic", action="store_true", help="leave out the slowest program")
    arguments = parser.parse_args()
    own = [sys.executable, "-m", "nnxmigrate"]
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    commands = {
        "nnxmigrate": [*own, "migrate", "--quiet"],
        "nnxmigrate lint": [*own, "lint", "--quiet"],
        "ast.parse": [sys.executable, "-c", PARSE],
        "ruff NPY+UP": [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "NPY,UP", "-q"],
    }
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch)
        mixed = Tree.of("mixed", base / "mixed", installed("0.10", PACKAGES))
        mentions = (
            (source, Path(f"flax_{version.replace('.', '_')}") / path)
            for version in PINS
            for source, path in installed(version, ("flax", "optax", "orbax"))
            if b"nnx" in source.read_bytes()
        )
        dense = Tree.of("dense", base / "dense", mentions)
        few = (
            pair for pair in installed("0.10", ("flax",)) if pair[1].parts[1:2] == ("nnx",) and len(pair[1].parts) == 3
        )
        part = Tree.of("part", base / "part", few)
        print(f"Python {platform.python_version()}, {os.cpu_count()} processors, the least of {arguments.runs} runs")
        for tree in (mixed, dense):
            times = {name: cpu_seconds(command, tree, arguments.runs) for name, command in commands.items()}
            show(tree, times, times["ruff NPY+UP"])
        if not arguments.no_bump_pydantic:
            peer = environment("bump-pydantic", ("bump-pydantic==0.8.0",)).parent / "bump-pydantic"
            times = {"nnxmigrate": cpu_seconds(commands["nnxmigrate"], part, arguments.runs)}
            times["bump-pydantic"] = cpu_seconds([str(peer)], part, 1)
            show(part, times, times["bump-pydantic"])


def show(tree: Tree, times: dict[str, float], reference: float) -> None:
    """Print the times of one tree, and how often each fits into the reference's."""
    print(f"\n{tree.name}: {tree.files} files, {tree.lines / 1000:.1f} kLOC")
    print(f"  {'program':16} {'CPU s':>8} {'kLOC/CPU s':>11} {'of last':>8}")
    for name, seconds in times.items():
        print(f"  {name:16} {seconds:8.2f} {tree.lines / 1000 / seconds:11.1f} {seconds / reference:7.2f}x")


if __name__ == "__main__":
    main()
