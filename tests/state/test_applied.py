"""NNX402 on ``graphdef.apply``: up to 0.10 it merged copies; all programs run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Counted(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones((2, 2)))
        self.count = nnx.BatchStat(jnp.array(0))

    def __call__(self, x):
        self.count.value = self.count.value + 1
        return x @ self.w.value

    def twice(self, x):
        return self(self(x))


model = Counted()
x = jnp.ones((1, 2))
"""
GRADIENT = """\
graphdef, params, rest = nnx.split(model, nnx.Param, ...)


@jax.jit
def step(params, rest):
    def loss(params):
        y, (_, new) = graphdef.apply(params, rest)(x)
        return y.sum(), nnx.filter_state(new, nnx.BatchStat)

    grads, rest = jax.grad(loss, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), rest


params, rest = step(params, rest)
print(float(params["w"].value.sum()), int(rest["count"].value), int(model.count.value))
"""
COPIED = {
    "state": """\
graphdef, state = nnx.split(model)
y, (_, new) = graphdef.apply(state)(x)
print(float(y.sum()), int(state["count"].value), int(new["count"].value))
""",
    "model": """\
graphdef, state = nnx.split(model)
y, (graphdef, state) = graphdef.apply(state)(x)
print(float(y.sum()), int(model.count.value), int(state["count"].value))
""",
    "method": """\
graphdef, state = nnx.split(model)
y, (_, new) = graphdef.apply(state).twice(x)
print(float(y.sum()), int(state["count"].value), int(new["count"].value))
""",
    "two states": """\
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
y, _ = graphdef.apply(params, rest)(x)
print(float(y.sum()), int(rest["count"].value))
""",
    "function": """\
def forward(graphdef, state):
    return graphdef.apply(state)(x)


graphdef, state = nnx.split(model)
y, (_, new) = forward(graphdef, state)
print(float(y.sum()), int(state["count"].value), int(new["count"].value))
""",
    "gradient": GRADIENT,
    "another name": """\
graphdef, state = nnx.split(model)
apply_fn = graphdef.apply
y, (graphdef, new) = apply_fn(state)(x)
print(float(y.sum()), int(new["count"].value), int(state["count"].value))
""",
    "handed on to a train state": """\
from flax.training import train_state
import optax

graphdef, params, rest = nnx.split(model, nnx.Param, ...)
held = train_state.TrainState.create(apply_fn=graphdef.apply, params=params, tx=optax.sgd(0.1))


@jax.jit
def grads(held, rest):
    def loss(params):
        y, (_, new) = held.apply_fn(params, rest)(x)
        return y.sum(), nnx.filter_state(new, nnx.BatchStat)

    return jax.grad(loss, has_aux=True)(held.params)


found, new = grads(held, rest)
print(float(found["w"].value.sum()), int(new["count"].value), int(rest["count"].value))
""",
}
LEFT = {
    "loop": """\
graphdef, state = nnx.split(Counted())
for _ in range(3):
    y, (graphdef, state) = graphdef.apply(state)(x)
print(float(y.sum()), int(state["count"].value))
""",
    "no change": """\
graphdef, state = nnx.split(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
y, _ = graphdef.apply(state)(x)
print(float(y.sum()), float(state["kernel"].value.sum()))
""",
    "another name without change": """\
graphdef, state = nnx.split(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
apply_fn = graphdef.apply
print(float(apply_fn(state)(x)[0].sum()), apply_fn == graphdef.apply)
""",
    "another apply": """\
from flax import linen

dense = linen.Dense(2)
params = dense.init(jax.random.key(0), x)
print(float(dense.apply(params, x).sum()), int(model.count.value), len(jax.tree.leaves(nnx.state(model))))
""",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body for name, body in (COPIED | LEFT).items()}
    return runs(programs, tmp_path_factory.mktemp("applied"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, dict[str, Output]]) -> dict[str, Output]:
    return execute_all("0.11", {n: HEAD + b for n, b in COPIED.items()}, tmp_path_factory.mktemp("untouched"))


@pytest.mark.parametrize("name", COPIED | LEFT)
def test_it_prints_the_same_under_all_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", COPIED)
def test_it_would_not_without_the_copy(
    name: str, outputs: dict[str, dict[str, Output]], untouched: dict[str, Output]
) -> None:
    assert_breaks({"0.10": outputs["0.10"], "0.11": untouched}, name)


@pytest.mark.parametrize("name", COPIED)
@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_states_are_cloned_once(name: str, target: str) -> None:
    text = migrate_text(HEAD + COPIED[name], options(target))
    assert "nnx.clone(" in text or "*map(nnx.clone, states)" in text
    assert migrate_text(text, options(target)) == text


@pytest.mark.parametrize("name", LEFT)
def test_where_nothing_is_read_again_nothing_is_copied(name: str) -> None:
    assert "nnx.clone(" not in migrate_text(HEAD + LEFT[name], options("0.11"))


def test_only_what_comes_from_outside_the_trace_is_cloned() -> None:
    text = migrate_text(HEAD + GRADIENT, options("0.11"))
    assert "graphdef.apply(params, nnx.clone(rest))(x)" in text
