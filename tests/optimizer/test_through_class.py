"""NNX110 where a class calls the methods of nnx.Optimizer through its name, as before ``super``; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import migrate_text, migrated, options

HEAD = """\
import jax.numpy as jnp
import optax
from flax import nnx
from flax.nnx import Optimizer as Optim

net = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
tx = optax.sgd(0.1)


def grads():
    return nnx.grad(lambda m: jnp.mean(m(jnp.ones((3, 2))) ** 2))(net)


"""
TAIL = """\


mine.update(grads())
print(net.kernel.value.sum(), mine.step.value)
"""
CLASSES = {
    "update": """\
class Mine(nnx.Optimizer):
    def update(self, grads):
        nnx.Optimizer.update(self, grads)


mine = Mine(net, tx)
""",
    "update of an imported name": """\
class Mine(Optim):
    def update(self, grads):
        Optim.update(self, grads)


mine = Mine(net, tx)
""",
    "constructor": """\
class Mine(nnx.Optimizer):
    def __init__(self, model, tx):
        nnx.Optimizer.__init__(self, model, tx)
        self.calls = 0

    def update(self, grads):
        self.calls += 1
        super().update(grads)


mine = Mine(net, tx)
""",
    "constructor with a filter": """\
class Mine(nnx.Optimizer):
    def __init__(self, model, tx, wrt=nnx.Param):
        nnx.Optimizer.__init__(self, model, tx, wrt)


mine = Mine(net, tx)
""",
    "constructor and update": """\
class Mine(nnx.Optimizer):
    def __init__(self, model, tx):
        nnx.Optimizer.__init__(self, model, tx)

    def update(self, grads, **options):
        nnx.Optimizer.update(self, grads, **options)


mine = Mine(net, tx)
""",
    "another method": """\
class Mine(nnx.Optimizer):
    def twice(self, grads):
        for _ in range(2):
            nnx.Optimizer.update(self, grads)


mine = Mine(net, tx)
mine.twice(grads())
""",
    "beside a mixin": """\
class Halving:
    def update(self, grads):
        nnx.Optimizer.update(self, nnx.jit(lambda g: g)(grads))


class Mine(nnx.Optimizer):
    def update(self, grads):
        nnx.Optimizer.update(self, grads)


mine = Mine(net, tx)
""",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: HEAD + text + TAIL for name, text in CLASSES.items()}, tmp_path_factory.mktemp("through"))


@pytest.mark.parametrize("name", CLASSES)
def test_the_compatible_class(name: str) -> None:
    text = migrate_text(HEAD + CLASSES[name] + TAIL)
    assert "(nnx.ModelAndOptimizer):" in text or "ModelAndOptimizer as Optim" in text or "(ModelAndOptimizer):" in text
    assert migrate_text(text) == text


@pytest.mark.parametrize("name", CLASSES)
def test_runs_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_they_break_as_they_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("as they are")
    texts = {name: HEAD + text + TAIL for name, text in CLASSES.items()}
    done = {version: execute_all(version, texts, folder / version) for version in ("0.10", "0.11")}
    for name in CLASSES:
        assert_breaks(done, name)


def test_gradients_by_their_name_are_left() -> None:
    text = HEAD + CLASSES["update"].replace("update(self, grads)\n\n", "update(self, grads=grads)\n\n") + TAIL
    files, left = migrated(text)
    assert files == {"main.py": text}
    assert [f.code for f in left] == ["NNX103"]


def test_for_old_releases_too() -> None:
    text = migrate_text(HEAD + CLASSES["update"] + TAIL, options("0.10", "0.11"))
    assert "nnx.Optimizer.update" not in text
