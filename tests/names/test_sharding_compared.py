"""NNX505: names of mesh axes that are compared with what was given, whatever they are read from; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import look, migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx
from flax.nnx import bridge

if hasattr(nnx, "use_eager_sharding"):
    nnx.use_eager_sharding(False)
boxed = nn.with_partitioning(nn.initializers.ones_init(), ("in", "out"))
x = jnp.ones((1, 2))
"""
MODEL = "model = bridge.lazy_init(bridge.ToNNX(nn.Dense(2, kernel_init=boxed), rngs=nnx.Rngs(0)), x)\n"
PROGRAMS = {
    "attribute": f"{MODEL}print(model.kernel.sharding == ('in', 'out'))\n",
    "the other way round": f"{MODEL}print(('in', 'out') != model.kernel.sharding)\n",
    "asked before": f"{MODEL}w = model.kernel\nprint(hasattr(w, 'sharding') and w.sharding == ('in', 'out'))\n",
    "through a function": f"{MODEL}\n\ndef kernel(m):\n    return nnx.jit(lambda m: m)(m).kernel\n\n\n"
    "print(kernel(model).sharding == ('in', 'out'))\n",
    "test": f"import unittest\n\n{MODEL}\n\ncase = unittest.TestCase()\n"
    "case.assertEqual(model.kernel.sharding, ('in', 'out'))\nprint(1)\n",
    "box": "init = nnx.with_partitioning(nnx.initializers.ones_init(), ('in', 'out'))\n"
    "model = bridge.to_linen(nnx.Linear, 2, 2, kernel_init=init)\nvariables = model.init(jax.random.key(0), x)\n"
    "print(variables['params']['kernel'].metadata['sharding'] == ('in', 'out'))\n",
}
LEFT = {
    "own class": f"{MODEL}\n\nclass Rule:\n    def __init__(self):\n        self.sharding = ('in', 'out')\n\n\n"
    "print(Rule().sharding == ('in', 'out'))\n",
    "array": f"{MODEL}print(model.kernel.value.sharding == jnp.ones(2).sharding, x.sharding == ('in', 'out'))\n",
    "other names": f"{MODEL}rule = type('Rule', (), {{'sharding': ('rows',)}})\nprint(rule.sharding == ('rows',))\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + body for name, body in (PROGRAMS | LEFT).items()}
    return runs(programs, tmp_path_factory.mktemp("compared"), unsafe=True)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory, outputs: dict[str, dict[str, Output]]) -> dict[str, Output]:
    return execute_all("0.11", {n: HEAD + b for n, b in PROGRAMS.items()}, tmp_path_factory.mktemp("untouched"))


@pytest.mark.parametrize("name", PROGRAMS | LEFT)
def test_it_prints_the_same_under_all_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_would_not_under_the_old_name(
    name: str, outputs: dict[str, dict[str, Output]], untouched: dict[str, Output]
) -> None:
    assert_breaks({"0.10": outputs["0.10"], "0.11": untouched}, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_reported_and_needs_to_be_asked_for(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    assert migrate_text(text, options("0.11")) == text
    assert {found.code for found in look(text, options("0.11")).findings} == {"NNX505"}
    assert "sharding_names" in migrate_text(text, options("0.11"), unsafe=True)
    assert "out_sharding" in migrate_text(text, options("0.12"), unsafe=True)
    assert next(found.fix for found in look(text, options("0.11", "0.12")).findings if found.code == "NNX505") is None


@pytest.mark.parametrize("name", LEFT)
def test_others_are_left_alone(name: str) -> None:
    text = HEAD + LEFT[name]
    assert migrate_text(text, options("0.11"), unsafe=True) == text
    assert look(text, options("0.11")).findings == []
