"""Classes whose base is one of several: of ``A if flag else B`` each is migrated, a choice of the version stays."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import look, migrate_text, migrated, options

PROGRAM = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

{base}

    def __init__(self, model, tx):
        super().__init__(model, tx)
        self.average = nnx.state(model, nnx.Param)

    def update(self, grads):
        super().update(grads)
        params = nnx.state(self.model, nnx.Param)
        self.average = jax.tree.map(lambda a, p: (a + p) / 2, self.average, params)


net = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = Averaged(net, optax.sgd(0.1))
for _ in range(2):
    optimizer.update(nnx.grad(lambda m: (m(jnp.ones((1, 2))) ** 2).sum())(net))
print(optimizer.model.kernel.value.sum(), optimizer.average["kernel"].value.sum())
"""
MIGRATED = {
    "in the bases": "class Averaged(nnx.Optimizer[nnx.Linear] if len('ab') < 2 else nnx.Optimizer):",
}
SWITCHES = {
    "if": "if hasattr(nnx, 'ModelAndOptimizer'):\n    Base = nnx.ModelAndOptimizer\nelse:\n"
    "    Base = nnx.Optimizer\n\n\nclass Averaged(Base):",
    "expression": "Base = nnx.ModelAndOptimizer if hasattr(nnx, 'ModelAndOptimizer') else nnx.Optimizer\n\n\n"
    "class Averaged(Base):",
    "in the bases": "class Averaged(nnx.ModelAndOptimizer if hasattr(nnx, 'ModelAndOptimizer') else nnx.Optimizer):",
    "imports": "try:\n    from flax.nnx import ModelAndOptimizer as Base\nexcept ImportError:\n"
    "    from flax.nnx import Optimizer as Base\n\n\nclass Averaged(Base):",
}
NAMED = {
    "if": "if len('ab') > 1:\n    Base = nnx.Optimizer\nelse:\n    Base = object\n\n\nclass Averaged(Base):",
    "imports": "if len('ab') > 1:\n    from flax.nnx import Optimizer as Base\nelse:\n"
    "    from optax import Schedule as Base\n\n\nclass Averaged(Base):",
    "expression": "Base = nnx.Optimizer if len('ab') > 1 else object\n\n\nclass Averaged(Base):",
}


def _program(base: str) -> str:
    return PROGRAM.format(base=base)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {f"{kind} {name}": _program(text) for kind, table in _TABLES.items() for name, text in table.items()}
    return runs(programs, tmp_path_factory.mktemp("chosen"), ("0.11",))


_TABLES = {"migrated": MIGRATED, "switch": SWITCHES}


@pytest.mark.parametrize("name", MIGRATED)
def test_each_base_is_migrated(name: str) -> None:
    files, left = migrated(_program(MIGRATED[name]))
    assert "ModelAndOptimizer" in files["main.py"]
    assert not left
    assert migrate_text(files["main.py"]) == files["main.py"]


@pytest.mark.parametrize("name", SWITCHES)
def test_a_choice_of_the_version_stays(name: str) -> None:
    files, left = migrated(_program(SWITCHES[name]))
    assert SWITCHES[name] in files["main.py"]
    assert not left


@pytest.mark.parametrize("name", NAMED)
def test_a_name_for_several_classes_is_told(name: str) -> None:
    found = [one for one in look(_program(NAMED[name]), options("0.11")).findings if one.code.startswith("NNX10")]
    assert found
    assert all(one.fix is None and "one of several classes" in one.message for one in found)


@pytest.mark.parametrize("name", [f"{kind} {name}" for kind, table in _TABLES.items() for name in table])
def test_the_same_is_printed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
