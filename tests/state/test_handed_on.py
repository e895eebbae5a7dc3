"""NNX401 and NNX402 where ``nnx.state``, ``split`` and ``merge`` are values or have other names; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, migrate_text, options

HEAD = """\
import functools

import jax
from flax import nnx
from flax.nnx import merge as joined, split as sp, state as get_state
import flax.nnx as fnn


class Net(nnx.Module):
    def __init__(self, seed=0):
        self.lin = nnx.Linear(2, 2, rngs=nnx.Rngs(seed))


class Taker:
    take = staticmethod(nnx.state)
    other: object = get_state

    def kept(self, net):
        return self.take(net)


def poke(net):
    net.lin.bias.value = net.lin.bias.value + 1.0


def total(state):
    return float(state["lin"]["bias"].value.sum())


def is_module(x):
    return isinstance(x, nnx.Module)


"""


def _snapshot(taken: str) -> str:
    body = f"    nets = [Net(), Net(1)]\n    net = nets[0]\n    {taken}\n    poke(net)\n    return total(st)\n"
    return HEAD + f"def run():\n{body}\n\nprint(run())\n"


def _merged(made: str) -> str:
    body = f"    graph, st = nnx.split(Net())\n    {made}\n    poke(a)\n    return total(nnx.state(b))\n"
    return HEAD + f"def run():\n{body}\n\nprint(run())\n"


def _unseen(text: str) -> str:
    return text.replace("print(run())", 'print(globals()["run"]())').replace(
        "def run",
        "\
grab = lambda net: nnx.state(net, nnx.Param)\n\n\ndef run",
    )


SNAPSHOTS = {
    "lambda with a name, in a function that nothing is seen to call": _unseen(_snapshot("st = grab(net)")),
    "list of a map": _snapshot("st = list(map(nnx.state, nets))[0]"),
    "unpacked map": _snapshot("st, _ = map(nnx.state, nets)"),
    "tuple of a map": _snapshot("st = tuple(map(fnn.state, nets))[0]"),
    "tree": _snapshot("st = jax.tree.map(nnx.state, nets, is_leaf=is_module)[0]"),
    "zip of a map": _snapshot("_, sts = zip(*map(nnx.split, nets)); st = sts[0]"),
    "variable": _snapshot("take = nnx.state; st = take(net)"),
    "alias": _snapshot("st = get_state(net)"),
    "alias of split": _snapshot("_, st = sp(net)"),
    "map of an alias": _snapshot("st = list(map(get_state, nets))[0]"),
    "partial of an alias": _snapshot("st = functools.partial(get_state, net)()"),
    "of a class": _snapshot("st = Taker.take(net)"),
    "of an object": _snapshot("st = Taker().kept(net)"),
    "of a table": _snapshot("st = {'s': get_state}['s'](net)"),
}
MERGES = {
    "two": _merged("a = nnx.merge(graph, st); b = nnx.merge(graph, st)"),
    "two by an alias": _merged("a = joined(graph, st); b = joined(graph, st)"),
    "two of a display": _merged("a, b = [nnx.merge(graph, s) for s in (st, st)]"),
    "two of a range": _merged("a, b = [nnx.merge(graph, st) for _ in range(2)]"),
    "two of a tuple": _merged("nets = tuple(nnx.merge(graph, st) for _ in range(2)); a = nets[0]; b = nets[1]"),
    "two of a map": _merged("a, b = map(lambda s: nnx.merge(graph, s), [st, st])"),
}
# where the function that is handed on makes no difference
LEFT = {
    "only one": _merged("a = nnx.merge(graph, nnx.clone(st)); b = nnx.merge(graph, nnx.clone(st))"),
    "map, read before": HEAD + "nets = [Net(), Net(1)]\nprint([total(s) for s in map(nnx.state, nets)])\n"
    "poke(nets[0])\n",
    "alias, not changed": HEAD + "net = Net()\nst = get_state(net)\nprint(total(st))\n",
    "another function": HEAD + "def state(net):\n    return nnx.clone(get_state(net))\n\n\nnet = Net()\n"
    "take = state\nst = take(net)\npoke(net)\nprint(total(st))\n",
    "different states": _merged("a, b = [nnx.merge(graph, s) for s in (st, nnx.state(Net()))]"),
    "given back": HEAD + "net = Net()\ngraph, st = nnx.split(net)\na = nnx.merge(graph, nnx.clone(st))\npoke(a)\n"
    "st = nnx.state(a)\nb = nnx.merge(graph, st)\nprint(total(nnx.state(b)))\n",
}  # fmt: skip
PROGRAMS = SNAPSHOTS | MERGES


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("handed_on")
    done = runs(PROGRAMS | LEFT, folder / "migrated")
    done["as it was"] = execute_all("0.11", PROGRAMS, folder / "was")
    return done


@pytest.mark.parametrize("name", PROGRAMS)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(PROGRAMS[name], options("0.11"))
    assert codes(once, options("0.11")) == []
    assert_breaks(outputs, name, "as it was")
    assert_same({version: done for version, done in outputs.items() if version != "as it was"}, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert not {"NNX401", "NNX402"} & {*codes(LEFT[name], options("0.11"))}
    assert_same({version: done for version, done in outputs.items() if version != "as it was"}, name)
