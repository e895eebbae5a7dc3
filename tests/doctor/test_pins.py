"""Reading pins in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from nnxmigrate.doctor import toml_files
from nnxmigrate.doctor.pins import PinError, specifier
from nnxmigrate.doctor.project import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("==0.10.7", "==0.10.7"),
        (">=0.10, <0.11", ">=0.10,<0.11"),
        ("(>=0.10)", ">=0.10"),
        ("^0.10.2", ">=0.10.2,<0.11"),
        ("^1.2", ">=1.2,<2"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("~0.10.2", ">=0.10.2,<0.11"),
        ("~=0.10.2", "~=0.10.2"),
        ("0.10.7", "==0.10.7"),
        ("0.10.*", "==0.10.*"),
        ("=0.10", "==0.10.*"),
        ("=0.10.7=py311_0", "==0.10.7"),
        (">=3.8.*", ">=3.8"),
        (">= 0.10.*, <0.12.*", ">=0.10,<0.12"),
        ("*", ""),
        ("", ""),
    ],
)
def test_specifier(text: str, expected: str) -> None:
    assert specifier(text) == SpecifierSet(expected)


@pytest.mark.parametrize("text", ["newest", ">=", "==x.y", "git+https"])
def test_what_is_no_specifier(text: str) -> None:
    with pytest.raises(PinError, match="no version range"):
        specifier(text)


def lock(*packages: tuple[str, str]) -> str:
    """Return a lock file of uv or Poetry."""
    return "version = 1\n" + "".join(f'[[package]]\nname = "{n}"\nversion = "{v}"\n' for n, v in packages)


def notebook(*lines: str) -> str:
    """Return a notebook with one code cell."""
    return json.dumps({"cells": [{"cell_type": "code", "source": "\n".join(lines)}], "nbformat": 4})


PROJECT = """
[project]
name = "x"
keywords = ["flax"]
requires-python = ">=3.11"
dependencies = ["Flax [all] ==0.10.7 ; python_version > '3'", "numba", "flaxformer==1"]
[project.optional-dependencies]
gpu = ["jax[cuda12]>=0.6"]
docs = ["sphinx"]
[dependency-groups]
dev = [{include-group = "test"}, "pytest"]
test = ["orbax_checkpoint<0.12", {include-group = "dev"}]
[tool.uv]
constraint-dependencies = ["jax<0.8"]
"""
POETRY = """
[tool.poetry.dependencies]
python = "^3.11"
flax = "^0.10.2"
jax = {version = "0.6.2", extras = ["cuda12"]}
[tool.poetry.group.dev.dependencies]
optax = "*"
"""
CONDA = """
dependencies:
  - python=3.11
  - conda-forge::flax=0.10.7  # comment
  - jax 0.6.2
  # - optax==1
  - pip:
    - "orbax-checkpoint>=0.11"
