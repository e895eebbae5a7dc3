"""What the rules for 0.12 rewrite, report and leave alone, each confirmed by real Flax."""

from __future__ import annotations

import pytest

from tests.batch import execute_all
from tests.environments import Output, agree
from tests.migration import look, migrated, options
from tests.v012.tables import FIXED, HEAD, REPORTED, SILENT

OLD = {"NNX614": "0.11"}  # where the rule's programs come from, if not from 0.10
WARNED = {"NNX612", "NNX616", "NNX617"}  # deprecations


def _flat(table: dict[str, list[str]] | dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    return [(code, line) for code, lines in table.items() for line in lines]


def _after(code: str, text: str, *targets: str) -> tuple[str, list[str]]:
    files, left = migrated(f"{HEAD}{text}\n", options(*(targets or ("0.12",)), select=(code,)))
    assert files["main.py"].startswith(HEAD)
    return files["main.py"].removeprefix(HEAD).removesuffix("\n"), [f.code for f in left]


@pytest.mark.parametrize(("code", "line"), _flat(FIXED))
def test_fixed(code: str, line: str) -> None:
    after = FIXED[code][line]
    assert _after(code, line) == (after, [])
    assert _after(code, after) == (after, [])
    assert not look(f"{HEAD}{line}\n", options("0.11", select=(code,))).findings


@pytest.mark.parametrize(("code", "line"), _flat(REPORTED))
def test_reported(code: str, line: str) -> None:
    after, left = _after(code, line)
    assert after == line
    assert code in left


@pytest.mark.parametrize(("code", "line"), _flat(SILENT))
def test_silent(code: str, line: str) -> None:
    assert not look(f"{HEAD}{line}\n", options("0.12", select=(code,))).findings


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    """Run every program as it is under the old version and under 0.12, and the rewritten ones under 0.12."""
    folder = tmp_path_factory.mktemp("tables")
    programs: dict[str, dict[str, str]] = {"0.10": {}, "0.11": {}, "0.12": {}}
    for code, line in (*_flat(FIXED), *_flat(REPORTED), *_flat(SILENT)):
        programs[OLD.get(code, "0.10")][f"{code} {line}"] = f"{HEAD}{line}\n"
        programs["0.12"][f"{code} {line}"] = f"{HEAD}{_filter('error' if code in WARNED else 'ignore')}{line}\n"
    for code, line in _flat(FIXED):
        programs["0.12"][f"{code} {line} after"] = f"{HEAD}{_filter('ignore')}{FIXED[code][line]}\n"
    return {version: execute_all(version, programs[version], folder / version) for version in programs}


def _filter(action: str) -> str:
    """Return what the programs, which share one process, say of warnings."""
    return f"import warnings\n\nwarnings.simplefilter('{action}')\n"


def _agree(code: str, line: str, outputs: dict[str, dict[str, Output]], after: str = "") -> bool:
    old, new = outputs[OLD.get(code, "0.10")][f"{code} {line}"], outputs["0.12"][f"{code} {line}{after}"]
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
