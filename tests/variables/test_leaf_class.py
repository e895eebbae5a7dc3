"""NNX419: leaves that are tested for a Variable class; what is reported prints something else, the rest does not."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Own:
    pass


model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
"""
REPORTED = {
    "filter": "print(len(nnx.to_flat_state(nnx.state(model, lambda path, leaf: isinstance(leaf, nnx.Variable)))))\n",
    "named filter": "def params(path, leaf):\n    return isinstance(leaf, nnx.Param)\n\n\n"
    "print(len(nnx.to_flat_state(nnx.state(model, params))))\n",
    "filter of split": "graphdef, params, rest = nnx.split(model, lambda path, x: isinstance(x, nnx.Param), ...)\n"
    "print(len(nnx.to_flat_state(params)))\n",
    "filter of a method": "found = nnx.state(model).filter(lambda path, x: isinstance(x, nnx.Param))\n"
    "print(len(nnx.to_flat_state(found)))\n",
    "filters in a tuple": "filters = (lambda path, x: isinstance(x, nnx.Param), ...)\n"
    "print(len(nnx.to_flat_state(nnx.split(model, *filters)[1])))\n",
    "joined filters": "print(len(nnx.to_flat_state(nnx.state(model, nnx.All('x', ...), "
    "nnx.Any('x', lambda path, x: isinstance(x, nnx.Param)), ...)[1])))\n",
    "filter of a helper": "def taken(chosen):\n    return len(nnx.to_flat_state(nnx.state(model, chosen)))\n\n\n"
    "print(taken(lambda path, x: isinstance(x, nnx.Param)))\n",
    "gradient": "grads = nnx.grad(lambda m: m.bias.value.sum())(model)\nprint(isinstance(grads['bias'], nnx.Param))\n",
    "loop": "for path, leaf in nnx.to_flat_state(nnx.state(model)):\n    print(isinstance(leaf, nnx.Param))\n",
    "item": "state = nnx.state(model)\nprint(isinstance(state['kernel'], (nnx.Param, nnx.BatchStat)))\n",
    "imported": "from flax.nnx import Variable, state\n\nprint(isinstance(state(model)['kernel'], Variable))\n",
    "alias": "import flax.nnx as nn\n\nprint(isinstance(nn.state(model).kernel, nn.Param))\n",
    "own class": "class Scale(nnx.Param):\n    pass\n\n\nmodel.scale = Scale(jnp.ones(1))\n"
    "print(isinstance(nnx.split(model)[1]['scale'], Scale), isinstance(nnx.state(model)['kernel'], nnx.Param))\n",
}
LEFT = {
    "variables of a module": "print(isinstance(model.bias, nnx.Param), isinstance(model.kernel, nnx.Variable))\n",
    "nnx.variables": "print(isinstance(nnx.variables(model)['bias'], nnx.Param))\n",
    "flat variables": "for path, x in nnx.to_flat_state(nnx.variables(model)):\n    print(isinstance(x, nnx.Param))\n",
    "other class": "print(isinstance(nnx.state(model)['bias'], Own), isinstance(nnx.state(model)['bias'], int))\n",
    "the value": "print(isinstance(nnx.state(model)['bias'].value, jax.Array))\n",
    "a state": "print(isinstance(nnx.state(model), nnx.State))\n",
    "attributes": "print([name for name in ('bias', 'kernel') if isinstance(getattr(model, name), nnx.Param)])\n",
    "function of two": "def same(one, two):\n    return isinstance(two, nnx.Param)\n\n\nprint(same(1, model.bias))\n",
    "path of a filter": "print(len(nnx.to_flat_state(nnx.state(model, lambda path, leaf: isinstance(path, tuple)))))\n",
    "graph": "print(sum(isinstance(node, nnx.Param) for path, node in nnx.iter_graph(model)))\n",
    "own dict": "print(isinstance({'bias': model.bias}['bias'], nnx.Param))\n",
}
SELECT = ("NNX419",)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text for name, text in {**REPORTED, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("class"))


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str) -> None:
    found = look(HEAD + REPORTED[name], options("0.11", select=SELECT)).findings
    assert found
    assert {(f.code, f.fix) for f in found} == {("NNX419", None)}


@pytest.mark.parametrize("name", REPORTED)
def test_reported_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_breaks(outputs, name, "0.11")
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + LEFT[name], options("0.11", select=SELECT)) == []


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_both_classes_are_tested_on_purpose() -> None:
    text = f"{HEAD}print(isinstance(nnx.state(model)['bias'], (nnx.VariableState, nnx.Variable)))\n"
    assert codes(text, options("0.11", select=SELECT)) == []


def test_it_has_to_be_asked_for() -> None:
    assert "NNX419" not in codes(HEAD + REPORTED["item"], options("0.11"))
    assert codes(HEAD + REPORTED["item"], options("0.12", origin="0.11", select=SELECT)) == []
