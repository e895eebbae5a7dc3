"""Which saved objects hold layers whose streams moved, so that their checkpoints changed."""

from __future__ import annotations

import pytest

from tests.migration import codes, options

HEAD = """\
import orbax.checkpoint as ocp
from flax import nnx

rngs = nnx.Rngs(0)


class Noise(nnx.Dropout):
    pass


class Cell(nnx.LSTMCell):
    pass


class Own(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
        self.linear = nnx.Linear(2, 2, rngs=rngs)


class Net(nnx.Module):
    def __init__(self, rngs):
        self.blocks = [nnx.Linear(2, 2, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)]


"""

MOVED = [
    "nnx.Dropout(0.5, rngs=rngs)", "nnx.LSTMCell(2, 2, rngs=rngs)", "nnx.GRUCell(2, 2, rngs=rngs)", "Net(rngs)",
    "Noise(0.5, rngs=rngs)", "Cell(2, 2, rngs=rngs)", "nnx.Sequential(nnx.relu, nnx.Dropout(0.5, rngs=rngs))",
    "nnx.RNN(nnx.GRUCell(2, 2, rngs=rngs), rngs=rngs)", "nnx.OptimizedLSTMCell(2, 2, rngs=rngs)",
    "nnx.SimpleCell(2, 2, rngs=rngs)", "nnx.MultiHeadAttention(1, 2, dropout_rate=0.1, rngs=rngs)",
    "nnx.Dropout(0.5, rng_collection='a', rngs=rngs)",
]  # fmt: skip
STAYED = [
    "nnx.Linear(2, 2, rngs=rngs)", "Own(rngs)", "rngs", "nnx.Dropout(0.5)", "nnx.BatchNorm(2, rngs=rngs)",
    "nnx.RngStream(tag='a', key=0)", "nnx.MultiHeadAttention(1, 2, rngs=rngs)", "{'a': rngs}",
]  # fmt: skip


def _saved(model: str) -> list[str]:
    text = f"{HEAD}model = {model}\nocp.StandardCheckpointer().save('/tmp/a', nnx.state(model))\n"
    text += "ocp.StandardCheckpointer().restore('/tmp/a', nnx.state(model))\n"
    return [code for code in codes(text, options("0.11")) if code.startswith("NNX7")]


@pytest.mark.parametrize("model", MOVED)
def test_moved(model: str) -> None:
    assert _saved(model)


@pytest.mark.parametrize("model", STAYED)
def test_stayed(model: str) -> None:
    assert not _saved(model)
