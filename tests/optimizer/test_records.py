"""Optimizers in named tuples and namespaces whose classes are made by a call."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

PROGRAM = """\
import collections
import dataclasses
import types

import jax.numpy as jnp
import optax
from flax import nnx

NAMES = ("policy", "optimizer")
Known = collections.namedtuple("Known", "policy optimizer")
Made = dataclasses.make_dataclass("Made", [("policy", nnx.Module), "optimizer"])


def create():
    policy = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(policy, optax.adam(0.1))
    return {made}


@nnx.jit
def step(policy, optimizer: nnx.Optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(policy)
    optimizer.update(grads)
    return loss


def train(policy: nnx.Module, optimizer: nnx.Optimizer, x):
    for _ in range(2):
        print(step(policy, optimizer, x))


state = create()
train({given}, jnp.ones((1, 2)))
"""
FIELDS = "state.policy, state.optimizer"
EXPLICIT = {
    "named tuple": ("collections.namedtuple('State', ['policy', 'optimizer'])(policy, optimizer)", FIELDS),
    "with a name": ("Known(policy, optimizer=optimizer)", FIELDS),
    "unpacked": ("Known(policy, optimizer)", "*state"),
    "dataclass": ("Made(policy, optimizer)", FIELDS),
    "namespace": ("types.SimpleNamespace(policy=policy, optimizer=optimizer)", FIELDS),
    "names in a variable": ("collections.namedtuple('State', NAMES)(policy, optimizer)", FIELDS),
}
UNKNOWN = {
    "by index": ("Known(policy, optimizer)", "state[0], state[-1]"),
    "names made at run time": (
        "collections.namedtuple('State', sorted(NAMES, reverse=True))(policy, optimizer)",
        FIELDS,
    ),
}


def program(name: str) -> str:
    made, given = (EXPLICIT | UNKNOWN)[name]
    return PROGRAM.replace("{made}", made).replace("{given}", given)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: program(name) for name in EXPLICIT | UNKNOWN}, tmp_path_factory.mktemp("records"))


@pytest.mark.parametrize("name", EXPLICIT)
def test_explicit(name: str) -> None:
    once = migrate_text(program(name), options("0.11"))
    assert "wrt=nnx.Param)" in once
    assert "optimizer.update(policy, grads)" in once
    assert codes(once, options("0.11")) == []


@pytest.mark.parametrize("name", UNKNOWN)
def test_compatible_where_the_model_has_no_name(name: str) -> None:
    once = migrate_text(program(name), options("0.11"))
    assert "nnx.ModelAndOptimizer(policy" in once
    assert "optimizer.update(grads)" in once


@pytest.mark.parametrize("name", EXPLICIT | UNKNOWN)
def test_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_no_update_of_a_promised_optimizer_is_left_unsaid() -> None:
    """What comes back from foreign code is no optimizer that is seen, but an annotation says that it is one."""
    text = program("named tuple").replace("state = create()", "from library import keep\nstate = keep(create())")
    once = migrate_text(text, options("0.11"))
    assert "wrt=nnx.Param)" in once
    assert "optimizer.update(policy, grads)" in once
