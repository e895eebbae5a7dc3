"""Some of the zoo's checkpoints: the printed code loads every parameter bit by bit, and training goes on as before.

All of them: ``python -m tests.checkpoint.zoo``.
"""

from __future__ import annotations

import os
import pathlib
from typing import Any

import pytest

from tests.checkpoint.zoo import READERS, Case, loaded, more, share, table, written, wrong

#: How many cases are tested here: so many meet all writers and savers, and all but three models.
COUNT = int(os.environ.get("NNXMIGRATE_TESTS_ZOO_CASES", "14"))
CASES = share(COUNT)
REMEMBERING = ("momentum", "adamw", "chain", "multi", "steps", "injected")
#: One case of every optimizer that remembers something, loaded once more without that.
FORGETFUL = list({case.optimizer: case for case in CASES if case.optimizer in REMEMBERING}.values())


def test_the_table() -> None:
    cases = table()
    assert len(cases) >= 120
    assert len({(case.writer, case.model, case.optimizer, case.saver) for case in cases}) == len(cases)
    for number in ("writer", "model", "optimizer", "saver", "way"):
        assert min(sum(getattr(case, number) == value for case in cases) for value in _values(cases, number)) >= 5


def test_the_share_that_is_tested_meets_nearly_all() -> None:
    cases, chosen = [*table(), *more()], share(14)
    for what, fewer in (("writer", 0), ("saver", 0), ("way", 0), ("model", 3), ("optimizer", 2)):
        assert len(_values(chosen, what)) >= len(_values(cases, what)) - fewer, what


def _values(cases: list[Case], what: str) -> set[str]:
    return {getattr(case, what) for case in cases}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, Any]]:
    """Return a folder with the checkpoints, and what their programs did."""
    if os.environ.get("NNXMIGRATE_TESTS_WITHOUT_FLAX"):
        pytest.skip("runs real Flax")
    folder = tmp_path_factory.mktemp("zoo")
    return folder, written(CASES, folder)


@pytest.fixture(scope="module", params=READERS)
def after(request: pytest.FixtureRequest, before: tuple[pathlib.Path, dict[str, Any]]) -> dict[str, Any]:
    """Return what the programs did after loading the converted checkpoints."""
    return loaded(CASES, before[0], request.param, FORGETFUL)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_resumed(before: tuple[pathlib.Path, dict[str, Any]], after: dict[str, Any], case: Case) -> None:
    assert wrong(before[1][case.name], after[case.name]) == ""


@pytest.mark.parametrize("case", FORGETFUL, ids=lambda case: case.name)
def test_lost_memory_of_an_optimizer_shows(
    before: tuple[pathlib.Path, dict[str, Any]], after: dict[str, Any], case: Case
) -> None:
    result = after[case.name]
    assert wrong(before[1][case.name], {**result, "losses": result["forgotten"]}).startswith("other losses")
