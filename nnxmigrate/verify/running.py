"""Running the user's command on one side."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nnxmigrate.files.roots import MARKS
from nnxmigrate.verify.program import is_pytest, program, python_words


@dataclass(frozen=True)
class Entered:
    """A function that was entered.

    Attributes:
        path: its file, relative to the project.
        line: the line that it begins in.
        name: its qualified name.
        printed: how many lines had been printed before.
        test: the test that was running; empty outside of tests.
    """

    path: str
    line: int
    name: str
    printed: int
    test: str


@dataclass
class Side:
    """What the program did on one side.

    Attributes:
        root: the copy that it ran in.
        code: its exit status; None if it was ended for taking too long.
        out: what it printed.
        err: what it printed to stderr.
        entered: the functions of the project that it entered, in order.
        tests: the outcome of every test, if it ran tests.
    """

    root: Path
    code: int | None
    out: str
    err: str
    entered: list[Entered] = field(default_factory=list)
    tests: dict[str, str] = field(default_factory=dict)


def run(
    root: Path, below: str, command: Sequence[str], python: Path, *, project: Path, seed: int, limit: float, work: Path
) -> Side:
    """Run the command in a copy.

    Args:
        root: the copy.
        below: the folder that the command is run in, relative to it.
        command: as the user gave it; `python` stands for the environment's interpreter.
        python: the interpreter of the environment.
        project: where the user's own tree is; paths in it are led into the copy.
        seed: for `random` and `numpy.random`.
        limit: seconds after which the program is ended.
        work: a folder for notes, outside of the copy.
    """
    tracer = work / "nnxmigrate_tracer.py"
    shutil.copy(Path(__file__).with_name("tracer.py"), tracer)
    notes, tests = work / "entered.jsonl", work / "tests.xml"
    words = [word.replace(str(project), str(root)) if str(project) in word else word for word in command]
    words = python_words(words)
    if is_pytest(command):
        words += ["-p", "no:cacheprovider", "-p", "no:xdist", f"--junitxml={tests}"]
    call = [str(python), str(tracer), str(notes), str(root), str(seed), *words]
    environment = {
        **{key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONHOME")},
        "JAX_PLATFORMS": "cpu",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(map(str, _importable(root, root / below, command))),
        "PATH": os.pathsep.join((str(python.parent), os.environ.get("PATH", ""))),
    }
    try:
        done = subprocess.run(
            call,
            cwd=root / below,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            check=False,
        )
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        code, out, err = None, error.stdout or b"", error.stderr or b""
    side = Side(root, code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
    if notes.exists():
        side.entered = [Entered(*json.loads(line)) for line in notes.read_text(encoding="utf-8").splitlines()]
    if tests.exists():
        side.tests = _tests(tests)
    return side


def _importable(root: Path, folder: Path, command: Sequence[str]) -> list[Path]:
    """Return the folders that a project's own modules are imported from: of the part that the program is in, too."""
    place = program(command, folder, root)
    parts = [above for above in (place, *place.parents) if any((above / mark).is_file() for mark in MARKS)]
    places = [part for part in parts if part != root and part.is_relative_to(root)]
    return [path for one in (*places, root) for path in (one, one / "src") if path.is_dir()]


def _tests(report: Path) -> dict[str, str]:
    outcomes = {}
    for case in ET.parse(report).iter("testcase"):
        module = case.get("classname", "").replace(".", "/")
        outcome = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        outcomes[f"{module}::{case.get('name')}"] = outcome
    return outcomes
