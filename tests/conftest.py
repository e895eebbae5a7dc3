"""Fixtures that several test modules use."""

from __future__ import annotations

import gc
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from nnxmigrate.files.roots import project_root
from nnxmigrate.recorded import BASELINE, LEFT
from tests import fake
from tests.environments import WITHOUT

Tree = Callable[..., Path]


def pytest_configure() -> None:
    """Put the tests' files where nothing of strangers above them is taken for theirs."""
    for folder in (tempfile.gettempdir(), os.path.expanduser("~/.cache"), "/var/tmp", "/dev/shm"):
        if os.path.isdir(folder) and os.access(folder, os.W_OK) and _apart(os.path.realpath(folder)):
            os.environ["TMPDIR"] = folder  # for the programs that tests start, and pytest's own folders
            tempfile.tempdir = folder
            return
    raise pytest.UsageError("the tests need a folder with no project and no record of nnxmigrate above; set TMPDIR")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no process is left alone with it; skip that if tests shall be quick."""
    sizes = Counter(item.path for item in items)
    slow = [item for item in items if item.get_closest_marker("slow")]
    long = {item.path for item in slow}
    items.sort(key=lambda item: (item.path not in long, -sizes[item.path]))
    for item in slow if os.environ.get(WITHOUT) else ():
        item.add_marker(pytest.mark.skip(reason="takes long"))


def pytest_collection_finish() -> None:
    """Look for garbage only in what tests make: there are so many of them that a look at all takes a second."""
    gc.collect()
    gc.freeze()


def _apart(folder: str) -> bool:
    """Say whether a folder is part of no project, and of none of which something is recorded."""
    above = [folder, *map(str, Path(folder).parents)]
    recorded = any(os.path.exists(os.path.join(place, name)) for place in above for name in (LEFT, BASELINE))
    return project_root(folder) is None and not recorded


@pytest.fixture
def fake_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the fake analysis in the place of the real one."""
    monkeypatch.setattr("codemods.nnx.analyse.analyse", fake.analyse)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Return a function that makes files in an empty working directory, from contents by name."""
    monkeypatch.chdir(tmp_path)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):  # the Flax of an active environment would count
        monkeypatch.delenv(name, raising=False)

    def make(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return make
