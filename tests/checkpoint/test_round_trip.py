"""Train under 0.10, migrate the program and its checkpoint, and resume: the loss is the same."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import pytest

from tests.checkpoint.support import FIXTURES, NEW, environment, fix_ckpt, run


def losses(version: str, folder: pathlib.Path, *arguments: str) -> dict[str, float]:
    """Run the program under a Flax version; return the losses that it prints."""
    done = run(version, folder / "train.py", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, float]]:
    """Return a folder with the old program and its checkpoint, and the losses it printed."""
    folder = tmp_path_factory.mktemp("trained")
    shutil.copy(FIXTURES / "train.py", folder)
    return folder, losses("0.10", folder, "save", "checkpoint")


@pytest.mark.parametrize("version", NEW)
def test_round_trip(trained: tuple[pathlib.Path, dict[str, float]], tmp_path: pathlib.Path, version: str) -> None:
    old, before = trained
    shutil.copytree(old, tmp_path / "program")
    folder = tmp_path / "program"
    migrate = [sys.executable, "-m", "nnxmigrate", "train.py", "--to", version]
    subprocess.run(migrate, cwd=folder, env=environment(), capture_output=True, check=False)
    text = (folder / "train.py").read_text()
    assert "optimizer.update(model, grads)" in text
    assert "wrt=nnx.Param" in text
    unfixed = run(version, folder / "train.py", "resume", "checkpoint", cwd=folder)
    assert unfixed.returncode != 0, "the old checkpoint loads without conversion: this test shows nothing"
    done = fix_ckpt(version, "checkpoint", "--model", "train:make_model", cwd=folder)
    assert done.returncode == 0, done.stderr
    after = losses(version, folder, "resume", "checkpoint_nnx011")
    assert after["loss"] == pytest.approx(before["loss"], abs=1e-5)
    assert after["later"] < after["loss"]  # it trains on
