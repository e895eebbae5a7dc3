"""Optimizers that only an update of unknown origin joins: one that cannot be changed keeps no other from it."""

from __future__ import annotations

import pytest

from tests.agreement import runs
from tests.environments import Output, agree
from tests.migration import look, migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

X = jnp.eye(3)


def net(seed=0):
    return nnx.Linear(3, 2, rngs=nnx.Rngs(seed))


def loss(model):
    return ((model(X) - 1) ** 2).mean()


def plain():
    model = net()
    opt = nnx.Optimizer(model, optax.sgd(0.1))
    opt.update(nnx.grad(loss)(model))
    return loss(model)


class Holder:
    pass


def unknown():
    holder = Holder()
    holder.model = net()
    setattr(holder, "op" + "t", nnx.Optimizer(holder.model, optax.sgd(0.1)))
    getattr(holder, "opt").update(nnx.grad(loss)(holder.model))
    return loss(holder.model)


"""
HIDDEN = """\
def hidden():
    model = net()
    opt = nnx.Optimizer(model, optax.sgd(0.1))
    opt.update(**{"grads": nnx.grad(loss)(model)})
    return loss(model)


"""
CLASS = """\
def hidden():
    model = net()
    opt = nnx.Optimizer(model, optax.sgd(0.1))
    nnx.Optimizer.update(opt, grads=nnx.grad(loss)(model))
    return loss(model)


"""
SHOW = "print(float(plain()))\nprint(float(unknown()))\n"
LEFT = {"keywords": HIDDEN, "of the class": CLASS}
PROGRAMS = {name: HEAD + text + SHOW for name, text in LEFT.items()}
PLAIN = HEAD[: HEAD.index("class Holder")]
# a function that gets pairs one by one, beside a class with an `update` of its own
PAIRS = """\
class Scaler:
    def __init__(self, opt):
        self._opt = opt

    def update(self, grads):
        self._opt.update(jax.tree.map(lambda g: g / 2, grads))


model = net()
scaled = Scaler(nnx.Optimizer(model, optax.sgd(0.1)))
scaled.update(nnx.grad(loss)(model))
pairs = [(one, nnx.Optimizer(one, optax.sgd(0.1))) for one in (net(1), net(2))]
list(map(lambda p: p[1].update(nnx.grad(loss)(p[0])), pairs))
print([float(loss(one)) for one, _ in pairs], float(loss(model)))
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS | {"pairs": PLAIN + PAIRS}, tmp_path_factory.mktemp("parts"), ("0.11",))


@pytest.mark.parametrize("name", PROGRAMS)
def test_others_are_migrated(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    text = PROGRAMS[name]
    left = [f for f in look(text, options("0.11")).findings if f.fix is None]
    line = text[: text.index("def hidden")].encode()
    assert left
    assert all(f.start > len(line) for f in left)
    assert outputs["0.10"][name].code == outputs["0.11"][name].code == 0, outputs["0.11"][name].err
    assert agree(outputs["0.10"][name].out, outputs["0.11"][name].out)


def test_again() -> None:
    """What was left is told of again, and nothing else is."""
    once = migrate_text(PROGRAMS["keywords"], options("0.11"))
    assert migrate_text(once, options("0.11")) == once
    again = [f for f in look(once, options("0.11")).findings if f.fix is None]
    assert all(f.start > once.index("def hidden") for f in again)


def test_pairs(outputs: dict[str, dict[str, Output]]) -> None:
    after = migrate_text(PLAIN + PAIRS, options("0.11"))
    assert [f.code for f in look(after, options("0.11")).findings] == []
    assert "NNX107" not in [f.code for f in look(PLAIN + PAIRS, options("0.11")).findings]
    assert agree(outputs["0.10"]["pairs"].out, outputs["0.11"]["pairs"].out), outputs["0.11"]["pairs"].err
