"""NNX412 where one test tells Variables from leaves; what is reported prints something else, the rest does not."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import look, migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
state = nnx.state(model)


"""
ASKING = """\
def kind(leaf):
    return "{0}" if isinstance(leaf, {1}) else "{2}"


"""
LIVE = ASKING.format("live", "nnx.Variable", "leaf")
LEAF = ASKING.format("leaf", "nnx.VariableState", "live")
CALLS = "print(kind(model.kernel))\nprint(kind(state['kernel']))\n"
REPORTED = {
    "variable": LIVE + CALLS,
    "state": LEAF + CALLS,
    "subclass": ASKING.format("live", "(nnx.Param, nnx.BatchStat)", "leaf") + CALLS,
    "class of the leaf": "def kind(leaf):\n    return type(leaf) is nnx.VariableState\n\n\n" + CALLS,
    "through a function": LEAF + "def outer(x):\n    return kind(x)\n\n\n" + CALLS.replace("kind(", "outer("),
    "method": "class Asker:\n    def kind(self, leaf):\n        return isinstance(leaf, nnx.Variable)\n\n\n"
    "asker = Asker()\n" + CALLS.replace("kind(", "asker.kind("),
    "keyword": LIVE + CALLS.replace("kind(", "kind(leaf="),
    "loop": LIVE + "print(kind(model.bias))\nfor path, leaf in nnx.to_flat_state(state):\n    print(kind(leaf))\n",
    "map": LEAF + "print(kind(model.bias))\n"
    "print(jax.tree.map(kind, state, is_leaf=lambda x: isinstance(x, nnx.VariableState))['bias'])\n",
    "gradient": LIVE + "grads = nnx.grad(lambda m: m.bias.value.sum())(model)\n"
    "print(kind(model.bias))\nprint(kind(grads['bias']))\n",
}
ASKED = {
    "attribute": "print(hasattr(model.kernel, 'type'))\n",
    "default": "print(getattr(nnx.Param(jnp.ones(2)), 'type', None) is None)\n",
    "function": "def kind(leaf):\n    return hasattr(leaf, 'type')\n\n\nprint(kind(model.bias))\n",
}
LEFT = {
    "attribute of a leaf": "print(hasattr(state['kernel'], 'type'), hasattr(model.kernel, 'value'))\n"
    "print(hasattr(model, 'type'), hasattr(jnp.ones(2), 'type'))\n",
    "variables only": LIVE + "print(kind(model.kernel), kind(nnx.variables(model)['bias']))\n",
    "leaves only": LEAF + "print(kind(state['kernel']), kind(state['bias']))\n",
    "both classes": "def held(leaf):\n    return isinstance(leaf, (nnx.VariableState, nnx.Variable))\n\n\n"
    "print(held(model.kernel), held(state['kernel']), held(1))\n",
    "arrays": LEAF.replace("live", "array")
    + "print(kind(state['kernel']), kind(jnp.ones(2)), kind(model.bias.value))\n",
    "another class": "def kind(leaf):\n    return isinstance(leaf, jax.Array)\n\n\n"
    "print(kind(model.kernel.value), kind(state['kernel'].value))\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body for name, body in (REPORTED | ASKED | LEFT).items()}
    return runs(programs, tmp_path_factory.mktemp("mixed"))


@pytest.mark.parametrize("name", REPORTED)
@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_the_two_callers_are_named(name: str, target: str) -> None:
    text = HEAD + REPORTED[name]
    (found,) = (f for f in look(text, options(target)).findings if f.code == "NNX412")
    assert found.fix is None
    lines = [number for number, line in enumerate(text.splitlines(), 1) if "print(" in line or "  print(" in line]
    assert sum(f"line {number} " in found.message for number in lines) == 2, found.message
    after = migrate_text(text, options(target))
    assert [f.code for f in look(after, options(target)).findings].count("NNX412") == 1, "it stays until it is mended"


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_an_attribute_that_only_leaves_had(name: str, target: str) -> None:
    (found,) = (f for f in look(HEAD + ASKED[name], options(target)).findings if f.code == "NNX412")
    assert found.fix is None


@pytest.mark.parametrize("name", [*REPORTED, *ASKED])
def test_they_print_something_else_or_fail(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_breaks(outputs, name, "0.11")
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left_alone(name: str) -> None:
    assert "NNX412" not in {f.code for f in look(HEAD + LEFT[name], options("0.11")).findings}


@pytest.mark.parametrize("name", LEFT)
def test_others_print_the_same(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_code_of_0_11_is_not_asked() -> None:
    chosen = options("0.12", origin="0.11")
    assert "NNX412" not in {f.code for f in look(HEAD + REPORTED["variable"], chosen).findings}
