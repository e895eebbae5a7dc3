"""The guide's recipe with its faults removed: what it gets right, what it refuses, what it costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.checkpoint.support import FIXTURES, NEW, run_code

_PROGRAM = """
import json, sys
import jax, numpy as np, orbax.checkpoint as ocp
import models
from flax import nnx
from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.recipe import fix_checkpoint

def data(leaf):
    typed = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.array(jax.random.key_data(leaf) if typed else leaf)  # a copy: what is looked at cannot be donated

def flat(tree):
    name = lambda key: str(getattr(key, "idx", getattr(key, "key", getattr(key, "name", key))))
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {".".join(map(name, path)).removesuffix(".value"): leaf for path, leaf in leaves}

same = lambda one, two: one.shape == two.shape and one.dtype == two.dtype and one.tobytes() == two.tobytes()

def result(source, make):
    restored = ocp.StandardCheckpointer().restore(source)
    old = {name: data(leaf) for name, leaf in flat(restored).items()}
    arrays = [leaf for leaf in jax.tree.leaves(restored) if isinstance(leaf, jax.Array) and leaf.size > 3]
    rngs = models.new_rngs()
    counts = [int(leaf) for leaf in jax.tree.leaves(nnx.state(rngs, nnx.RngCount))]
    state = fix_checkpoint(restored, make, rngs)
    model = make(models.new_rngs())
    fresh = {name: data(leaf) for name, leaf in flat(nnx.state(model, nnx.RngState)).items()}
    new = flat(state)
    nnx.update(model, state)
    return {
        "kept": [name for name, leaf in new.items() if name not in fresh and not same(old[name], data(leaf))],
        "rng": [name for name, leaf in fresh.items() if not same(leaf, data(new[name]))],
        "names": sorted(set(new) ^ set(flat(nnx.state(model)))),
        "count": len(new),
        "donated": sum(leaf.is_deleted() for leaf in arrays),
        "untouched rngs": counts == [int(leaf) for leaf in jax.tree.leaves(nnx.state(rngs, nnx.RngCount))],
    }

folder, cases = sys.argv[1], json.loads(sys.argv[2])
print(json.dumps({f"{one} {name}": result(f"{folder}/{one}", getattr(models, name)) for one, name in cases}))
"""


CASES = [
    *((f"forms/{form}", "Mlp") for form in ("standard", "pure", "zarr3")),
    ("forms/optimizer", "optimizer"),
    *((f"trees/{name}", name) for name in ("Lists", "Names", "Recurrent", "Scanned", "Large")),
    ("era/0.10.1", "Mlp"),
]


@pytest.fixture(scope="module", params=NEW)
def results(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """Return what the recipe does with every case."""
    found: dict[str, dict[str, Any]] = json.loads(run_code(request.param, _PROGRAM, FIXTURES, json.dumps(CASES)))
    return found


@pytest.mark.parametrize("name", [" ".join(one) for one in CASES])
def test_right(results: dict[str, dict[str, Any]], name: str) -> None:
    result = dict(results[name])
    assert result.pop("count") > 5 or "Large" in name
    assert result.pop("donated") > 0
    assert result == {"kept": [], "rng": [], "names": [], "untouched rngs": True}


@pytest.mark.parametrize("version", NEW)
def test_numbers_keep_their_width(version: str) -> None:
    code = (
        "import jax, jax.numpy as jnp, numpy as np\n"
        "from flax import nnx\n"
        "from nnxmigrate.checkpoint.recipe import fix_checkpoint\n"
        "class Model(nnx.Module):\n"
        "    def __init__(self, rngs):\n"
        "        self.wide = nnx.Variable(np.zeros(3))\n"
        "        self.table = jnp.zeros(2)\n"
        "        self.drop = nnx.Dropout(0.5, rngs=rngs)\n"
        "old = {'wide': {'value': np.arange(3) / 3}, 'table': jnp.ones(2)}\n"
        "state = fix_checkpoint(old, lambda rngs: Model(rngs), nnx.Rngs(0))\n"
        "model = Model(nnx.Rngs(1)); nnx.update(model, state)\n"
        "leaf = jax.tree.leaves(state['wide'])[0]\n"
        "print(leaf.dtype, (leaf == np.arange(3) / 3).all(), model.table.sum())"
    )
    assert run_code(version, code).split() == ["float64", "True", "2.0"]


@pytest.mark.parametrize("version", NEW)
def test_refused(version: str) -> None:
    code = (
        "import jax.numpy as jnp, models\n"
        "from nnxmigrate.checkpoint.errors import MisfitError\n"
        "from nnxmigrate.checkpoint.recipe import fix_checkpoint\n"
        "old = {'linear': {'kernel': jnp.ones((3, 4))}, 'x': jnp.ones(1)}\n"
        "try: fix_checkpoint(old, models.Mlp, models.new_rngs())\n"
        "except MisfitError as error: print(error)"
    )
    said = run_code(version, code)
    for words in ("linear.bias", "x: float32[1]", "linear.kernel: stored float32[3, 4], model float32[2, 4]"):
        assert words in said
