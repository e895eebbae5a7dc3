"""NNX502: what is merged of an nnx.Dict that was split is a dict, too."""

from __future__ import annotations

import pytest

from tests.migration import look, migrate_text, options

HEAD = "import jax\nfrom flax import nnx\n\n\n"
CONTEXT = """\
def example():
    first = nnx.Dict({})
    with nnx.split_context("x") as ctx:
        graphdef, state = ctx.split(first)
    with nnx.merge_context("x", True) as ctx:
        again = ctx.merge(graphdef, state)
    again.a = 1
    return again
"""
PLAIN = """\
def example():
    first = nnx.Dict({})
    graphdef, state = nnx.split(first)
    again = nnx.merge(graphdef, state)
    again.a = 1
    return again
"""
MODEL = """\
def example():
    first = nnx.Dict({})
    graphdef, state = nnx.split(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
    again = nnx.merge(graphdef, state)
    return again.kernel, first["a"]
"""
ELSEWHERE = """\
def make():
    return len(nnx.Dict({}))


def example(graphdef, state):
    return nnx.merge(graphdef, state).kernel
"""


def test_an_entry_of_what_is_merged_is_reported() -> None:
    found = [f for f in look(HEAD + CONTEXT, options("0.11")).findings if "entry 'a'" in f.message]
    assert [(f.code, f.fix) for f in found] == [("NNX502", None)]


def test_what_is_merged_for_certain_of_a_dict_is_indexed() -> None:
    assert 'again["a"] = 1' in migrate_text(HEAD + PLAIN, options("0.11"))


@pytest.mark.parametrize("body", [MODEL, ELSEWHERE])
def test_what_is_no_dict_is_not(body: str) -> None:
    assert not [f for f in look(HEAD + body, options("0.11")).findings if "entry" in f.message]
