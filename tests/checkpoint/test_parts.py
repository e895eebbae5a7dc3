"""A checkpoint of a part of the model, without RNG state, needs nothing and loads by the printed code."""

from __future__ import annotations

import json

import pytest

from tests.checkpoint.support import NEW, run_code

_PROGRAM = """
import json, pathlib, sys, tempfile
import numpy as np, orbax.checkpoint as ocp
from click.testing import CliRunner
from flax import nnx
from nnxmigrate.cli.fix_ckpt import fix_ckpt

folder = pathlib.Path(tempfile.mkdtemp())
(folder / "parts_program.py").write_text('''
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.LoRALinear(2, 2, lora_rank=1, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)


class Other(nnx.Variable):
    pass


class Special(nnx.Param):
    pass


class Specialised(Net):
    def __init__(self, rngs):
        super().__init__(rngs)
        self.special = Special(self.norm.bias[...] + 1)
        self.norm.scale = Special(self.norm.scale[...])


class Own(Net):
    def __init__(self, rngs):
        super().__init__(rngs)
        self.other = Other(self.norm.bias[...] + 1)
'''
)
sys.path.insert(0, str(folder))
import parts_program


def saved(name, parts, model=parts_program.Net):
    trained = model(nnx.Rngs(7))
    trained.norm.mean[...] += 3
    checkpointer = ocp.StandardCheckpointer()
    states = {part: nnx.state(trained, filters) for part, filters in parts.items()}
    if list(states) == [""]:
        checkpointer.save(folder / name, states[""])
        checkpointer.wait_until_finished()
    else:
        items = {part: ocp.args.StandardSave(state) for part, state in states.items()}
        ocp.Checkpointer(ocp.CompositeCheckpointHandler()).save(folder / name, args=ocp.args.Composite(**items))
    command = [str(folder / name), "--model", f"parts_program:{model.__name__}", "--rngs", "1"]
    run = CliRunner().invoke(fix_ckpt, [*command, "--json"])
    result = {"exit": run.exit_code, "output": run.output[-2000:]}
    if run.exit_code == 0:
        said = json.loads(run.stdout)
        program = {}
        exec(said["load"], program)
        wanted = [nnx.to_pure_dict(nnx.state(trained, filters)) for filters in parts.values()]
        found = [nnx.to_pure_dict(nnx.state(program["model"], filters)) for filters in parts.values()]
        result |= {"status": said["status"], "reasons": said.get("reasons"), "same": _same(wanted, found)}
    return result


def _same(wanted, found):
    import jax

    assert jax.tree.structure(wanted) == jax.tree.structure(found) and jax.tree.leaves(wanted)
    return all(np.array_equal(one, two) for one, two in zip(jax.tree.leaves(wanted), jax.tree.leaves(found)))


both = (nnx.Param, nnx.BatchStat)
print(json.dumps({
    "parameters": saved("parameters", {"": nnx.Param}),
    "statistics": saved("statistics", {"": nnx.BatchStat}),
    "adapters": saved("adapters", {"": nnx.LoRAParam}),
    "beside": saved("beside", {"params": nnx.Param, "averages": nnx.Param}),
    "own": saved("own", {"": both}, parts_program.Own),
    "own alone": saved("own_alone", {"": parts_program.Other}, parts_program.Own),
    "derived": saved("derived", {"": parts_program.Special}, parts_program.Specialised),
    "without": saved("without", {"": nnx.All(nnx.Param, nnx.Not(nnx.LoRAParam))}),
    "half": saved("half", {"": lambda path, _: path[-1] == "scale"}),
    "derived alone": saved("alone", {"": lambda path, _: path[-1] == "special"}, parts_program.Specialised),
}))
"""


@pytest.mark.parametrize("version", NEW)
def test_a_part_of_the_model(version: str) -> None:
    found = json.loads(run_code(version, _PROGRAM).splitlines()[-1])
    for name in ("parameters", "statistics", "adapters", "beside", "own", "own alone", "derived", "without"):
        result = found[name]
        assert result["exit"] == 0, result["output"]
        assert result["status"] == "needless"
        assert result["same"], name
        assert any("alone, all of it" in reason for reason in result["reasons"]), result["reasons"]
    for name in ("half", "derived alone"):  # not all of a class, and a class that is also that of other leaves
        assert found[name]["exit"] == 1, name
        assert "missing" in found[name]["output"]
        assert "nothing was written" not in found[name]["output"]
