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

    def __call__(self, x):
        for act in self.acts:
            x = act(x)
        return x * self.w * self.factors["scale"]


@nnx.jit
def total(net, x):
    return net(x).sum()


net, x = Net(), jnp.ones(2)
"""
REPORTED = {
    "dict": 'print(total(net, x))\nnet.factors["scale"] = 3.0\nprint(total(net, x))\n',
    "list": "print(total(net, x))\nnet.acts[1] = nnx.sigmoid\nprint(total(net, x))\n",
    "in a function": "def main(net):\n    print(total(net, x))\n    net.acts.append(nnx.sigmoid)\n"
    "    print(total(net, x))\n\n\nmain(net)\n",
}
SILENT = {
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
