"""``nnxmigrate explain`` as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codemods.nnx.catalogue import RULES
from nnxmigrate.cli.explain import explain
from nnxmigrate.explain.table import ENTRIES

WRT = "TypeError: Missing required argument `wrt`"


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run the command."""
    return CliRunner().invoke(explain, arguments, input=stdin)


@pytest.mark.parametrize(("arguments", "stdin"), [((WRT,), None), (tuple(WRT.split()), None), ((), WRT), (("-",), WRT)])
def test_known(arguments: tuple[str, ...], stdin: str | None) -> None:
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0
    assert result.output.startswith("optimizer-wrt: ")
    assert "nnx.Optimizer(model, tx, wrt=nnx.Param)" in re.sub(r"\s+", " ", result.output)
    assert "nnxmigrate rule NNX101" in result.output


def test_from_a_file(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(b"\xff\xfe noise\r\n" + WRT.encode() + b"\r\n")
    assert run("--file", str(log)).output.startswith("optimizer-wrt: ")
    assert run("--file", str(log), WRT).exit_code == 2
    assert run("--file", str(tmp_path / "missing")).exit_code == 2


def test_unknown() -> None:
    result = run("ZeroDivisionError: division by zero")
    assert result.exit_code == 1
    assert "not known" in result.output


@pytest.mark.parametrize("stdin", ["", " \n"])
def test_nothing_given(stdin: str) -> None:
    result = run(stdin=stdin)
    assert result.exit_code == 2
    assert "empty" in result.output


def test_json() -> None:
    result = run("--json", stdin=f"KeyError: 'model'\n{WRT}")
    record = json.loads(result.output)
    assert result.exit_code == 0
    assert record["recognised"] is True
    assert [(match["key"], match["certain"]) for match in record["matches"]] == [
        ("optimizer-wrt", True),
        ("optimizer-state-model", False),
    ]
    assert record["matches"][0]["rules"] == ["NNX101"]
    assert json.loads(run("--json", "nothing").output) == {"recognised": False, "matches": []}


def test_doubts_and_other_candidates_are_shown() -> None:
    output = run(stdin=f"KeyError: 'model'\n{WRT}").output
    assert "Also possible:\n  optimizer-state-model: " in output
    assert "(possibly; the whole traceback would tell)" in run("KeyError: 'model'").output


def test_rules_exist() -> None:
    assert {code for entry in ENTRIES for code in entry.rules} <= {rule.code for rule in RULES}
