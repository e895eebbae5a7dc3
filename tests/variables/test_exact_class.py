"""NNX411: tests for exactly ``VariableState``, which is the class of no leaf any more."""

from __future__ import annotations

from pathlib import Path

from tests.batch import execute_all
from tests.environments import agree
from tests.migration import lines, migrate_text, options

HEAD = """\
from flax import nnx
from flax.nnx import VariableState as Leaf

state = nnx.state(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))


def kinds(x):
    assert type(state["bias"]) is nnx.variablelib.VariableState
"""
TESTS = (
    "type(x) is nnx.VariableState",
    "type(x) == nnx.VariableState",
    "nnx.VariableState is x.__class__",
    "x.__class__ == Leaf",
    "not (type(x) is Leaf)",
    "type(x) is not nnx.VariableState",
    "type(x) != nnx.variablelib.VariableState and bool(state)",
)
PROGRAM = HEAD + f"    return [{', '.join(TESTS)}]\n\n\nprint(kinds(state['kernel']), kinds(3), kinds(state))\n"


def test_exact_classes_become_isinstance(tmp_path: Path) -> None:
    """The tests give what they gave under 0.10, for leaves and for what is none."""
    before = execute_all("0.10", {"main": PROGRAM}, tmp_path / "0.10")["main"]
    assert before.code == 0, before.err
    for version in ("0.11", "0.12"):
        after = migrate_text(PROGRAM, options(version))
        assert "VariableState" not in after
        assert "type(" not in after
        assert migrate_text(after, options(version)) == after
        result = execute_all(version, {"main": after}, tmp_path / version)["main"]
        assert result.code == 0, result.err
        assert agree(before.out, result.out), version


def test_other_uses_of_the_exact_class_are_left_and_said() -> None:
    text = """\
from flax import nnx


def f(x, table):
    if type(x) in (nnx.VariableState, dict):
        return 1
    if type(x).__name__ == "VariableState":
        return 2
    return {nnx.VariableState: 3}[type(x)]
"""
    assert lines(text) == [(5, "NNX411"), (7, "NNX411"), (9, "NNX411")]
    assert migrate_text(text) == text


def test_a_test_beside_one_for_variables_is_left_to_the_author() -> None:
    text = """\
from flax import nnx


def f(x):
    return "live" if isinstance(x, nnx.Variable) else "state" if type(x) is nnx.VariableState else "array"
"""
    assert lines(text) == [(5, "NNX412")]
