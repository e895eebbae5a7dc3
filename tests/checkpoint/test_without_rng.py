"""Programs that leave RNG state out when they save need no conversion, and what they restore with fits as before."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.checkpoint.support import NEW, run_code

_MODULE = """
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)


def net(rngs):
    return Net(rngs)


def both(rngs):
    return {"model": Net(rngs), "average": Net(rngs), "epoch": 0}


def holder(rngs):
    model, tx = Net(rngs), optax.adam(1e-2)
    return nnx.ModelAndOptimizer(model, tx) if hasattr(nnx, "ModelAndOptimizer") else nnx.Optimizer(model, tx)


def beside(rngs):
    return {"model": Net(rngs), "step": 3}


def plain(rngs):
    return nnx.Linear(2, 3, rngs=rngs)


FILTER = nnx.Not(nnx.RngState)
SAVED = {"state": net, "pure": net, "manager": net, "both": both, "holder": holder, "beside": beside, "plain": plain}


def saved(name, made):
    if isinstance(made, dict):
        return {key: nnx.state(one, FILTER) if isinstance(one, nnx.Module) else one for key, one in made.items()}
    state = nnx.state(made, FILTER)
    return nnx.to_pure_dict(state) if name == "pure" else state
"""

_SAVE = """
import pathlib, sys
import jax, orbax.checkpoint as ocp
from flax import nnx

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
import without_program

for name, make in without_program.SAVED.items():
    tree = without_program.saved(name, make(nnx.Rngs(7)))
    if name == "manager":
        with ocp.CheckpointManager(folder / name) as manager:
            manager.save(4, args=ocp.args.StandardSave(tree))
    else:
        checkpointer = ocp.StandardCheckpointer()
        checkpointer.save(folder / name, tree)
        checkpointer.wait_until_finished()
"""

_LOAD = """
import json, pathlib, sys
import jax, numpy as np
from click.testing import CliRunner
from flax import nnx
from nnxmigrate.cli.fix_ckpt import fix_ckpt
from tests.checkpoint.driver import arrays

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
import without_program


def leaves(tree):
    states = jax.tree.map(
        lambda one: nnx.state(one, without_program.FILTER) if isinstance(one, (nnx.Module, nnx.Optimizer)) else one,
        tree, is_leaf=lambda one: isinstance(one, (nnx.Module, nnx.Optimizer)),
    )
    pure = jax.tree.map(
        lambda one: nnx.to_pure_dict(one) if isinstance(one, nnx.State) else one,
        states, is_leaf=lambda one: isinstance(one, nnx.State),
    )
    return {
        ".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path): np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(pure)
    }


found = {}
for name, make in without_program.SAVED.items():
    factory = "net" if name == "beside" else make.__name__
    command = [str(folder / name), "--json", "--model", f"without_program:{factory}"]
    runs = [CliRunner().invoke(fix_ckpt, [*command, *more]) for more in ([], ["--check"])]
    result = found[name] = {"exits": [run.exit_code for run in runs], "output": runs[0].output[-2000:]}
    if result["exits"] != [0, 0]:
        continue
    said = json.loads(runs[0].stdout)
    result |= {"status": said["status"], "reasons": said.get("reasons")}
    result["written"] = (folder / f"{name}_nnx011").exists()
    program = {}
    exec(said["load"], program)
    filled = next(program[one] for one in ("saved", "optimizer", "model") if one in program)
    held = leaves(filled)
    item = folder / name / "4" / "default" if name == "manager" else folder / name
    stored = {key.removesuffix(".value"): array for key, array in arrays(item).items()}
    if name == "beside":
        stored = {key.removeprefix("model."): one for key, one in stored.items() if key.startswith("model.")}
    held.pop("epoch", None), stored.pop("epoch", None)  # a number, no object
    result["wrong"] = [
        key for key in {*held, *stored}
        if key not in held or key not in stored or held[key].tobytes() != stored[key].tobytes()
    ]
    result["leaves"] = len(held)
allowed = CliRunner().invoke(
    fix_ckpt,
    [str(folder / "state"), sys.argv[2], "--json", "--model", "without_program:net", "--allow-missing", "drop.rngs"],
)
found["allowed"] = {"exit": allowed.exit_code, "output": allowed.output[-2000:]}
program = {}
exec(json.loads(allowed.stdout)["load"], program)
found["allowed"]["stored"] = sorted(key for key in arrays(pathlib.Path(sys.argv[2])) if "rngs" in key)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("without_rng")
    (folder / "without_program.py").write_text(_MODULE)
    run_code("0.10", _SAVE, folder)
    return folder


@pytest.mark.parametrize("version", NEW)
def test_what_was_saved_without_rng_state_needs_nothing(old: pathlib.Path, version: str) -> None:
    found = json.loads(run_code(version, _LOAD, old, old / f"with {version}").splitlines()[-1])
    allowed = found.pop("allowed")
    for name, result in found.items():
        assert result["exits"] == [0, 0], (name, result["output"])
        assert (result["status"], result["written"]) == ("needless", False), name
        assert (result["wrong"], result["leaves"] >= 2) == ([], True), (name, result)
        if name != "plain":  # that has no RNG state to leave out
            assert any("which the program left out" in reason for reason in result["reasons"]), result["reasons"]
    assert allowed["exit"] == 0, allowed["output"]
    assert allowed["stored"] == ["drop.rngs.count.value", "drop.rngs.key.value"]
