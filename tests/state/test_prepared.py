"""NNX401 and NNX402: snapshots that ``functools.partial`` holds, or that come unpacked out of tuples and dicts."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import functools

import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))


def bump(m):
    m.bias.value = m.bias.value + 1


"""
COPIED = {
    "snapshot given before": """\
before = nnx.state(model)
restore = functools.partial(nnx.update, model, before)
bump(model)
restore()
print(model.bias.value)
""",
    "model given before": """\
before = nnx.state(model)
restore = functools.partial(nnx.update, model)
bump(model)
restore(before)
print(model.bias.value)
""",
    "out of a dict": """\
taken = {"before": nnx.state(model)}
restore = functools.partial(nnx.update, model, taken["before"])
bump(model)
restore()
print(model.bias.value)
""",
    "made by a function": """\
def keep(m):
    return functools.partial(nnx.update, m, nnx.state(m))


restore = keep(model)
bump(model)
restore()
print(model.bias.value)
""",
    "own function": """\
def back(m, state):
    nnx.update(m, state)


def keep(m):
    return functools.partial(back, m, nnx.state(m))


restore = keep(model)
bump(model)
restore()
print(model.bias.value)
""",
    "in a list": """\
undo = []
undo.append(functools.partial(nnx.update, model, nnx.state(model)))
bump(model)
undo.pop()()
print(model.bias.value)
""",
    "in an attribute": """\
class Keeper:
    def __init__(self, m):
        self.undo = functools.partial(nnx.update, m, nnx.state(m))


keeper = Keeper(model)
bump(model)
keeper.undo()
print(model.bias.value)
""",
    "merge": """\
graphdef, state = nnx.split(model)
merged = functools.partial(nnx.merge, graphdef, state)
bump(model)
print(merged().bias.value)
""",
    "merge of what comes later": """\
graphdef, state = nnx.split(model)
merged = functools.partial(nnx.merge, graphdef)
old = merged(state)
bump(model)
print(old.bias.value)
""",
    "keyword given before": """\
def back(m, state):
    nnx.update(m, state)


restore = functools.partial(back, state=nnx.state(model))
bump(model)
restore(model)
print(model.bias.value)
""",
    "class": """\
class Keeper:
    def __init__(self, state, m):
        self.m, self.state = m, state

    def back(self):
        nnx.update(self.m, self.state)


make = functools.partial(Keeper, nnx.state(model))
keeper = make(model)
bump(model)
keeper.back()
print(model.bias.value)
""",
    "class that gets parts": """\
class Copy:
    def __init__(self, graphdef, state):
        self.m = nnx.merge(graphdef, state)


copied = Copy(*nnx.split(model))
bump(copied.m)
print(model.bias.value, copied.m.bias.value)
""",
    "function that gets parts": """\
def load(name, graphdef, params, rest):
    return nnx.merge(graphdef, params, rest)


norm = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
copied = load("copy", *nnx.split(norm, nnx.Param, ...))
copied(jnp.ones((3, 2)))
print(norm.mean.value, copied.mean.value)
""",
    "keywords": """\
def back(m, state):
    nnx.update(m, state)


given = {"m": model, "state": nnx.state(model)}
bump(model)
back(**given)
print(model.bias.value)
""",
    "keywords of a class": """\
class Keeper:
    def __init__(self, m, state):
        self.m, self.state = m, state

    def back(self):
        nnx.update(self.m, self.state)


given = dict(m=model, state=nnx.state(model))
keeper = Keeper(**given)
bump(model)
keeper.back()
print(model.bias.value)
""",
    "unpacked": """\
pair = (model, nnx.state(model))
bump(model)
nnx.update(*pair)
print(model.bias.value)
""",
}
LEFT = {
    "nothing changes": "restore = functools.partial(nnx.update, model, nnx.state(model))\nrestore()\n"
    "print(model.bias.value)\n",
    "never called": "restore = functools.partial(nnx.update, model, nnx.state(model))\nbump(model)\n"
    "print(model.bias.value)\n",
    "new arrays": "restore = functools.partial(nnx.update, model, jax.tree.map(jnp.copy, nnx.state(model)))\n"
    "bump(model)\nrestore()\nprint(model.bias.value)\n",
    "step": """\
def step(m, x):
    bump(m)
    return m(x)


run = functools.partial(nnx.jit(step), model)
print(run(jnp.ones((1, 2))), run(jnp.ones((1, 2))))
""",
    "unpacked arrays": "pair = (model, jax.tree.map(jnp.copy, nnx.state(model)))\nbump(model)\nnnx.update(*pair)\n"
    "print(model.bias.value)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body for name, body in {**COPIED, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("prepared"))


@pytest.mark.parametrize("name", COPIED)
def test_a_copy_is_made(name: str) -> None:
    once = migrate_text(HEAD + COPIED[name], options("0.11"))
    assert "nnx.clone(" in once or "copy=True" in once
    assert migrate_text(once, options("0.11")) == once


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert migrate_text(HEAD + LEFT[name], options("0.11")) == HEAD + LEFT[name]


@pytest.mark.parametrize("name", [*COPIED, *LEFT])
def test_prints_the_same(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
