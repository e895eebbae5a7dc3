"""NNX602 where the first assignment puts data or None, as a condition says; all programs run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601", "NNX602", "NNX603"))
HEAD = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, bias=False, rngs=None):
        self.b = {first}
        self.w = nnx.Param(jnp.ones(2))

    def __call__(self, x):
        return x * self.w + (0.0 if self.b is None else 1.0)

    def renew(self):
        {later}


net = Net()
"""
SHOW = "print(net(jnp.ones(2)), net.b is None)\n"
ONE = "nnx.Param(jnp.ones(2)) if bias else None"
FIXED = {
    "from outside": (ONE, "pass", "net.b = nnx.Param(jnp.ones(2))\n"),
    "the other way round": ("None if not bias else jnp.ones(2)", "pass", "net.b = jnp.ones(2)\n"),
    "in a method": (ONE, "self.b = nnx.Param(jnp.zeros(2))", "net.renew()\n"),
    "of three": ("None if rngs is None else jnp.ones(2) if bias else jnp.zeros(2)", "self.b = self.w", "net.renew()\n"),
    "a module": (
        "nnx.Linear(2, 2, rngs=rngs) if bias else None",
        "pass",
        "net.b = nnx.Linear(2, 2, rngs=nnx.Rngs(0))\n",
    ),
}
LEFT = {
    "nothing later": (ONE, "pass", ""),
    "None later": (ONE, "self.b = None", "net.renew()\n"),
    "a number": ("3 if bias else None", "self.b = 4", "net.renew()\n"),
    "never None": ("jnp.ones(2) if bias else jnp.zeros(2)", "self.b = self.w", "net.renew()\n"),
}


def _program(case: tuple[str, str, str]) -> str:
    return HEAD.format(first=case[0], later=case[1]) + case[2] + SHOW


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: _program(case) for name, case in {**FIXED, **LEFT}.items()}
    return runs(texts, tmp_path_factory.mktemp("perhaps_none"), ("0.12",))


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    text = migrate_text(_program(FIXED[name]), ONLY)
    assert f"self.b = nnx.data({FIXED[name][0]})" in text
    assert migrate_text(text, ONLY) == text
    assert_same(outputs, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX602" not in codes(_program(LEFT[name]), ONLY)
    assert_same(outputs, name)
