"""What is published: the right files, the same bytes every time, and no trap for a user's own ``codemods``."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import click
import pytest

from nnxmigrate import __version__
from tests.test_hostile import HEAD, NEW, OLD

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = Path(click.__file__).parents[1]

#: Runs a program that sees nothing but the standard library, the given folders and the installed libraries: not this
#: repository, which an editable installation puts on the path.
START = """\
import runpy, sys
sys.path[:] = [entry for entry in sys.path if entry != {here!r}]
sys.path[:0] = {first!r}
sys.path.append({libraries!r})
sys.argv[1:] = {arguments!r}
"""


def build(kind: str, folder: Path, source: Path = ROOT) -> Path:
    """Build a wheel or an sdist in a folder and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (made,) = folder.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sdist."""
    return build("sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel."""
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel's packages."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def digest(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_same_bytes_every_time(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    """Also from the sdist, as package indexes and distributions build it."""
    assert digest(build("sdist", tmp_path / "again")) == digest(sdist)
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    assert digest(build("wheel", tmp_path / "wheel", tmp_path / f"nnxmigrate-{__version__}")) == digest(wheel)


def test_contents(wheel: Path, sdist: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    information = f"nnxmigrate-{__version__}.dist-info"
    assert {name.split("/")[0] for name in names} == {"nnxmigrate", information}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "nnxmigrate").rglob("*.py")}
    modules |= {f"nnxmigrate/_{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "codemods").rglob("*.py")}
    marks = {"nnxmigrate/py.typed", "nnxmigrate/_codemods/nnx/py.typed"}
    marks |= {"nnxmigrate/_codemods/nnx/lint/public_names.txt"}
    assert {name for name in names if not name.startswith(information)} == modules | marks
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "codemods/nnx/rule.py"} <= packed
    hidden = {name.split("/")[0] for name in packed if name.startswith((".", "build/", "dist/"))}
    assert hidden <= {".gitignore", ".pre-commit-hooks.yaml"}
    assert not [name for name in packed if "__pycache__" in name]


def run(first: list[Path], body: str, arguments: list[str], folder: Path) -> str:
    """Run a program with folders at the head of the module path and return what it prints."""
    start = START.format(
        here=str(ROOT), first=[str(path) for path in first], libraries=str(LIBRARIES), arguments=arguments
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", start + body], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


MIGRATE = "import codemods.nnx\nassert codemods.nnx.MINE\nrunpy.run_module('nnxmigrate', run_name='__main__')"
AFTER = """
import nnxmigrate.cli, nnxmigrate.run
import codemods.nnx
print(codemods.nnx.MINE, any(name.startswith("codemods.nnx.") for name in sys.modules))
"""


@pytest.mark.parametrize("package", [True, False], ids=["package", "folder"])
@pytest.mark.parametrize("users_first", [True, False], ids=["user's first", "wheel first"])
def test_beside_a_users_own_codemods(installed: Path, tmp_path: Path, package: bool, users_first: bool) -> None:
    """A package or a plain folder ``codemods``, even with a module ``nnx``, does no harm and takes none."""
    home = tmp_path / "home"
    (home / "codemods").mkdir(parents=True)
    (home / "codemods" / "nnx.py").write_text("MINE = 'mine'\n")
    if package:
        (home / "codemods" / "__init__.py").touch()
    (home / "train.py").write_text(HEAD + OLD)
    (home / "other.py").write_text(HEAD + OLD)
    order = [home, installed] if users_first else [installed, home]
    assert "2 files changed" in run(order, MIGRATE, ["--jobs", "2", "train.py", "other.py"], home)
    assert (home / "train.py").read_text() == (home / "other.py").read_text() == HEAD + NEW
    assert run(order, AFTER, [], home) == "mine False\n"
