"""NNX602 where an attribute is None first, then an empty list or dict that modules are put into; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import jax
from flax import nnx


def layer(seed):
    return nnx.Linear(2, 2, rngs=nnx.Rngs(seed))


class Net(nnx.Module):
    def __init__(self):
        self.first = layer(0)
        self.more = None
        self.build()

    def build(self):
        pass

"""
FOOT = """

net = Net()
net.grow()
print(len(jax.tree.leaves(nnx.state(net))), len(net.more))
"""
LATE = {
    "list": "    def grow(self):\n        if self.more is None:\n            self.more = []\n"
    "        self.more.append(layer(1))\n",
    "dict": "    def grow(self):\n        self.more = {}\n        self.more['a'] = layer(1)\n",
    "two methods": "    def clear(self):\n        self.more = []\n\n    def grow(self):\n        self.clear()\n"
    "        self.more += [layer(1), layer(2)]\n",
    "list()": "    def grow(self):\n        self.more = self.more or list()\n        self.more.extend([layer(1)])\n",
    "in the constructor": "    def build(self):\n        self.more = []\n        for i in range(2):\n"
    "            self.more.append(layer(i))\n\n    def grow(self):\n        self.more.append(layer(3))\n",
}
LEFT = {
    "numbers": "    def grow(self):\n        self.more = []\n        self.more.append(1)\n",
    "names": "    def grow(self):\n        self.more = {}\n        self.more['a'] = 'b'\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body + FOOT for name, body in {**LATE, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("late"), ("0.12",))


@pytest.mark.parametrize("name", LATE)
def test_none_is_data(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "self.more = nnx.data(None)" in migrate_text(HEAD + LATE[name] + FOOT, options("0.12"))
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_none_is_static(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    text = HEAD + LEFT[name] + FOOT
    assert migrate_text(text, options("0.12")) == text
    assert_same(outputs, name)
