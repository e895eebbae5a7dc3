"""NNX203 on recurrent cells, which keep no Rngs since 0.11 unless told to."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks
from tests.batch import execute_all
from tests.migration import look, options

HEAD = """\
from flax import nnx

rngs = nnx.Rngs(0, carry=1)


class Cell(nnx.LSTMCell):
    pass


class Keeping(nnx.GRUCell):
    def __init__(self, rngs):
        super().__init__(2, 3, rngs=rngs)
        self.rngs = rngs


"""
LOST = {
    "cell": "cell = nnx.LSTMCell(2, 3, rngs=rngs)\nprint(cell.rngs.carry.count.value)\n",
    "derived": "cell = Cell(2, 3, rngs=rngs)\nprint(cell.rngs['carry'].count.value)\n",
    "in a layer": "rnn = nnx.RNN(nnx.GRUCell(2, 3, rngs=rngs))\nprint(rnn.cell.rngs.carry.count.value)\n",
    "in a model": "class Net(nnx.Module):\n    def __init__(self):\n"
    "        self.rnn = nnx.RNN(Cell(2, 3, rngs=rngs))\n\n\nprint(Net().rnn.cell.rngs.params.count.value)\n",
}
LEFT = {
    "own attribute": "print(Keeping(rngs).rngs.carry.count.value)\n",
    "another class": "class Box:\n    rngs = rngs\n\n\nprint(Box().rngs.carry.count.value)\n",
}


@pytest.mark.parametrize("name", LOST)
def test_the_read_is_reported(name: str) -> None:
    found = look(HEAD + LOST[name], options("0.11")).findings
    assert [(f.code, f.fix) for f in found] == [("NNX203", None)]
    assert "keep no Rngs" in found[0].message


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left_alone(name: str) -> None:
    assert "NNX203" not in {f.code for f in look(HEAD + LEFT[name], options("0.11")).findings}


def test_the_reads_work_under_0_10_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    texts = {name: HEAD + body for name, body in LOST.items()}
    runs = {v: execute_all(v, texts, tmp_path_factory.mktemp(f"cells{v}")) for v in ("0.10", "0.11")}
    for name in LOST:
        assert_breaks(runs, name)
