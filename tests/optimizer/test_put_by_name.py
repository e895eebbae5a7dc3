"""Optimizers that get into a field by other ways than plain arguments belong to those that it holds; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import collections
import copy
import dataclasses
import functools
import typing

import jax.numpy as jnp
import optax
from flax import nnx, struct

X = jnp.eye(3)


def loss(model):
    return ((model(X) - 1) ** 2).mean()


"""
STEP = "    def step(self):\n        self.opt.update(nnx.grad(loss)(self.model))\n\n\n"
FIELDS = "    model: nnx.Module\n    opt: nnx.Optimizer\n\n"
PLAIN = "class Exp:\n    def __init__(self, model, opt):\n        self.model = model\n        self.opt = opt\n\n" + STEP
CLASSES = {
    "dataclass": "@dataclasses.dataclass\nclass Exp:\n" + FIELDS + STEP,
    "tuple": "class Exp(typing.NamedTuple):\n" + FIELDS + STEP,
    "plain": PLAIN,
}
MODEL = "model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))\n"
MAKE = MODEL + "exp = Exp(model, nnx.Optimizer(model, optax.sgd(0.1)))\nexp.step()\n"
NEW = "nnx.Optimizer(model, optax.sgd(0.2))"
SHOW = "exp.step()\nprint(float(loss(model)))\n"
PUT = {
    "replace": ("dataclass", f"exp = dataclasses.replace(exp, opt={NEW})\n"),
    "replace by a variable": ("dataclass", f"new = {NEW}\nexp = dataclasses.replace(exp, model=model, opt=new)\n"),
    "replace in a function": (
        "dataclass",
        f"def changed(exp, **others):\n    return dataclasses.replace(exp, opt={NEW}, **others)\n\n\n"
        "exp = changed(exp)\n",
    ),
    "replace by unpacked fields": ("dataclass", f"exp = dataclasses.replace(exp, **{{'opt': {NEW}}})\n"),
    "_replace": ("tuple", f"exp = exp._replace(opt={NEW})\n"),
    "_make": ("tuple", f"exp = Exp._make((model, {NEW}))\n"),
    "keywords": ("dataclass", f"exp = Exp(**dict(model=model, opt={NEW}))\n"),
    "keywords of a variable": ("plain", f"given = {{'model': model, 'opt': {NEW}}}\nexp = Exp(**given)\n"),
    "unpacked": ("dataclass", f"exp = Exp(*(model, {NEW}))\n"),
    "unpacked list": ("plain", f"given = [model, {NEW}]\nexp = Exp(*given)\n"),
    "partial": ("dataclass", f"exp = functools.partial(Exp, opt={NEW})(model)\n"),
    "partial of a plain class": ("plain", f"make = functools.partial(Exp, model, {NEW})\nexp = make()\n"),
    "vars": ("dataclass", f"vars(exp)['opt'] = {NEW}\n"),
    "vars, updated": ("plain", f"vars(exp).update({{'opt': {NEW}}})\n"),
    "__dict__": ("plain", f"exp.__dict__['opt'] = {NEW}\n"),
    "__dict__, updated": ("dataclass", f"exp.__dict__.update(opt={NEW})\n"),
    "setattr of the base": ("dataclass", f"object.__setattr__(exp, 'opt', {NEW})\n"),
}
PROGRAMS = {name: HEAD + CLASSES[kind] + MAKE + put + SHOW for name, (kind, put) in PUT.items()}
# what has a name of its own, or holds the only optimizer, goes on being given its model
OTHERS = {
    "another class": HEAD + CLASSES["dataclass"] + MAKE.replace("exp.step()\n", "")
    + "class Other(typing.NamedTuple):\n    opt: nnx.Optimizer\n\n\n"
    f"other = Other(None)._replace(opt=None)\nnew = {NEW}\nnew.update(nnx.grad(loss)(model))\n" + SHOW,
    "another field": HEAD + CLASSES["dataclass"] + MAKE + "exp = dataclasses.replace(exp, model=model)\n" + SHOW,
    "unpacked alone": HEAD + PLAIN + MODEL + f"exp = Exp(*(model, {NEW}))\n" + SHOW,
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS | OTHERS, tmp_path_factory.mktemp("put"))


@pytest.mark.parametrize("name", [*PROGRAMS, *OTHERS])
def test_runs(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_class(name: str) -> None:
    after = migrate_text(PROGRAMS[name], options("0.11"))
    assert after.count("nnx.ModelAndOptimizer(") in {0, 2}
    assert migrate_text(after, options("0.11")) == after


def test_others_get_their_model() -> None:
    assert "ModelAndOptimizer" not in migrate_text(OTHERS["another class"], options("0.11"))
