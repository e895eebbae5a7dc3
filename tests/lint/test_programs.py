"""Whole programs: only the wrong ones are reported. What they do is seen in the files of each release beside this."""

from __future__ import annotations

import pytest

from codemods.nnx.options import Options
from codemods.nnx.rule import MISTAKES
from tests.lint.pairs import PAIRS
from tests.lint.programs import files
from tests.migration import look


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
