"""NNX219: masks of a layer and of a call with a Rngs of the same seed agree again; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
import jax.numpy as jnp
from flax import nnx

x = jnp.ones((1, 64))
own = nnx.Dropout(0.5, deterministic=False, rngs=nnx.Rngs(dropout=0))
other = nnx.Dropout(0.5, deterministic=False)
"""
AGREEING = {
    "written in the call": "print(bool((own(x) == other(x, rngs=nnx.Rngs(dropout=0))).all()))\n",
    "twice": """\
rngs = nnx.Rngs(dropout=0)


@nnx.jit
def apply(layer, x, rngs=None):
    return layer(x, rngs=rngs)


for _ in range(2):
    print(bool((apply(own, x) == apply(other, x, rngs=rngs)).all()), int(rngs.dropout.count.value))
""",
    "in a function": """\
def compare(seed):
    mine = nnx.Dropout(0.5, deterministic=False, rngs=nnx.Rngs(3))
    theirs = nnx.Dropout(0.5, deterministic=False, rngs=nnx.Rngs(seed))
    first = theirs(x)
    return bool((mine(x) == first).all()), bool((mine(x) == theirs(x, rngs=nnx.Rngs(3))).all())


print(compare(4)[0])
""",
    "attention": """\
attend = nnx.MultiHeadAttention(2, 4, decode=False, dropout_rate=0.5, rngs=nnx.Rngs(0), keep_rngs=True)
print(attend(jnp.ones((1, 2, 4)), deterministic=True, rngs=nnx.Rngs(1)).shape)
""",
}
LEFT = {
    "another seed": "print(bool((own(x) == other(x, rngs=nnx.Rngs(dropout=1))).all()))\n",
    "another layer made": "twin = nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=0))\nprint(bool((own(x) == twin(x)).all()))\n",
    "one call": "print(other(x, rngs=nnx.Rngs(dropout=2)).shape)\n",
    "one object": "rngs = nnx.Rngs(dropout=7)\na = nnx.Dropout(0.5, rngs=rngs)\nprint(a(x, rngs=rngs).shape)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body for name, body in (AGREEING | LEFT).items()}
    return runs(programs, tmp_path_factory.mktemp("masks"), unsafe=True)


@pytest.mark.parametrize("name", AGREEING | LEFT)
def test_it_prints_the_same_under_all_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_it_would_not_without_the_fork(
    tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, dict[str, Output]]
) -> None:
    names = ("written in the call", "twice")
    texts = {name: HEAD + AGREEING[name] for name in names}
    untouched = execute_all("0.11", texts, tmp_path_factory.mktemp("untouched"))
    for name in names:
        assert_breaks({"0.10": outputs["0.10"], "0.11": untouched}, name)


@pytest.mark.parametrize("name", [name for name in AGREEING if name != "attention"])
def test_the_fix_needs_to_be_asked_for_and_is_made_once(name: str) -> None:
    text = HEAD + AGREEING[name]
    assert "NNX219" in codes(text)
    assert ".fork()" not in migrate_text(text, options("0.11"))
    fixed = migrate_text(text, options("0.11"), unsafe=True)
    assert fixed.count(".fork()") == 1
    assert migrate_text(fixed, options("0.11"), unsafe=True) == fixed


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left_alone(name: str) -> None:
    text = HEAD + LEFT[name]
    assert "NNX219" not in codes(text)
    assert ".fork()" not in migrate_text(text, options("0.11"), unsafe=True)


def test_a_program_for_0_10_too_is_only_told() -> None:
    text = HEAD + AGREEING["written in the call"]
    found = [f for f in look(text, options("0.10", "0.11")).findings if f.code == "NNX219"]
    assert [f.fix for f in found] == [None]
