"""Two branches that update an optimizer as 0.10 and as later releases want it: both stay, and the rest is migrated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch import execute_all
from tests.environments import agree
from tests.migration import look, migrated, options

HEAD = """\
import flax
import jax.numpy as jnp
import optax
from flax import nnx

OLD = tuple(map(int, flax.__version__.split(".")[:2])) < (0, 11)
"""
TAIL = """\
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
for _ in range(3):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(model)
    apply(optimizer, model, grads)
    print(loss)
"""
APPLY = {
    "if": "    if OLD:\n        optimizer.update(grads)\n    else:\n        optimizer.update(model, grads)\n",
    "turned": "    if not OLD:\n        optimizer.update(model, grads)\n    else:\n        optimizer.update(grads)\n",
    "elif": "    if grads is None:\n        return\n    elif OLD:\n        optimizer.update(grads)\n"
    "    else:\n        optimizer.update(model, grads)\n",
    "returned": "    if OLD:\n        optimizer.update(grads)\n        return\n    optimizer.update(model, grads)\n",
    "chosen": "    optimizer.update(grads) if OLD else optimizer.update(model, grads)\n",
    "try": "    try:\n        optimizer.update(model, grads)\n    except TypeError:\n        optimizer.update(grads)\n",
}


def _program(name: str) -> str:
    return f"{HEAD}def apply(optimizer, model, grads):\n{APPLY[name]}{TAIL}"


@pytest.mark.parametrize("name", APPLY)
def test_both_stay(name: str) -> None:
    text = _program(name)
    files, left = migrated(text, options("0.11", "0.12"))
    assert files["main.py"] == text.replace("optax.sgd(0.1))", "optax.sgd(0.1), wrt=nnx.Param)")
    assert not left


@pytest.mark.parametrize("version", ["0.11", "0.12"])
def test_the_same_is_printed(version: str, tmp_path: Path) -> None:
    before = {name: _program(name) for name in APPLY}
    after = {name: migrated(text, options("0.11", "0.12"))[0]["main.py"] for name, text in before.items()}
    old = execute_all("0.10", before, tmp_path / "old")
    new = execute_all(version, after, tmp_path / "new")
    assert {name: output.err for name, output in (old | new).items() if output.code} == {}
    assert all(agree(old[name].out, new[name].out) for name in before)


@pytest.mark.parametrize(
    "body",
    [
        "    optimizer.update(grads)\n    optimizer.update(model, grads)\n",
        "    if OLD:\n        optimizer.update(grads)\n    optimizer.update(model, grads)\n",
        "    if OLD:\n        optimizer.update(grads)\n    else:\n        optimizer.apply(model, grads)\n",
    ],
)
def test_no_switch(body: str) -> None:
    """Of other code the update without the model is told of, or changed."""
    text = f"{HEAD}def apply(optimizer, model, grads):\n{body}{TAIL}"
    assert {"NNX102"} <= {finding.code for finding in look(text, options("0.11")).findings}


DEFINED = """\
if not OLD:

    def make(model, tx):
        return {made}

    def apply(optimizer, model, grads):
        optimizer.update(model, grads)
else:

    def make(model, tx):
        return nnx.Optimizer(model, tx)

    def apply(optimizer, model, grads):
        optimizer.update(grads)


"""
RETURNED = """\
def make(model, tx):
    if OLD:
        return nnx.Optimizer(model, tx)
    return {made}


def apply(optimizer, model, grads):
    if OLD:
        optimizer.update(grads)
        return
    optimizer.update(model, grads)


"""
MADE = "nnx.Optimizer(model, tx, wrt=nnx.Param)"


@pytest.mark.parametrize("form", [DEFINED, RETURNED])
def test_functions_for_each_release_stay(form: str, tmp_path: Path) -> None:
    text = f"{HEAD}{form.format(made=MADE)}{TAIL.replace('nnx.Optimizer(', 'make(')}"
    files, left = migrated(text, options("0.11", "0.12"))
    assert files["main.py"] == text
    assert not left
    old = execute_all("0.10", {"main": text}, tmp_path / "old")["main"]
    assert not old.code, old.err
    for version in ("0.11", "0.12"):
        new = execute_all(version, {"main": text}, tmp_path / version)["main"]
        assert not new.code, new.err
        assert agree(old.out, new.out)


def test_the_compatible_class_of_later_releases_stays_beside_the_old_one() -> None:
    made = RETURNED.format(made="nnx.ModelAndOptimizer(model, tx)").replace("update(model, grads)", "update(grads)")
    text = f"{HEAD}{made}{TAIL.replace('nnx.Optimizer(', 'make(')}"
    files, _ = migrated(text, options("0.11", "0.12"))
    assert files["main.py"] == text


SWITCHED = """\
if {test}:

    def make(model):
        return nnx.Optimizer(model, optax.sgd(0.1))
else:

    def make(model):
        return nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)


"""


def test_an_optimizer_made_for_old_releases_stays() -> None:
    made = SWITCHED.format(test='flax.__version__ < "0.11"')
    text = f"{HEAD}{made}def apply(optimizer, model, grads):\n{APPLY['if']}{TAIL}"
    text = text.replace("nnx.Optimizer(model, optax.sgd(0.1))\nfor", "make(model)\nfor")
    files, left = migrated(text, options("0.11", "0.12"))
    assert files["main.py"] == text
    assert not left


def test_two_ways_to_make_one_are_no_switch() -> None:
    """Up to 0.10 the filter may be given, and need not be."""
    made = SWITCHED.format(test="len(optax.__doc__) > 3")
    text = f"{HEAD}{made}def apply(optimizer, model, grads):\n{APPLY['if']}{TAIL}"
    text = text.replace("nnx.Optimizer(model, optax.sgd(0.1))\nfor", "make(model)\nfor")
    files, _ = migrated(text, options("0.11", "0.12"))
    assert files["main.py"].count("wrt=nnx.Param") == 2


def test_code_for_both_is_told_of_other_weights() -> None:
    net = "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.drop = nnx.Dropout(0.5, rngs=rngs)\n"
    net += "        self.out = nnx.Linear(2, 1, rngs=rngs)\n\n\nnet = Net(nnx.Rngs(0))\n"
    apply = f"def apply(optimizer, model, grads):\n{APPLY['if']}"
    assert [f.code for f in look(f"{HEAD}{net}{apply}", options("0.11")).findings] == ["NNX217"]
    assert look(f"{HEAD}{net}", options("0.11")).findings == []
