"""Code that is on 0.12 already: what fails there is reported, whatever family the rule is of."""

from __future__ import annotations

from pathlib import Path

from codemods.nnx.catalogue import RULES
from codemods.nnx.options import Options
from codemods.nnx.rule import Kind
from tests.batch import execute_all
from tests.migration import look

# code that is written for 0.12 may well mean what these find, or it is another rule's to say
MEANT = {"NNX402": "a copy", "NNX607": "heads by position", "NNX610": "comparison of values"}
ON_TARGET = Options(origin="0.12", targets=("0.12",), lint=True)


def _programs() -> dict[str, str]:
    return {
        f"{rule.code}-{number}": example.before
        for rule in RULES
        for number, example in enumerate(rule.examples)
        if rule.kind is Kind.REQUIRED and rule.code not in MEANT and example.run and example.before != example.after
    }


def test_what_fails_on_the_target_is_reported(tmp_path: Path) -> None:
    programs = _programs()
    done = execute_all("0.12", programs, tmp_path / "batch")
    failing = {name for name, output in done.items() if output.code}
    assert len(failing) > 20
    silent = {name: done[name].last_error for name in sorted(failing) if not look(programs[name], ON_TARGET).findings}
    assert silent == {}


def test_what_is_right_on_the_target_is_left_alone() -> None:
    """Code that a rule made for 0.12, or leaves alone there, is told nothing when it is looked at as code for 0.12."""
    required = {rule.code for rule in RULES if rule.kind is Kind.REQUIRED}
    told = {
        f"{rule.code}-{number}": sorted(found)
        for rule in RULES
        if rule.kind is Kind.REQUIRED
        for number, example in enumerate(rule.examples)
        if example.run and "0.12" in example.targets and example.after is not None
        if (found := {one.code for one in look(example.after, ON_TARGET).findings} & required)
    }
    assert told == {}
