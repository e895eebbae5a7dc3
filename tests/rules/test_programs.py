"""Programs written for 0.10 that must go on printing the same, or be left alone, or be asked about.

The first lines of a program say what is expected: ``# check: same`` (the default), ``# check: unchanged`` or
``# check: finding``, where lines marked ``# finding`` get at least one. ``# to:`` names the targets.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemods.nnx.options import Options
from codemods.nnx.source import Source
from tests.batch import execute_all
from tests.environments import Output, agree, execute
from tests.migration import look, migrated

FOLDER = Path(__file__).parents[2] / "fixtures" / "programs"
VERSIONS = ("0.11", "0.12")


class Program:
    """One program: a file, or a folder with a ``main.py``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.main = path / "main.py" if path.is_dir() else path
        head = "\n".join(self.main.read_text().splitlines()[:12])
        said = dict(re.findall(r"^# (check|to|also): *(.+?) *$", head, flags=re.M))
        self.kind = said.get("check", "same")
        self.targets = [v for v in said.get("to", " ".join(VERSIONS)).split() if v in VERSIONS]
        self.unsafe = said.get("also") == "unsafe"
        self.name = str(path.relative_to(FOLDER).with_suffix(""))

    @property
    def texts(self) -> dict[str, str]:
        """The texts of its files by path."""
        if not self.path.is_dir():
            return {"main.py": _read(self.path)}
        return {str(f.relative_to(self.path)): _read(f) for f in sorted(self.path.rglob("*.py"))}

    def migrated(self, target: str) -> dict[str, str]:
        """Return the texts after migration; a run analyses what it fixed again, since one fix may allow another."""
        once = migrated(self.texts, Options(targets=(target,)), self.unsafe)[0]
        return migrated(once, Options(targets=(target,)), self.unsafe)[0]


def _read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def _discovered() -> list[Program]:
    folders = {main.parent for main in FOLDER.rglob("main.py")}
    files = [f for f in FOLDER.rglob("*.py") if not any(folder in f.parents for folder in folders)]
    return [Program(path) for path in sorted([*folders, *files])]


PROGRAMS = _discovered()
SAME = [p for p in PROGRAMS if p.kind == "same"]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    """Run all programs that must print the same: before under 0.10, after under their targets."""
    base = tmp_path_factory.mktemp("programs")
    single = [p for p in SAME if not p.path.is_dir()]
    results = {"0.10": execute_all("0.10", {p.name: p.texts["main.py"] for p in single}, base / "0.10")}
    for target in VERSIONS:
        texts = {p.name: p.migrated(target)["main.py"] for p in single if target in p.targets}
        results[target] = execute_all(target, texts, base / target)
    for program in SAME:
        if program.path.is_dir():
            for version in ("0.10", *program.targets):
                written = program.texts if version == "0.10" else program.migrated(version)
                folder = base / "folders" / version / program.name
                for path, text in written.items():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(text.encode())
                results[version][program.name] = execute(version, folder / "main.py")
    return results


@pytest.mark.parametrize("program", SAME, ids=lambda p: p.name)
def test_prints_the_same(program: Program, outputs: dict[str, dict[str, Output]]) -> None:
    before = outputs["0.10"][program.name]
    assert before.code == 0, before.err
    assert before.out.strip()
    for target in program.targets:
        after = outputs[target][program.name]
        assert after.code == 0, f"{target}: {after.err}"
        assert agree(before.out, after.out), f"{target}: {before.out!r} became {after.out!r}"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_second_run_changes_nothing(program: Program) -> None:
    for target in program.targets:
        once = program.migrated(target)
        assert migrated(once, Options(targets=(target,)), program.unsafe)[0] == once


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.kind == "unchanged"], ids=lambda p: p.name)
def test_left_alone(program: Program) -> None:
    for target in program.targets:
        assert look(program.texts, Options(targets=(target,))).findings == []


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.kind == "finding"], ids=lambda p: p.name)
def test_asked_about(program: Program) -> None:
    for target in program.targets:
        options = Options(targets=(target,))
        after, left = migrated(program.texts, options, program.unsafe)
        hits = 0
        for path, text in program.texts.items():
            marked = {n: line for n, line in enumerate(text.splitlines(), 1) if "# finding" in line}
            assert set(marked.values()) <= set(after[path].splitlines()), "a marked line was changed"
            source = Source(path, text.encode())
            hits += len({source.position(f.start)[0] for f in left if f.path == path} & set(marked))
        assert hits, target


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 30
