"""The script that sets up and tests the project."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dev
from tests.environments import WITHOUT, python

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_test_needs_no_flax(monkeypatch: pytest.MonkeyPatch, quick: bool) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(dev, "install", lambda what: None)
    monkeypatch.setattr(dev, "run", lambda *command, accept=(0,): commands.append(command[1:3]))
    monkeypatch.delenv(WITHOUT, raising=False)
    dev.main(("test", "--quick") if quick else ("test",))
    assert (("-m", "tests.environments") not in commands) is quick
    assert commands[-1] == ("-m", "pytest")
    assert (os.environ.pop(WITHOUT, None) == "1") is quick


def test_the_demo_prints_the_same_on_both_sides(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    python("0.10"), python("0.11")
    monkeypatch.setattr(dev, "install", lambda what: None)
    monkeypatch.setattr(dev, "BIN", Path(sys.executable).parent)
    dev.main(("demo",))
    shown = capfd.readouterr().out
    assert "classifier: best" in shown
    assert shown.rstrip().splitlines()[-1].startswith("The same, up to rounding.")


def test_the_demo_marks_what_differs_by_more_than_rounding() -> None:
    # compilers of two releases may add the same numbers in another order
    left, right = ("0.10", "radius 0.6463626623", "loss 0.25"), ("0.11", "radius 0.6463626027", "loss 0.26")
    assert ["≠" in line for line in dev.abreast(left, right).splitlines()] == [False, False, True]


def test_its_commands() -> None:
    done = subprocess.run([sys.executable, str(ROOT / "dev.py"), "test", "--fast"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "usage: python3 dev.py demo | test | test --quick | docs\n"
