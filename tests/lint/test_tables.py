"""What each lint rule finds, and what it leaves alone: more right code than wrong code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from codemods.nnx.catalogue import RULES
from codemods.nnx.options import Options
from codemods.nnx.rule import Kind
from tests.batch import execute_all
from tests.lint.tables import (
    Cases,
    adapters,
    arrays,
    blunders,
    counts,
    derivatives,
    edges,
    formulas,
    gradients,
    habits,
    kept,
    kinds,
    layers,
    learning,
    linen,
    loops,
    misuse,
    moves,
    objectives,
    orders,
    parts,
    passing,
    purity,
    randomness,
    research,
    rounds,
    scales,
    selected,
    shifts,
    signs,
    solvers,
    sowing,
    speed,
    systems,
    tracing,
    training,
    traps,
    trees,
    turned,
    wrong_forms,
)
from tests.migration import look, migrate_text

HEAD = """\
import functools
import math
import random
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax import jit

model = nnx.Linear(3, 3, rngs=nnx.Rngs(77))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
key = jax.random.key(0)
x = jnp.ones(3)
batches = [x, x]
"""

CASES: dict[str, Cases] = {
    **purity.CASES,
    **tracing.CASES,
    **randomness.CASES,
    **adapters.CASES,
    **arrays.CASES,
    **counts.CASES,
    **derivatives.CASES,
    **edges.CASES,
    **formulas.CASES,
    **gradients.CASES,
    **habits.CASES,
    **kept.CASES,
    **kinds.CASES,
    **layers.CASES,
    **learning.CASES,
    **loops.CASES,
    **misuse.CASES,
    **linen.CASES,
    **moves.CASES,
    **objectives.CASES,
    **orders.CASES,
    **parts.CASES,
    **passing.CASES,
    **research.CASES,
    **rounds.CASES,
    **scales.CASES,
    **selected.CASES,
    **shifts.CASES,
    **signs.CASES,
    **solvers.CASES,
    **sowing.CASES,
    **speed.CASES,
    **systems.CASES,
    **training.CASES,
    **traps.CASES,
    **trees.CASES,
    **turned.CASES,
    **wrong_forms.CASES,
    **blunders.CASES,
}
NEWEST = "0.12"
# names of Flax, and what the head makes of it
_FLAX = re.compile(r"\b(flax|nnx|nn|linen|model|optimizer)\b")
LINT = [rule for rule in RULES if rule.kind is Kind.LINT]
USUAL = tuple(rule.code for rule in LINT if rule.default)


@cache
def found(code: str, body: str) -> list[tuple[str, str]]:
    """Return the code and the line of every finding of the usual lint rules and of one more."""
    text = HEAD + body
    compile(text, "main.py", "exec")
    analysis = look(text, Options(origin="0.12", targets=("0.12",), lint=True, select=(*USUAL, code)))
    assert not analysis.failures
    lines = text.splitlines()
    return [(f.code, lines[text.encode()[: f.start].count(b"\n")].strip()) for f in analysis.findings]


def marked(body: str) -> list[tuple[str, str]]:
    """Return the codes that the comments of a text name, with their lines."""
    lines = [(re.search(r"# (NNX\d+.*)$", line), line.strip()) for line in body.splitlines()]
    return [(code, line) for match, line in lines if match for code in match.group(1).split()]


def _params(which: str) -> list[Any]:
    return [
        pytest.param(code, body, id=f"{code}-{number}")
        for code, cases in CASES.items()
        for number, body in enumerate(getattr(cases, which))
    ]


@pytest.mark.parametrize(("code", "body"), _params("bad"))
def test_found(code: str, body: str) -> None:
    """The marked lines are found with the marked codes, and nothing else is."""
    assert found(code, body) == marked(body)
    assert code in {one for one, _ in marked(body)}


@pytest.mark.parametrize(("code", "body"), _params("clean"))
def test_left_alone(code: str, body: str) -> None:
    """Look-alikes of the mistake have no findings."""
    assert found(code, body) == []


@cache
def fixed(code: str, body: str) -> str:
    """Return a program after all fixes of one rule."""
    options = Options(origin="0.12", targets=("0.12",), lint=True, select=(code,))
    return migrate_text(HEAD + body, options, unsafe=True)


@pytest.mark.parametrize(("code", "body"), _params("bad"))
def test_fixed(code: str, body: str) -> None:
    """A fix leaves nothing to fix."""
    again = look(fixed(code, body), Options(origin="0.12", targets=("0.12",), lint=True, select=(code,)))
    assert not again.failures
    assert not [f for f in again.findings if f.fix]


@pytest.mark.parametrize("version", ["0.11", NEWEST])
def test_right_programs_run(version: str, tmp_path: Path) -> None:
    """What is called right runs, and what was fixed; what has nothing of Flax runs under the newest JAX alone."""
    programs = {param.id: param.values[1] for param in _params("clean")}
    if version != NEWEST:
        programs = {name: body for name, body in programs.items() if _FLAX.search(body)}
    programs = {name: HEAD + body for name, body in programs.items()}
    for param in _params("bad"):
        code, body = param.values
        if fixed(code, body) != HEAD + body and (version == NEWEST or _FLAX.search(body)):
            programs[f"{param.id} fixed"] = fixed(code, body)
    done = execute_all(version, programs, tmp_path / version)
    assert {name: output.err for name, output in done.items() if output.code} == {}


@pytest.mark.parametrize("code", [rule.code for rule in LINT])
def test_enough_cases(code: str) -> None:
    """Every lint rule has three bad programs, and more clean ones."""
    cases = CASES[code]
    assert len(set(cases.bad)) >= 3
    assert len(set(cases.clean)) >= 4
    assert len(set(cases.clean)) > len(set(cases.bad))


def test_no_other_tables() -> None:
    """Every table belongs to a lint rule of the catalogue."""
    assert set(CASES) == {rule.code for rule in LINT}
