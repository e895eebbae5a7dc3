"""``VariableState`` by a name that a module of the project gives to it."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrated, options

COMPAT = {
    "bound": "from flax import nnx\n\nLeaf = nnx.VariableState\n",
    "imported": "from flax.nnx import VariableState as Leaf\n",
}
MAIN = """\
import jax
import jax.numpy as jnp
from flax import nnx
from compat import Leaf

state = nnx.state(nnx.Linear(2, 3, rngs=nnx.Rngs(0)), nnx.Param)
scaled = jax.tree.map(lambda v: Leaf(nnx.Param, v.value * 2), state, is_leaf=lambda v: isinstance(v, Leaf))
other = nnx.State({"a": Leaf(type=nnx.Param, value=jnp.ones(3), note="x")})
print(*sorted(nnx.filter_state(scaled, nnx.Param)), other["a"].note, scaled["kernel"].value / state["kernel"].value)
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: MAIN.replace("from compat import Leaf\n", text) for name, text in COMPAT.items()}
    return runs(programs, tmp_path_factory.mktemp("names"))


@pytest.mark.parametrize("name", COMPAT)
def test_what_it_constructs_in_another_module_becomes_a_variable(name: str) -> None:
    files, left = migrated({"compat.py": COMPAT[name], "main.py": MAIN}, options("0.11"))
    assert "Leaf(nnx.Param" not in files["main.py"]
    assert 'nnx.Param(jnp.ones(3), note="x")' in files["main.py"]
    assert "lambda v: nnx.Param(v.value * 2)" in files["main.py"]
    assert not left


@pytest.mark.parametrize("name", COMPAT)
def test_runs_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_another_class_of_that_name_is_left() -> None:
    texts = {"compat.py": COMPAT["bound"], "main.py": MAIN.replace("from compat import Leaf", "class Leaf(dict): pass")}
    assert "NNX413" not in codes(texts, options("0.11"))
