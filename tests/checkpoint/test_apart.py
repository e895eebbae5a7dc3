"""A model and its optimizer as two items: split already, or saved so, they fit the factories that return both."""

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
        self.linear = nnx.LoRALinear(2, 3, lora_rank=1, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)


TX = optax.adam(1e-2)


def holder(rngs):
    return nnx.ModelAndOptimizer(Net(rngs), TX, wrt=nnx.LoRAParam)


def pair(rngs):
    model = Net(rngs)
    return model, nnx.Optimizer(model, TX, wrt=nnx.LoRAParam)
"""

_SAVE = """
import pathlib, sys
import jax, orbax.checkpoint as ocp
from flax import nnx

folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder))
import apart_program

model = apart_program.Net(nnx.Rngs(7))
optimizer = nnx.Optimizer(model, apart_program.TX, wrt=nnx.LoRAParam)
optimizer.update(jax.tree.map(lambda one: one + 1, nnx.state(model, nnx.LoRAParam)))
checkpointer = ocp.StandardCheckpointer()
checkpointer.save(folder / "whole", nnx.state(optimizer))
checkpointer.wait_until_finished()
with ocp.CheckpointManager(folder / "run") as manager:
    manager.save(1, args=ocp.args.StandardSave(nnx.state(optimizer)))
memory = nnx.state(optimizer, nnx.optimizer.OptState)
items = {"model": ocp.args.StandardSave(nnx.state(model)), "optimizer": ocp.args.StandardSave(memory)}
ocp.Checkpointer(ocp.CompositeCheckpointHandler()).save(folder / "apart", args=ocp.args.Composite(**items))
"""

_AGAIN = """
import json, pathlib, sys
import jax, numpy as np
from click.testing import CliRunner
from flax import nnx
from nnxmigrate.cli.fix_ckpt import fix_ckpt
from tests.checkpoint.driver import arrays

folder, place = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(folder))
import apart_program


def invoke(*arguments):
    run = CliRunner().invoke(fix_ckpt, [*map(str, arguments), "--json"])
    return run.exit_code, run.output[-2000:], json.loads(run.stdout) if run.stdout.startswith("{") else {}


def leaves(head, one):
    state = nnx.to_pure_dict(nnx.state(one, nnx.Not(nnx.RngState)))
    return {
        ".".join([*head, *(str(getattr(key, "key", getattr(key, "idx", key))) for key in path)]): np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
    }


stored = {key.removesuffix(".value"): array for key, array in arrays(folder / "whole").items() if ".rngs." not in key}
found = {}
for source in ("whole", "run", "apart"):
    for factory in ("pair", "holder"):
        new = place / f"{source} {factory}"
        model = ["--model", f"apart_program:{factory}"]
        split = ["--optimizer", "split"]
        code, output, _ = invoke(folder / source, new, *model, *split)
        result = found[f"{source} {factory}"] = {"first": code, "output": output, "again": [], "wrong": []}
        if code:
            continue
        for options in (model, [*model, *split], split, []):
            code, output, said = invoke(new, *options)
            result["again"].append([code, said.get("status"), output if code else ""])
            if options != model:
                continue
            program = {}
            exec(said["load"], program)
            saved = program["saved"]
            held = leaves(["model"], saved["model"]) | leaves([], saved["optimizer"])
            result["wrong"] = [
                key for key in {*held, *stored}
                if key not in held or key not in stored or held[key].tobytes() != stored[key].tobytes()
            ]
            saved["optimizer"].update(saved["model"], nnx.state(saved["model"], nnx.LoRAParam))
            saved["model"].drop(np.ones((2, 3), np.float32))
            result["leaves"] = len(held)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("apart")
    (folder / "apart_program.py").write_text(_MODULE)
    run_code("0.10", _SAVE, folder)
    return folder


@pytest.mark.parametrize("version", NEW)
def test_what_is_split_already_is_said_to_be(old: pathlib.Path, tmp_path: pathlib.Path, version: str) -> None:
    found = json.loads(run_code(version, _AGAIN, old, tmp_path).splitlines()[-1])
    assert len(found) == 6
    for name, result in found.items():
        assert result["first"] == 0, (name, result["output"])
        assert [again[:2] for again in result["again"]] == [[0, "needless"]] * 4, (name, result["again"])
        assert (result["wrong"], result["leaves"]) == ([], 10), (name, result)
