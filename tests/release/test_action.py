"""The GitHub Action: its own steps, run as a runner would run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_hostile import HEAD, OLD

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("bash") is None, reason="the steps are bash")]


class Runner:
    """Runs steps in a folder, with outputs kept between them."""

    def __init__(self, folder: Path, program: str, **inputs: str) -> None:
        self.folder = folder
        self.known = {f"inputs.{name}": entry["default"] for name, entry in ACTION["inputs"].items()}
        self.known |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.known["steps.install.outputs.NNXMIGRATE"] = program

    def run(self, name: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run one step."""
        step = STEPS[name]
        output = self.folder / "output"
        output.write_text("")
        given = {key: self._filled(value) for key, value in step["env"].items()}
        paths = {"RUNNER_TEMP": str(self.folder), "GITHUB_OUTPUT": str(output), "GITHUB_ACTION_PATH": str(ROOT)}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder / "repository",
            env={**os.environ, **paths, **given, **more},
            capture_output=True,
            text=True,
            check=False,
        )
        for line in output.read_text().splitlines():
            key, _, value = line.partition("=")
            self.known[f"steps.{step.get('id')}.outputs.{key}"] = value
        return done

    def _filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda match: self.known.get(match[1], ""), text)


@pytest.fixture
def program(tmp_path: Path) -> str:
    """Return a program that behaves as the installed one."""
    path = tmp_path / "nnxmigrate"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m nnxmigrate "$@"\n')
    path.chmod(0o755)
    return str(path)


def repository(folder: Path, **files: str) -> None:
    """Make the folder that is linted."""
    (folder / "repository").mkdir()
    for name, text in files.items():
        (folder / "repository" / f"{name.replace('_', ' ')}.py").write_text(text)


@pytest.mark.parametrize(("fail", "status"), [("true", 1), ("false", 0)])
def test_findings(tmp_path: Path, program: str, fail: str, status: int) -> None:
    repository(tmp_path, old_code=HEAD + OLD, b="x = 1\n", c=HEAD + OLD)
    runner = Runner(tmp_path, program, paths="old code.py\nb.py\n", arguments="--to=0.12\n", fail=fail)
    assert runner.run("Lint").returncode == 0
    log = json.loads(Path(runner.known["steps.lint.outputs.sarif"]).read_text())
    places = [place["physicalLocation"] for one in log["runs"][0]["results"] for place in one["locations"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {"old%20code.py"}
    assert runner.run("Judge").returncode == status


def test_nothing_found(tmp_path: Path, program: str) -> None:
    repository(tmp_path, a="x = 1\n")
    runner = Runner(tmp_path, program)
    assert (runner.run("Lint").returncode, runner.run("Judge").returncode) == (0, 0)


@pytest.mark.parametrize("inputs", [{"paths": "a.py"}, {"paths": "a.py", "fail": "false"}])
def test_failures_fail(tmp_path: Path, program: str, inputs: dict[str, str]) -> None:
    repository(tmp_path, a=HEAD + "x = (\n")
    runner = Runner(tmp_path, program, **inputs)
    assert runner.run("Lint").returncode == 0
    assert runner.run("Judge").returncode == 2


def test_a_missing_path_fails_at_once(tmp_path: Path, program: str) -> None:
    repository(tmp_path, a=HEAD)
    assert Runner(tmp_path, program, paths="nowhere.py").run("Lint").returncode == 2


def test_a_wrong_argument_fails_at_once(tmp_path: Path, program: str) -> None:
    repository(tmp_path, a="x = 1\n")
    assert Runner(tmp_path, program, arguments="--nonsense").run("Lint").returncode == 2


def test_inputs_are_no_code(tmp_path: Path, program: str) -> None:
    """Inputs reach the shell as variables only, so that no input runs anything."""
    repository(tmp_path, a="x = 1\n")
    Runner(tmp_path, program, paths='$(touch marked)"; touch marked; `touch marked`').run("Lint")
    assert not (tmp_path / "repository" / "marked").exists()
    assert not [step["name"] for step in STEPS.values() if "${{" in step.get("run", "")]


def test_it_installs(tmp_path: Path) -> None:
    """The first step makes an environment with the program of this repository."""
    repository(tmp_path)
    runner = Runner(tmp_path, "", python=sys.executable)
    stub = tmp_path / "stub"  # only where the packages come from is not tried here
    stub.mkdir()
    (stub / "pip.py").write_text("import sys; print('pip', *sys.argv[1:])\n")
    done = runner.run("Install", PYTHONPATH=str(stub))
    assert done.stdout == f"pip install --quiet {ROOT}\n", done.stderr
    assert runner.known["steps.install.outputs.NNXMIGRATE"].startswith(str(tmp_path))
