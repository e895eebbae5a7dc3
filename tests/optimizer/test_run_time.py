"""Optimizers that no text shows: classes and names made at run time, plug-ins, and names alone."""

from __future__ import annotations

import pytest

from tests.migration import codes, migrate_text, migrated

HEAD = """\
import dataclasses
import types

import optax
import plugin
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
tx = optax.sgd(0.1)

"""

REPORTED = {
    "class from type()": ('Made = type("Made", (nnx.Optimizer,), {})\n', "NNX113"),
    "class from type(), its bases named before": (
        'bases = (nnx.Optimizer, object)\nMade = type("Made", bases, {})\n',
        "NNX113",
    ),
    "class from new_class()": ('Made = types.new_class("Made", (nnx.Optimizer,))\n', "NNX113"),
    "dataclass": ('Made = dataclasses.make_dataclass("M", [], bases=(nnx.Optimizer,))\n', "NNX113"),
    "class of a class of the project's": (
        'class Own(nnx.Optimizer):\n    pass\n\nMade = type("Made", (Own,), {})\n',
        "NNX113",
    ),
    "name from outside": ("optimizer_class = getattr(nnx, plugin.name)\n", "NNX113"),
    "name among several": ('KINDS = ["Optimizer", "Other"]\nmade = getattr(nnx, KINDS[plugin.kind])\n', "NNX113"),
    "name of a parameter": ("def make_optimizer(name):\n    return getattr(nnx, name)(model, tx)\n", "NNX113"),
    "update of the class replaced": (
        "def logged(self, grads):\n    print(1)\n\nnnx.Optimizer.update = logged\n",
        "NNX113",
    ),
    "update replaced by setattr": ('setattr(nnx.Optimizer, "update", lambda self, grads: None)\n', "NNX113"),
    "update replaced in a test": (
        "def test(monkeypatch):\n    def fake(self, grads, **more):\n        print(grads)\n"
        '    monkeypatch.setattr("flax.nnx.Optimizer.update", fake)\n',
        "NNX113",
    ),
    "update replaced by mock": (
        'from unittest import mock\n\nwith mock.patch.object(nnx.Optimizer, "update", new=lambda self, grads: None):\n'
        "    print(1)\n",
        "NNX113",
    ),
    "constructor replaced": (
        "def made(self, model, tx):\n    print(tx)\n\nnnx.Optimizer.__init__ = made\n",
        "NNX113",
    ),
    "update of one optimizer replaced": (
        "optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)\noptimizer.update = lambda grads: print(grads)\n",
        "NNX113",
    ),
    "update of one optimizer replaced by a method": (
        "def clipped(self, grads):\n    print(grads)\n\noptimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)\n"
        "optimizer.update = types.MethodType(clipped, optimizer)\n",
        "NNX113",
    ),
    "update of a class of the project's replaced": (
        "class Own(nnx.Optimizer):\n    pass\n\nOwn.update = lambda self, grads: print(grads)\n",
        "NNX113",
    ),
    "made by a plug-in": (
        "thing = plugin.make(model)\ngrads = nnx.grad(lambda m: m(1).sum())(model)\nthing.update(grads)\n",
        "NNX107",
    ),
    "gradients by a plug-in": (
        "def step(model, optimizer, x):\n    grads = plugin.gradients(model, x)\n    optimizer.update(grads)\n",
        "NNX107",
    ),
    "gradients by a plug-in, at once": (
        "def step(state, x):\n    state.opt.update(grads=plugin.gradients(state.net, x))\n",
        "NNX107",
    ),
}
QUIET = {
    "activation by name": 'act = getattr(nnx, plugin.name)\nprint(act(1))\nprint(getattr(nnx, "relu"))\n',
    "type of an object": "print(type(model))\n",
    "class of others": 'Made = type("Optimizer", (object,), {})\n',
    "dict": "options = plugin.options()\noptions.update(plugin.more)\n",
    "dict of arguments": "opt_args = {}\nopt_args.update(plugin.gradients())\n",
    "gradients in a dict": "all_grads = plugin.tree()\nall_grads.update(plugin.grads())\n",
    "update replaced by what takes anything": (
        "old = nnx.Optimizer.update\n\n"
        "def logged(self, *args, **named):\n    return old(self, *args, **named)\n\nnnx.Optimizer.update = logged\n"
    ),
    "update replaced by what takes a model": "nnx.Optimizer.update = lambda self, model, grads: None\n",
    "update replaced by a mock": (
        'from unittest import mock\n\nwith mock.patch.object(nnx.Optimizer, "update") as update:\n    print(update)\n'
    ),
    "update of others replaced": (
        "class Own:\n    pass\n\nOwn.update = lambda self, grads: None\nsetattr(Own, 'update', lambda self, grads: 1)\n"
    ),
    "another method replaced": "nnx.Optimizer.describe = lambda self: 1\nnnx.Module.update = lambda self, grads: 1\n",
    "optax": "updates, state = plugin.optimizer.update(plugin.grads, plugin.state)\n",
}


@pytest.mark.parametrize(("body", "code"), REPORTED.values(), ids=REPORTED)
def test_reported(body: str, code: str) -> None:
    assert code in codes(HEAD + body)


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_quiet(body: str) -> None:
    assert codes(HEAD + body) == []


def test_name_that_is_known() -> None:
    body = 'cls = getattr(nnx, "Optimizer")\no = cls(model, tx)\nprint(o.model)\n'
    assert migrate_text(HEAD + body) == (HEAD + body).replace("tx)\n", "tx, wrt=nnx.Param)\n").replace(
        "o.model", "model"
    )


def test_one_flag_picks_both_filters() -> None:
    """Filters are compared over all ways: one flag may choose that of the optimizer and that of the gradients."""
    body = """\
def run(lora, x):
    if lora:
        o = nnx.Optimizer(model, tx, wrt=nnx.LoRAParam)
        grads = nnx.grad(lambda m: m(x).sum(), argnums=nnx.DiffState(0, nnx.LoRAParam))(model)
    else:
        o = nnx.Optimizer(model, tx, wrt=nnx.Param)
        grads = nnx.grad(lambda m: m(x).sum())(model)
    o.update(grads)
"""
    assert not migrated(HEAD + body)[1]
    other = body.replace("wrt=nnx.Param", "wrt=nnx.BatchStat").replace("wrt=nnx.LoRAParam", "wrt=nnx.BatchStat")
    assert "NNX106" in codes(HEAD + other)


RIVAL = """\
class SGD(nnx.Object):
    def update(self, grads):
        self.grads = grads

"""


@pytest.mark.parametrize(
    "parameter", ["optimizer: SGD", "optimizer", "*, optimizer"], ids=["annotated", "bare", "keyword"]
)
def test_optimizer_of_the_projects_own(parameter: str) -> None:
    """What may be an object of a class of the project's own is never rewritten, whatever else is in the project."""
    step = f"def step(model, {parameter}):\n    grads = nnx.grad(lambda m: m(1).sum())(model)\n"
    step += "    optimizer.update(grads)\n"
    for more in ("", "other = nnx.Optimizer(model, tx)\n"):
        new, left = migrated(HEAD + RIVAL + step + more)
        assert step in new["main.py"]
        assert "NNX107" in [found.code for found in left] or "SGD" in parameter
