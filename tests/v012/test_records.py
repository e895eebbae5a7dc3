"""NNX601 for dataclasses and named tuples of JAX that hold Variables or arrays as attributes; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import dataclasses
import functools
import typing

import jax
import jax.numpy as jnp
from flax import nnx, struct


@struct.dataclass
class Tree:
    weight: nnx.Param
    name: str = struct.field(pytree_node=False, default="")


class Node(struct.PyTreeNode):
    weight: jax.Array


class Step(typing.NamedTuple):
    reward: jax.Array
    count: int = 0


@functools.partial(jax.tree_util.register_dataclass, data_fields=["weight"], meta_fields=["size"])
@dataclasses.dataclass
class Registered:
    weight: jax.Array
    size: int


@dataclasses.dataclass
class Config:
    weight: object
    size: int


@struct.dataclass
class Static:
    size: int = struct.field(pytree_node=False)


"""
CLASS = """\
class Net(nnx.Module):
    def __init__(self):
        self.held = {}


net = Net()
print(len(jax.tree.leaves(nnx.state(net))), type(net.held).__name__)
"""
MARKED = {
    "struct": "Tree(nnx.Param(jnp.ones(2)), 'a')",
    "keyword": "Tree(name='a', weight=nnx.Param(jnp.ones(2)))",
    "node": "Node(jnp.ones(2))",
    "named tuple": "Step(jnp.array(0.0))",
    "registered": "Registered(jnp.ones(2), 1)",
    "in a list": "[Tree(nnx.Param(jnp.ones(2)))]",
    "list in it": "Node([jnp.ones(2)])",
}
LEFT = {
    "no pytree": "Config(jnp.ones(2), 1)",
    "no data": "Step(1.0)",
    "static fields": "Static(3)",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + CLASS.replace("{}", made) for name, made in (MARKED | LEFT).items()}
    return runs(programs, tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, dict[str, Output]]) -> dict[str, Output]:
    programs = {name: HEAD + CLASS.replace("{}", made) for name, made in MARKED.items()}
    return execute_all("0.12", programs, tmp_path_factory.mktemp("untouched"))


@pytest.mark.parametrize("name", MARKED | LEFT)
def test_it_prints_the_same_under_all_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", MARKED)
def test_it_would_not_without_the_mark(
    name: str, outputs: dict[str, dict[str, Output]], untouched: dict[str, Output]
) -> None:
    assert_breaks({"0.10": outputs["0.10"], "0.12": untouched}, name, "0.12")


@pytest.mark.parametrize("name", MARKED)
def test_it_is_marked_once(name: str) -> None:
    text = migrate_text(HEAD + CLASS.replace("{}", MARKED[name]), options("0.12"))
    assert "self.held = nnx.data(" in text or "self.held = nnx.List(" in text
    assert migrate_text(text, options("0.12")) == text


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left_alone(name: str) -> None:
    text = HEAD + CLASS.replace("{}", LEFT[name])
    assert migrate_text(text, options("0.12")) == text
