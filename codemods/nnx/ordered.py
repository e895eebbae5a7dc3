"""Sets that keep their order, so that what depends on it is the same in every run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import TypeVar

T = TypeVar("T")

_FEW = 2  # up to how many elements are as soon looked through as looked up


class OrderedSet(Set[T]):
    """A set that cannot be changed and whose elements come in the order in which they were given."""

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        found = dict.fromkeys(items)
        # most have one element, for which a dictionary would be large
        self._items: dict[T, None] | tuple[T, ...] = found if len(found) > _FEW else tuple(found)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"OrderedSet({list(self._items)!r})"
