"""Keys of another implementation than the model's, keys that are numbers, and RNG state that is stored alone."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest

from tests.checkpoint.support import NEW, environment, fix_ckpt, run

_MODULE = """
import jax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)


class Noisy(Net):
    def __init__(self, rngs):
        super().__init__(rngs)
        self.own = rngs


def numbers(tree):
    def plain(x):
        return jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x

    return jax.tree.map(plain, tree)


def tree(name, rngs):
    if name == "numbers":
        return numbers(nnx.to_pure_dict(nnx.state(Net(rngs))))
    if name == "alone":
        return nnx.state(Net(rngs), nnx.RngState)
    if name == "own alone":
        model = Noisy(rngs)
        for _ in range(3):
            rngs.dropout()
        return nnx.state(model, nnx.RngState)
    return nnx.state(Net(rngs))
"""

_SAVE = """
import pathlib, sys
import orbax.checkpoint as ocp
from flax import nnx

sys.path.insert(0, sys.argv[1])
import kinds_program

saver = ocp.StandardCheckpointer()
for name in sys.argv[2:]:
    tree = kinds_program.tree(name.partition(" of ")[0], nnx.Rngs(params=0, dropout=1))
    saver.save(pathlib.Path(sys.argv[1]) / name, tree)
    saver.wait_until_finished()
"""

_RESTORE = """
import json, sys
import orbax.checkpoint as ocp
from flax import nnx

sys.path.insert(0, sys.argv[1])
import kinds_program

try:
    state = nnx.state(kinds_program.Net(nnx.Rngs(params=0, dropout=1)))
    state = ocp.StandardCheckpointer().restore(sys.argv[2], state)
    print("restored", state["drop"]["rngs"]["key"].value.dtype)
except ValueError as error:
    print("ValueError:", error)
"""

_RESTORE_NUMBERS = """
import sys
import orbax.checkpoint as ocp
from flax import nnx

sys.path.insert(0, sys.argv[1])
import kinds_program

pure = kinds_program.numbers(nnx.to_pure_dict(nnx.state(kinds_program.Net(nnx.Rngs(params=7, dropout=8)))))
print(ocp.StandardCheckpointer().restore(sys.argv[2], pure)["drop"]["rngs"]["key"].dtype)
"""

_FRY, _RBG = "threefry2x32", "rbg"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return the folder of what Flax 0.10 saved, and of the program."""
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "kinds_program.py").write_text(_MODULE)
    for kind, names in (
        (_RBG, ("typed of rbg", "numbers of rbg")),
        (_FRY, ("typed of fry", "numbers of fry", "alone", "own alone")),
    ):
        done = run("0.10", "-c", _SAVE, folder, *names, env=environment(JAX_DEFAULT_PRNG_IMPL=kind))
        assert done.returncode == 0, done.stderr
    return folder


def _said(
    version: str, saved: pathlib.Path, source: str, made: pathlib.Path, kind: str, name: str = "Net"
) -> list[str]:
    """Convert under a default implementation of keys; return the notes."""
    shutil.rmtree(made, ignore_errors=True)
    model = ("--model", f"{saved / 'kinds_program.py'}:{name}", "--rngs", "params=0,dropout=1", "--json")
    done = fix_ckpt(version, saved / source, made, *model, env=environment(JAX_DEFAULT_PRNG_IMPL=kind))
    assert done.returncode == 0, done.stderr
    notes: list[str] = json.loads(done.stdout)["notes"]
    return notes


@pytest.mark.parametrize(("version", "stored", "other"), [("0.11", _FRY, _RBG), ("0.12", _RBG, _FRY)])
def test_keys_of_another_implementation_are_told(
    saved: pathlib.Path, tmp_path: pathlib.Path, version: str, stored: str, other: str
) -> None:
    source = "typed of rbg" if stored == _RBG else "typed of fry"
    made = tmp_path / "new"
    notes = _said(version, saved, source, made, other)
    (note,) = (one for one in notes if "of the implementation" in one)
    assert f"the implementation {stored}, the new ones of {other}, " in note
    program = environment(JAX_DEFAULT_PRNG_IMPL=stored)
    failed = run(version, "-c", _RESTORE, saved, made, env=program).stdout
    assert "is not compatible with the stored shape" in failed
    explained = run(version, "-m", "nnxmigrate", "explain", failed)
    assert "JAX_DEFAULT_PRNG_IMPL" in explained.stdout, explained.stderr
    assert f"JAX_DEFAULT_PRNG_IMPL={stored} " in note
    assert not any("of the implementation" in one for one in _said(version, saved, source, made, stored))
    assert "restored key<" in run(version, "-c", _RESTORE, saved, made, env=program).stdout


@pytest.mark.parametrize("version", NEW)
def test_keys_that_were_numbers_are_said_to_be_typed_now(
    saved: pathlib.Path, tmp_path: pathlib.Path, version: str
) -> None:
    made = tmp_path / "new"
    notes = _said(version, saved, "numbers of rbg", made, _FRY)
    assert any("of the implementation rbg" in note for note in notes), notes
    notes = _said(version, saved, "numbers of fry", made, _FRY)
    assert not any("of the implementation" in note for note in notes), notes
    assert any("stored as numbers, and the new ones are typed keys" in note for note in notes), notes
    assert run(version, "-c", _RESTORE_NUMBERS, saved, made).stdout == "key<fry>\n"
    assert not any("as numbers" in note for note in _said(version, saved, "typed of fry", made, _FRY))


@pytest.mark.parametrize("version", NEW)
def test_rng_state_alone(saved: pathlib.Path, tmp_path: pathlib.Path, version: str) -> None:
    program = f"{saved / 'kinds_program.py'}"
    done = fix_ckpt(version, saved / "alone", tmp_path / "new", "--model", f"{program}:Net")
    assert (done.returncode, "RNG state alone is stored" in done.stderr) == (1, True), done.stderr
    assert "a model has RNG state when it is made" in done.stderr
    assert "--allow-missing" not in done.stderr
    assert not (tmp_path / "new").exists()
    notes = _said(version, saved, "own alone", tmp_path / "new", _FRY, "Noisy")
    assert any("nnx.RngState alone is stored" in note for note in notes), notes
    model = ("--model", f"{program}:Noisy", "--rngs", "params=0,dropout=1")
    done = fix_ckpt(version, tmp_path / "new", "--check", "--json", *model)
    assert json.loads(done.stdout)["status"] == "needless", done.stderr
    code = f"import sys\nsys.path.insert(0, {str(saved)!r})\n{json.loads(done.stdout)['load']}\n"
    counts = run(version, "-c", f"{code}print(model.own.dropout.count.value, model.drop.rngs.count.value)")
    assert counts.stdout == "3 0\n", counts.stderr
