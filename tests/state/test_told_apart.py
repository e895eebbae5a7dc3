"""NNX401 and NNX402 where a program asks by `is` whether Variables are copies; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import look, migrate_text, options

HEAD = """\
import jax.numpy as jnp
from flax import nnx, struct


class Pair(nnx.Module):
    def __init__(self):
        shared = nnx.Param(jnp.ones(2))
        self.a = shared
        self.b = shared


@struct.dataclass
class Tree:
    a: nnx.Param
    b: str = struct.field(pytree_node=False)


model = Pair()
"""
COPIED = {
    "split": "graphdef, state = nnx.split(model)\nprint(model.a is not state['a'])\n",
    "state": "state = nnx.state(model)\nprint(state['a'] is model.b)\n",
    "merged": "graphdef, state = nnx.split(model)\nagain = nnx.merge(graphdef, state)\nprint(again.a is model.a)\n",
    "state of merged": "graphdef, state = nnx.split(model)\nagain = nnx.merge(graphdef, state)\n"
    "assert again.a is not state['a']\nassert model.a is not state['a']\nprint(again.a is again.b)\n",
    "layer": "layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))\nstate = nnx.state(layer)\n"
    "print(layer.kernel is state['kernel'])\n",
    "dataclass": "class Holder(nnx.Module):\n    def __init__(self):\n"
    "        self.tree = Tree(nnx.Param(1), 'a')\n\n\n"
    "holder = Holder()\ngraphdef, state = nnx.split(holder)\nagain = nnx.merge(graphdef, state)\n"
    "print(again.tree.a is holder.tree.a, again.tree is holder.tree)\n",
}
LEFT = {
    "modules": "graphdef, state = nnx.split(model)\nagain = nnx.merge(graphdef, state)\nprint(again is model)\n",
    "one object": "state = nnx.state(model)\nprint(model.a is model.b, len(state))\n",
    "one state": "state = nnx.state(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))\nprint(state['kernel'] is state['bias'])\n",
    "none": "state = nnx.state(model)\nprint(state['a'] is None, model.a is not None)\n",
    "clone": "state = nnx.clone(nnx.state(model))\nprint(state['a'] is model.a)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body for name, body in (COPIED | LEFT).items()}
    return runs(programs, tmp_path_factory.mktemp("told apart"))


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
def test_a_copy_is_made_once(name: str) -> None:
    text = migrate_text(HEAD + COPIED[name], options("0.11"))
    assert "nnx.clone(" in text or "copy=True" in text
    assert migrate_text(text, options("0.11")) == text
    found = look(HEAD + COPIED[name], options("0.11")).findings
    assert any("asks" in f.message and f.code in {"NNX401", "NNX402"} for f in found)


@pytest.mark.parametrize("name", LEFT)
def test_others_are_not_copied(name: str) -> None:
    assert migrate_text(HEAD + LEFT[name], options("0.11")) == HEAD + LEFT[name]
