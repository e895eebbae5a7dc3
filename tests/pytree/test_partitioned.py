"""NNX305: optimizers of several parts; what is reported breaks under 0.11 alone, and what is not runs on."""

from __future__ import annotations

import json
import subprocess

import pytest

from codemods.nnx.pytree.partitioned import _KEEP
from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output, python
from tests.migration import codes, look, options

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def label(params):
    return jax.tree_util.tree_map_with_path(lambda path, leaf: "slow" if "bias" in str(path) else "fast", params)


def matrices(params):
    return jax.tree.map(lambda p: p.ndim > 1, params)


model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
"""
MADE = "optimizer = nnx.Optimizer(model, tx)\n"
FOOT = """\
grads = nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(model)
optimizer.update(grads)
print(*map(float, model.kernel.value.ravel()), *map(float, model.bias.value))
"""
ADAM = "{'slow': optax.sgd(0.1), 'fast': optax.adam(0.1)}"
BROKEN = {
    "plain": f"tx = optax.multi_transform({ADAM}, label)\n{MADE}",
    "at once": f"optimizer = nnx.Optimizer(model, optax.multi_transform({ADAM}, label))\n",
    "keywords": f"tx = optax.multi_transform(transforms={ADAM}, param_labels=label)\n"
    "optimizer = nnx.Optimizer(model=model, tx=tx)\n",
    "partition": f"tx = optax.partition({ADAM}, label)\n{MADE}",
    "imported": f"from flax.nnx import Optimizer\nfrom optax import multi_transform\n\n"
    f"optimizer = Optimizer(model, multi_transform({ADAM}, label))\n",
    "mapping in a variable": f"parts = {ADAM}\ntx = optax.multi_transform(parts, label)\n{MADE}",
    "part in a variable": "fast = optax.adamw(0.1)\n"
    f"tx = optax.multi_transform({{'slow': optax.sgd(0.1), 'fast': fast}}, label)\n{MADE}",
    "chained part": "tx = optax.multi_transform(\n    {'slow': optax.set_to_zero(), "
    f"'fast': optax.chain(optax.clip(1.0), optax.adam(0.1))}}, label\n)\n{MADE}",
    "momentum": "tx = optax.multi_transform({'slow': optax.sgd(0.1), 'fast': optax.sgd(0.1, momentum=0.9)}, label)\n"
    f"{MADE}",
    "in a chain": f"tx = optax.chain(optax.clip(1.0), optax.multi_transform({ADAM}, label))\n{MADE}",
    "from a function": f"def make():\n    return optax.multi_transform({ADAM}, label)\n\n\ntx = make()\n{MADE}",
    "masked": f"tx = optax.masked(optax.adam(0.1), matrices)\n{MADE}",
    "masked in a chain": f"tx = optax.chain(optax.masked(optax.adam(0.1), matrices), optax.scale(1.0))\n{MADE}",
    "steps": f"tx = optax.MultiSteps(optax.multi_transform({ADAM}, label), 1).gradient_transformation()\n{MADE}",
    "if finite": f"tx = optax.apply_if_finite(optax.multi_transform({ADAM}, label), 1)\n{MADE}",
    "muon": f"import optax.contrib\n\ntx = optax.contrib.muon(0.1)\n{MADE}",
}
LEFT = {
    "no arrays": "tx = optax.multi_transform({'slow': optax.sgd(0.1), 'fast': optax.sgd(0.2)}, label)\n" + MADE,
    "zero": "tx = optax.multi_transform({'slow': optax.set_to_zero(), 'fast': optax.sgd(0.2)}, label)\n" + MADE,
    "no momentum": "tx = optax.multi_transform({'slow': optax.sgd(0.1), 'fast': optax.fromage(0.2)}, label)\n" + MADE,
    "one part": "tx = optax.multi_transform({'fast': optax.adam(0.1)}, 'fast')\n" + MADE,
    "masked without arrays": "tx = optax.masked(optax.sgd(0.1), matrices)\n" + MADE,
    "decay mask": "tx = optax.adamw(0.1, mask=matrices)\n" + MADE,
    "chain": "tx = optax.chain(optax.clip(1.0), optax.adam(0.1))\n" + MADE,
    "without an nnx.Optimizer": f"tx = optax.multi_transform({ADAM}, label)\n"
    "params = {'kernel': jnp.ones((2, 2)), 'bias': jnp.ones(2)}\nstate = tx.init(params)\n"
    "print(tx.update(params, state)[0]['bias'])\noptimizer = nnx.Optimizer(model, optax.sgd(0.1))\n",
    "own function": f"def multi_transform(parts, label):\n    return parts['fast']\n\n\n"
    f"tx = multi_transform({ADAM}, label)\n{MADE}",
    "finite": f"tx = optax.apply_if_finite(optax.adam(0.1), 1)\n{MADE}",
}
PROBE = """
import json, sys
import jax, jax.numpy as jnp, optax
from flax import nnx
def label(params):
    return jax.tree_util.tree_map_with_path(lambda path, leaf: "slow" if "bias" in str(path) else "fast", params)
def made(name):
    function = getattr(optax, name.removeprefix("optax."))
    try:
        return function(0.1)
    except TypeError:
        return function()
runs = []
for name in json.loads(sys.argv[1]):
    parts = {"slow": optax.sgd(0.1), "fast": made(name)}
    try:
        nnx.Optimizer(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), optax.multi_transform(parts, label), wrt=nnx.Param)
    except TypeError as error:
        assert "ellipsis" in str(error), (name, error)
    else:
        runs.append(name)
print(json.dumps(runs))
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text + FOOT for name, text in {**BROKEN, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("parts"))


@pytest.mark.parametrize(("version", "running"), [("0.11", []), ("0.12", sorted(_KEEP))])
def test_table_agrees_with_the_release(version: str, running: list[str]) -> None:
    command = [str(python(version)), "-W", "ignore", "-c", PROBE, json.dumps(sorted(_KEEP))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == running


@pytest.mark.parametrize("name", BROKEN)
def test_reported(name: str) -> None:
    (found,) = [f for f in look(HEAD + BROKEN[name] + FOOT, options("0.11")).findings if f.code == "NNX305"]
    assert found.fix is None


@pytest.mark.parametrize("name", BROKEN)
def test_reported_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_breaks(outputs, name, "0.11")


@pytest.mark.parametrize("name", BROKEN)
def test_0_12_runs_them(name: str) -> None:
    assert "NNX305" not in codes(HEAD + BROKEN[name] + FOOT, options("0.12"))


@pytest.mark.parametrize("name", BROKEN)
def test_0_12_runs_them_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same({version: outputs[version] for version in ("0.10", "0.12")}, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert "NNX305" not in codes(HEAD + LEFT[name] + FOOT, options("0.11"))


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
