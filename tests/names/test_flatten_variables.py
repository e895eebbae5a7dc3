"""NNX512: return_variables of graph.flatten; what is fixed prints the same."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = "from flax import nnx\n\nmodel = nnx.Linear(2, 3, rngs=nnx.Rngs(0))\n"
SHOW = "print(type(graphdef).__name__, [type(leaf).__name__ for leaf in flat.leaves])\n"
FIXED = {
    "module": f"from flax.nnx import graph\n\ngraphdef, flat = graph.flatten(model, return_variables=True)\n{SHOW}",
    "attribute": f"graphdef, flat = nnx.graph.flatten(model, return_variables=True)\n{SHOW}",
    "imported": f"from flax.nnx.graph import flatten as flat_of\n\n"
    f"graphdef, flat = flat_of(model, return_variables=True)\n{SHOW}",
    "alias": f"import flax.nnx.graph as g\n\ngraphdef, flat = g.flatten(model, return_variables=True)\n{SHOW}",
    "among others": f"graphdef, flat = nnx.graph.flatten(model, return_variables=True, with_paths=True)\n{SHOW}",
    "lines": "graphdef, flat = nnx.graph.flatten(\n    model,\n    with_paths=True,\n"
    "    return_variables=True,  # all\n)\n" + SHOW,
    "in a variable": f"WANTED = True\ngraphdef, flat = nnx.graph.flatten(model, return_variables=WANTED)\n{SHOW}",
    "without paths": "graphdef, flat = nnx.graph.flatten(\n    model, with_paths=False, return_variables=True\n"
    ")  # all\n"
    "print([type(leaf).__name__ for leaf in flat], nnx.graph.unflatten(graphdef, flat).bias is model.bias)\n",
    "in a function": "def leaves(node):\n    return nnx.graph.flatten(node, return_variables=True)[1].leaves\n\n\n"
    "print(len(leaves(model)))\n",
}
LEFT = {
    "not asked": "graphdef, flat = nnx.graph.flatten(model)\nprint(len(flat.leaves))\n",
    "own function": "def flatten(node, return_variables=False):\n    return return_variables\n\n\n"
    "print(flatten(model, return_variables=True))\n",
    "own class": "class graph:\n    @staticmethod\n    def flatten(node, return_variables):\n        return node\n\n\n"
    "print(graph.flatten(1, return_variables=True))\n",
    "jax": "import jax\n\n"
    "print(len(jax.tree.flatten([1, 2])[0]), len(jax.tree_util.tree_leaves({'return_variables': True})))\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text for name, text in {**FIXED, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("flatten"))


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str) -> None:
    once = migrate_text(HEAD + FIXED[name], options("0.11"))
    assert "return_variables" not in once
    assert "NNX512" not in codes(once, options("0.11"))


@pytest.mark.parametrize("name", FIXED)
def test_fixed_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("value", ["False", "asked()", "len(model.bias.value) > 2"])
def test_other_values_are_reported_only(value: str) -> None:
    text = f"{HEAD}\n\ndef asked():\n    return input()\n\n\nnnx.graph.flatten(model, return_variables={value})\n"
    (found,) = [f for f in look(text, options("0.11")).findings if f.code == "NNX512"]
    assert found.fix is None


def test_without_paths_the_leaves_differ() -> None:
    text = f"{HEAD}nnx.graph.flatten(model, return_variables=True, with_paths=False)\n"
    (found,) = [f for f in look(text, options("0.11")).findings if f.code == "NNX512"]
    assert found.fix is None


def test_0_10_needs_the_keyword() -> None:
    (found,) = [f for f in look(HEAD + FIXED["attribute"], options("0.10", "0.11")).findings if f.code == "NNX512"]
    assert found.fix is None


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert "NNX512" not in codes(HEAD + LEFT[name], options("0.11"))


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
