"""The command as people run it."""

from __future__ import annotations

import json
import pathlib
import shutil
import sys

import pytest
from click.testing import CliRunner

from nnxmigrate.checkpoint.factory import parse_seeds, rngs_source
from nnxmigrate.cli.fix_ckpt import fix_ckpt as command
from tests.checkpoint.support import FIXTURES, HERE, fix_ckpt, model, run_code

STANDARD = FIXTURES / "forms" / "standard"
MLP = model("Mlp")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from nnxmigrate.cli.fix_ckpt import fix_ckpt\n"
        "assert CliRunner().invoke(fix_ckpt, ['--help']).exit_code == 0\n"
        "print({'jax', 'flax', 'orbax', 'tensorstore', 'numpy', 'rich'} & set(sys.modules))"
    )
    assert run_code("0.12", code).strip() == "set()"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    result = CliRunner().invoke(command, [str(STANDARD)])
    said = " ".join(result.output.split())
    assert (result.exit_code, "Python 3.11 or later" in said, "pip install '.[ckpt]'" in said) == (2, True, True)
    assert f"this is {sys.executable}" in said


def test_under_flax_0_10_it_asks_for_a_newer_one() -> None:
    done = fix_ckpt("0.10", STANDARD, *MLP)
    assert (done.returncode, "Flax 0.10.7 is installed here" in done.stderr) == (2, True)


def test_what_is_printed(tmp_path: pathlib.Path) -> None:
    shutil.copytree(STANDARD, tmp_path / "run")
    planned = fix_ckpt("0.12", "run", *MLP, "--dry-run", cwd=tmp_path)
    assert (planned.returncode, planned.stderr) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert f"would write {tmp_path / 'run_nnx011'}" in planned.stdout
    done = fix_ckpt("0.12", "run", *MLP, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        f"{tmp_path / 'run'}: one tree",
        "14 leaves, 208 B; written by StandardCheckpointHandler, OCDBT, Zarr 2",
        "saved as nnx.State; RNG state of NNX 0.10: 3 streams in 1 nnx.Rngs",
        "RNG stream dropout.rngs.carry: key<threefry2x32>[]",
        "plan: keep 8 (172 B), drop 6, add 4",
        "  add    dropout2.rngs.key.value           key<threefry2x32>[]",
        "  keep   linear.kernel.value               float32[2, 4]",
        f"wrote {tmp_path / 'run_nnx011'}: ",
        "    model = Mlp(rngs=nnx.Rngs(params=0, dropout=1, carry=2))",
    ):
        assert words in done.stdout
    again = fix_ckpt("0.12", "run_nnx011", *MLP, cwd=tmp_path)
    assert (again.returncode, "nothing to do" in again.stdout) == (0, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "run_nnx011"]


def test_a_model_that_cannot_be_traced_is_told() -> None:
    done = fix_ckpt("0.12", FIXTURES / "forms" / "pure", *model("Untraceable"), "--dry-run")
    assert "note: the model cannot be traced (ConcretizationTypeError" in done.stdout
    assert done.returncode == 1
    assert done.stderr.startswith("error: the checkpoint does not fit the model")


def configured(folder: pathlib.Path, table: str) -> pathlib.Path:
    (folder / "pyproject.toml").write_text(f"[tool.nnxmigrate.fix-ckpt]\n{table}\n")
    shutil.copy(HERE / "changed.py", folder)
    return folder


def test_options_from_pyproject(tmp_path: pathlib.Path) -> None:
    table = 'model = "changed:Longer"\nrngs = "params=0,dropout=1"\nallow-missing = ["extra"]\nverify = false'
    done = fix_ckpt("0.12", STANDARD, tmp_path / "out", "--json", cwd=configured(tmp_path, table))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["bytes"]["compared"] == 0
    assert {"path": "extra.kernel.value", "type": "float32[3, 2]"} in said["items"][0]["added"]
    assert "Longer(nnx.Rngs(params=0, dropout=1))" in said["load"].replace("rngs=", "")


def test_the_command_line_wins_over_pyproject(tmp_path: pathlib.Path) -> None:
    table = 'model = "changed:Renamed"\nrename = {linear = "fc"}'
    assert fix_ckpt("0.12", STANDARD, tmp_path / "out", cwd=configured(tmp_path, table)).returncode == 0
    done = fix_ckpt("0.12", STANDARD, tmp_path / "other", "--rename", "linear=lin", cwd=tmp_path)
    assert (done.returncode, "fc.kernel.value" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('modle = "a:b"', "has no key 'modle'; did you mean 'model'?"),
        ('allow_missing = ["x"]', "did you mean 'allow-missing'?"),
        ("model = 3", "tool.nnxmigrate.fix-ckpt.model cannot be 3"),
        ('optimizer = "divide"', "optimizer cannot be 'divide'"),
        ("drop = [3]", "drop cannot be [3]"),
    ],
)
def test_wrong_configuration(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, table: str, message: str) -> None:
    monkeypatch.chdir(configured(tmp_path, table))
    monkeypatch.setitem(sys.modules, "tensorstore", None)  # is not reached
    result = CliRunner().invoke(command, [str(STANDARD)])
    assert (result.exit_code, message in result.output) == (2, True)


@pytest.mark.parametrize(
    ("text", "seeds", "source"),
    [
        ("0", {"": 0}, "nnx.Rngs(0)"),
        ("params=0, dropout=1", {"params": 0, "dropout": 1}, "nnx.Rngs(params=0, dropout=1)"),
        ("noise=2,7", {"noise": 2, "": 7}, "nnx.Rngs(7, noise=2)"),
    ],
)
def test_seeds(text: str, seeds: dict[str, int], source: str) -> None:
    assert parse_seeds(text) == seeds
    assert rngs_source(seeds) == source
