"""NNX602 where what comes later is taken out of a container of data; all programs run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601", "NNX602", "NNX603"))
HEAD = """\
import random

import jax
import jax.numpy as jnp
from flax import nnx

MADE = {}


class Member(nnx.Module):
    def __init__(self, scale=1.0):
        self.w = nnx.Param(jnp.full((), scale))
        self.name = "member"


MADE["member"] = Member


class Net(nnx.Module):
    def __init__(self, names):
        self.best = None
        self.names = names
        self.made = [MADE[name]() for name in names]
        self.known = [Member(2.0), Member(3.0)]
        self.table = {name: MADE[name]() for name in names}
        self.grown = []
        for name in names:
            self.grown.append(MADE[name]())
        self.pairs = [(name, Member()) for name in names]
        self.sizes = [len(name) for name in names]
        self.arrays = [jnp.ones(2), jnp.zeros(2)]

    def choose(self):
"""
SHOW = """

net = Net(["member", "member"])
net.choose()
shown = net.best
print(type(shown).__name__ if isinstance(shown, nnx.Module | jax.Array) else shown)
"""
FIXED = {
    "by a number": "self.best = self.made[0]",
    "by a number that is computed": "self.best = self.known[len(self.names) - 1]",
    "by a name": "self.best = self.table['member']",
    "by get": "self.best = self.table.get('member')",
    "by pop": "self.best = self.made.pop()",
    "the last one": "self.best = self.grown[-1]",
    "in a loop": "for member in self.made:\n    self.best = member",
    "values in a loop": "for member in self.table.values():\n    self.best = member",
    "max": "self.best = max(self.known, key=lambda member: float(member.w.value))",
    "min of those made": "self.best = min(self.made, key=lambda member: float(member.w.value))",
    "sorted": "self.best = sorted(self.known, key=lambda member: float(member.w.value))[0]",
    "next": "self.best = next(member for member in self.known if member.name == 'member')",
    "next of iter": "self.best = next(iter(self.known))",
    "by chance": "self.best = random.choice(self.known)",
    "an array": "self.best = self.arrays[-1]",
    "behind a name": "members = self.made\nself.best = members[1]",
}
LEFT = {
    "keys in a loop": "for name in self.table:\n    self.best = name",
    "the first key": "self.best = next(iter(self.table))",
    "the last key": "self.best = max(self.table)",
    "keys in order": "self.best = sorted(self.table)[0]",
    "a key of items": "for name, member in self.table.items():\n    self.best = name",
    "the first of a pair": "self.best = self.pairs[0][0]",
    "the first of a pair in a loop": "for name, member in self.pairs:\n    self.best = name",
    "a number": "self.best = max(self.sizes)",
    "a place": "self.best = max(range(len(self.known)), key=lambda i: float(self.known[i].w.value))",
    "a count": "for i, member in enumerate(self.known):\n    self.best = i",
    "a text": "self.best = [member.name for member in self.known][0]",
    "in place of a missing one": "self.best = self.table.get('none', 'nothing')",
}


def _program(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.splitlines()) + SHOW


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: _program(body) for name, body in {**FIXED, **LEFT}.items()}
    return runs(texts, tmp_path_factory.mktemp("taken_out"), ("0.12",))


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX602" in codes(_program(FIXED[name]), ONLY)
    text = migrate_text(_program(FIXED[name]), ONLY)
    assert "self.best = nnx.data(None)" in text
    assert migrate_text(text, ONLY) == text
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX602" not in codes(_program(LEFT[name]), ONLY)
    assert_same(outputs, name)
