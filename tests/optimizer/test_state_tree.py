"""NNX111: the model in the state of an optimizer; what is reported breaks, and what is not runs on."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, options

HEAD = """\
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.model = nnx.Linear(2, 3, rngs=rngs)


model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
"""
BROKEN = {
    "item": "print(nnx.state(optimizer)['model']['bias'].value)\n",
    "attribute": "print(nnx.state(optimizer).model.bias.value)\n",
    "variable": "state = nnx.state(optimizer)\nprint(state['model']['kernel'].value.shape)\n",
    "split": "graphdef, state = nnx.split(optimizer)\nprint(state['model']['bias'].value)\n",
    "split by a filter": "graphdef, params, rest = nnx.split(optimizer, nnx.Param, ...)\n"
    "print(params['model']['bias'].value)\n",
    "filter": "print(nnx.state(optimizer, nnx.Param)['model']['bias'].value)\n",
    "function": "def weights(o):\n    return nnx.state(o)['model']\n\n\nprint(weights(optimizer)['bias'].value)\n",
    "attribute of an object": "class Trainer:\n    def __init__(self):\n"
    "        self.optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)\n\n    def weights(self):\n"
    "        return nnx.state(self.optimizer)['model']['bias'].value\n\n\nprint(Trainer().weights())\n",
    "imported": "from flax.nnx import Optimizer, state\n\nother = Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)\n"
    "print(state(other)['model']['bias'].value)\n",
    "alias": "import flax.nnx as nn\n\nprint(nn.state(optimizer)['model']['bias'].value)\n",
    "copy": "print(nnx.state(nnx.clone(optimizer))['model']['bias'].value)\n",
    "source type": "print(optimizer.opt_state[0].mu['kernel'].source_type.__name__)\n",
}
LEFT = {
    "other parts": "print(nnx.state(optimizer)['step'].value, list(nnx.state(optimizer)['opt_state'])[0])\n",
    "a module's attribute": "print(nnx.state(Net(nnx.Rngs(0)))['model']['bias'].value)\n",
    "optimizer of such a module": "net = Net(nnx.Rngs(0))\n"
    "other = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)\n"
    "print(other.opt_state[0].mu['model']['bias'].value)\n",
    "dict": "print({'model': nnx.state(model), 'o': nnx.state(optimizer)}['model']['bias'].value)\n",
    "config": "config = {'model': 1}\nprint(config['model'], config.get('model'))\n",
    "own class": "class Run:\n    model = 3\n\n\nprint(Run().model)\n",
    "split together": "graphdef, state = nnx.split({'model': model, 'o': optimizer})\n"
    "print(state['model']['bias'].value)\n",
    "tuple": "graphdef, state = nnx.split((model, optimizer))\nprint(state[0]['bias'].value)\n",
    "compatible class": "made = getattr(nnx, 'ModelAndOptimizer', nnx.Optimizer)\n"
    "other = made(model, optax.adam(0.1), wrt=nnx.Param)\nprint(nnx.state(other)['model']['bias'].value)\n",
    "asked before": "state = nnx.state(model)\nprint('model' in state, state['bias'].value)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text for name, text in {**BROKEN, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("state"))


@pytest.mark.parametrize("name", BROKEN)
def test_reported(name: str) -> None:
    found = [f for f in look(HEAD + BROKEN[name], options("0.11")).findings if f.code == "NNX111"]
    assert found
    assert {f.fix for f in found} == {None}


@pytest.mark.parametrize("name", BROKEN)
def test_reported_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_breaks(outputs, name, "0.11")
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert "NNX111" not in codes(HEAD + LEFT[name], options("0.11"))


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_the_class_that_keeps_its_model_makes_the_state_as_before() -> None:
    text = f"{HEAD}print(optimizer.model.bias.value, nnx.state(optimizer)['model']['bias'].value)\n"
    found = codes(text, options("0.11"))
    assert "NNX103" in found
    assert "NNX111" not in found


def test_nothing_is_said_of_later_releases() -> None:
    assert "NNX111" not in codes(HEAD + BROKEN["item"], options("0.12", origin="0.11"))
