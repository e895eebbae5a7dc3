"""The compiled wheel answers as the Python does, and takes code that is nested deeply without a crash."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.release.test_wheel import ROOT, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="needs a C compiler"),
]

HERE = "import nnxmigrate._codemods.nnx.{name} as module\nprint(module.__file__)"
MAIN = "runpy.run_module('nnxmigrate', run_name='__main__')"
DEEP = {
    "terms": "def f(a):\n    return " + " + ".join(["a"] * 9_000),
    "attributes": "x = nnx" + ".Param" * 9_000,
    "calls": "x = nnx" + ".Param()" * 3_000,
    "branches": "def f(x):\n    if x == 0:\n        y = 0\n"
    + "".join(f"    elif x == {n}:\n        y = {n}\n" for n in range(3_000))
    + "    return y",
    "functions": "def f0(x):\n    return x\n"
    + "".join(f"def f{n + 1}(x):\n    return f{n}(x)\n" for n in range(3_000))
    + "x = f3000(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))\nx.kernel.value = x.kernel.value * 2",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages of the compiled wheel."""
    made = tmp_path_factory.mktemp("compiled")
    # as users are told to, where nothing is installed but what the build asks for
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(made), str(ROOT)]
    subprocess.run(command, env=os.environ | {"NNXMIGRATE_COMPILE": "1"}, check=True, capture_output=True)
    (wheel,) = made.glob("*.whl")
    assert not wheel.name.endswith("-none-any.whl")
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("name", ["values", "walk.expressions", "flow.flow", "may.graph"])
def test_it_is_compiled(installed: Path, tmp_path: Path, name: str) -> None:
    place = run([installed], HERE.format(name=name), [], tmp_path).strip()
    assert place.startswith(str(installed))
    assert place.endswith((".so", ".pyd"))


@pytest.mark.parametrize(
    "command", [["lint", "--select", "ALL"], ["migrate", "--check", "--to", "0.12"]], ids=["lint", "migrate"]
)
@pytest.mark.parametrize("place", ["fixtures", "tests/lint", "nnxmigrate/_codemods/nnx/state"])
def test_the_same_is_said(installed: Path, tmp_path: Path, command: list[str], place: str) -> None:
    source = (installed if place.startswith("nnxmigrate") else ROOT) / place
    shutil.copytree(source, tmp_path / "project", ignore=shutil.ignore_patterns("checkpoints", "__pycache__"))
    arguments = [*command, "--no-cache", "--jobs", "1", "--quiet", "--output-format", "json", "project"]
    assert run([installed], MAIN, arguments, tmp_path) == run([ROOT], MAIN, arguments, tmp_path)


@pytest.mark.parametrize("kind", DEEP)
def test_nested_deeply(installed: Path, tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.py").write_text(f"from flax import nnx\n{DEEP[kind]}\n")
    said = run([installed], MAIN, ["lint", "--no-cache", "--to", "0.12", "--output-format", "json", "a.py"], tmp_path)
    assert sum(json.loads(said)["counts"].values()) == 1  # and no crash: it was looked at, or it is said why not
