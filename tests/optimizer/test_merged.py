"""Optimizers that ``nnx.merge``, ``nnx.clone`` or a jitted step gives back, whose model is read of them; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

HEAD = """\
import copy
import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx, struct


@struct.dataclass
class Fields:
    graphdef: Any = struct.field(pytree_node=False)
    state: nnx.State


class Named(NamedTuple):
    graphdef: Any
    state: Any


def loss_fn(m):
    return (m(jnp.ones((1, 2))) ** 2).sum()


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1))
"""
STEP = """\
graphdef, state = nnx.split((model, optimizer))


@jax.jit
def step(state):
    m, o = nnx.merge(graphdef, state)
    o.update(nnx.grad(loss_fn)(m))
    return nnx.state((m, o))


for _ in range(3):
    state = step(state)
"""
FIELDS = """\
@jax.jit
def step(ts):
    m, o = nnx.merge(ts.graphdef, ts.state)
    o.update(nnx.grad(loss_fn)(m))
    return {given}


graphdef, state = nnx.split((model, optimizer))
ts = Fields(graphdef, state)
ts = step(ts)
m, o = nnx.merge(ts.graphdef, ts.state)
print(o.model.kernel.value, model.kernel.value, int(o.step.value))
"""
EXPLICIT = {
    "trained in jit": STEP + "m, o = nnx.merge(graphdef, state)\nprint(o.model.kernel.value, model.kernel.value)\n",
    "updated again": STEP + "m, o = nnx.merge(graphdef, state)\no.update(nnx.grad(loss_fn)(o.model))\n"
    "print(m.kernel.value, model.kernel.value)\n",
    "in a function": STEP
    + "def final(state):\n    m, o = nnx.merge(graphdef, state)\n    return o.model\n\n\n"
    + "print(final(state).kernel.value, model.kernel.value)\n",
    "replaced fields": FIELDS.format(given="ts.replace(state=nnx.state((m, o)))"),
    "fields made anew": FIELDS.format(given="Fields(ts.graphdef, nnx.state((m, o)))"),
    "replaced by dataclasses": FIELDS.format(given="dataclasses.replace(ts, state=nnx.state((m, o)))"),
}
COMPATIBLE = {
    "no name": STEP + "o = nnx.merge(graphdef, state)[1]\nprint(o.model.kernel.value, model.kernel.value)\n",
    "asked for identity": STEP + "m, o = nnx.merge(graphdef, state)\nprint(o.model is m, o.model is model)\n",
    "cloned": "m, o = nnx.clone((model, optimizer))\noptimizer.update(nnx.grad(loss_fn)(model))\n"
    "print(o.model.kernel.value, model.kernel.value, o.model is m)\n",
    "copied": "m, o = copy.deepcopy((model, optimizer))\noptimizer.update(nnx.grad(loss_fn)(model))\n"
    "print(o.model.kernel.value, model.kernel.value)\n",
    "fields in a loop": FIELDS.format(given="ts.replace(state=nnx.state((m, o)))").replace(
        "\nts = step(ts)\n", "\nfor _ in range(2):\n    ts = step(ts)\n"
    ),
    "named tuple": "held = Named(*nnx.split((model, optimizer)))\nm, o = nnx.merge(held.graphdef, held.state)\n"
    "optimizer.update(nnx.grad(loss_fn)(model))\nprint(o.model.bias.value.shape, o.model is m)\n",
}
RECORD = """\
{head}
    m: Any
    o: Any
    count: int = 0


def step(held):
    held.o.update(nnx.grad(loss_fn)(held.m))
    return {again}


held = Held(model, optimizer)
for _ in range(3):
    held = step(held)
print(held.m.kernel.value, held.count{read})
"""
RECORDS = {
    "dataclass": ("@dataclasses.dataclass\nclass Held:", "dataclasses.replace(held, count=held.count + 1)"),
    "struct": ("@struct.dataclass\nclass Held:", "held.replace(count=held.count + 1)"),
    "tuple": ("class Held(NamedTuple):", "held._replace(count=held.count + 1)"),
}
for kind, (head, again) in RECORDS.items():
    EXPLICIT[f"{kind} in a loop"] = RECORD.format(head=head, again=again, read="")
    COMPATIBLE[f"{kind} in a loop, read"] = RECORD.format(head=head, again=again, read=", held.o.model.bias.value")
LEARNER = """\
class Learner(nnx.Module):
    def __init__(self):
        self.model = nnx.Linear(2, 1, rngs=nnx.Rngs(1))


learner = Learner()
held = Named(*nnx.split(learner))
print(nnx.merge(held.graphdef, held.state).model.kernel.value)
optimizer.update(nnx.grad(loss_fn)(model))
print(model.kernel.value)
"""
PROGRAMS = {name: HEAD + body for name, body in {**EXPLICIT, **COMPATIBLE, "learner": LEARNER}.items()}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS, tmp_path_factory.mktemp("merged"))


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_merged_model_is_read(name: str) -> None:
    after = migrate_text(PROGRAMS[name], options("0.11"))
    assert "wrt=nnx.Param" in after
    assert ".model" not in after


@pytest.mark.parametrize("name", COMPATIBLE)
def test_keeps_its_model(name: str) -> None:
    assert "nnx.ModelAndOptimizer(model" in migrate_text(PROGRAMS[name], options("0.11"))


def test_a_model_of_something_else_says_nothing_of_optimizers() -> None:
    after = migrate_text(PROGRAMS["learner"], options("0.11"))
    assert "wrt=nnx.Param" in after
    assert "NNX103" not in codes(PROGRAMS["learner"], options("0.11"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_the_same(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
