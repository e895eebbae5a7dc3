"""NNX220: the key that ``nnx.reseed`` gives a stream that no layer has forked."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import look, migrate_text, options

HEAD = """\
import jax
from flax import nnx


class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.stream = rngs.noise
        self.rngs = rngs

    def __call__(self):
        return float(jax.random.normal(self.stream())), float(jax.random.normal(self.rngs.noise()))


SEED = 7
noisy = Noisy(nnx.Rngs(params=0, noise=1))
"""

MENDED = {
    "a seed": ("nnx.reseed(noisy, noise=5)", "jax.random.key(5)"),
    "a constant": ("nnx.reseed(noisy, noise=SEED)", "jax.random.key(SEED)"),
    "a key": ("nnx.reseed(noisy, noise=jax.random.key(5))", "jax.random.key(5)"),
    "a Rngs": ("nnx.reseed(noisy.rngs, noise=5)", "jax.random.key(5)"),
}
TOLD = {
    "two streams": "nnx.reseed(noisy, noise=5, params=3)",
    "a seed of the caller": "def begin(seed):\n    nnx.reseed(noisy, noise=seed)",
    "another key each time": "keys = nnx.Rngs(3)\nnnx.reseed(noisy, noise=keys())",
}
SILENT = {
    "masks": "drop = nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=0))\nnnx.reseed(drop, dropout=1)",
    "an unknown object": "nnx.reseed(load(), noise=5)",
    "streams by name": "nnx.reseed(noisy, **seeds)",
    "a policy": "nnx.reseed(noisy, noise=5, policy='match_shape')",
    "a fork": "drop = nnx.Dropout(0.5, rng_collection='noise', rngs=nnx.Rngs(noise=0))\nnnx.reseed(noisy, noise=1)",
}


def _program(name: str) -> str:
    return f"{HEAD}print(noisy())\n{MENDED[name][0]}\nprint(noisy(), noisy())\n"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: _program(name) for name in MENDED}, tmp_path_factory.mktemp("reseed"))


@pytest.mark.parametrize("name", MENDED)
def test_the_key_is_given(name: str) -> None:
    call, key = MENDED[name]
    policy = f"{call[:-1]}, policy=lambda path, _, shape: {key})"
    assert migrate_text(_program(name), options("0.11")) == _program(name).replace(call, policy)


@pytest.mark.parametrize("words", ["# no fork here", "# scan these\nnote = 'nothing in a fork of it'"])
def test_words_of_comments_give_no_stream_an_axis(words: str) -> None:
    name = next(iter(MENDED))
    call, key = MENDED[name]
    text = f"{words}\n{_program(name)}"
    assert f"{call[:-1]}, policy=lambda path, _, shape: {key})" in migrate_text(text, options("0.11"))


@pytest.mark.parametrize("name", MENDED)
def test_the_numbers_stay(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", TOLD)
def test_told(name: str) -> None:
    (found,) = [f for f in look(f"{HEAD}{TOLD[name]}\n", options("0.11")).findings if f.code == "NNX220"]
    assert found.fix is None


@pytest.mark.parametrize("name", SILENT)
def test_silent(name: str) -> None:
    assert not [f for f in look(f"{HEAD}{SILENT[name]}\n", options("0.11")).findings if f.code == "NNX220"]
