"""What reviewed findings in public projects say of the lint rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.nnx.catalogue import RULES
from codemods.nnx.rule import Kind
from docs.confidence import ENOUGH, HINTS, SHARE, Confidence, Verdict, confidence, table, verdicts

READ = verdicts()
HINTS_READ = verdicts(HINTS)
LINT = [rule for rule in RULES if rule.kind is Kind.LINT]


def test_enough_was_read() -> None:
    assert confidence(READ).trees >= 15
    assert {one.code for one in READ if one.code} <= {rule.code for rule in LINT}


def test_hints_stand_in_a_table_of_their_own() -> None:
    hints = {rule.code for rule in LINT if rule.level == "hint"}
    assert {one.code for one in HINTS_READ if one.code} <= hints
    assert confidence(HINTS_READ).trees >= 15


@pytest.mark.parametrize("read", [READ, HINTS_READ], ids=["mistakes", "hints"])
def test_rules_that_are_often_wrong_must_be_asked_for(read: list[Verdict]) -> None:
    doubtful = {
        rule.code
        for rule in LINT
        if (one := confidence(read, rule.code)).findings >= ENOUGH and one.share < SHARE and rule.default
    }
    assert doubtful == set()


def test_hints_that_nobody_follows_must_be_asked_for() -> None:
    """What is only slow has to be of use: more than half of a rule's findings."""
    idle = {
        rule.code
        for rule in LINT
        if (one := confidence(HINTS_READ, rule.code)).findings >= ENOUGH
        and 2 * one.true <= one.findings
        and rule.default
    }
    assert idle == set()


def test_counts() -> None:
    read = [
        Verdict("a", "1", "NNX801", "x.py:1", "true", "2026-01-01"),
        Verdict("a", "1", "NNX801", "x.py:2", "false", "2026-01-02"),
        Verdict("b", "2", "NNX802", "x.py:3", "useless", "2026-01-01"),
        Verdict("c", "3", "", "", "", "2026-01-01"),
    ]
    assert confidence(read, "NNX801") == Confidence(3, 2, 1, 0, "2026-01-02")
    assert confidence(read, "NNX801").share == 0.5
    assert str(confidence(read)) == (
        "3 findings in 3 public projects were read: 1 right, 1 of no use, 1 false (2026-01-02)"
    )
    assert str(confidence(read, "NNX803")) == "not seen in 3 public projects (2026-01-02)"
    assert "| [NNX801](rules/NNX801.md) | 2 | 1 | 0 | 1 |" in table(read, read)


def test_unknown_verdicts_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text("tree,commit,code,place,verdict,date\na,1,NNX801,x.py:1,perhaps,2026-01-01\n")
    with pytest.raises(ValueError, match="perhaps"):
        verdicts(file)
