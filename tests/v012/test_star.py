"""Containers of layers in modules that import all names of ``flax.nnx``: builtins stay builtins there; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12")
PROGRAM = """\
import jax.numpy as jnp
from flax.nnx import *


class Net(Module):
    def __init__(self, sizes, rngs):
        self.layers = {}

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


print(Net([2, 3, 1], Rngs(0))(jnp.ones((1, 2)))[0, 0], len(sorted([2, 1])))
"""
MADE = "Linear(a, b, rngs=rngs) for a, b in zip(sizes, sizes[1:])"
FORMS = {"tuple": f"tuple({MADE})", "list": f"list({MADE})", "reversed": f"list(reversed([{MADE}][::-1]))"}


PROGRAMS = {name: PROGRAM.format(form) for name, form in FORMS.items()}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS, tmp_path_factory.mktemp("star"), ("0.12",))


@pytest.mark.parametrize("name", FORMS)
def test_wrapped(name: str) -> None:
    after = migrate_text(PROGRAMS[name], ONLY)
    assert after != PROGRAMS[name]
    assert "NNX601" not in codes(after, ONLY)


@pytest.mark.parametrize("name", FORMS)
def test_runs(name: str, done: dict[str, dict[str, Output]]) -> None:
    assert_same(done, name)
