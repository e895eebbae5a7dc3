"""NNX112: gradient transformations that reach into Variables; what is reported breaks, and what is not runs on."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, options

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

EMPTY = optax.EmptyState()


def leaf(x):
    return hasattr(x, "value")


"""
FOOT = """

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
grads = nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(model)
optimizer.update(grads)
print(*map(float, model.kernel.value.ravel()))
"""
BROKEN = {
    "lambda": "def update(updates, state, params=None):\n"
    "    return jax.tree.map(lambda u: u.replace(-u.value), updates, is_leaf=leaf), state\n\n\n"
    "tx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "keywords": "def update(updates, state, params=None):\n"
    "    return jax.tree.map(lambda u: u.replace(-u.value), updates, is_leaf=leaf), state\n\n\n"
    "tx = optax.GradientTransformation(update=update, init=lambda params: EMPTY)",
    "parameters": "def update(updates, state, params=None):\n"
    "    new = jax.tree_util.tree_map(lambda u, p: u.replace(u.value - p.value), updates, params, is_leaf=leaf)\n"
    "    return new, state\n\n\ntx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "extra arguments": "def update(updates, state, params=None, **extra):\n"
    "    return jax.tree.map(lambda u: u.replace(-u.value), updates, is_leaf=leaf), state\n\n\n"
    "tx = optax.GradientTransformationExtraArgs(lambda params: EMPTY, update)",
    "imported": "from optax import GradientTransformation\n\n\ndef update(updates, state, params=None):\n"
    "    return jax.tree.map(lambda u: u.replace(-u.value), updates, is_leaf=leaf), state\n\n\n"
    "tx = GradientTransformation(lambda params: EMPTY, update)",
    "factory": "def negate(scale):\n    def update(updates, state, params=None):\n"
    "        return jax.tree.map(lambda u: u.replace(-scale * u.value), updates, is_leaf=leaf), state\n\n"
    "    return optax.GradientTransformation(lambda params: EMPTY, update)\n\n\n"
    "tx = optax.chain(negate(2.0), optax.scale(0.1))",
    "stateless": "tx = optax.stateless(lambda u, p: jax.tree.map(lambda x: x.replace(-x.value), u, is_leaf=leaf))",
    "named function": "def negate(u):\n    return u.replace(-u.value)\n\n\ndef update(updates, state, params=None):\n"
    "    return jax.tree.map(negate, updates, is_leaf=leaf), state\n\n\n"
    "tx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "value alone": "def update(updates, state, params=None):\n"
    "    jax.tree.map(lambda u: u.value, updates, is_leaf=leaf)\n"
    "    return jax.tree.map(lambda u: -u, updates), state\n\n\n"
    "tx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "type": "def update(updates, state, params=None):\n    jax.tree.map(lambda u: u.type, updates, is_leaf=leaf)\n"
    "    return jax.tree.map(lambda u: -u, updates), state\n\n\n"
    "tx = optax.GradientTransformation(lambda params: EMPTY, update)",
}
LEFT = {
    "arrays": "def update(updates, state, params=None):\n    return jax.tree.map(lambda u: -u, updates), state\n\n\n"
    "tx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "asked": "def update(updates, state, params=None):\n    new = jax.tree.map(\n"
    "        lambda u: u.replace(-u.value) if isinstance(u, nnx.VariableState) else -u, updates, is_leaf=leaf\n"
    "    )\n    return new, state\n\n\ntx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "own state": "class Count:\n    value = 2.0\n\n\ndef update(updates, state, params=None):\n    count = Count()\n"
    "    return jax.tree.map(lambda u: -count.value * u, updates), state\n\n\n"
    "tx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "other tree": "class Count:\n    value = 2.0\n\n\ndef update(updates, state, params=None):\n"
    "    scale = jax.tree.map(lambda c: c.value, [Count()])[0]\n"
    "    return jax.tree.map(lambda u: -scale * u, updates), state\n\n\n"
    "tx = optax.GradientTransformation(lambda params: EMPTY, update)",
    "initial state": "def init(params):\n    return jax.tree.map(lambda p: 0 * p.value, params, is_leaf=leaf)\n\n\n"
    "def update(updates, state, params=None):\n    return jax.tree.map(lambda u: -u, updates), state\n\n\n"
    "tx = optax.GradientTransformation(init, update)",
    "no transformation": "def update(updates, state, params=None):\n"
    "    return jax.tree.map(lambda u: u.replace(-u.value), updates, is_leaf=leaf), state\n\n\n"
    "tx = optax.sgd(0.1)",
    "library": "tx = optax.chain(optax.clip(0.5), optax.scale(-1.0))",
}
# gradients of a program that lets VariableState go are no business of this rule
MIGRATED = [name for name in LEFT if name != "asked"]


def _program(name: str) -> str:
    return HEAD + (BROKEN | LEFT)[name] + FOOT.replace(", wrt=nnx.Param", "")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: _program(name) for name in (*BROKEN, *LEFT)}, tmp_path_factory.mktemp("optax"))


@pytest.mark.parametrize("name", BROKEN)
def test_reported(name: str) -> None:
    found = [f for f in look(_program(name), options("0.11")).findings if f.code == "NNX112"]
    assert found
    assert {f.fix for f in found} == {None}


@pytest.mark.parametrize("name", BROKEN)
def test_reported_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_breaks(outputs, name, "0.11")
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert "NNX112" not in codes(_program(name), options("0.11"))


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
