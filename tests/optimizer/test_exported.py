"""Functions in ``__all__`` keep their parameters, since code that is not in sight may call them."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import THREAD, migrated, options

STEP = """\
def train(optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(optimizer.model)
    optimizer.update(grads)
    return loss
"""
USE = """\
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
print(train(optimizer, jnp.ones((4, 2))), train(optimizer, jnp.ones((4, 2))))
"""
IMPORTS = "import jax.numpy as jnp\nimport optax\nfrom flax import nnx\n\n"
ALONE = IMPORTS + "{}\n\n" + STEP + "\n\n" + USE
KEPT = {
    "a list": ALONE.format('__all__ = ["train"]'),
    "a tuple": ALONE.format('__all__ = ("USE", "train")'),
    "decorated": ALONE.format('__all__ = ["train"]').replace("def train", "@nnx.jit\ndef train"),
}
THREADED = {
    "no list": ALONE.format(""),
    "another name": ALONE.format('__all__ = ["model"]'),
    "an inner function": IMPORTS
    + '__all__ = ["train", "main"]\n\n\ndef main():\n'
    + "".join(f"    {line}\n" if line else "\n" for line in f"{STEP}\n{USE}".splitlines())
    + "\n\nmain()\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({**KEPT, **THREADED}, tmp_path_factory.mktemp("exported"))


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    new = migrated(KEPT[name])[0]["main.py"]
    assert "nnx.ModelAndOptimizer(model" in new
    assert "def train(optimizer, x)" in new
    assert "def train(model, optimizer, x)" in migrated(KEPT[name], options("0.11", optimizer=THREAD))[0]["main.py"]
    assert_same(outputs, name)


@pytest.mark.parametrize("name", THREADED)
def test_threaded(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "def train(model, optimizer, x)" in migrated(THREADED[name])[0]["main.py"]
    assert_same(outputs, name)


@pytest.mark.parametrize(("names", "kept"), [('["train"]', True), ('["other"]', False)])
def test_package(names: str, kept: bool) -> None:
    texts = {
        "own/steps.py": f"{IMPORTS}\n{STEP}",
        "own/__init__.py": f"from own.steps import train\n\n__all__ = {names}\n",
        "run.py": f"{IMPORTS.rstrip()}\nfrom own import train\n\n{USE}",
    }
    new = migrated(texts)[0]
    assert ("def train(optimizer, x)" in new["own/steps.py"]) is kept
    assert ("nnx.ModelAndOptimizer(" in new["run.py"]) is kept
