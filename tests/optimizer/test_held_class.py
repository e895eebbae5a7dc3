"""Optimizers whose class is kept in an attribute or taken from a module of the project."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, migrated

PROGRAM = """\
import functools
import jax.numpy as jnp
import optax
from flax import nnx


class Own(nnx.Optimizer):
    pass


class Trainer:
    maker = nnx.Optimizer

    def __init__(self, model, tx):
        self.opts = {"a": self.maker(model, tx)}

    def step(self, grads):
        self.opts["a"].update(grads)


net = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
trainer = Trainer(net, optax.sgd(0.1))
trainer.step(nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(net))
print(net.kernel.value.sum())
"""
HELD = "    maker = nnx.Optimizer\n"
MADE = 'self.opts = {"a": self.maker(model, tx)}'
FORMS = {
    "attribute of the class": PROGRAM,
    "attribute of the object": PROGRAM.replace(HELD, "").replace(MADE, f"self.maker = nnx.Optimizer\n        {MADE}"),
    "another name for it": PROGRAM.replace(MADE, 'make = self.maker\n        self.opts = {"a": make(model, tx)}'),
    "some arguments before": PROGRAM.replace(
        MADE, 'make = functools.partial(self.maker, tx=tx)\n        self.opts = {"a": make(model)}'
    ),
    "asked about": f'{PROGRAM}print(isinstance(trainer.opts["a"], Trainer.maker))\n',
    "of the same name": PROGRAM.replace(HELD, "    Optimizer = nnx.Optimizer\n").replace(
        "self.maker", "self.Optimizer"
    ),
}
ARGUMENT = (
    PROGRAM.replace(HELD, "").replace("model, tx):", "model, tx, maker=nnx.Optimizer):").replace("self.maker", "maker")
)
PARTIAL = (
    PROGRAM.replace(HELD, "")
    .replace("model, tx):", "model, maker=functools.partial(nnx.Optimizer, tx=optax.sgd(0.1))):")
    .replace("self.maker(model, tx)", "maker(model)")
    .replace("(net, optax.sgd(0.1))", "(net)")
)
TWO = """\
one = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
opt = Maker(one, optax.sgd(0.1))
opt.update(nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(one))
print(one.kernel.value.sum())
"""
FORMS |= {
    "default of an argument": ARGUMENT,
    "partial as the default": PARTIAL,
    "partial as the default, in plain sight": PARTIAL.replace(
        'self.opts = {"a": maker(model)}', "self.opt = maker(model)"
    )
    .replace("def step(self, grads)", "def step(self, grads, model)")
    .replace('self.opts["a"]', "self.opt")
    .replace("(net))\nprint", "(net), net)\nprint"),
    "one variable for two": PROGRAM.replace(HELD, "")
    .replace("self.maker", "Maker")
    .replace("\n\nclass Own", "\n\nMaker = nnx.Optimizer\n\n\nclass Own")
    + TWO,
}
LEFT = {
    "given by a caller": f"{ARGUMENT}other = Trainer(net, optax.sgd(0.1), nnx.Optimizer)\n",
    "another class in a subclass": f"{PROGRAM}\n\nclass Other(Trainer):\n    maker = Own\n",
    "set from outside": f"{PROGRAM}Trainer.maker = nnx.Optimizer\n",
    "handed on": f"{PROGRAM}show(Trainer.maker)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(FORMS, tmp_path_factory.mktemp("held"))


@pytest.mark.parametrize("name", FORMS)
def test_the_class_is_renamed_where_the_attribute_is_set(name: str) -> None:
    text = migrate_text(FORMS[name])
    assert text.count("nnx.ModelAndOptimizer") == (0 if "plain sight" in name else 1)


@pytest.mark.parametrize("name", FORMS)
def test_runs_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_what_has_other_uses_is_left_and_told(name: str) -> None:
    files, left = migrated(LEFT[name])
    assert "maker(model, tx)" in files["main.py"]
    assert any("`maker`" in f.message for f in left if f.code == "NNX103")


@pytest.mark.parametrize(
    ("imported", "used"), [("from lib import Optimizer", "Optimizer"), ("import lib", "lib.Optimizer")]
)
def test_a_class_that_the_project_hands_on_is_named_itself(imported: str, used: str) -> None:
    main = PROGRAM.replace(HELD, "").replace("self.maker", used).replace("import optax", f"import optax\n{imported}")
    files, _ = migrated({"lib.py": "from flax.nnx import Optimizer\n", "main.py": main})
    assert MADE.replace("self.maker", "nnx.ModelAndOptimizer") in files["main.py"]
    assert imported in files["main.py"]
