"""NNX402 in traced code: a copy only for models that may change a Variable when they are called."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options

PROGRAM = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Box:
    def fill(self, x):
        self.x = x


def half(width) -> tuple[float, int | None]:
    return checked(width) / 2, None


def checked(width):
    check(width)
    return width


def check(width):
    if not isinstance(width, int):
        raise ValueError


class Dense(nnx.Module):
    def __init__(self, width, rngs):
        self.half, _ = half(width)
        self.whole = checked(width)
        self.w = nnx.Param(nnx.initializers.normal()(rngs.params(), (width, width)))
        self.out = nnx.Linear(width, width, kernel_init=make_init(), rngs=rngs)
        self.count = nnx.BatchStat(jnp.array(0))
        self.rngs = rngs

    def __call__(self, x, cache=None):
        {}
        return self.out(x @ self.w.value), found


def make_init():
    return nnx.initializers.ones_init()


graphdef, params, rest = nnx.split(Dense(2, nnx.Rngs(0)), nnx.Param, ...)


@jax.jit
def step(params, rest):
    def loss(params):
        y, found = nnx.merge(graphdef, params, rest)(jnp.ones((1, 2)), 1)
        return y.sum() + found["x"]

    return jax.value_and_grad(loss)(params)[0]


print(step(params, rest))
"""
QUIET = {
    "dict": 'found = {}\n        found["x"] = x.sum()',
    "dict or none": 'found = None if cache is None else {}\n        found["x"] = x.sum()',
    "own object": 'box = Box()\n        box.x = x.sum()\n        found = {"x": box.x}',
    "streams are listed": 'found = {"x": x.sum() + len([*self.rngs.items()])}',
    "list": 'rows = [0]\n        rows[0] = x.sum()\n        found = {"x": rows[0]}',
}
CHANGING = {
    "count": 'found = {"x": x.sum()}\n        self.count.value += 1',
    "alias": 'found = {"x": x.sum()}\n        count = None\n        count = self.count\n        count.value += 1',
    "in an own object": "box = Box()\n        box.x = self.count\n        box.x.value += 1\n"
    '        found = {"x": x.sum()}',
    "sown": 'found = {"x": x.sum()}\n        self.sow(nnx.Intermediate, "y", x)',
    "drawn": 'found = {"x": x.sum() + jax.random.uniform(self.rngs.noise())}',
    "drawn by its name": 'found = {"x": x.sum() + jax.random.uniform(self.rngs())}',
    "element": 'found = [self.count][0]\n        found.value = found.value + 1\n        found = {"x": x.sum()}',
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: PROGRAM.replace("{}", body, 1) for name, body in (QUIET | CHANGING).items()}
    return runs(programs, tmp_path_factory.mktemp("merges"))


@pytest.mark.parametrize("name", QUIET | CHANGING)
def test_copied_only_where_something_may_change(name: str) -> None:
    text = PROGRAM.replace("{}", (QUIET | CHANGING)[name], 1)
    assert ("copy=True" in migrate_text(text, options("0.11"))) == (name in CHANGING)


@pytest.mark.parametrize("name", QUIET | CHANGING)
def test_runs_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_what_a_foreign_function_makes_of_a_model_is_such_a_model() -> None:
    text = """\
import jax
from flax import nnx
from library import adapted

model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
if flag:
    model = adapted(model)
graphdef, state = nnx.split(model)


@jax.jit
def run(state, x):
    return jax.lax.fori_loop(0, 3, lambda i, x: nnx.merge(graphdef, state)(x), x)
"""
    assert "copy=True" not in migrate_text(text, options("0.11"))
    assert "copy=True" in migrate_text(text.replace("nnx.Linear(2, 2", "nnx.BatchNorm(2"), options("0.11"))
    assert "copy=True" in migrate_text(text.replace("nnx.Linear(2, 2, rngs=nnx.Rngs(0))", "made()"), options("0.11"))


def test_of_a_model_that_is_unknown_the_models_of_the_project_tell() -> None:
    text = """\
import typing
import jax
from flax import nnx
from library import scale

Kind = typing.TypeVar("Kind")


class Level(nnx.Variable): ...


class Prior(nnx.Module, typing.Generic[Kind]):
    def __init__(self):
        self.level = Level(1.0)

    def __call__(self, x):
        return x * self.level.value


def fit(model, x):
    graphdef, params, rest = nnx.split(model, Level, ...)

    def loss(params):
        return nnx.merge(graphdef, params, rest)(x)

    return jax.grad(loss)(params)


fit(Prior() * scale, 2.0)
"""
    assert "copy=True" not in migrate_text(text, options("0.11"))
    counted = text.replace(
        "        return x * self.level", "        self.level.value += 1\n        return x * self.level"
    )
    assert "copy=True" in migrate_text(counted, options("0.11"))
    assert "copy=True" in migrate_text(text + "other = nnx.Dropout(0.5, rngs=rngs)\n", options("0.11"))


def test_layers_in_evaluation_change_nothing() -> None:
    text = """\
import jax
from flax import nnx

model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.BatchNorm(2, rngs=nnx.Rngs(0)))
model.eval()
graphdef, params, rest = nnx.split(model, nnx.Param, ...)


@jax.jit
def gradients(params, x):
    return jax.grad(lambda params: nnx.merge(graphdef, params, rest)(x).sum())(params)
"""
    assert "copy=True" not in migrate_text(text, options("0.11"))
    assert "copy=True" in migrate_text(text.replace("model.eval()\n", ""), options("0.11"))
    late = text.replace("model.eval()\n", "") + "\n\nmodel.eval()\n"
    assert "copy=True" in migrate_text(late, options("0.11"))
    assert "copy=True" in migrate_text(text + "\n\nmodel.train()\n", options("0.11"))
