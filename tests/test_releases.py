"""The comparison of two Flax releases."""

from __future__ import annotations

from tests.environments import python
from tests.releases import differences, listed, unknown, words

OLD = {"Same": "(a)", "Gone": "(a)", "Gone.method": "(self)", "Other": "(a)", "Same.lost": "(self)"}
NEW = {"Same": "(a)", "Other": "(a, *, b=...)", "New": "(x)", "New.method": "(self)", "Same.added": ""}


def test_differences() -> None:
    assert list(differences(OLD, NEW)) == [
        ("Gone", "is gone"),
        ("New", "is new: (x)"),
        ("Other", "takes more: (a) became (a, *, b=...)"),
        ("Same.added", "is new"),
        ("Same.lost", "is gone"),
    ]


def test_what_no_rule_names() -> None:
    found = list(differences(OLD, NEW))
    assert [name for name, _ in unknown(iter(found), frozenset())] == ["Gone", "Same.lost"]
    assert [name for name, _ in unknown(iter(found), frozenset({"Gone"}))] == ["Same.lost"]
    assert [what for _, what in differences({"f": "(a, b=...)"}, {"f": "(a, c)"})] == ["(a, b=...) became (a, c)"]
    assert unknown(iter([("Optimizer.update", "(a) became (b)")]), words()) == []


def test_real_releases() -> None:
    python("0.10")
    found = dict(differences(listed("0.10"), listed("0.11")))
    assert found["ModelAndOptimizer"].startswith("is new: (model, tx")
    assert "wrt" in found["Optimizer"]
    assert found["is_mutable_array"] == "is gone"
