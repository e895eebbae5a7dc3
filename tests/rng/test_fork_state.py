"""NNX215: nnx.fork; where its parts are named at once, the same keys come of nnx.split_state."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
from flax import nnx

rngs = nnx.Rngs(params=0, dropout=1)
graphdef, state = nnx.split(rngs, nnx.RngState)
"""
SHOW = """\
for part in (keys, counts, other_keys, other_counts):
    for path, leaf in nnx.to_flat_state(part):
        value = leaf.value
        print(path, value.shape, value.dtype, jax.random.key_data(value) if "key" in path else value)
"""
FIXED = {
    "all": f"import jax\n\nkeys, counts, other_keys, other_counts = nnx.fork(state, ..., 4)\n{SHOW}",
    "some": f"import jax\n\nkeys, counts, other_keys, other_counts = nnx.fork(state, 'params', (4, None, 3))\n{SHOW}",
    "lines": "import jax\n\nkeys, counts, other_keys, other_counts = nnx.fork(\n"
    f"    state,  # of the streams\n    'dropout', 2,\n)  # parts\n{SHOW}",
    "number": f"import jax\n\nn, chosen = 3, 'params'\nif n:\n    keys, counts, other_keys, other_counts = "
    f"nnx.fork(state, chosen, n)\n{SHOW}",
    "no jax": "keys, counts, others, more = nnx.fork(state, 'params', 2)\nprint(keys['params']['key'].value.shape)\n",
}
LEFT = {
    "whole": "forks = nnx.fork(state, 'params', 2)\n",
    "shape": "def parts(shape):\n    a, b, c, d = nnx.fork(state, 'params', shape)\n    return a\n",
    "one line": "if state: a, b, c, d = nnx.fork(state, 'params', 2)\n",
    "starred": "a, *b = nnx.fork(state, 'params', 2)\n",
    "filter": "a, b, c, d = nnx.fork(state, nnx.Any('params', 'dropout'), 2)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: HEAD + body for name, body in FIXED.items()}, tmp_path_factory.mktemp("fork"))


@pytest.mark.parametrize("name", FIXED)
def test_the_parts_are_the_same_under_all_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", FIXED)
def test_nothing_is_left_and_nothing_is_done_twice(name: str) -> None:
    text = migrate_text(HEAD + FIXED[name], options("0.11"))
    assert "nnx.fork" not in text
    assert migrate_text(text, options("0.11")) == text
    assert codes(text) == []


@pytest.mark.parametrize("name", LEFT)
def test_other_forms_are_reported(name: str) -> None:
    result = look(HEAD + LEFT[name], options("0.11"))
    assert [(found.code, found.fix) for found in result.findings] == [("NNX215", None)]
