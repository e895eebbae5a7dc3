"""When memory is given back between analyses."""

from __future__ import annotations

import gc

import pytest

from nnxmigrate.garbage import Heap, kept


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets longer by each look for garbage."""
    seen: list[int] = []
    monkeypatch.setattr(gc, "collect", lambda: seen.append(1))
    return seen


def test_many_small_scripts_are_not_worth_a_look_each(looks: list[int]) -> None:
    heap = Heap()
    with kept():
        for _ in range(2000):
            heap.before(100)
    assert not looks


def test_large_groups_are_given_back_one_by_one(looks: list[int]) -> None:
    heap = Heap()
    with kept():
        for _ in range(4):
            heap.before(1_000_000)
    assert len(looks) == 3


def test_small_ones_add_up(looks: list[int]) -> None:
    heap = Heap()
    with kept():
        for _ in range(2000):
            heap.before(1_000)
    assert 2 <= len(looks) <= 4
