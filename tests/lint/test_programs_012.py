"""Whole programs under Flax 0.12: the wrong ones are really wrong, the right ones run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.pairs import check_runs


@pytest.mark.slow
def test_wrong_and_right(tmp_path: Path) -> None:
    """The right programs run; the wrong ones raise, or do something else."""
    check_runs("0.12", tmp_path)
