"""``nnxmigrate doctor`` as a user runs it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nnxmigrate.cli.doctor import doctor
from nnxmigrate.files.atomic import WriteFailed


def run(*arguments: str | Path) -> Result:
    """Run the command."""
    return CliRunner().invoke(doctor, [str(argument) for argument in arguments])


def requirements(folder: Path, text: str) -> Path:
    """Write a requirements file."""
    path = folder / "requirements.txt"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        ("flax==0.11.2\njax==0.7.2", (), 0, "works"),
        ("flax==0.11.2", (), 1, "an installer takes jax 0.10.2, and `from flax import nnx` fails"),
        ("flax==0.11.2\njax>=0.6,<0.9", (), 1, "an installer takes jax 0.8.3, and nnx.jit fails"),
        ("flax==0.10.7\njax<0.8", (), 0, "works"),
        ("flax==0.10.7\njax==0.5.3", (), 1, "fails: flax 0.10.7 with jax 0.5.3: `from flax import nnx` fails"),
        ("flax==0.12.0\njax==0.6.2", (), 1, "needs jax>=0.7.1, not jax 0.6.2: installers refuse"),
        ("flax==0.12.8\njax<0.9", (), 1, "which the pins of jax exclude"),
        ("flax==0.12.7\njax==0.10.2", (), 1, "warning: flax 0.12.7 alone"),
        ("flax==0.12.8", (), 0, "works"),
        ("flax", (), 0, "note: flax has no upper bound"),
        ("flax<0.12.1,>=0.11\njax<0.8", (), 0, "flax 0.12.0, jax 0.7.2"),
        ("flax==0.9.0", (), 0, "was not measured"),
        (
            "flax==0.12.8\njax==0.10.2\nnumpy<2",
            (),
            1,
            "jax 0.10.2 needs numpy>=2.0, which numpy<2 excludes: installers",
        ),
        ("flax==0.10.7\njax==0.6.2\nnumpy<2", (), 0, "works"),
        ("flax==0.12.8\njax==0.11.0", (), 0, "note: flax 0.12.8 with jax 0.11.0 was not measured"),
        ("flax==0.10.7\njax==0.7.2", ("--to", "0.11"), 1, "fails: flax is 0.10.7, not 0.11"),
        ("flax==0.11.2\njax==0.7.2", ("--to", "0.11"), 0, "While you migrate, keep jax==0.7.2"),
        ("flax==0.11.2\njax==0.7.2", ("--to", "0.12"), 1, "choose flax>=0.12.8,<0.13 and jax>=0.10.0"),
        ("flax==0.11.2\njax==0.7.2\norbax-checkpoint==0.11.5", (), 1, "cannot save random keys"),
        ("flax==0.11.2\njax==0.7.2\norbax-checkpoint==0.11.19", (), 1, "into an abstract target"),
        ("jax==0.7.2", (), 0, "No pins of flax"),
        ("flax>=", (), 2, "cannot be read"),
    ],
)
def test_verdicts(tmp_path: Path, text: str, options: tuple[str, ...], code: int, said: str) -> None:
    requirements(tmp_path, text)
    result = run(tmp_path, *options)
    assert said in result.output
    assert result.exit_code == code


@pytest.mark.parametrize(
    ("python", "code", "said"),
    [
        (">=3.11", 0, "works"),
        (">=3.10", 1, "warning: flax 0.11.2 needs Python >=3.11, but 3.10 is allowed"),
        ("<3.11", 1, "fails: flax 0.11.2 needs Python >=3.11, not 3.10"),
    ],
)
def test_python(tmp_path: Path, python: str, code: int, said: str) -> None:
    text = f'[project]\nrequires-python = "{python}"\ndependencies = ["flax==0.11.2", "jax<0.8"]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    result = run(tmp_path)
    assert said in result.output
    assert result.exit_code == code


def test_a_marker_decides_about_python(tmp_path: Path) -> None:
    flax = "flax==0.11.2 ; python_version >= '3.11'"
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nrequires-python = ">=3.10"\ndependencies = ["{flax}", "jax<0.8"]\n'
    )
    assert run(tmp_path).exit_code == 0


@pytest.mark.parametrize(
    ("flax", "code", "found"),
    [
        ("flax==0.11.2\njax==0.7.2", "tx = optax.contrib.muon(0.1)", True),
        ("flax==0.11.2\njax==0.7.2", "tx = optax.masked(tx, mask)", True),
        ("flax==0.11.2\njax==0.7.2", "tx = optax.adam(0.1)", False),
        ("flax==0.12.8", "tx = optax.masked(tx, mask)", False),
    ],
)
def test_optax_that_fails_on_0_11(tmp_path: Path, flax: str, code: str, found: bool) -> None:
    requirements(tmp_path, flax)
    (tmp_path / "train.py").write_text(code)
    result = run(tmp_path)
    assert (f"used in {tmp_path / 'train.py'}" in result.output) is found
    assert result.exit_code == found


def test_installed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for name, version in (("flax", "0.11.2"), ("jax", "0.10.2")):
        (site / f"{name}-{version}.dist-info").mkdir(parents=True)
        (site / f"{name}-{version}.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={site} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    empty = tmp_path / "project"
    empty.mkdir()
    result = run(empty, "--python", python)
    assert "installed are flax 0.11.2, jax 0.10.2" in result.output
    assert result.exit_code == 1
    assert run(empty, "--python", tmp_path / "none").exit_code == 2


def test_bad_usage(tmp_path: Path) -> None:
    assert run(tmp_path / "missing").exit_code == 2
    assert run(tmp_path, "--to", "0.9").exit_code == 2
    (tmp_path / "notes.txt").write_text("flax\n")
    assert run(tmp_path / "notes.txt").exit_code == 2


def test_json(tmp_path: Path) -> None:
    path = requirements(tmp_path, "flax==0.10.7\n")
    record = json.loads(run(tmp_path, "--json", "--to", "0.11", "--bump").output)
    assert record["changes"] == [
        {"path": str(path), "package": "flax", "before": "==0.10.7", "after": "==0.11.2", "beside": ""},
        {"path": str(path), "package": "jax", "before": None, "after": ">=0.6.0,<0.8.2", "beside": "==0.11.2"},
    ]
    assert record["sets"][0]["releases"] == {"flax": "0.11.2", "jax": "0.8.1"}
    assert record["sets"][0]["healthy"] is True


BUMPS = {
    "exact": ("requirements.txt", "flax==0.10.7\r\njax==0.6.2\r\n", "flax==0.11.2\r\njax==0.6.2\r\n"),
    "jax missing": (
        "requirements.txt",
        "flax==0.10.7  # a\r\nx\r\n",
        "flax==0.11.2  # a\r\njax>=0.6.0,<0.8.2\r\nx\r\n",
    ),
    "no line end": ("requirements.txt", "flax==0.11.2", "flax==0.11.2\njax>=0.6.0,<0.8.2"),
    "range": ("requirements.txt", "flax>=0.10,<0.11\njax<0.8\n", "flax>=0.11.2,<0.12\njax<0.8\n"),
    "unbounded": ("requirements.txt", "flax\njax  # any\n", "flax>=0.11.2,<0.12\njax>=0.6.0,<0.8.2  # any\n"),
    "extras": ("requirements.txt", "flax[all] ==0.10.7 ; a\njax<0.8\n", "flax[all] ==0.11.2 ; a\njax<0.8\n"),
    "comments": ("requirements.txt", "# flax==0.10.7\nflax==0.10.7\njax<0.8", "# flax==0.10.7\nflax==0.11.2\njax<0.8"),
    "newer stays": ("requirements.txt", "flax==0.12.8\njax==0.10.2\n", "flax==0.12.8\njax==0.10.2\n"),
    "numpy and scipy that the new jax excludes": (
        "requirements.txt",
        "flax==0.10.4\njax[tpu]==0.5.1\nnumpy==1.26.4\nscipy<1.12\n",
        "flax==0.11.2\njax[tpu]==0.7.2\nnumpy==2.4.6\nscipy>=1.13\n",
    ),
    "numpy that it takes": (
        "requirements.txt",
        "flax==0.10.4\njax==0.5.1\nnumpy>=1.26,<3\nscipy\n",
        "flax==0.11.2\njax==0.7.2\nnumpy>=1.26,<3\nscipy\n",
    ),
    "of that family, and fails": ("requirements.txt", "flax==0.11.1\njax==0.8.3\n", "flax==0.11.2\njax==0.7.2\n"),
    "orbax": (
        "requirements.txt",
        "flax==0.11.2\njax<0.8\norbax-checkpoint<0.11\n",
        "flax==0.11.2\njax<0.8\norbax-checkpoint>=0.11.27\n",
    ),
    "toml": (
        "pyproject.toml",
        '[project]\nkeywords = ["flax"]\nrequires-python = ">=3.10,<3.13"\ndependencies = [\n  "flax",\n  "x"\n]\n',
        '[project]\nkeywords = ["flax"]\nrequires-python = ">=3.11,<3.13"\n'
        'dependencies = [\n  "flax>=0.11.2,<0.12",\n  "jax>=0.6.0,<0.8.2",\n  "x"\n]\n',
    ),
    "toml, one line": (
        "pyproject.toml",
        "[project]\ndependencies = ['x', 'flax~=0.10.2']",
        "[project]\ndependencies = ['x', 'flax>=0.11.2,<0.12', 'jax>=0.6.0,<0.8.2']",
    ),
    "poetry": (
        "pyproject.toml",
        '[tool.poetry.dependencies]\npython = "^3.10"\nflax = {version = "^0.10"}\n',
        '[tool.poetry.dependencies]\npython = "^3.11"\nflax = {version = "^0.11.2"}\njax = ">=0.6.0,<0.8.2"\n',
    ),
    "conda": (
        "environment.yml",
        "dependencies:\n  - python=3.10\n  - flax=0.10.7\n  - pip\n",
        "dependencies:\n  - python=3.11\n  - flax=0.11.2\n  - jax>=0.6.0,<0.8.2\n  - pip\n",
    ),
    "setup.cfg": (
        "setup.cfg",
        "[options]\ninstall_requires =\n    flax==0.10.*\n    jax<0.8\n",
        "[options]\ninstall_requires =\n    flax==0.11.*\n    jax<0.8\n",
    ),
    "setup.py": (
        "setup.py",
        "setup(keywords=['flax'], install_requires=['flax'])\n",
        "setup(keywords=['flax'], install_requires=['flax>=0.11.2,<0.12', 'jax>=0.6.0,<0.8.2'])\n",
    ),
    "notebook": (
        "notes.ipynb",
        '{"cells": [{"cell_type": "code", "source": ["!pip install -q flax==0.10.6 optax\\n", "1"]}]}',
        '{"cells": [{"cell_type": "code", "source": ["!pip install -q flax==0.11.2 jax==0.7.2 optax\\n", "1"]}]}',
    ),
}


@pytest.mark.parametrize(("name", "before", "after"), BUMPS.values(), ids=BUMPS)
def test_bump(tmp_path: Path, name: str, before: str, after: str) -> None:
    path = tmp_path / name
    path.write_bytes(before.encode())
    path.chmod(0o640)
    first = run(tmp_path, "--to", "0.11", "--bump")
    assert path.read_bytes().decode() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert first.exit_code == (1 if before == after else 0)
    run(tmp_path, "--to", "0.11", "--bump")
    assert path.read_bytes().decode() == after


def test_pins_that_work_stay(tmp_path: Path) -> None:
    """A release of the family that is asked for, which works with its JAX, is not raised for the sake of it."""
    path = tmp_path / "requirements.txt"
    for text, goal in (("flax==0.11.1\njax==0.7.2\n", "0.11"), ("flax == 0.12.4\njax == 0.9.0\n", "0.12")):
        path.write_text(text)
        assert run(tmp_path, "--to", goal, "--bump").exit_code == 0
        assert path.read_text() == text


def test_bump_never_changes_locks(tmp_path: Path) -> None:
    requirements(tmp_path, "flax==0.10.7\njax==0.7.2\n")
    lock = tmp_path / "uv.lock"
    lock.write_text('[[package]]\nname = "flax"\nversion = "0.10.7"\n[[package]]\nname = "jax"\nversion = "0.7.2"\n')
    before = lock.read_bytes()
    result = run(tmp_path, "--to", "0.11", "--bump")
    assert lock.read_bytes() == before
    assert "renew them with: uv lock --upgrade-package flax" in result.output
    assert result.exit_code == 1


def test_bump_that_cannot_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = requirements(tmp_path, "flax==0.10.7\njax==0.7.2\n")

    def fail(contents: dict[str, bytes]) -> None:
        raise WriteFailed(next(iter(contents)), "no space left")

    monkeypatch.setattr("nnxmigrate.cli.doctor.write_all", fail)
    result = run(tmp_path, "--to", "0.11", "--bump")
    assert (result.exit_code, "no space left" in result.output) == (2, True)
    assert path.read_text() == "flax==0.10.7\njax==0.7.2\n"


def test_bump_leaves_compiled_requirements_alone(tmp_path: Path) -> None:
    path = requirements(tmp_path, "flax==0.10.7 --hash=sha256:00\njax==0.7.2 --hash=sha256:11\n")
    before = path.read_bytes()
    assert "pip-compile" in run(tmp_path, "--to", "0.11", "--bump").output
    assert path.read_bytes() == before


def test_nothing_heavy_is_imported() -> None:
    """Neither command imports LibCST, jax or flax."""
    code = (
        "import sys, nnxmigrate.cli.doctor, nnxmigrate.cli.explain; print({'libcst', 'jax', 'flax'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


def test_what_would_be_raised_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("flax==0.10.7\njax==0.7.2\n")
    result = CliRunner().invoke(doctor, [".", "--to", "latest", "--diff"])
    assert "-flax==0.10.7\n-jax==0.7.2\n+flax==0.12.8\n+jax==0.10.2\n" in result.output
    assert (tmp_path / "requirements.txt").read_text() == "flax==0.10.7\njax==0.7.2\n"
    assert CliRunner().invoke(doctor, [".", "--bump", "--diff"]).exit_code == 2
    assert CliRunner().invoke(doctor, [".", "--to", "0.13"]).exit_code == 2


@pytest.mark.parametrize(
    ("optax", "code", "said"),
    [
        ("optax==0.2.4", "import optax\n", "optax 0.2.4"),
        ("optax==0.2.4", "import optax\ntx = optax.contrib.muon(0.1)\n", "muon does not exist before optax 0.2.5"),
        ("optax==0.1.4", "", "optax 0.1.4 was not measured; known are 0.1.7 to 0.2.8"),
        ("optax>=0.3", "", "optax>=0.3 was not measured"),
    ],
)
def test_optax(tmp_path: Path, optax: str, code: str, said: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"flax==0.12.8\njax==0.10.2\n{optax}\n")
    (tmp_path / "a.py").write_text(code)
    result = CliRunner().invoke(doctor, [str(tmp_path)])
    assert said in result.output
    assert result.exit_code == int("muon" in said)
