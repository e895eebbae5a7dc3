"""How long an editor waits for its diagnostics: replay edits in a project and print the median and the 95th percentile.

python -m benchmarks.edits PROJECT [--edits N] [--files M] [--seed S]

The project is read once, as the language server does it; then, over and over, one of its files that hold NNX code gets
a new line and is analysed among all the others. Times are seconds of processor time, so that other work on the machine
does not count; a loop of plain Python in the same run tells how fast the machine is.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from nnxmigrate.project import concerned
from nnxmigrate.server.workspace import Workspace, unsaved

LINES = ("# a thought\n", "x_of_the_benchmark = 1\n", "\n", "def of_the_benchmark(a):\n    return a\n")


def replayed(root: Path, edits: int, files: int, seed: int) -> tuple[float, list[float], list[str]]:
    """Replay edits.

    Args:
        root: the project.
        edits: how many.
        files: how many files they go to.
        seed: of the choice.

    Returns:
        The seconds of the first check, those of the others, and the names of the edited files.
    """
    workspace = Workspace(str(root.resolve()))
    chance = random.Random(seed)
    began = time.process_time()
    workspace.load()
    python = [(path, raw) for path, raw in workspace.files().items() if path.endswith(".py")]
    candidates = sorted(path for path, raw in python if concerned(raw, lint=False))
    chosen = chance.sample(candidates, min(files, len(candidates)))
    workspace.check(chosen[0])
    first = time.process_time() - began
    seconds = []
    for number in range(edits):
        path = chosen[number % len(chosen)]
        text = workspace.document(path).text.decode("utf-8")
        workspace.overlay(path, unsaved(text + chance.choice(LINES)))
        began = time.process_time()
        workspace.check(path)
        seconds.append(time.process_time() - began)
    return first, seconds, chosen


def floor() -> float:
    """Return the seconds that a fixed piece of plain Python takes."""
    began = time.process_time()
    sum(number * number % 7 for number in range(3_000_000))
    return time.process_time() - began


def report(first: float, seconds: Sequence[float]) -> str:
    """Return the figures as a line each."""
    ordered = sorted(seconds)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return (
        f"first check, with reading: {first:.2f} s\n"
        f"after an edit: p50 {statistics.median(ordered):.2f} s, p95 {high:.2f} s, worst {ordered[-1]:.2f} s "
        f"({len(ordered)} edits)"
    )


def main() -> None:
    """Read the arguments, replay and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    before = floor()
    first, seconds, chosen = replayed(given.project, given.edits, given.files, given.seed)
    print(f"{len(chosen)} files of {given.project}")
    print(report(first, seconds))
    print(f"a loop of plain Python: {before:.2f} s before, {floor():.2f} s after")


if __name__ == "__main__":
    main()
