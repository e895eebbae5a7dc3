"""Containers of layers that come from callers unpacked, prepared or out of declared fields; all programs run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12")
HEAD = """\
import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
from flax import nnx

rngs = nnx.Rngs(0)


@dataclasses.dataclass
class Task:
    name: str
    head: nnx.Linear
    more: list[nnx.Linear] = dataclasses.field(default_factory=list)
    weight: float = 1.0


class Net(nnx.Module):
    def __init__(self, heads, scale):
        self.heads = heads
        self.scale = scale

    def __call__(self, x):
        found = self.heads.values() if hasattr(self.heads, "values") else self.heads
        return sum(head(x) for head in found) * self.scale


def layer():
    return nnx.Linear(2, 1, rngs=rngs)


tasks = [Task(name, layer()) for name in ("a", "b")]
"""
SHOW = "print(nnx.jit(lambda net, x: net(x))(net, jnp.ones((1, 2))))\n"
WRAPPED = {
    "keywords out of a dict": 'given = {"heads": [layer()], "scale": 2.0}\nnet = Net(**given)\n',
    "keywords out of a function": "def given():\n    return dict(heads=[layer()], scale=2.0)\n\n\n"
    "net = Net(**given())\n",
    "prepared class": "make = functools.partial(Net, [layer(), layer()])\nnet = make(2.0)\n",
    "prepared by keyword": "make = functools.partial(Net, heads=[layer()])\nnet = make(scale=2.0)\n",
    "fields of a list": "net = Net({task.name: task.head for task in tasks}, 2.0)\n",
    "fields in a loop": "heads = []\nfor task in tasks:\n    heads.append(task.head)\nnet = Net(heads, 2.0)\n",
    "unpacked tuple": "given = ({task.name: task.head for task in tasks}, 2.0)\nnet = Net(*given)\n",
    "in the class": "class Own(Net):\n    def __init__(self, tasks, scale):\n"
    "        self.heads = [task.head for task in tasks]\n        self.scale = scale\n\n\nnet = Own(tasks, 2.0)\n",
    "container in a field": "class Own(Net):\n    def __init__(self, task: Task, scale):\n"
    '        self.heads = task.more\n        self.scale = scale\n\n\nnet = Own(Task("a", layer(), [layer()]), 2.0)\n',
}
#: What is reported, since targets of one statement cannot be marked apart.
TOLD = {
    "unzipped": "class Own(Net):\n    def __init__(self, pairs):\n        self.heads, self.scales = zip(*pairs)\n"
    "        self.scale = self.scales[0]\n\n\nnet = Own([(layer(), 2.0), (layer(), 3.0)])\n",
}
LEFT = {
    "numbers of pairs": "net = Net([lambda x: x], 2.0)\nnet.a, net.b = zip(*[(1, 2.0), (3, 4.0)])\n"
    "print(net.a, net.b)\n",
    "numbers of fields": "net = Net([lambda x: x], 2.0)\nnet.weights = [task.weight for task in tasks]\n"
    "net.names = tuple(task.name for task in tasks)\nprint(net.weights, net.names)\n",
    "numbers by keyword": 'given = {"heads": [lambda x: x], "scale": 2.0}\nnet = Net(**given)\n',
}
PROGRAMS = {name: HEAD + body + SHOW for name, body in {**WRAPPED, **TOLD, **LEFT}.items()}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("given")
    done = runs(PROGRAMS, folder / "migrated", ("0.12",))
    done["0.12 as it was"] = execute_all("0.12", {name: PROGRAMS[name] for name in WRAPPED}, folder / "was")
    return done


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(PROGRAMS[name], ONLY)
    assert "nnx.data(" in once
    assert "NNX601" not in codes(once, ONLY)
    assert_breaks(outputs, name, "0.12 as it was")


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert "NNX601" not in codes(PROGRAMS[name], ONLY)


@pytest.mark.parametrize("name", TOLD)
def test_told(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX601" in codes(migrate_text(PROGRAMS[name], ONLY), ONLY)
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", [*WRAPPED, *LEFT])
def test_prints_the_same(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same({version: outputs[version] for version in ("0.10", "0.12")}, name)
