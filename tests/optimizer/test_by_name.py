"""Optimizers whose attributes are reached by names, dicts, classes and patterns: the compatible class serves all."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, migrated

HEAD = """\
import operator
import jax.numpy as jnp
import optax
from flax import nnx

net = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1))


def grads():
    return nnx.grad(lambda m: jnp.mean(m(jnp.ones((3, 2))) ** 2))(net)


"""
TAIL = "\nprint(net.kernel.value.sum())\n"
USES = {
    "getattr": "getattr(opt, 'update')(grads())",
    "name in a variable": "name = 'update'\ngetattr(opt, name)(grads())",
    "name in a loop": "for name in ('update',):\n    getattr(opt, name)(grads())",
    "methodcaller": "operator.methodcaller('update', grads())(opt)",
    "attrgetter": "print(operator.attrgetter('model')(opt) is net)",
    "class": "type(opt).update(opt, grads())",
    "class attribute": "opt.__class__.update(opt, grads())",
    "class by its name": "nnx.Optimizer.update(opt, grads())",
    "dict": "print(opt.__dict__['model'] is net)",
    "vars": "print(vars(opt)['model'] is net)",
    "pattern": "match opt:\n    case nnx.Optimizer() as found:\n        found.update(grads())",
    "pattern with model": "match [opt]:\n    case [nnx.Optimizer(model=model)]:\n        print(model is net)",
}
EXPLICIT = ("hasattr(opt, 'update')", "getattr(opt, 'opt_state')", "opt.__class__.__name__", "setattr(opt, 'note', 1)")


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: HEAD + body + TAIL for name, body in USES.items()}, tmp_path_factory.mktemp("names"))


@pytest.mark.parametrize("name", USES)
def test_compatible(name: str) -> None:
    assert "opt = nnx.ModelAndOptimizer(net, optax.sgd(0.1))" in migrate_text(HEAD + USES[name] + TAIL)


@pytest.mark.parametrize("name", USES)
def test_runs_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("use", EXPLICIT)
def test_explicit(use: str) -> None:
    assert "wrt=nnx.Param" in migrate_text(HEAD + use + TAIL)


def test_gradients_by_their_name_through_the_class() -> None:
    """The compatible class takes them by position only, behind the optimizer, so that no form is chosen."""
    text = HEAD + "nnx.Optimizer.update(opt, grads=grads())" + TAIL
    files, left = migrated(text)
    assert files == {"main.py": text}
    assert [f.code for f in left] == ["NNX103"]
