"""What an optimizer does not see of a model keeps its place, as newer releases compare the places."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.checkpoint.support import fix_ckpt, run_code

#: A model, and a transformation whose parts see some parameters each, for both releases.
_PROGRAM = """
import json, pathlib, sys
import jax, jax.numpy as jnp, numpy as np, optax, orbax.checkpoint as ocp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.bias = nnx.Param(jnp.ones(3))
        self.first = nnx.Linear(2, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.last = nnx.Linear(3, 2, use_bias=False, rngs=rngs)


def named(ending):
    return lambda tree: jax.tree_util.tree_map_with_path(lambda path, _: ending in str(path), tree)


def labels(tree):
    return jax.tree_util.tree_map_with_path(lambda path, _: "k" if "kernel" in str(path) else "b", tree)


TX = {
    "masked": optax.masked(optax.adam(1e-2), named("kernel")),
    "several": optax.multi_transform({"k": optax.adam(1e-2), "b": optax.trace(0.9)}, labels),
    "chained": optax.chain(optax.masked(optax.trace(0.5), named("bias")), optax.adam(1e-2)),
}


def state_of(optimizer):
    leaves = jax.tree_util.tree_leaves_with_path(nnx.to_pure_dict(nnx.state(optimizer, nnx.Not(nnx.RngState))))
    return {jax.tree_util.keystr(path): np.asarray(leaf).tolist() for path, leaf in leaves}


"""

_SAVE = (
    _PROGRAM
    + """
folder = pathlib.Path(sys.argv[1])
said = {}
for name, tx in TX.items():
    optimizer = nnx.Optimizer(Net(nnx.Rngs(0)), tx)
    for _ in range(2):
        optimizer.update(jax.tree.map(lambda leaf: leaf + 0.5, nnx.state(optimizer.model, nnx.Param)))
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder / name, nnx.state(optimizer))
        checkpointer.save(folder / f"{name} alone", nnx.state(optimizer, nnx.optimizer.OptState))
    said[name] = state_of(optimizer)
print(json.dumps(said))
"""
)

_LOAD = (
    _PROGRAM
    + """
load, name = json.loads(sys.argv[1]), sys.argv[2]
program = {"MyModel": Net, "Net": Net, "tx": TX[name]}
exec(load, program)
print(json.dumps(state_of(program["optimizer"])))
"""
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, dict[str, object]]]:
    """Return a folder with what Flax 0.10 saved, and its values."""
    folder = tmp_path_factory.mktemp("masked")
    (folder / "masked_program.py").write_text(_PROGRAM)
    return folder, json.loads(run_code("0.10", _SAVE, folder).splitlines()[-1])


@pytest.mark.parametrize("name", ["masked", "several", "chained"])
@pytest.mark.parametrize("way", ["bare", "model", "alone"])
def test_places_of_what_is_masked_stay(
    saved: tuple[pathlib.Path, dict[str, dict[str, object]]], tmp_path: pathlib.Path, name: str, way: str
) -> None:
    folder, values = saved
    source = folder / (f"{name} alone" if way == "alone" else name)
    options = ["--model", f"{folder}/masked_program.py:Net"] if way == "model" else []
    done = fix_ckpt("0.12", source, tmp_path / "new", "--json", *options)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert not any("without content" in note or "optax.masked" in note for note in said["notes"]), said["notes"]
    load = "\n".join(line for line in said["load"].splitlines() if not line.startswith("from masked_program"))
    found = json.loads(run_code("0.12", _LOAD, json.dumps(load), name).splitlines()[-1])
    memory = {path: value for path, value in values[name].items() if way != "alone" or not path.startswith("['model']")}
    assert any("['opt_state']" in path for path in memory)
    assert {path: found.get(path) for path in memory} == memory
