"""How long an editor waits for its diagnostics: replay edits in a project and print the median and the 95th percentile.

python -m benchmarks.edits PROJECT [--edits N] [--files M] [--seed S] [--full]

The project is read once, as the language server does it; then, over and over, one of its files that hold NNX code gets
a new line. The early findings are those that the editor shows at once; with ``--full``, the file is then analysed among
all the others as well, which is what a user waits for who pauses. Times are seconds of processor time, so that other
work on the machine does not count; a loop of plain Python in the same run tells how fast the machine is.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

from nnxmigrate.project import concerned
from nnxmigrate.server.workspace import Workspace, unsaved

LINES = ("# a thought\n", "x_of_the_benchmark = 1\n", "\n", "def of_the_benchmark(a):\n    return a\n")


@dataclass
class Replay:
    """Seconds of one replay.

    Attributes:
        first: reading the project and checking one file.
        early: saying something after an edit.
        full: checking after an edit.
        chosen: the names of the edited files.
    """

    first: float = 0.0
    early: list[float] = field(default_factory=list)
    full: list[float] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)


def replayed(root: Path, edits: int, files: int, seed: int, full: bool) -> Replay:
    """Replay edits.

    Args:
        root: the project.
        edits: how many.
        files: how many files they go to.
        seed: of the choice.
        full: whether the project is analysed after every edit; else the early findings alone are asked for where
            there are any.
    """
    replay = Replay()
    workspace = Workspace(str(root.resolve()))
    chance = random.Random(seed)
    began = time.process_time()
    workspace.load()
    python = [(path, raw) for path, raw in workspace.files().items() if path.endswith(".py")]
    candidates = sorted(path for path, raw in python if concerned(raw, lint=False))
    replay.chosen = chance.sample(candidates, min(files, len(candidates)))
    workspace.check(replay.chosen[0])
    replay.first = time.process_time() - began
    for number in range(edits):
        path = replay.chosen[number % len(replay.chosen)]
        text = workspace.document(path).text.decode("utf-8")
        workspace.overlay(path, unsaved(text + chance.choice(LINES)))
        began = time.process_time()
        early = workspace.early(path)
        replay.early.append(time.process_time() - began)
        if full or early is None:  # of a small project nothing is said early
            workspace.check(path)
            replay.full.append(time.process_time() - began)
    return replay


def floor() -> float:
    """Return the seconds that a fixed piece of plain Python takes."""
    began = time.process_time()
    sum(number * number % 7 for number in range(3_000_000))
    return time.process_time() - began


def report(replay: Replay) -> str:
    """Return the figures as a line each."""
    lines = [f"first check, with reading: {replay.first:.2f} s"]
    for words, seconds in (("early findings", replay.early), ("all findings", replay.full)):
        ordered = sorted(seconds)
        if ordered:
            high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
            lines.append(
                f"{words} after an edit: p50 {statistics.median(ordered):.2f} s, p95 {high:.2f} s, "
                f"worst {ordered[-1]:.2f} s ({len(ordered)} edits)"
            )
    return "\n".join(lines)


def main() -> None:
    """Read the arguments, replay and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    before = floor()
    replay = replayed(given.project, given.edits, given.files, given.seed, given.full)
    print(f"{len(replay.chosen)} files of {given.project}")
    print(report(replay))
    print(f"a loop of plain Python: {before:.2f} s before, {floor():.2f} s after")


if __name__ == "__main__":
    main()
