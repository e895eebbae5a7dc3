"""What the rules about streams rewrite, report and leave alone, each confirmed by real Flax."""

from __future__ import annotations

import pytest

from tests.batch import execute_all
from tests.environments import Output, agree
from tests.migration import look, migrated, options
from tests.rng.tables import FIXED, HEAD, REPORTED, SILENT


def _flat(table: dict[str, list[str]] | dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    return [(code, line) for code, lines in table.items() for line in lines]


def _after(code: str, text: str, *targets: str) -> tuple[str, list[str]]:
    files, left = migrated(f"{HEAD}{text}\n", options(*(targets or ("0.11",)), select=(code,)))
    assert files["main.py"].startswith(HEAD)
    return files["main.py"].removeprefix(HEAD).removesuffix("\n"), [f.code for f in left]


@pytest.mark.parametrize(("code", "line"), _flat(FIXED))
def test_fixed(code: str, line: str) -> None:
    after = FIXED[code][line]
    assert _after(code, line) == (after, [])
    assert _after(code, after) == (after, [])


@pytest.mark.parametrize(("code", "line"), _flat(REPORTED))
def test_reported(code: str, line: str) -> None:
    after, left = _after(code, line)
    assert after == line
    assert code in left


@pytest.mark.parametrize(("code", "line"), _flat(SILENT))
def test_silent(code: str, line: str) -> None:
    assert not look(f"{HEAD}{line}\n", options("0.11", select=(code,))).findings


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    """Run every program as it is under 0.10 and 0.11, and the rewritten ones under 0.11."""
    folder = tmp_path_factory.mktemp("tables")
    programs = {f"{code} {line}": f"{HEAD}{line}\n" for code, line in (*_flat(FIXED), *_flat(REPORTED), *_flat(SILENT))}
    fixed = {f"{code} {line} after": f"{HEAD}{FIXED[code][line]}\n" for code, line in _flat(FIXED)}
    return {
        "0.10": execute_all("0.10", programs, folder / "0.10"),
        "0.11": execute_all("0.11", programs | fixed, folder / "0.11"),
    }


def _agree(code: str, line: str, outputs: dict[str, dict[str, Output]], after: str = "") -> bool:
    old, new = outputs["0.10"][f"{code} {line}"], outputs["0.11"][f"{code} {line}{after}"]
    assert old.code == 0, old.err
    return new.code == 0 and agree(old.out, new.out)


@pytest.mark.parametrize(("code", "line"), [*_flat(FIXED), *_flat(REPORTED)])
def test_execution_differs(code: str, line: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert not _agree(code, line, outputs)


@pytest.mark.parametrize(("code", "line"), _flat(FIXED))
def test_execution_agrees_after_the_fix(code: str, line: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _agree(code, line, outputs, " after")


@pytest.mark.parametrize(("code", "line"), _flat(SILENT))
def test_execution_of_what_stays(code: str, line: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _agree(code, line, outputs)
