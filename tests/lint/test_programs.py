"""Whole programs: the wrong ones are really wrong, the right ones run, and only the wrong ones are reported."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from codemods.nnx.options import Options
from codemods.nnx.rule import MISTAKES
from tests.batch import execute_all
from tests.environments import Output
from tests.lint.programs import (
    Pair,
    asked,
    files,
    fresh,
    habits,
    known,
    questions,
    recipes,
    reported,
    research,
    scripts,
    traps,
    unsaid,
    unseen,
)
from tests.migration import look

PAIRS: dict[str, Pair] = {
    **known.PAIRS,
    **unsaid.PAIRS,
    **unseen.PAIRS,
    **asked.PAIRS,
    **fresh.PAIRS,
    **questions.PAIRS,
    **research.PAIRS,
    **scripts.PAIRS,
    **recipes.PAIRS,
    **traps.PAIRS,
    **reported.PAIRS,
    **habits.PAIRS,
}
_LOADER = "import sys, types\nfor _name, _text in {texts!r}.items():\n    _made = types.ModuleType(_name)\n    \
exec(_text, _made.__dict__)\n    sys.modules[_name] = _made\n"
# Flax 0.10 has no model in Optimizer.update
_UPDATE = re.compile(r"(\.update\()(?:self\.)?\w+, (grads?\))")


def _found(text: str, code: str) -> set[str]:
    """Return the codes of what the default rules find, and a rule that may have to be selected."""
    analysis = look(files(text), Options(origin="0.12", targets=("0.12",), lint=True, extend=(code,)))
    assert not analysis.failures
    return {f.code for f in analysis.findings}


@pytest.mark.parametrize("name", PAIRS)
def test_found(name: str) -> None:
    """The mistake is found by its rule; a known miss that is found one day loses its mark."""
    pair = PAIRS[name]
    assert (pair.code in _found(pair.wrong, pair.code)) is not pair.missed


@pytest.mark.parametrize("name", PAIRS)
def test_left_alone(name: str) -> None:
    """The right program has no mistake, and not the one of its pair."""
    found = _found(PAIRS[name].right, PAIRS[name].code)
    assert PAIRS[name].code not in found
    assert not {code for code in found if code.startswith(MISTAKES)}


@pytest.mark.parametrize("version", ["0.10", "0.12"])
def test_wrong_and_right(version: str, tmp_path: Path) -> None:
    """The right programs run; the wrong ones raise, or do something else."""
    pairs = {name: pair for name, pair in PAIRS.items() if pair.since <= version}
    done = _run(version, tmp_path)
    assert {name: done[f"right {name}"].err for name in pairs if done[f"right {name}"].code} == {}
    told_apart = {name for name in pairs if done[f"wrong {name}"] != done[f"right {name}"]}
    assert {name for name, pair in pairs.items() if not pair.slow} <= told_apart


@cache
def _run(version: str, folder: Path) -> dict[str, Output]:
    programs = {}
    for name, pair in PAIRS.items():
        for which, text in (("wrong", pair.wrong), ("right", pair.right)):
            every = files(text)
            main = every.pop("main.py")
            others = {path.removesuffix(".py"): other for path, other in every.items()}
            text = (_LOADER.format(texts=others) if others else "") + main
            programs[f"{which} {name}"] = _UPDATE.sub(r"\1\2", text) if version == "0.10" else text
    return execute_all(version, programs, folder / version)
