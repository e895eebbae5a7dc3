"""What a value is while its function is traced: a traced array, a Python value, a container, or not known."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

_DEPTH = 4  # how deep containers in containers are told apart


class Grade(enum.Enum):
    """The kinds of values that tracing tells apart."""

    UNKNOWN = "unknown"  # nothing is reported of it
    PYTHON = "python"  # known while compiling: numbers, texts, flags, types, functions
    CONTAINER = "container"  # a tuple, list or dict whose parts are known one by one; a shape is one of Python values
    OBJECT = "object"  # an NNX object or the like whose Variables are traced
    TREE = "tree"  # traced: an array, or a container with traced arrays in it
    ARRAY = "array"  # a traced array


@dataclass(frozen=True, slots=True)
class Status:
    """A grade, with what more is known.

    Attributes:
        grade: the grade.
        const: of a Python value that is known itself, that value in a tuple.
        items: of a container, parts by their index or key.
        each: of a container, what all other parts are; None if there are none.
    """

    grade: Grade
    const: tuple[object] | None = None
    items: tuple[tuple[object, Status], ...] = ()
    each: Status | None = None

    @property
    def traced(self) -> bool:
        """Whether the value itself is traced; a plain container of arrays is not."""
        return self.grade in {Grade.ARRAY, Grade.TREE}

    @property
    def holds(self) -> bool:
        """Whether the value is traced or has something traced in it."""
        return self.traced or (self.grade is Grade.CONTAINER and any(part.holds for part in self.parts))

    @property
    def static(self) -> bool:
        """Whether everything in the value is known while compiling."""
        return self.grade is Grade.PYTHON or (self.grade is Grade.CONTAINER and all(part.static for part in self.parts))

    @property
    def parts(self) -> tuple[Status, ...]:
        """The parts of a container."""
        return (*(part for _, part in self.items), *(() if self.each is None else (self.each,)))

    @property
    def none(self) -> bool:
        """Whether the value is None."""
        return self.const == (None,)

    def part(self, key: object) -> Status:
        """Return the part under an index or key of a container; the same of an array or a tree of arrays."""
        if self.traced:
            return self
        if self.grade is not Grade.CONTAINER:
            return UNKNOWN
        if isinstance(key, int) and key < 0 and self.each is None:
            key += len(self.items)
        for known, part in self.items:
            if known == key and type(known) is type(key):
                return part
        return self.each if self.each is not None else UNKNOWN

    def any_part(self) -> Status:
        """Return what an element of a container or array is."""
        if self.grade is Grade.ARRAY:
            return ARRAY
        if self.grade is Grade.CONTAINER and self.parts:
            return join(self.parts)
        return UNKNOWN


UNKNOWN = Status(Grade.UNKNOWN)
PYTHON = Status(Grade.PYTHON)
ARRAY = Status(Grade.ARRAY)
TREE = Status(Grade.TREE)
OBJECT = Status(Grade.OBJECT)
NOTHING = Status(Grade.UNKNOWN, None, (("", UNKNOWN),))  # of a value that depends on itself and on nothing else yet
SHAPE = Status(Grade.CONTAINER, each=PYTHON)


def python(value: object) -> Status:
    """Return the status of a literal."""
    return Status(Grade.PYTHON, (value,))


def sequence(parts: Iterable[Status]) -> Status:
    """Return the status of a tuple or list of these parts."""
    return bounded(Status(Grade.CONTAINER, items=tuple(enumerate(parts))))


def many(part: Status) -> Status:
    """Return the status of a container of any number of such parts."""
    return bounded(Status(Grade.CONTAINER, each=part))


def bounded(status: Status, depth: int = 0) -> Status:
    """Return a status in which containers too deep or too long to tell apart are summed up."""
    if status.grade is not Grade.CONTAINER:
        return status
    if depth >= _DEPTH:
        return TREE if status.holds else PYTHON if status.static else UNKNOWN
    if len(status.items) > 16:
        return many(join(status.parts))
    items = tuple((key, bounded(part, depth + 1)) for key, part in status.items)
    return Status(Grade.CONTAINER, None, items, None if status.each is None else bounded(status.each, depth + 1))


def join(ways: Iterable[Status], rounds: bool = False) -> Status:
    """Return what a value is that is one of several; None among them stands for "not given".

    Args:
        ways: what it may be.
        rounds: whether it becomes one after the other in the rounds of a loop, so that a number to which arrays are
            added is an array in the end.
    """
    every = [way for way in dict.fromkeys(ways) if way is not NOTHING] or [NOTHING]
    rest = [way for way in every if not way.none]
    if not rest:
        return every[0] if every else UNKNOWN
    if len(rest) == 1:
        return rest[0] if len(every) == 1 or rest[0].traced or rest[0].grade is Grade.CONTAINER else _plain(rest[0])
    result = rest[0]
    for other in rest[1:]:
        result = _both(result, other, rounds)
    return result


def _plain(status: Status) -> Status:
    return PYTHON if status.grade is Grade.PYTHON else status


def _both(one: Status, two: Status, rounds: bool) -> Status:
    if one == two:
        return one
    grades = {one.grade, two.grade}
    if grades == {Grade.PYTHON}:
        return PYTHON
    if grades == {Grade.ARRAY, Grade.TREE}:
        return TREE
    if rounds and grades == {Grade.PYTHON, Grade.ARRAY}:
        return ARRAY
    if grades == {Grade.CONTAINER}:
        keys = [key for key, _ in one.items]
        if one.each is None and two.each is None and keys == [key for key, _ in two.items]:
            items = tuple((key, join((part, two.part(key)), rounds)) for key, part in one.items)
            return Status(Grade.CONTAINER, None, items)
        parts = (*one.parts, *two.parts)
        return many(join(parts, rounds)) if parts else one
    return UNKNOWN


def lifted(status: Status) -> Status:
    """Return what a value becomes when a transform traces it: every number in it becomes an array."""
    if status.grade is Grade.PYTHON:
        if status.const is None or isinstance(status.const[0], bool | int | float | complex):
            return ARRAY if status.const is not None else TREE
        return status
    if status.grade is Grade.UNKNOWN:
        return TREE
    if status.grade is Grade.CONTAINER:
        items = tuple((key, lifted(part)) for key, part in status.items)
        return Status(Grade.CONTAINER, None, items, None if status.each is None else lifted(status.each))
    return status
