"""The whole route in one command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from nnxmigrate.found_checkpoints import checkpoints
from tests.cli.test_git import git
from tests.cli.test_migrate import call
from tests.conftest import Tree

CODE = """\
import optax
from flax import nnx

model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
"""
#: Runs without an error since 0.11, and does nothing.
WRONG = "optimizer.update(nnx.grad(lambda m: m(1.0).sum())(model), model)\n"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"


@pytest.fixture
def project(tree: Tree) -> Path:
    """Return a committed project of Flax 0.10."""
    root = tree({"train.py": CODE, "requirements.txt": "flax==0.10.7\njax==0.7.2\n", "pyproject.toml": ""})
    git("init", "-q")
    git("config", "user.name", "x")
    git("config", "user.email", "x@example.org")
    git("add", ".")
    git("commit", "-qm", "start")
    return root


def log() -> list[str]:
    """Return the subjects of all commits, the newest first."""
    done = subprocess.run(["git", "log", "--format=%s"], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def contents(project: Path) -> dict[Path, bytes]:
    """Return the user's files."""
    mine = (path for path in project.rglob("*") if not {".git", ".nnxmigrate_cache"} & set(path.parts))
    return {path: path.read_bytes() for path in mine if path.is_file()}


def test_the_plan_writes_nothing(project: Path) -> None:
    before = contents(project)
    result = call("upgrade", "--dry-run", "--verify", "python train.py", ".")
    assert result.exit_code == 0, result.output
    for part in (
        "Flax 0.10 → 0.11 and 0.12 (flax==0.10.7 in requirements.txt)",
        "1 file would change",
        "requirements.txt: flax ==0.10.7 -> ==0.12.8",
        "would run: nnxmigrate verify --project . --to 0.12 -- python train.py",
        "nothing was written",
    ):
        assert part in result.output, part
    assert contents(project) == before


def test_the_whole_route(project: Path) -> None:
    result = call("upgrade", "--yes", ".")
    assert result.exit_code == 0, result.output
    assert "wrt=nnx.Param" in (project / "train.py").read_text()
    assert (project / "requirements.txt").read_text() == "flax==0.12.8\njax==0.10.2\n"
    assert "prove it: nnxmigrate verify" in result.output
    assert "Nothing is left to do." in result.output
    assert "Flax 0.12 (flax==0.12.8 in requirements.txt)\nNothing" in result.output, "what the raised pins say"
    assert "Next:" not in result.output, "the route takes the next steps itself"


def test_a_folder_without_code_of_nnx(project: Path) -> None:
    (project / "train.py").write_text("print(1)\n")
    result = call("upgrade", "--yes", ".")
    assert result.exit_code == 2
    assert ". holds no NNX code" in result.output
    assert (project / "requirements.txt").read_text().startswith("flax==0.10.7")


def test_a_project_without_pins_is_told_what_to_install(project: Path) -> None:
    (project / "requirements.txt").unlink()
    result = call("upgrade", "--yes", ".")
    assert "install what the new code needs: pip install flax==0.12.8 jax==0.10.2" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--verify", "make train"], "--verify: make is no Python program"),
        (["--verify", "python 'train.py"], "--verify: No closing quotation"),
        (["--with", "einops"], "--with and --extra are for --verify"),
    ],
)
def test_refusals_come_before_anything_is_written(project: Path, arguments: list[str], message: str) -> None:
    before = contents(project)
    result = call("upgrade", "--yes", *arguments, ".")
    assert result.exit_code == 2
    assert message in result.output
    assert contents(project) == before


def test_what_is_installed_to_prove_it_is_handed_on(project: Path) -> None:
    options = ["--with", "einops", "--extra", "dev", "--verify", "python train.py"]
    result = call("upgrade", "--dry-run", *options, ".")
    assert "verify --project . --to 0.12 --with einops --extra dev -- python train.py" in result.output


