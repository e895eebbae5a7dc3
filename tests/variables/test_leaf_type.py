"""NNX414: the class of a leaf; what is fixed prints the same, and look-alikes stay as they are."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
import argparse
import jax
import jax.numpy as jnp
from flax import nnx


class Field:
    type = int


norm = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
"""
FIXED = {
    "loop": "for path, leaf in nnx.to_flat_state(nnx.state(norm)):\n    print(path, leaf.type.__name__)\n",
    "state in a variable": "state = nnx.state(norm)\nfor path, leaf in nnx.to_flat_state(state):\n"
    "    print(path, leaf.type is nnx.Param)\n",
    "comprehension": "print([leaf.type.__name__ for path, leaf in nnx.to_flat_state(nnx.state(norm))])\n",
    "dict": "kinds = {path: leaf.type for path, leaf in nnx.to_flat_state(nnx.state(norm))}\n"
    "print(sorted(kind.__name__ for kind in kinds.values()))\n",
    "item": "state = nnx.state(norm)\nprint(state['mean'].type.__name__, issubclass(state['scale'].type, nnx.Param))\n",
    "attribute": "print(nnx.state(norm).mean.type.__name__)\n",
    "split": "graphdef, state = nnx.split(norm)\nprint(state['mean'].type.__name__)\n",
    "gradients": "grads = nnx.grad(lambda m: m(jnp.ones((2, 2))).sum())(norm)\nprint(grads['bias'].type.__name__)\n",
    "alias": "from flax.nnx import state as of, to_flat_state as flat\n\nfor path, leaf in flat(of(norm)):\n"
    "    print(leaf.type.__name__)\n",
    "mapped": "names = jax.tree.map(\n    lambda leaf: leaf.type.__name__, nnx.state(norm), "
    "is_leaf=lambda x: isinstance(x, nnx.VariableState)\n)\nprint(names['mean'], names['scale'])\n",
    "made again": "leaf = nnx.state(norm)['mean']\nprint(leaf.type(leaf.value + 1).value)\n",
    "lines": "for path, leaf in nnx.to_flat_state(nnx.state(norm)):\n    print(\n        leaf.type  # its class\n"
    "        .__name__,\n    )\n",
    "index": "for pair in nnx.to_flat_state(nnx.state(norm)):\n    print(pair[1].type.__name__)\n",
    "flat by a method": "for path, leaf in nnx.state(norm).flat_state():\n    print(leaf.type.__name__)\n",
    "narrowed": "state = nnx.state(norm)\nfor path, leaf in state.flat_state():\n"
    "    if isinstance(leaf, nnx.VariableState) and issubclass(leaf.type, nnx.BatchStat):\n        print(path)\n",
    "leaves": "for leaf in jax.tree.leaves(nnx.state(norm), is_leaf=lambda x: isinstance(x, nnx.VariableState)):\n"
    "    print(leaf.type.__name__)\n",
    "nested": "class Net(nnx.Module):\n    def __init__(self):\n        self.norm = norm\n\n\n"
    "print(nnx.state(Net())['norm']['mean'].type.__name__)\n",
}
LEFT = {
    "own class": "for field in [Field()]:\n    print(field.type.__name__)\n",
    "own state": "state = {'mean': Field()}\nprint(state['mean'].type.__name__)\n",
    "parser": "parser = argparse.ArgumentParser()\nprint(parser.add_argument('--x', type=int).type.__name__)\n",
    "exception": "try:\n    raise ValueError\nexcept ValueError as error:\n    print(type(error).__name__)\n",
    "array": "print(hasattr(norm.mean.value, 'type'))\n",
    "already": "for path, leaf in nnx.to_flat_state(nnx.variables(norm)):\n    print(type(leaf).__name__)\n",
    "mapped arrays": "print(jax.tree.map(lambda x: Field.type(x.size), nnx.to_pure_dict(nnx.state(norm)))['mean'])\n",
    "other leaves": "for leaf in jax.tree.leaves({'a': Field()}, is_leaf=lambda x: isinstance(x, Field)):\n"
    "    print(leaf.type.__name__)\n",
    "stored": "box = Field()\nbox.type = str\nprint(box.type.__name__)\n",
    "path": "for path, leaf in nnx.to_flat_state(nnx.state(norm)):\n    print(Field.type(len(path)))\n",
    "metadata": "param = nnx.Param(1.0, kind='x')\nprint(param.kind)\n",
}
SELECT = ("NNX414",)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text for name, text in {**FIXED, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("type"))


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str) -> None:
    once = migrate_text(HEAD + FIXED[name], options("0.11"))
    assert "type(" in once
    assert ".type" not in once.partition("norm = ")[2]
    assert codes(once, options("0.11", select=SELECT)) == []


@pytest.mark.parametrize("name", FIXED)
def test_fixed_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + LEFT[name], options("0.11", select=SELECT)) == []


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize(
    "text",
    [
        "def kinds(type):\n    return [leaf.type is type for path, leaf in nnx.to_flat_state(nnx.state(norm))]\n",
        "type = 'batch'\nprint(nnx.state(norm)['mean'].type, type)\n",
    ],
)
def test_where_type_means_something_else_it_is_reported_only(text: str) -> None:
    (found,) = look(HEAD + text, options("0.11", select=SELECT)).findings
    assert found.fix is None


def test_0_10_has_another_class() -> None:
    (found,) = look(HEAD + FIXED["attribute"], options("0.10", "0.11", select=SELECT)).findings
    assert found.fix is None
