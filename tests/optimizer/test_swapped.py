"""Gradients before the model: wrong on every version whose update takes a model."""

from __future__ import annotations

import pytest

from tests.migration import look, options

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
x = jnp.ones((1, 2))
"""

BAD = [
    "g = nnx.grad(lambda m: m(x).sum())(model)\nopt.update(g, model)\n",
    "def step(m: nnx.Module, o: nnx.Optimizer, x):\n"
    "    loss, g = nnx.value_and_grad(lambda m: m(x).sum())(m)\n    o.update(g, m)\n",
    "@nnx.jit\ndef step(m, o, x):\n    g = nnx.grad(lambda m: m(x).sum())(m)\n    o.update(g, m)\n"
    "step(model, opt, x)\n",
    "class Trainer:\n    def __init__(self, m):\n        self.o = nnx.Optimizer(m, optax.sgd(0.1), wrt=nnx.Param)\n"
    "    def step(self, m):\n        g = nnx.grad(lambda m: m(x).sum())(m)\n        self.o.update(g, m)\n",
]

CLEAN = [
    "g = nnx.grad(lambda m: m(x).sum())(model)\nopt.update(model, g)\n",
    "g = nnx.grad(lambda m: m(x).sum())(model)\nopt.update(grads=g, model=model)\n",
    "tx = optax.sgd(0.1)\nstate = tx.init(x)\ng = jax.grad(lambda p: (p * x).sum())(x)\n"
    "u, state = tx.update(g, state)\n",
    "def step(m: nnx.Module, o: nnx.Optimizer, g):\n    o.update(m, g)\n",
    "table = {}\ng = nnx.grad(lambda m: m(x).sum())(model)\ntable.update(a=g)\n",
]

WAYS = [("0.11", "0.11"), ("0.11", "0.12"), ("0.12", "0.12")]


@pytest.mark.parametrize(("origin", "target"), WAYS)
@pytest.mark.parametrize("body", BAD)
def test_found(body: str, origin: str, target: str) -> None:
    assert [f.code for f in look(HEAD + body, options(target, origin=origin, select=("NNX105",))).findings] == [
        "NNX105"
    ]


@pytest.mark.parametrize(("origin", "target"), WAYS)
@pytest.mark.parametrize("body", CLEAN)
def test_left_alone(body: str, origin: str, target: str) -> None:
    assert not look(HEAD + body, options(target, origin=origin, select=("NNX1",))).findings
