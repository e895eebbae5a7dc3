"""NNX415: `to_variable()` of leaves, and code that asks first whether there is such a method; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

HEAD = """\
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
leaf = nnx.state(model)["bias"]


"""
SHOW = "\nprint(type(made).__name__, float(made.value.sum()))\n"
FIXED = {
    "plain": "made = leaf.to_variable()",
    "in a loop": "for _, one in nnx.state(model).flat_state():\n    made = one.to_variable()",
    "another one is asked": "made = leaf.to_variable() if hasattr(model.bias, 'to_variable') or True else leaf",
}
LEFT = {
    "asked first": "made = leaf.to_variable() if hasattr(leaf, 'to_variable') else leaf",
    "asked first in a function": "def of(one):\n    if hasattr(one, 'to_variable'):\n"
    "        return one.to_variable()\n    return one\n\n\nmade = of(leaf)",
    "taken if it is there": "convert = getattr(leaf, 'to_variable', None)\nmade = convert() if convert else leaf",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: HEAD + body + SHOW for name, body in {**FIXED, **LEFT}.items()}
    return runs(texts, tmp_path_factory.mktemp("removed"))


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "leaf.copy()" in migrate_text(HEAD + FIXED[name], options("0.11")) or name == "in a loop"
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX415" not in codes(HEAD + LEFT[name], options("0.11"))
    assert_same(outputs, name)