def test_it_stops_at_what_needs_a_person_and_goes_on(project: Path) -> None:
    (project / "train.py").write_text(CODE + WRONG)
    git("commit", "-qam", "more")
    stopped = call("upgrade", "--yes", "--commit-per-step", ".")
    assert stopped.exit_code == 1, stopped.output
    assert "Stopped at step 2: mend the errors" in stopped.output
    assert "Then go on with: nnxmigrate upgrade . --yes --commit-per-step" in stopped.output
    assert "flax==0.10.7" in (project / "requirements.txt").read_text(), "the pins wait"
    text = (project / "train.py").read_text()
    (project / "train.py").write_text(text.replace("nnx.grad(lambda m: m(1.0).sum())(model), model", "model, grads"))
    refused = call("upgrade", "--yes", "--commit-per-step", ".")
    assert refused.exit_code == 2
    assert "commit your own changes first" in refused.output
    git("commit", "-qam", "by hand")
    done = call("upgrade", "--yes", "--commit-per-step", ".")
    assert done.exit_code == 0, done.output
    assert "raise the pins of Flax; `git revert HEAD` takes it back" in done.output
    assert "git checkout" not in stopped.output, "what is committed is not brought back by that"
    assert "flax==0.12.8" in (project / "requirements.txt").read_text()
    ours = [line for line in log() if line.startswith("nnxmigrate: ")]
    assert ours[0] == "nnxmigrate: raise the pins of Flax"
    assert ours[-1] == "nnxmigrate: rewrite the code for the newer Flax"


def test_nobody_is_there_to_ask(project: Path) -> None:
    result = call("upgrade", ".")
    assert result.exit_code == 2
    assert "say --yes, or --dry-run" in result.output
    assert (project / "train.py").read_text() == CODE


def test_checkpoints_are_found_and_judged(tmp_path: Path) -> None:
    found = sorted(path for path in FIXTURES.rglob("_METADATA"))
    assert found
    source = found[0].parent
    shutil.copytree(source, tmp_path / "runs" / "1")
    shutil.copytree(source, tmp_path / ".venv" / "1")
    (one,) = checkpoints(tmp_path)
    assert one.path == tmp_path / "runs" / "1"
    (tmp_path / "runs" / "1" / "_METADATA").write_text("{")
    (bad,) = checkpoints(tmp_path)
    assert "cannot be read" in bad.trouble


@pytest.mark.parametrize(
    ("leaves", "need"),
    [
        ([["drop", "rngs", "dropout", "count", "value"]], "layout of Flax 0.10"),
        ([["drop", "rngs", "count", "value"]], ""),
        ([["model", "kernel"], ["opt_state", "0"]], "with its model"),
        ([["kernel", "value"]], ""),
    ],
)
def test_which_checkpoints_must_change(tmp_path: Path, leaves: list[list[str]], need: str) -> None:
    import json

    table = {str(leaf): {"key_metadata": [{"key": key, "key_type": 2} for key in leaf]} for leaf in leaves}
    (tmp_path / "c" / "default").mkdir(parents=True)
    (tmp_path / "c" / "_CHECKPOINT_METADATA").write_text("{}")
    (tmp_path / "c" / "default" / "_METADATA").write_text(json.dumps({"tree_metadata": table}))
    (one,) = checkpoints(tmp_path)
    assert one.path == tmp_path / "c"
    assert need in one.need
    assert bool(need) is bool(one.need)


def test_it_goes_on_where_the_code_itself_is_all_that_was_left(project: Path) -> None:
    (project / "train.py").write_text(CODE + WRONG)
    git("commit", "-qam", "more")
    assert call("upgrade", "--yes", ".").exit_code == 1
    assert (project / ".nnxmigrate-left.toml").exists()
    text = (project / "train.py").read_text()
    (project / "train.py").write_text(text.replace("nnx.grad(lambda m: m(1.0).sum())(model), model", "model, grads"))
    done = call("upgrade", "--yes", ".")
    assert done.exit_code == 0, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)


def test_the_code_is_migrated_to_what_is_pinned(project: Path) -> None:
    (project / "train.py").write_text(CODE + "print(model.kernel.value)\n")
    git("commit", "-qam", "more")
    done = call("upgrade", "--yes", ".")
    assert done.exit_code == 0, done.output
    assert "model.kernel[...]" in (project / "train.py").read_text()
    assert "Nothing is left to do." in done.output
    assert "more is fixed" not in done.output
