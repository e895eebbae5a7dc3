"""NNX417: a number, or an array without axes, that is written into a whole Variable."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import jax.numpy as jnp
from flax import nnx

param = nnx.Param(jnp.arange(3))
x = jnp.ones((2, 3))
two = 2
"""
SHOW = "print(param.value, param.value.dtype)\n"
WRITTEN = {
    "number": "2.7",
    "variable": "two",
    "float": "float(x[0, 0])",
    "type": "jnp.float32(2.7)",
    "array": "jnp.array(4.5)",
    "without axes": "jnp.zeros(())",
    "mean": "x.mean()",
    "sum": "jnp.sum(x)",
}
LEFT = {
    "array with axes": "jnp.array([4, 5, 6])",
    "sum over an axis": "x.sum(0).astype(int)",
    "mean over an axis": "jnp.mean(x, 0).astype(int)",
    "what it was": "param[...] + 1",
}
PROGRAMS = {name: f"{HEAD}param[...] = {text}\n{SHOW}" for name, text in (WRITTEN | LEFT).items()}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS, tmp_path_factory.mktemp("written"), targets=("0.11",))


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(PROGRAMS[name], options("0.11"))
    assert ("param[:] = " in once) == (name in WRITTEN)
    assert_same(outputs, name)


def test_of_a_variable_without_axes_only_numbers() -> None:
    text = f"{HEAD}count = nnx.Variable(jnp.array(3.0))\ncount[...] = x.mean()\n{SHOW}"
    assert migrate_text(text, options("0.11")) == text
