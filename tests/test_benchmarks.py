"""The benchmark over projects: it counts the time of shared analyses for themselves, and prints its table."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.projects import Tree, measured, row
from benchmarks.rules import Clock

ROOT = Path(__file__).parents[1]


def test_inner_spans_count_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 3.0, 6.0, 10.0])
    monkeypatch.setattr(time, "process_time", lambda: next(now))
    clock = Clock()
    with clock.span("rule"), clock.span("shared"):
        pass
    assert clock.seconds == {"rule": 2.0 + 4.0, "shared": 3.0}


def test_rules_and_shared_analyses_are_listed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    code = "from flax import nnx\nnnx.Optimizer(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), None)\n"
    (tmp_path / "a.py").write_text(code)
    command = [sys.executable, "-m", "benchmarks.projects", "--rules", "--top", "500", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "1 findings" in done.stdout
    assert any(line.endswith(" source: walk") for line in done.stdout.splitlines())
    assert "NNX101 " in done.stdout


def test_memory_is_that_of_the_program(tmp_path: Path) -> None:
    """A program's peak counts. It runs from a small process: a child starts with the peak of its parent."""
    program = (
        "import sys; from pathlib import Path; from benchmarks.projects import measured; "
        "print(measured([sys.executable, '-c', 'x = bytearray(90_000_000)'], Path(sys.argv[1]), 60).memory)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert 90e6 < int(done.stdout) < 400e6


def test_a_row_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "a.py").write_text("from flax import nnx\n" * 2000)
    (tmp_path / "b.py").write_text("x = 1\n")
    tree = Tree.at(tmp_path)
    assert (tree.lines, tree.one.name, len(tree.files)) == (2001, "a.py", 2)
    done = measured([sys.executable, "-c", "x = bytearray(90_000_000)"], tmp_path, 60)
    assert done.seconds is not None
    assert done.memory > 90e6
    failed = measured([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, 60)
    assert failed.seconds is None
    cells = row(tree, {"ast.parse": done, "ruff": failed, "lint": done}).split(" | ")
    assert cells[3:5] == ["failed", f"{done.seconds:.2f} (1.0x)"]
