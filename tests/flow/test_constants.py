"""Constants that Python takes for equal are the same value only if they are of the same type."""

from __future__ import annotations

from codemods.nnx.values import Const


def test_a_truth_value_is_neither_the_number_one_nor_a_float() -> None:
    """Else a call that gives 1.0 would seem to give the True of another call, which was followed before."""
    assert len({Const(True), Const(1), Const(1.0)}) == 3
    assert len({Const(False), Const(0), Const(0.0), Const(None)}) == 4


def test_equal_constants_of_a_type_are_one() -> None:
    assert Const(2) == Const(2)
    assert len({Const("a"), Const("a"), Const(0.5), Const(0.5)}) == 2
