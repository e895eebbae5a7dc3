"""The hooks, run by the real pre-commit program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Tree

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
OLD = """\
import optax
from flax import nnx

model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
"""
CONFIG = """\
repos:
- repo: {repository}
  rev: {revision}
  hooks:
  - id: {hook}
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path) -> str:
    """Commit everything in a folder and return the revision."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "All")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a repository of this project as it is now, and its revision."""
    folder = tmp_path_factory.mktemp("hooks")
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("nnxmigrate", "codemods"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, folder)
    return folder, commit(folder)


def test_both_hooks(tree: Tree, repository: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": OLD, "b.py": "x = 1\n"})
    monkeypatch.setenv("PRE_COMMIT_HOME", str(repository[0].parent / "cache"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def hook(name: str) -> subprocess.CompletedProcess[str]:
        config = CONFIG.format(repository=repository[0].as_uri(), revision=repository[1], hook=name)
        (root / ".pre-commit-config.yaml").write_text(config)
        command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose", "--color", "never"]
        return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)

    commit(root)
    lint = hook("nnxmigrate-lint")
    assert "a.py:5:13: NNX101" in lint.stdout, lint.stdout + lint.stderr
    assert "b.py:" not in lint.stdout
    assert (lint.returncode, (root / "a.py").read_text()) == (1, OLD)
    fix = hook("nnxmigrate")
    assert "files were modified by this hook" in fix.stdout
    assert (root / "a.py").read_text() == OLD.replace("sgd(0.1))", "sgd(0.1), wrt=nnx.Param)")
    git(root, "add", "a.py")
    assert (hook("nnxmigrate").returncode, hook("nnxmigrate-lint").returncode) == (0, 0)
