"""CPU seconds over whole projects, beside other tools on the same files: ``python -m benchmarks.projects FOLDERS``.

Every figure is the CPU time of a program and its children (one process each, so that times add up), and in
parentheses how often ``ast.parse`` of the same files, measured in the same run, fits into it. The folders are only
read. ``--rules`` shows instead where linting them spends its time: in each rule, and in each analysis that rules
share, which is counted for itself and not for the rule that asks first.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import rules
from nnxmigrate.files.discovery import discover
from nnxmigrate.project import concerned

OWN = [sys.executable, "-m", "nnxmigrate"]
LINT = [*OWN, "lint", "--quiet", "--jobs", "1"]
MIGRATE = [*OWN, "migrate", "--check", "--quiet", "--jobs", "1"]
RUFF = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet"]
MYPY = [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={os.devnull}", "--no-error-summary"]
MYPY += ["--ignore-missing-imports", "--explicit-package-bases", "--namespace-packages"]
PARSE = "import ast, sys\nfor f in open(sys.argv[1]).read().splitlines():\n"
PARSE += "  try: ast.parse(open(f, 'rb').read())\n  except (SyntaxError, ValueError): pass"


#: The programs whose memory is shown.
OUR = ("lint", "migrate --check", "second lint", "one-file lint", "one-file lint, warm")


@dataclass(frozen=True)
class Run:
    """What a program took.

    Attributes:
        seconds: CPU seconds of it and its children; None if it came to no result.
        memory: the most bytes that it held at a time.
    """

    seconds: float | None
    memory: int = 0


def measured(command: Sequence[str], folder: Path, limit: float, good: Sequence[int] = (0, 1)) -> Run:
    """Run a program in a folder and return what it took.

    Args:
        command: the program and its arguments.
        folder: where it runs.
        limit: seconds after which it is ended.
        good: the statuses with which it has done its work.
    """
    root = Path(__file__).resolve().parents[1]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT, env=environment)
        end = time.monotonic() + limit
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > end:
                process.kill()
                end = float("inf")
            time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in good:
            output.seek(0)
            tail = output.read().decode("utf-8", "replace").strip()[-300:]
            print(f"note: {' '.join(command[:4])} … ended with {process.returncode}: {tail}", file=sys.stderr)
            return Run(None)
    memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Run(usage.ru_utime + usage.ru_stime, memory)


@dataclass(frozen=True)
class Tree:
    """A project's folder.

    Attributes:
        folder: where it is.
        files: its Python files, as nnxmigrate finds them.
        lines: number of their lines.
        one: the file that stands for one that is committed: of those that mention NNX the one of median size.
    """

    folder: Path
    files: Sequence[Path]
    lines: int
    one: Path

    @classmethod
    def at(cls, folder: Path) -> Tree:
        """Return the tree of a folder."""
        found = [Path(file.path) for file in discover([str(folder)]) if not file.context]
        contents = {path: path.read_bytes() for path in found if path.suffix == ".py"}
        dense = sorted(
            (path for path, data in contents.items() if concerned(data, False)), key=lambda path: len(contents[path])
        )
        lines = sum(data.count(b"\n") for data in contents.values())
        return cls(folder, list(contents), lines, dense[len(dense) // 2] if dense else found[0])


def table(tree: Tree, limit: float) -> dict[str, Run]:
    """Return what each program takes for a tree."""
    with tempfile.TemporaryDirectory() as scratch:
        listing = Path(scratch) / "files"
        listing.write_text("\n".join(map(str, tree.files)))
        kept = ["--cache-dir", str(Path(scratch) / "cache")]

        def run(*command: str) -> Run:
            return measured(command, tree.folder, limit)

        run(*LINT, "--no-cache", str(tree.files[0]))  # so that the program's own modules are compiled
        return {
            "ast.parse": run(sys.executable, "-c", PARSE, str(listing)),
            "ruff": run(*RUFF, *map(str, tree.files)),
            "mypy cold": run(*MYPY, *map(str, tree.files)),
            "lint": run(*LINT, *kept, "."),
            "migrate --check": run(*MIGRATE, "--no-cache", "."),
            "second lint": run(*LINT, *kept, "."),
            "one-file lint": run(*LINT, "--no-cache", str(tree.one)),
            "one-file lint, warm": run(*LINT, *kept, str(tree.one)),
        }


def row(tree: Tree, runs: dict[str, Run]) -> str:
    """Return one tree's figures as a row of the table."""
    floor = runs["ast.parse"].seconds or float("nan")
    cells = [f"{tree.folder.name} ({len(tree.files)} files, one: {tree.one.name})", f"{tree.lines / 1000:.0f}"]
    for name, run in runs.items():
        if run.seconds is None:
            cells.append("failed")
        else:
            cells.append(f"{run.seconds:.2f}" + (f" ({run.seconds / floor:.1f}x)" if name != "ast.parse" else ""))
    cells.append(f"{max(run.memory for name, run in runs.items() if name in OUR) / 1e6:.0f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--rules", action="store_true", help="show the time of each rule and each shared analysis")
    parser.add_argument("--only", metavar="FILE", help="with --rules: lint this file alone, the rest is context")
    parser.add_argument(
        "--from", dest="origin", default="0.10", help="with --rules: the Flax version it is written for"
    )
    parser.add_argument("--to", default="0.11", help="with --rules: the Flax versions to migrate to (default: 0.11)")
    parser.add_argument("--top", type=int, default=30, help="with --rules: how many lines to print (default: 30)")
    parser.add_argument("--limit", type=float, default=1200, help="seconds after which a program is ended")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, CPU seconds")
    head = True
    for folder in arguments.folders:
        if arguments.rules:
            rules.show(
                folder.resolve(), arguments.only, arguments.origin, tuple(arguments.to.split(",")), arguments.top
            )
        else:
            tree = Tree.at(folder.resolve())
            runs = table(tree, arguments.limit)
            if head:
                print(f"| tree | kLOC | {' | '.join(runs)} | peak MB |")
                print("| --- " * (len(runs) + 3) + "|")
                head = False
            print(row(tree, runs), flush=True)


if __name__ == "__main__":
    main()
