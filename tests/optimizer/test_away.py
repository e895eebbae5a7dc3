"""Optimizers out of registries whose model is read afterwards, and classes of optimizers that fields hold; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

HEAD = """\
import dataclasses
import functools

import jax.numpy as jnp
import optax
from flax import nnx

OPTIMIZERS = {}


def register(fn):
    OPTIMIZERS[fn.__name__] = fn
    return fn


@register
def sgd(model):
    return nnx.Optimizer(model, optax.sgd(0.1))


@register
def biased(model):
    return nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)


def build(name, model):
    return functools.partial(OPTIMIZERS[name], model)()


def step(model, optimizer):
    optimizer.update(nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(model))


@dataclasses.dataclass
class Config:
    cls: type = dataclasses.field(default=nnx.Optimizer)
    lr: float = 0.1

    def make(self, model):
        return self.cls(model, optax.sgd(self.lr))


@dataclasses.dataclass
class Plain:
    kind: type = nnx.Optimizer

    def make(self, model):
        return self.kind(model, optax.sgd(0.1))


m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
"""
FIXED = {
    "read": 'opt = build("sgd", m)\nstep(m, opt)\nprint(opt.model.kernel.value)\n',
    "read of the other": 'opt = build("biased", m)\nstep(m, opt)\nprint(opt.model.kernel.value)\n',
}
REPORTED = {
    "field": "opt = Config().make(m)\nstep(m, opt)\nprint(m.kernel.value)\n",
    "plain field": "opt = Plain().make(m)\nstep(m, opt)\nprint(m.kernel.value)\n",
}
EXPLICIT = 'opt = build("sgd", m)\nstep(m, opt)\nprint(m.kernel.value)\n'


def _text(name: str) -> str:
    head = (
        HEAD
        if name in REPORTED
        else HEAD.replace("(default=nnx.Optimizer)", "(default=int)").replace("= nnx.Optimizer\n", "= int\n")
    )
    return head + {**FIXED, **REPORTED}[name]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: _text(name) for name in (*FIXED, *REPORTED)}
    return runs(texts, tmp_path_factory.mktemp("away"))


@pytest.mark.parametrize("name", FIXED)
def test_compatible(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(_text(name))
    assert once.count("nnx.ModelAndOptimizer(") == 2
    assert codes(once) == []
    assert_same(outputs, name)


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX113" in codes(_text(name), options("0.11", "0.12"))
    assert_breaks(outputs, name)


def test_explicit_where_no_model_is_read() -> None:
    text = HEAD.replace("(default=nnx.Optimizer)", "(default=int)").replace("= nnx.Optimizer\n", "= int\n") + EXPLICIT
    assert "ModelAndOptimizer" not in migrate_text(text)
    assert "NNX113" not in codes(text)
