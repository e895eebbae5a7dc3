"""NNX611 speaks of every way to name mesh axes; each raises under 0.12 without a mesh."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks
from tests.batch import execute_all
from tests.migration import look, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx import bridge

ones = nnx.initializers.ones_init()
"""
NAMED = {
    "keyword": "print(nnx.Param(jnp.ones((2, 2)), sharding=('a', 'b')).value.shape)\n",
    "partitioning": "init = nnx.with_partitioning(ones, ('a', 'b'))\n"
    "print(nnx.Linear(2, 2, kernel_init=init, rngs=nnx.Rngs(0)).kernel.value.shape)\n",
    "metadata": "init = nnx.with_metadata(ones, sharding=('a', 'b'))\n"
    "print(nnx.Linear(2, 2, kernel_init=init, rngs=nnx.Rngs(0)).kernel.value.shape)\n",
    "parameter": "def make(axes=None):\n    return nnx.Param(jnp.ones((2, 2)), sharding=axes)\n\n\n"
    "print(make(('a', 'b')).value.shape)\n",
    "rules": """\
class Rules:
    embed = "a"
    mlp = "b"

    def __call__(self, *names):
        return tuple(getattr(self, name) for name in names)


rules = Rules()


def kernel(init, *names):
    return nnx.with_partitioning(init, rules(*names))


print(nnx.Linear(2, 2, kernel_init=kernel(ones, "embed", "mlp"), rngs=nnx.Rngs(0)).kernel.value.shape)
""",
    "table of rules": "TABLE = {'embed': 'a', 'mlp': 'b'}\n\n\ndef axes(*names):\n"
    "    return tuple(TABLE[name] for name in names)\n\n\n"
    "print(nnx.Param(jnp.ones((2, 2)), sharding=axes('embed', 'mlp')).value.shape)\n",
    "bridge": """\
class Dense(bridge.Module):
    @bridge.compact
    def __call__(self, x):
        return x @ self.param("w", bridge.with_partitioning(ones, ("a", "b")), (2, 2))


print(len(Dense().init(0, jnp.ones((1, 2)))))
""",
}
UNNAMED = {
    "metadata": "init = nnx.with_metadata(ones, note='x')\n"
    "print(nnx.Linear(2, 2, kernel_init=init, rngs=nnx.Rngs(0)).kernel.value.shape)\n",
    "parameter": "def make(axes=None):\n    return nnx.Param(jnp.ones((2, 2)), sharding=axes)\n\n\n"
    "print(make().value.shape)\n",
    "none": "print(nnx.with_metadata(ones, sharding=None) is None)\n",
}


@pytest.mark.parametrize("name", NAMED)
def test_names_of_axes_are_reported(name: str) -> None:
    assert "NNX611" in {found.code for found in look(HEAD + NAMED[name], options("0.12")).findings}


@pytest.mark.parametrize("name", UNNAMED)
def test_others_are_not(name: str) -> None:
    assert "NNX611" not in {found.code for found in look(HEAD + UNNAMED[name], options("0.12")).findings}


def test_they_raise_under_0_12_alone(tmp_path_factory: pytest.TempPathFactory) -> None:
    texts = {name: HEAD + body for name, body in NAMED.items()}
    runs = {v: execute_all(v, texts, tmp_path_factory.mktemp(f"mesh{v}")) for v in ("0.10", "0.12")}
    for name in NAMED:
        assert_breaks(runs, name, "0.12")
