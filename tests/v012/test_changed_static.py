"""NNX621: static containers that change between compiled calls; what is reported goes on with the old values."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import look, options

HEAD = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(2))
        self.factors = {"scale": 2.0}
        self.acts = [nnx.relu, nnx.tanh]
        self.notes = []
        self.steps = [getattr(nnx, name) for name in ("relu", "tanh")]

    def put(self, scale):
        self.factors["scale"] = scale

    def grow(self, scale=3.0):
        self.put(scale)

    def note(self, text):
        self.notes.append(text)

    def __call__(self, x):
        for act in self.acts + self.steps:
            x = act(x)
        return x * self.w * self.factors["scale"]


@nnx.jit
def total(net, x):
    return net(x).sum()


def scaled(x, model, by):
    model.factors["scale"] = by
    return x


net, x = Net(), jnp.ones(2)
"""
REPORTED = {
    "dict": 'print(total(net, x))\nnet.factors["scale"] = 3.0\nprint(total(net, x))\n',
    "list": "print(total(net, x))\nnet.acts[1] = nnx.sigmoid\nprint(total(net, x))\n",
    "in a function": "def main(net):\n    print(total(net, x))\n    net.acts.append(nnx.sigmoid)\n"
    "    print(total(net, x))\n\n\nmain(net)\n",
    "in a method": "for scale in (1.0, 2.0):\n    net.put(scale)\n    print(total(net, x))\n",
    "in a method of a method": "print(total(net, x))\nnet.grow()\nprint(total(net, x))\n",
    "in a helper": "print(total(net, x))\nscaled(x, by=3.0, model=net)\nprint(total(net, x))\n",
    "of a comprehension": "print(total(net, x))\nnet.steps[1] = nnx.sigmoid\nprint(total(net, x))\n",
    "in a loop": "for act in (nnx.tanh, nnx.sigmoid):\n    net.acts[0] = act\n    print(total(net, x))\n",
}
SILENT = {
    "once for all rounds": "for _ in range(2):\n    net.put(3.0)\n    print(total(net, x))\n",
    "in a method, before": "net.put(3.0)\nprint(total(net, x))\nprint(total(net, x))\n",
    "in a method, not read": "print(total(net, x))\nnet.note('a')\nprint(total(net, x), net.notes)\n",
    "one for each round": "for scale in (1.0, 2.0):\n    net = Net()\n    net.put(scale)\n    print(total(net, x))\n",
    "before the first call": 'net.factors["scale"] = 3.0\nprint(total(net, x))\nprint(total(net, x))\n',
    "a new one": 'print(total(net, x))\nnet.factors = {"scale": 3.0}\nprint(total(net, x))\n',
    "not read there": 'print(total(net, x))\nnet.notes.append("a")\nprint(total(net, x), net.notes)\n',
    "another object": 'print(total(net, x))\nnet = Net()\nnet.factors["scale"] = 3.0\nprint(total(net, x))\n',
    "not compiled": 'print(total(net, x))\nnet.factors["scale"] = 3.0\nprint(net(x))\n',
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: HEAD + text for name, text in {**REPORTED, **SILENT}.items()}
    return runs(texts, tmp_path_factory.mktemp("static"), ("0.12",))


def _found(text: str) -> int:
    return sum(f.code == "NNX621" for f in look(HEAD + text, options("0.12")).findings)


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _found(REPORTED[name]) == 1
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", SILENT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _found(SILENT[name]) == 0
    assert_same(outputs, name)
