"""Optimizers that come to functions by way of arguments, fixtures and tables of classes."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, migrated, options

HEAD = """\
import jax.numpy as jnp
import optax
from flax import nnx

tx = optax.sgd(0.1)


def net(seed):
    return nnx.Linear(2, 1, rngs=nnx.Rngs(seed))


def loss(model):
    return jnp.mean(model(jnp.ones((4, 2))) ** 2)


def step(model, optimizer):
    grads = nnx.grad(loss)(model)
    optimizer.update(grads)


"""
SHOWN = "print([float(jnp.sum(model.kernel.value)) for model in (one, two)])\n"
HANDED = """\
def run(model, optimizer, step):
    step(model, optimizer)


def create(tx):
    def inner(model):
        return nnx.Optimizer(model, tx)

    return inner


one, two = net(0), net(1)
step(one, nnx.Optimizer(one, tx))
run(two, create(tx)(two), step)
"""
MADE = """\
def make_step(loss):
    def step(model, optimizer):
        optimizer.update(nnx.grad(loss)(model))

    return nnx.jit(step)


def epochs(model, optimizer, step):
    for _ in range(2):
        yield step(model, optimizer)


one, two = net(0), net(1)
make_step(loss)(one, nnx.Optimizer(one, tx))
optimizer = nnx.Optimizer(two, tx)
print(len(list(epochs(two, optimizer, make_step(loss)))), optimizer.model is two)
"""
TABLE = """\
KINDS = {"plain": nnx.Optimizer}


def make(model, kind="plain"):
    return KINDS[kind](model, tx)


one, two = net(0), net(1)
for model in (one, two):
    optimizer = make(model)
    step(model, optimizer)
"""
SEEN = """\
class Store:
    def save(self, optimizer):
        return nnx.state(optimizer, nnx.Param, nnx.optimizer.OptState)[0]


def fixture(function):
    return function


@fixture
def trained():
    model = net(0)
    optimizer = nnx.Optimizer(model, tx)
    step(model, optimizer)
    return model, optimizer


def check(store, trained):
    return len(store.save(trained[1]))


one, two = net(0), net(1)
print(globals()["check"](Store(), globals()["trained"]()))
"""
FORMS = {
    "a function that is an argument": HANDED,
    "a function that is made, in a generator": MADE,
    "an item of a table": TABLE,
    "an item of a table, by get": TABLE.replace("KINDS[kind]", "KINDS.get(kind)"),
    "an item of a table, under a name": TABLE.replace(
        "return KINDS[kind](model, tx)", "cls = KINDS[kind]\n    return cls(model, tx)"
    ),
    "a state of what cannot be told": SEEN,
}
COMPATIBLE = frozenset({"a function that is an argument", "a function that is made, in a generator"})
KEPT = "print(optimizer.model is two)\ncopied = nnx.clone(optimizer)\n"
MIXED = TABLE.replace("KINDS =", "class Own(nnx.Optimizer):\n    pass\n\n\nKINDS =").replace("r}", 'r, "own": Own}')


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text + SHOWN for name, text in FORMS.items()}
    return runs(programs, tmp_path_factory.mktemp("handed"))


@pytest.mark.parametrize("name", FORMS)
def test_all_take_one_form(name: str) -> None:
    text = HEAD + FORMS[name] + SHOWN
    after, left = migrated(text, options("0.11"))
    assert not left
    compatible = name in COMPATIBLE or FORMS[name] == SEEN
    assert ("ModelAndOptimizer" in after["main.py"]) == compatible
    assert ("update(model, " in after["main.py"]) != compatible
    assert migrate_text(after["main.py"], options("0.11")) == after["main.py"]


@pytest.mark.parametrize("name", FORMS)
def test_runs_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("called", ["KINDS[kind]", 'KINDS["plain"]', "KINDS.get(kind)"])
def test_a_table_is_not_renamed(called: str) -> None:
    """Others may take the class from it."""
    text = HEAD + TABLE.replace("KINDS[kind]", called) + KEPT + SHOWN
    files, left = migrated(text, options("0.11"))
    assert files["main.py"] == text
    assert {"NNX102", "NNX103"} == {finding.code for finding in left}


@pytest.mark.parametrize("called", ["KINDS[kind]", "KINDS.get(kind)"])
def test_a_table_of_several_classes_is_told_of(called: str) -> None:
    assert "NNX113" in codes(HEAD + MIXED.replace("KINDS[kind]", called) + SHOWN, options("0.11"))


def test_a_table_of_other_classes_is_not() -> None:
    text = 'KINDS = {"a": nnx.Linear, "b": nnx.Conv}\n\n\ndef make(kind):\n    return KINDS[kind](2, 3)\n'
    assert "NNX113" not in codes(HEAD + text, options("0.11"))


def test_a_partial_that_becomes_compatible_may_be_mapped() -> None:
    text = """\
import functools

make = functools.partial(nnx.Optimizer, tx=tx)
one, two = net(0), net(1)
copied = nnx.clone(make(one))
for optimizer in map(make, (one, two)):
    print(optimizer.model.kernel.value.shape)
"""
    files, left = migrated(HEAD + text + SHOWN, options("0.11"))
    assert "partial(nnx.ModelAndOptimizer, tx=tx)" in files["main.py"]
    assert "NNX113" not in {finding.code for finding in left}
