"""NNX221: counts of leaves in which the streams of layers are, confirmed by real Flax."""

from __future__ import annotations

import pytest

from tests.agreement import runs
from tests.environments import Output, agree
from tests.migration import look, options

HEAD = """\
import jax
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


class Two(nnx.Module):
    def __init__(self, rngs):
        self.first, self.second = Net(rngs), Net(rngs)


class Plain(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5)


class Deep(nnx.Module):
    def __init__(self, rngs, number=3):
        self.blocks = [Net(rngs) for _ in range(number)]


net = Net(nnx.Rngs(params=0, dropout=1))
OPTIMIZER
"""
SIGN = "optimizer = nnx.Optimizer(net, optax.sgd(0.1))"

CELL = "class Cell(nnx.Module):\n    def __init__(self, rngs):\n        self.cell = nnx.GRUCell(2, 2, rngs=rngs)\n"

TOLD = {
    "leaves": "print(len(jax.tree.leaves(nnx.state(net))))",
    "sizes": "print(sum(leaf.size for leaf in jax.tree_util.tree_leaves(nnx.state(net))))",
    "a list of sizes": "print(sum([leaf.size for leaf in jax.tree.leaves(nnx.state(net))]))",
    "a flat state": "print(len(nnx.state(net).flat_state()))",
    "a flat state by a function": "print(len(nnx.to_flat_state(nnx.state(net))))",
    "a pure dict": "print(len(jax.tree.leaves(nnx.to_pure_dict(nnx.state(net)))))",
    "the streams": "print(len(jax.tree.leaves(nnx.state(net, nnx.RngState))))",
    "the rest": "graphdef, params, rest = nnx.split(net, nnx.Param, ...)\nprint(len(jax.tree.leaves(rest)))",
    "another part": "params, rest = nnx.state(net, nnx.Param, ...)\nprint(len(jax.tree.leaves(rest)))",
    "two layers": "two = Two(nnx.Rngs(0))\nprint(len(jax.tree.leaves(nnx.state(two))))",
    "a sequence of layers": "class Row(nnx.Module):\n    def __init__(self, rngs):\n"
    "        self.row = nnx.Sequential(nnx.Dropout(0.1, rngs=rngs), nnx.Dropout(0.1, rngs=rngs), Net(rngs))\n"
    "print(len(jax.tree.leaves(nnx.state(Row(nnx.Rngs(0, dropout=1))))))",
    "an optimizer": "o = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)\ngraphdef, state = nnx.split(o)\n"
    "print(len(state.flat_state()))",
    "a copy": "g, s = nnx.split(net)\nprint(len(jax.tree.leaves(nnx.state(nnx.merge(g, s)))))",
    "paths of a flat state": "print(['.'.join(map(str, p)) for p, _ in nnx.state(net).flat_state()])",
    "paths as keys": "flat = nnx.to_flat_state(nnx.state(net))\nprint(sorted({str(p): 1 for p, v in flat}))",
    "paths of a graph": "for path, part in nnx.iter_graph(net):\n"
    "    if isinstance(part, nnx.Module):\n        pass\n"
    "    elif isinstance(part, nnx.Variable):\n        print(path)",
    "paths of one stream": "one = Net(nnx.Rngs(0))\nprint([p for p, _ in nnx.state(one).flat_state()])",
    "paths in order": "for path, leaf in sorted(nnx.state(net).flat_state(), key=lambda pair: str(pair[0])):\n"
    "    print(path)",
    "a cell": f"{CELL}print(len(jax.tree.leaves(nnx.state(Cell(nnx.Rngs(0))))))",
    "a cell in an RNN": f"{CELL}class Row(nnx.Module):\n    def __init__(self, rngs):\n"
    "        self.rnn = nnx.RNN(nnx.LSTMCell(2, 2, rngs=rngs))\n        self.cell = Cell(rngs)\n"
    "print(len(jax.tree.leaves(nnx.state(Row(nnx.Rngs(params=0))))))",
    "paths of a cell": f"{CELL}print([path for path, _ in nnx.state(Cell(nnx.Rngs(0))).flat_state()])",
    "a helper": "def count(model):\n    return sum(p.size for p in jax.tree.leaves(nnx.state(model)))\n"
    "print(count(net))",
}
SILENT = {
    "the parameters": "print(len(jax.tree.leaves(nnx.state(net, nnx.Param))))",
    "all but streams": "print(len(jax.tree.leaves(nnx.state(net, nnx.Not(nnx.RngState)))))",
    "the parameters of a split": "graphdef, params, rest = nnx.split(net, nnx.Param, ...)\n"
    "print(len(jax.tree.leaves(params)))",
    "streams are elsewhere": "graphdef, keys, rest = nnx.split(net, nnx.RngState, ...)\n"
    "print(len(jax.tree.leaves(rest)))",
    "as many layers as streams": "two = Two(nnx.Rngs(params=0, dropout=1))\n"
    "print(len(jax.tree.leaves(nnx.state(two))))",
    "one layer and one stream": "one = Net(nnx.Rngs(0))\nprint(len(jax.tree.leaves(nnx.state(one))))",
    "a layer without a stream": "p = Plain(nnx.Rngs(0, dropout=1))\nprint(len(jax.tree.leaves(nnx.state(p))))",
    "an unknown number of layers": "deep = Deep(nnx.Rngs(0), 1)\nprint(len(jax.tree.leaves(nnx.state(deep))))",
    "paths of parameters": "print([p for p, _ in nnx.state(net, nnx.Param).flat_state()])",
    "some paths": "print([p for p, _ in nnx.state(net).flat_state() if p[-1] == 'kernel'])",
    "paths of modules": "for path, part in nnx.iter_graph(net):\n"
    "    if isinstance(part, nnx.Linear):\n        print(path)",
    "paths of a layer without a stream": "p = Plain(nnx.Rngs(0, dropout=1))\n"
    "print([path for path, _ in nnx.state(p).flat_state()])",
    "paths of parameters in order": "print([p for p, _ in sorted(nnx.state(net, nnx.Param).flat_state(), key=str)])",
    "parameters of a cell": f"{CELL}print(len(jax.tree.leaves(nnx.state(Cell(nnx.Rngs(0)), nnx.Param))))",
    "a cell whose RNN forks one stream": "class Row(nnx.Module):\n    def __init__(self, rngs):\n"
    "        self.rnn = nnx.RNN(nnx.GRUCell(2, 2, rngs=rngs), rngs=rngs)\n"
    "print(len(jax.tree.leaves(nnx.state(Row(nnx.Rngs(0))))))",
    "only some leaves": "print(sum(p.ndim == 2 for p in jax.tree.leaves(nnx.state(net)) if p.ndim == 2))",
    "other things": "print(len(jax.tree.leaves([1, 2])), sum(x for x in [1, 2]))",
}


