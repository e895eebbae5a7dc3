"""Snapshots before and after a call of a function that only the caller knows."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text

HEAD = """\
import functools

import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))


def differ(one, two):
    return any(bool((a != b).any()) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two)))


def changed(net, function):
    before = nnx.state(net)
    function()
    after = nnx.state(net)
    return differ(before, after)


def bump(net, by=1.0):
    net.bias.value = net.bias.value + by


class Bumper:
    def __init__(self, net):
        self.net = net

    def bump(self, by=1.0):
        bump(self.net, by)

    def look(self):
        return self.net(jnp.ones((1, 2)))

    def __call__(self):
        self.bump()


"""
CHANGING = {
    "lambda": "print(changed(model, lambda: bump(model)))",
    "function": "def go():\n    bump(model)\n\n\nprint(changed(model, function=go))",
    "inner function": (
        "def main():\n    net = nnx.Linear(2, 1, rngs=nnx.Rngs(0))\n\n    def go():\n        bump(net)\n\n"
        "    print(changed(net, go))\n\n\nmain()"
    ),
    "method": "print(changed(model, Bumper(model).bump))",
    "method with an argument": (
        "def by_two(net, function):\n    before = nnx.state(net)\n    function(2.0)\n"
        "    return differ(before, nnx.state(net))\n\n\nprint(by_two(model, Bumper(model).bump))"
    ),
    "callable object": "print(changed(model, Bumper(model)))",
    "partial": "print(changed(model, functools.partial(bump, model)))",
    "attribute": (
        "class Watch:\n    def __init__(self, function):\n        self.function = function\n\n"
        "    def check(self, net):\n        before = nnx.state(net)\n        self.function()\n"
        "        return differ(before, nnx.state(net))\n\n\nprint(Watch(lambda: bump(model)).check(model))"
    ),
    "several": (
        "def every(net, functions):\n    before = nnx.state(net)\n    for function in functions:\n        function()\n"
        "    return differ(before, nnx.state(net))\n\n\nprint(every(model, [lambda: bump(model)]))"
    ),
    "decorator": (
        "def watched(function):\n    def inner(*given):\n        before = nnx.state(model)\n        function(*given)\n"
        "        return differ(before, nnx.state(model))\n\n    return inner\n\n\n"
        "@watched\ndef go(by):\n    bump(model, by)\n\n\nprint(go(1.0))"
    ),
    "put back": (
        "def tried(net, function):\n    _, before = nnx.split(net)\n    function()\n    nnx.update(net, before)\n\n\n"
        "tried(model, lambda: bump(model))\nprint(model.bias.value)"
    ),
}
LOOKING = {
    "lambda that reads": "print(changed(model, lambda: model(jnp.ones((1, 2)))))",
    "method that reads": "print(changed(model, Bumper(model).look))",
    "function of another model": "print(changed(model, lambda: bump(nnx.Linear(2, 1, rngs=nnx.Rngs(1)))))",
}
PROGRAMS = {name: f"{HEAD}{text}\n" for name, text in (CHANGING | LOOKING).items()}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS, tmp_path_factory.mktemp("callbacks"))


@pytest.mark.parametrize("name", CHANGING)
def test_the_first_is_a_copy(name: str) -> None:
    assert migrate_text(PROGRAMS[name]).count("nnx.clone(") == 1


@pytest.mark.parametrize("name", LOOKING)
def test_nothing_where_nothing_changes(name: str) -> None:
    assert migrate_text(PROGRAMS[name]) == PROGRAMS[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
