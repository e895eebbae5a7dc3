"""Very large hostile input, which is too slow for every run of the tests: ``python -m tests.hostile_large``.

A line of 200 MB, 100,000 files, folders nested 900 deep, a thousand links that lead round, and a notebook of 50 MB.
Each must end in time with the neighbouring file migrated.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.test_hostile import HEAD, NEW, OLD


def _long_line(root: Path) -> None:
    (root / "m.py").write_text(HEAD + OLD + f"x = '{'ab' * 100_000_000}'\n")


def _many_files(root: Path) -> None:
    for number in range(100_000):
        folder = root / f"d{number // 1000}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}.py").write_text("x = 1\n")


def _deep_folders(root: Path) -> None:
    here = os.getcwd()
    os.chdir(root)
    for _ in range(900):
        os.mkdir("d")
        os.chdir("d")
    Path("x.py").write_text(HEAD + OLD)
    os.chdir(here)


def _links(root: Path) -> None:
    for number in range(1000):
        os.symlink("..", root / f"loop{number}")
        os.symlink(f"l{(number + 1) % 1000}.py", root / f"l{number}.py")


def _notebook(root: Path) -> None:
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "source": HEAD + OLD}
    cell |= {"outputs": [], "execution_count": None}
    picture = {"cell_type": "raw", "metadata": {}, "source": "A" * 50_000_000}
    book = {"cells": [cell, picture], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (root / "n.ipynb").write_text(json.dumps(book))


CASES: dict[str, tuple[Callable[[Path], None], float]] = {
    "200 MB line": (_long_line, 300),
    "100,000 files": (_many_files, 300),
    "900 folders deep": (_deep_folders, 60),
    "links": (_links, 60),
    "50 MB notebook": (_notebook, 120),
}


def main() -> int:
    """Run all cases, print their processor time, and return how many failed."""
    failed = 0
    for name, (make, limit) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "a.py").write_text(HEAD + OLD)
            make(root)
            before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            command = [sys.executable, "-m", "nnxmigrate", "--no-cache", "--quiet", "--to", "0.11", "."]
            done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=10 * limit, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            good = done.returncode == 0 and (root / "a.py").read_text() == HEAD + NEW and seconds < limit
            failed += not good
            print(f"{name}: {'ok' if good else 'FAILED'}, {seconds:.1f} s of {limit:.0f}, status {done.returncode}")
            print(f"  {time.monotonic() - began:.0f} s passed; {(done.stdout + done.stderr)[:300]!r}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
