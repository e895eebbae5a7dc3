"""Which contents of Variables are known to be arrays, and so read by ``[...]``; each confirmed by real Flax 0.12."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.batch import execute_all
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx

a = jnp.ones((2, 2))
v = nnx.Variable(a)
s = nnx.Variable("text")
m = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
rngs = nnx.Rngs(0)


def double(x):
    return 2 * x


class Own(nnx.Variable):
    def __init__(self, value):
        super().__init__(str(value))


"""

ARRAYS = [
    "a", "a[0]", "a + 1", "1 - a", "a * a", "a / 2", "a @ a", "a ** 2", "2 // a", "a % 2", "-a", "double(a)",
    "a.T", "a.mT", "a.real", "a.imag", "a.astype(int)", "a.clip(0)", "a.copy()", "a.cumsum()", "a.dot(a)",
    "a.flatten()", "a.max()", "a.mean()", "a.min()", "a.prod()", "a.ravel()", "a.reshape(4)", "a.round()", "a.std()",
    "a.squeeze()", "a.sum()", "a.swapaxes(0, 1)", "a.transpose()", "a.var()", "a.sum().reshape(1)",
    "a.at[0].add(1)", "a.at[0].apply(jnp.sin)", "a.at[0].divide(2)", "a.at[0].get()", "a.at[0].max(2)",
    "a.at[0].min(2)", "a.at[0].mul(2)", "a.at[0].multiply(2)", "a.at[0].power(2)", "a.at[0].set(2)",
    "v + 1", "1 + v.value", "v.value", "m.kernel.value", "m.kernel + m.bias", "m(a)", "jnp.ones(2)", "jax.nn.relu(a)",
    "jax.random.key(0)", "a if m else a + 1", "rngs.params()",
    "nnx.BatchNorm(2, rngs=rngs)(a)", "nnx.Conv(2, 2, (1,), rngs=rngs)(a)",
    "nnx.ConvTranspose(2, 2, (1,), rngs=rngs)(a)", "nnx.Dropout(0.5, rngs=rngs)(a)",
    "nnx.Einsum('ab,bc->ac', (2, 2), rngs=rngs)(a)", "nnx.Embed(2, 2, rngs=rngs)(a.astype(int))",
    "nnx.GroupNorm(2, 1, rngs=rngs)(a)", "nnx.InstanceNorm(2, rngs=rngs)(a)", "nnx.LayerNorm(2, rngs=rngs)(a)",
    "nnx.LinearGeneral(2, 2, rngs=rngs)(a)", "nnx.LoRA(2, 2, 2, rngs=rngs)(a)",
    "nnx.LoRALinear(2, 2, lora_rank=2, rngs=rngs)(a)", "nnx.RMSNorm(2, rngs=rngs)(a)",
    "nnx.MultiHeadAttention(1, 2, rngs=rngs, decode=False)(a)",
]  # fmt: skip

OTHERS = [
    "1", "'text'", "None", "[a]", "(a, a)", "{'a': a}", "[a][:1]", "s.value", "s.value + 'b'", "a.shape", "a.tolist()",
    "a if not m else 1", "double", "double(1)", "-1", "not a.any()", "a.sum", "Own(a).value", "m", "(lambda: 1)()",
    "nnx.grad(lambda x: x.sum())", "nnx.Linear(2, 2, rngs=rngs)", "nnx.Variable((1, 2)).value", "'a' 'b' * 2",
]  # fmt: skip


def _read(content: str) -> str:
    text = f"{HEAD}made = nnx.Variable({content})\nprint(type(made.value))\n"
    return migrate_text(text, options("0.12")).rpartition("print(type(")[2].rstrip(")\n")


@pytest.mark.parametrize("content", ARRAYS)
def test_array(content: str) -> None:
    assert _read(content) == "made[...]"


@pytest.mark.parametrize("content", OTHERS)
def test_other(content: str) -> None:
    assert _read(content) == "made.get_value("


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Output]:
    """Run what says whether ``[...]`` gives the content as it is."""
    folder: Path = tmp_path_factory.mktemp("arrays")
    same = "made = nnx.Variable({})\nprint(made[...] is made.get_value(), isinstance(made.get_value(), jax.Array))\n"
    return execute_all("0.12", {content: HEAD + same.format(content) for content in ARRAYS}, folder / "run")


@pytest.mark.parametrize("content", ARRAYS)
def test_execution(content: str, outputs: dict[str, Output]) -> None:
    done = outputs[content]
    assert done.code == 0, done.err
    assert done.out.endswith("True\n")
