"""NNX401: a snapshot is a copy whatever holds it meanwhile: containers, records, closures, decorators, tables."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options
from tests.state.holders import CHANGE, DECORATED, HEAD, HOLDERS

PROGRAMS = {name: f"{HEAD}{keep}{CHANGE}print({read})\n" for name, (keep, read) in HOLDERS.items()}
PROGRAMS |= {name: HEAD + body for name, body in DECORATED.items()}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS, tmp_path_factory.mktemp("holders"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_copy_is_made(name: str) -> None:
    assert "nnx.clone(" in migrate_text(PROGRAMS[name], options("0.11"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_snapshot_stays_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
