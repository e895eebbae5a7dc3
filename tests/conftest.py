"""Fixtures that several test modules use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import fake

Tree = Callable[..., Path]


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
