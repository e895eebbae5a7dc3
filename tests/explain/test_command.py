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


def test_a_rule_is_no_error() -> None:
    result = run("NNX830")
    assert result.exit_code == 1
    assert "nnxmigrate rule NNX830" in result.output


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
    assert json.loads(run("--json", "nothing").output) == {"recognised": False, "place": None, "matches": []}


def test_doubts_and_other_candidates_are_shown() -> None:
    output = run(stdin=f"KeyError: 'model'\n{WRT}").output
    assert "Also possible:\n  optimizer-state-model: " in output
    assert "(possibly; the whole traceback would tell)" in run("KeyError: 'model'").output


def test_rules_exist() -> None:
    assert {code for entry in ENTRIES for code in entry.rules} <= {rule.code for rule in RULES}


TRACEBACK = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 40, in <module>
    main()
  File "/home/me/train.py", line 31, in main
    optimizer = nnx.Optimizer(model, tx)
                ^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/.venv/lib/python3.12/site-packages/flax/nnx/training/optimizer.py", line 90, in __init__
    raise TypeError(
TypeError: Missing required argument `wrt`
"""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (TRACEBACK, "/home/me/train.py:31 in main: optimizer = nnx.Optimizer(model, tx)"),
        (f"train.py:12: in step\n    optimizer.update(grads)\nE   {WRT}\ntrain.py:13: TypeError", "train.py:13"),
        (f"Cell In[3], line 4\n      2 x\n----> 4 nnx.Optimizer(model, tx)\n\n{WRT}", "In[3]:4"),
    ],
)
def test_the_users_own_line_is_named(tmp_path: Path, text: str, place: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text(text)
    for result in (run(stdin=text), run(str(log))):
        assert result.exit_code == 0
        assert f"  your line  {place}" in result.output.replace("\n             ", " ")
    assert json.loads(run("--json", stdin=text).output)["place"]["line"] == int(re.findall(r":(\d+)", place)[0])


def test_the_line_is_named_even_if_the_error_is_not_known() -> None:
    frames = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    1 / 0\n'
    result = run(stdin=f"{frames}ZeroDivisionError: x")
    assert "your line  a.py:3 in f: 1 / 0" in result.output


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("TypeError: Linear.__init__() missing 1 required keyword-only argument: 'rngs' in nnx", "layer-without-rngs"),
        ("`deterministic` is False, but no `rngs` argument was provided to Dropout", "dropout-without-rngs"),
        ("ValueError: Non-exhaustive filters, got a non-empty remainder: [('a', 'b')].", "filters-leave-a-rest"),
        ("No `decode` argument was provided to MultiHeadAttention", "attention-without-decode"),
        ("Non-exhaustive filters", "filters-leave-a-rest"),
        ("No `decode` argument", "attention-without-decode"),
    ],
)
def test_more_errors(text: str, key: str) -> None:
    assert run(text).output.startswith(f"{key}: ")
