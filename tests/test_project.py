"""The example project, migrated by the command line and run under real Flax versions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_migrate import call
from tests.environments import Output, agree, execute

PROJECT = Path(__file__).resolve().parents[1] / "fixtures" / "project"
MAIN = "train.py"


@pytest.fixture(scope="module")
def before() -> Output:
    """Return what the project does under the Flax version that it was written for."""
    output = execute("0.10", PROJECT / MAIN)
    assert output.code == 0, output.err
    assert output.out.strip()
    return output


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that makes a copy of the project under a name, in the working directory."""
    monkeypatch.chdir(tmp_path)

    def copy(name: str) -> Path:
        return Path(shutil.copytree(PROJECT, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")))

    return copy


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all Python files."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.py")}


@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_it_prints_the_same_after_the_migration(copied: Callable[[str], Path], before: Output, target: str) -> None:
    folder = copied("old")
    result = call("--to", target, "old")
    assert result.exit_code == 0, result.output
    after = execute(target, folder / MAIN)
    assert after.code == 0, after.err
    assert agree(before.out, after.out), after.out
    once = contents(folder)
    assert once != contents(PROJECT)
    assert call("--to", target, "old").exit_code == 0
    assert contents(folder) == once, "a second run changes it again"


def test_it_needs_the_migration(before: Output) -> None:
    assert execute("0.11", PROJECT / MAIN).code != 0


def notebook(folder: Path) -> Path:
    """Turn the project's main program into a notebook beside it, with magics, and return its path."""
    text = (folder / MAIN).read_text()
    head, tail = text.split("\n\n\n", 1)
    sources = ["# Training\n", f"%matplotlib inline\n{head}", f"%%time\n{tail}", "!echo done"]
    kinds = ["markdown", "code", "code", "code"]
    cells: list[dict[str, object]] = [
        {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
        | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        for kind, source in zip(kinds, sources, strict=True)
    ]
    path = folder / "train.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n")
    return path


def test_its_notebook_becomes_the_same_program(copied: Callable[[str], Path]) -> None:
    folder = copied("old")
    path = notebook(folder)
    before = json.loads(path.read_text())
    assert call("old").exit_code == 0
    after = json.loads(path.read_text())
    code = ["".join(cell["source"]) for cell in after["cells"]]
    assert code[1].startswith("%matplotlib inline\n")
    assert code[2].startswith("%%time\n")
    assert code[0::3] == ["# Training\n", "!echo done"]
    python = [part.split("\n", 1)[1] for part in code[1:3]]
    assert "\n\n\n".join(python) == (folder / MAIN).read_text()
    for one, other in zip(before["cells"], after["cells"], strict=True):
        assert one | {"source": []} == other | {"source": []}


def test_the_demo_changes_nothing() -> None:
    text = contents(PROJECT)
    result = call("--diff", str(PROJECT))
    assert result.exit_code == 1
    assert "+++ " in result.stdout
    assert contents(PROJECT) == text