"""
SETUP = "from setuptools import setup\nsetup(python_requires='>=3.11', install_requires=['flax>=0.10', 'jax'])\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "pyproject.toml",
            PROJECT,
            {
                "": {"flax": "==0.10.7", "jax": "<0.8", "python": ">=3.11"},
                ", extra gpu": {"flax": "==0.10.7", "jax": ">=0.6,<0.8", "python": ">=3.11"},
                ", group dev": {"flax": "==0.10.7", "jax": "<0.8", "python": ">=3.11", "orbax-checkpoint": "<0.12"},
                ", group test": {"flax": "==0.10.7", "jax": "<0.8", "python": ">=3.11", "orbax-checkpoint": "<0.12"},
            },
        ),
        (
            "pyproject.toml",
            POETRY,
            {
                "": {"flax": ">=0.10.2,<0.11", "jax": "==0.6.2", "python": ">=3.11,<4"},
                ", group dev": {"flax": ">=0.10.2,<0.11", "jax": "==0.6.2", "python": ">=3.11,<4", "optax": ""},
            },
        ),
        (
            "environment.yml",
            CONDA,
            {"": {"flax": "==0.10.7", "jax": "==0.6.2", "python": "==3.11.*", "orbax-checkpoint": ">=0.11"}},
        ),
        ("setup.py", SETUP, {"": {"flax": ">=0.10", "jax": "", "python": ">=3.11"}}),
        (
            "setup.cfg",
            "[options]\npython_requires = >=3.11\ninstall_requires =\n    flax==0.10.7\n"
            "[options.extras_require]\nx = jax<0.7\n",
            {
                "": {"flax": "==0.10.7", "python": ">=3.11"},
                ", extra x": {"flax": "==0.10.7", "python": ">=3.11", "jax": "<0.7"},
            },
        ),
        ("Pipfile", '[packages]\nflax = "==0.10.7"\njax = {version = "*"}\n', {"": {"flax": "==0.10.7", "jax": ""}}),
        ("uv.lock", lock(("flax", "0.10.7"), ("jax", "0.6.2")), {"": {"flax": "==0.10.7", "jax": "==0.6.2"}}),
        ("poetry.lock", lock(("flax", "0.11.2")), {"": {"flax": "==0.11.2"}}),
        (
            "uv.lock",
            lock(("flax", "0.10.7"), ("flax", "0.12.8"), ("jax", "0.6.2")),
            {
                ", variant 1": {"flax": "==0.10.7", "jax": "==0.6.2"},
                ", variant 2": {"flax": "==0.12.8", "jax": "==0.6.2"},
            },
        ),
        (
            "Pipfile.lock",
            '{"default": {"flax": {"version": "==0.10.7"}}, "develop": {"jax": {"version": "==0.6.2"}}}',
            {"": {"flax": "==0.10.7", "jax": "==0.6.2"}},
        ),
        (
            "notes.ipynb",
            notebook(
                "!pip install -q flax==0.10.6 'jax<0.7'", "%pip install -U optax # flax", "import flax", "x = 'flax==1'"
            ),
            {"": {"flax": "==0.10.6", "jax": "<0.7", "optax": ""}},
        ),
        (
            "requirements-dev.txt",
            "--index-url https://example.org\n# flax==1\nflax==0.10.7 --hash=sha256:00 \\\n"
            "  --hash=sha256:11\njax>=0.6 # note\n",
            {"": {"flax": "==0.10.7", "jax": ">=0.6"}},
        ),
    ],
)
def test_formats(tmp_path: Path, name: str, text: str, expected: dict[str, dict[str, str]]) -> None:
    (tmp_path / name).write_text(text)
    reading = read(tmp_path)
    assert reading.errors == []
    found = {
        pins.name.removeprefix(str(tmp_path / name)): {pin.package: pins.specifier(pin.package) for pin in pins.pins}
        for pins in reading.sets
    }
    assert found == {
        part: {package: SpecifierSet(text) for package, text in pins.items()} for part, pins in expected.items()
    }


def test_one_package_of_a_lock(tmp_path: Path) -> None:
    """Only its tables are parsed: the rest may be large, and here is no TOML."""
    path = tmp_path / "uv.lock"
    needs = 'dependencies = [\n    { name = "flax" },\n]\n'
    path.write_text(
        lock(("flax", "0.10.7"), ("orbax", "1")) + needs + lock(("flax", "0.12.8"))[12:] + "[[package]]\n?\n"
    )
    found = [[(pin.package, str(pin.specifier)) for pin in pins.pins] for pins in toml_files.lock(path, ("flax",))]
    assert found == [[("flax", "==0.10.7")], [("flax", "==0.12.8")]]
    with pytest.raises(PinError):
        list(toml_files.lock(path))


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r base/requirements.txt\n-c constraints.txt\njax>=0.6\n")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "requirements.txt").write_text("flax==0.10.7\n-r ../requirements.txt\n")
    (tmp_path / "constraints.txt").write_text("jax<0.7\n")
    sets = {pins.path: pins for pins in read(tmp_path).sets}
    pins = sets[str(tmp_path / "requirements.txt")]
    assert (pins.specifier("flax"), pins.specifier("jax")) == (SpecifierSet("==0.10.7"), SpecifierSet(">=0.6,<0.7"))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("pyproject.toml", "[project\n", "line 1"),
        ("requirements.txt", "flax>=\n", "no version range"),
        ("requirements.txt", "-r missing.txt\n", "missing.txt"),
        ("notes.ipynb", "{}", "no notebook"),
        ("setup.py", "def (", "invalid syntax"),
        ("setup.cfg", "no section", "section"),
        ("Pipfile.lock", "{", "Expecting"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "constraints.txt").write_text("flax==0.10.7\n")
    reading = read(tmp_path)
    assert [(path, reason in message) for path, message in reading.errors] == [(str(tmp_path / name), True)]
    assert len(reading.sets) == 1


def test_other_folders_are_left_out(tmp_path: Path) -> None:
    for folder in (".venv", "node_modules", "env"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "requirements.txt").write_text("flax==0.10.7\n")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    (tmp_path / "README.txt").write_text("flax==0.10.7\n")
    assert read(tmp_path).sets == []