def _text(line: str, sign: str = "") -> str:
    return f"{HEAD.replace('OPTIMIZER', sign)}{line}\n"


def _codes(line: str, sign: str = SIGN, target: str = "0.11") -> list[str]:
    return [f.code for f in look(_text(line, sign), options(target)).findings if f.code == "NNX221"]


@pytest.mark.parametrize("target", ["0.11", "0.12"])
@pytest.mark.parametrize("name", TOLD)
def test_told(name: str, target: str) -> None:
    assert _codes(TOLD[name], target=target) == ["NNX221"]


@pytest.mark.parametrize("name", TOLD)
def test_nothing_is_said_of_migrated_code(name: str) -> None:
    assert not _codes(TOLD[name], SIGN.replace("0.1)", "0.1), wrt=nnx.Param"))


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert not _codes(SILENT[name])


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    lines = {f"told {name}": TOLD[name] for name in TOLD} | {f"silent {name}": SILENT[name] for name in SILENT}
    programs = {name: _text(line) for name, line in lines.items() if "Deep(" not in line}
    return runs(programs, tmp_path_factory.mktemp("counted"))


@pytest.mark.parametrize("name", TOLD)
def test_the_number_is_another(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    old, new = outputs["0.10"][f"told {name}"], outputs["0.11"][f"told {name}"]
    assert old.code == new.code == 0, old.err + new.err
    assert not agree(old.out, new.out)


@pytest.mark.parametrize("name", [name for name in SILENT if "Deep(" not in SILENT[name]])
def test_the_number_is_the_same(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    old, new = outputs["0.10"][f"silent {name}"], outputs["0.11"][f"silent {name}"]
    assert old.code == new.code == 0, old.err + new.err
    assert agree(old.out, new.out)
