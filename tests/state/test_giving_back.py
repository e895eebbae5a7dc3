"""The objects of runs hold each other, and are freed all the same when all runs are done."""

from __future__ import annotations

import gc
from collections import Counter

import pytest

from codemods.nnx.options import Options
from codemods.nnx.state.execution import Execution
from codemods.nnx.state.giving_back import given_back, to_let_go
from codemods.nnx.state.heap import Thing
from tests.migration import look

_PROGRAM = """\
import jax.numpy as jnp
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(2, 2, rngs=rngs)
        self.again = lambda: self.layer


def changed(model):
    state = nnx.state(model)
    for name in ("one", "two"):
        model.layer.kernel.value += 1
    return state


model = Model(nnx.Rngs(0))
before = changed(model)
print(before["layer"]["kernel"].value, model.again())
"""


def _alive() -> Counter[type]:
    return Counter(type(one) for one in gc.get_objects() if type(one) in {Execution, Thing})


def test_runs_leave_nothing() -> None:
    """Without a search for circles."""
    gc.collect()
    gc.disable()
    try:
        before = _alive()
        analysis = look(_PROGRAM, Options())
        after = _alive()
    finally:
        gc.enable()
    assert "NNX401" in {finding.code for finding in analysis.findings}
    assert after == before


class _Made:
    def __init__(self) -> None:
        self.held: object = self
        to_let_go(self)

    def let_go(self) -> None:
        self.held = None


def _failing(made: list[_Made]) -> None:
    with given_back():
        with given_back():
            made.append(_Made())
        assert made[0].held is made[0]
        made.append(_Made())
        raise ZeroDivisionError


def test_let_go_once() -> None:
    """What is asked for inside of another run is used by that one until it ends, also if it fails."""
    made: list[_Made] = []
    with pytest.raises(ZeroDivisionError):
        _failing(made)
    later = _Made()
    assert [one.held for one in made] == [None, None]
    assert later.held is later
