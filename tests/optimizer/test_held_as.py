"""NNX107 where optimizers that keep their models are held by the name of an attribute."""

from __future__ import annotations

import pytest

from tests.migration import migrated

BASE = """\
import optax
from flax import nnx

ALGORITHMS = dict()


class Algorithm:
    def __init_subclass__(cls, name="plain", **options):
        super().__init_subclass__(**options)
        ALGORITHMS[name] = cls

    def __init__(self, net):
        self.net = net
        self.optimizer = nnx.Optimizer(net, optax.sgd(0.1))

    def update(self, x):
        self.optimizer.update(nnx.grad(lambda m: m(x).sum())(self.net))

SAVE
class Plain(Algorithm):
    pass
"""
SAVE = """\
    def save(self):
        return nnx.state(self.optimizer)


"""
TEST = """\
from flax import nnx

from base import ALGORITHMS


def test(name, x):
    algorithm = ALGORITHMS[name](nnx.Linear(2, 1, rngs=nnx.Rngs(0)))
    grads = nnx.grad(lambda m: m(x).sum())(algorithm.net)
    algorithm.NAME.update(grads)
"""


def test_one_that_keeps_its_model_is_right() -> None:
    files, left = migrated({"base.py": BASE.replace("SAVE", SAVE), "test.py": TEST.replace("NAME", "optimizer")})
    assert "nnx.ModelAndOptimizer(net" in files["base.py"]
    assert files["test.py"] == TEST.replace("NAME", "optimizer")
    assert not left


@pytest.mark.parametrize(("save", "name"), [("\n", "optimizer"), (SAVE, "opt")])
def test_others_are_reported(save: str, name: str) -> None:
    _, left = migrated({"base.py": BASE.replace("SAVE", save), "test.py": TEST.replace("NAME", name)})
    assert [finding.code for finding in left] == ["NNX107"]
