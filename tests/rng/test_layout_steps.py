"""A question about the streams of objects that make ever new ones ends, and that it was cut short is said."""

from __future__ import annotations

import pytest

from codemods.nnx.options import Options
from codemods.nnx.rng import layouts
from tests.migration import look

TEXT = """\
import orbax.checkpoint as ocp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.layers = [nnx.Linear(2, 2, rngs=rngs), nnx.Linear(2, 2, rngs=rngs)]
        self.norm = nnx.LayerNorm(2, rngs=rngs)


class Net(nnx.Module):
    def __init__(self, rngs):
        self.blocks = [Block(rngs), Block(rngs)]


net = Net(nnx.Rngs(0))
ocp.StandardCheckpointer().save("/tmp/net", nnx.state(net))
"""


def _unanswered() -> int:
    return look(TEXT, Options(origin="0.10", targets=("0.11",))).unanswered


def test_a_question_without_end_is_cut_short_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _unanswered() == 0
    monkeypatch.setattr(layouts, "_STEPS", 2)
    assert _unanswered() > 0
