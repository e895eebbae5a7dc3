"""NNX610 and NNX401 where callers, and what fills a list, tell that Variables or states are compared; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import look, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(2, 2, rngs=rngs)
        self.b = nnx.Linear(2, 2, rngs=rngs)
        self.pos = nnx.Param(jnp.ones((2, 2)))
        self.on = False

    def is_pos(self, v):
        return v == self.pos

    def frozen(self):
        return [self.a.kernel, self.pos]


def variables_of(net):
    found = []
    for _, v in nnx.iter_graph(net):
        if isinstance(v, nnx.Variable):
            found.append(v)
    return found


net = Net(nnx.Rngs(0))
vs = variables_of(net)
"""
FOUND = {
    "in a list": "skip = [net.a.kernel, net.pos]\nprint([v in skip for v in vs])  # found\n",
    "in a tuple": "print([v not in (net.a.kernel, net.pos) for v in vs])  # found\n",
    "in what a method gives": "skip = net.frozen()\nprint([v in skip for v in vs])  # found\n",
    "in a list, by a function": "skip = [net.a.kernel, net.pos]\n\n\ndef kept(v):\n"
    "    return v not in skip  # found\n\n\n"
    "print([kept(v) for v in vs])\n",
    "in a list, by an unknown caller": "skip = [net.a.kernel, net.pos]\n\n\ndef kept(v):\n"
    "    return v not in skip  # found\n\n\nprint(list(map(kept, vs)))\n",
    "equal": "def group(p):\n    return p == net.a.kernel  # found\n\n\nprint([group(v) for v in vs])\n",
    "equal, by an unknown caller": "def group(p):\n    if p == net.a.kernel:  # found\n        return 'special'\n"
    "    return 'rest'\n\n\nprint(list(map(group, vs)))\n",
    "leaves": "st = nnx.state(net)\nprint(st['a']['kernel'] == st['b']['kernel'])  # found\n",
    "element": "print([v == net.pos for v in vs])  # found\n",
}
METHOD = HEAD.replace("return v == self.pos", "return v == self.pos  # found") + "print([net.is_pos(v) for v in vs])\n"
FOUND_TEXTS = {name: HEAD + text for name, text in FOUND.items()} | {"method": METHOD}
LEFT = {
    "modules": "print(net.a == net.b, net.a != net.a, net.a in [net.a, net.b], net.b not in (net.a,))\n",
    "modules, by a function": "def same(m):\n    return m == net.a, m in [net.a, net.b]\n\n\n"
    "print(same(net.a), same(net.b))\n",
    "names": "st = nnx.state(net)\n\n\ndef has(name):\n    return name in st, name in {'a': net.pos}\n\n\n"
    "print(has('a'))\n",
    "arrays": "def close(x):\n    return x == net.pos\n\n\nprint(close(jnp.ones((2, 2))))\n",
    "arrays of an unknown caller": "def close(x):\n    return (x == net.pos).all()\n\n\n"
    "print(list(map(close, [jnp.ones((2, 2))])))\n",
    "numbers": "def equal(n):\n    return n in [1, 2], n == 2\n\n\nprint(list(map(equal, [1, 3])))\n",
    "flags": "def on(flag):\n    if flag == net.on:\n        return 1\n    return 2\n\n\n"
    "print(list(map(on, [True, False])))\n",
    "two objects": "one, two = nnx.state(net.a), nnx.state(net.b)\nprint(one is two)\n",
    "annotated": "def step(x: jax.Array):\n    return x == net.a.kernel\n\n\nprint(step(jnp.ones((2, 2))))\n",
}
STATES = {
    "twice": "print(nnx.state(net) == nnx.state(net))  # found\n",
    "variables": "one = nnx.state(net)\ntwo = nnx.state(net)\nprint(one != two)  # found\n",
}
OTHER_STATES = {
    "of two": "print(nnx.state(net.a) == nnx.state(net.b))\n",
    "the same": "one = nnx.state(net)\nprint(one == one)\n",
    "copies": "print(nnx.clone(nnx.state(net)) == nnx.clone(nnx.state(net)))\n",
}


def _lines(text: str, code: str, target: str) -> set[int]:
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    analysis = look(text, options(target))
    return {sum(start <= f.start for start in starts) for f in analysis.findings if f.code == code}


def _marked(text: str) -> set[int]:
    return {number for number, line in enumerate(text.splitlines(), 1) if "# found" in line}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("compared")
    programs = FOUND_TEXTS | {f"left: {name}": HEAD + text for name, text in LEFT.items()}
    programs |= {f"state: {name}": HEAD + text for name, text in (STATES | OTHER_STATES).items()}
    return {version: execute_all(version, programs, folder / version) for version in ("0.10", "0.11", "0.12")}


@pytest.mark.parametrize("name", FOUND_TEXTS)
def test_found(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _lines(FOUND_TEXTS[name], "NNX610", "0.12") == _marked(FOUND_TEXTS[name])
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert not _lines(HEAD + LEFT[name], "NNX610", "0.12")
    assert_same(outputs, f"left: {name}")


@pytest.mark.parametrize("name", STATES)
def test_states_of_one_object(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _lines(HEAD + STATES[name], "NNX401", "0.11") == _marked(HEAD + STATES[name])
    assert_breaks(outputs, f"state: {name}", "0.11")


@pytest.mark.parametrize("name", OTHER_STATES)
def test_other_states(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert not _lines(HEAD + OTHER_STATES[name], "NNX401", "0.11")
    assert_same({version: done for version, done in outputs.items() if version != "0.12"}, f"state: {name}")
