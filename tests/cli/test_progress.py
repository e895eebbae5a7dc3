"""What a terminal shows while a run takes its time."""

from __future__ import annotations

import io
import subprocess
import sys
import time

import pytest

from nnxmigrate.progress import Progress, tell
from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree


class Terminal(io.StringIO):
    """A terminal that keeps what is shown."""

    def isatty(self) -> bool:
        return True


def test_files_and_phases_are_shown_after_a_while() -> None:
    terminal = Terminal()
    with Progress(terminal, patience=0.01):
        tell("reading a[/b].py")
        for _ in range(200):
            if "reading" in terminal.getvalue():
                break
            time.sleep(0.05)
    assert "reading a[/b].py" in terminal.getvalue()
    tell("nobody listens")
    assert "nobody" not in terminal.getvalue()


def test_quick_runs_and_other_streams_show_nothing() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    with Progress(terminal, patience=60):
        tell("reading")
    with Progress(pipe, patience=0):
        tell("reading")
        time.sleep(0.05)
    assert terminal.getvalue() == pipe.getvalue() == ""


def test_a_whole_run_says_what_it_does(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree({"a.py": HEAD + "model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))\n"})
    said: list[str] = []
    monkeypatch.setattr("nnxmigrate.progress.Progress.tell", lambda self, what: said.append(what))
    monkeypatch.setattr("sys.stderr", Terminal())
    import contextlib

    from nnxmigrate.cli import main

    with contextlib.suppress(SystemExit):
        main.main(["--check", "--no-cache", "a.py"], standalone_mode=False)
    assert said[0] == "reading a.py"
    assert "analysing 1 file: parsing a.py" in said
    assert any("looking for NNX101 (optimizer-wrt)" in one for one in said)


def test_nothing_but_the_report_goes_into_a_pipe(tree: Tree) -> None:
    tree({"a.py": HEAD})
    done = subprocess.run(
        [sys.executable, "-m", "nnxmigrate", "lint", "a.py"], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


@pytest.mark.usefixtures("fake_rules")
def test_the_next_steps(tree: Tree) -> None:
    tree({"a.py": HEAD + "old\nrisky\nmanual\n", "requirements.txt": "flax==0.10.7\n", "pyproject.toml": ""})
    lint = call("lint", "a.py").stdout
    assert "3 findings left: 3 errors\n" in lint
    assert "Next: 1 of 3 can be fixed: `nnxmigrate lint --fix a.py`, with --unsafe-fixes 1 more.\n" in lint
    check = call("--check", "a.py").stdout
    assert "Next: `nnxmigrate a.py` makes these changes.\n" in check
    assert "Next: 1 of 2 can be fixed with --unsafe-fixes: `nnxmigrate --unsafe-fixes --diff a.py`.\n" in check
    done = call("a.py").stdout
    assert "Next: What is left is noted in .nnxmigrate-left.toml: `nnxmigrate status` counts it down.\n" in done
    assert "Next: The pins still say flax==0.10.7 in requirements.txt: `nnxmigrate doctor --bump` raises them" in done
    assert "raises them, `nnxmigrate doctor --diff` shows how.\n" in done
    assert call("doctor", "--diff", ".").exit_code < 2
    assert "Next: Prove it with `nnxmigrate verify" in done
