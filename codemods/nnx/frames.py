"""Activations of functions, and values placed in them."""

from __future__ import annotations

import ast
from typing import NamedTuple

from codemods.nnx.facts import FunctionFacts
from codemods.nnx.values import Item, Unknown, Value


class Moment:
    """When a variable or attribute was read that holds different objects at different times.

    Two reads give the same object if ``writer`` is the only function that assigns it and ``reader`` read it both times.

    Attributes:
        writer: the function that assigns it anew each time it runs; None if there is more than that.
        reader: the function that read it; None for a module's body.
        given: whether what is assigned depends on an argument of the writer.
    """

    __slots__ = ("given", "reader", "writer")

    def __init__(self, writer: FunctionFacts | None, reader: FunctionFacts | None = None, given: bool = False) -> None:
        self.writer = writer
        self.reader = reader
        self.given = given

    def __hash__(self) -> int:
        return hash((self.writer, self.reader, self.given))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Moment)
            and self.writer == other.writer
            and self.reader == other.reader
            and self.given == other.given
        )


FRESH: frozenset[ast.AST | Moment] = frozenset()


def both(one: frozenset[ast.AST | Moment], two: frozenset[ast.AST | Moment]) -> frozenset[ast.AST | Moment]:
    """Return the union of two sets, mostly one of them itself: a new one for each value would take much memory."""
    if not two or one is two:
        return one
    return one | two if one else two


class Bound(NamedTuple):
    """A value in one activation of the scope that it was written in.

    A named tuple, since most of an analysis is spent on making and comparing these.

    Attributes:
        value: the value.
        frame: the activation; None for a module's or class's body.
        stale: loops whose round before the current one is meant, and moments at which it was read.
    """

    value: Value
    frame: Frame | None = None
    stale: frozenset[ast.AST | Moment] = FRESH


class Frame:
    """An activation of a function.

    Frames are made by :class:`codemods.nnx.flow.Flow` only, which returns the same object for the same activation,
    so that they can be compared by identity.

    Attributes:
        site: what made the call; None for an open frame, whose caller is not known.
        caller: the activation in which the call was made.
        args: positional arguments, ``self`` excluded.
        keywords: arguments by name.
        closure: the activation in which the function was defined.
        receiver: ``self`` or ``cls`` of a method.
        partial: whether an argument was unpacked, so that the parameters are not all known.
        prepared: how many of the positional arguments were bound before the call, as by ``functools.partial``.
    """

    __slots__ = ("args", "caller", "closure", "function", "keywords", "partial", "prepared", "receiver", "site")

    def __init__(
        self,
        function: FunctionFacts,
        site: Value | None = None,
        args: tuple[Bound, ...] = (),
        keywords: dict[str, Bound] | None = None,
        closure: Frame | None = None,
        receiver: Bound | None = None,
        partial: bool = False,
        caller: Frame | None = None,
    ) -> None:
        self.function = function
        self.site = site
        self.args = args
        self.keywords = {} if keywords is None else keywords
        self.closure = closure
        self.receiver = receiver
        self.partial = partial
        self.prepared = 0
        self.caller = caller


class Part(Value):
    """A copy of ``of``, or of something in it, made by ``nnx.merge``, ``nnx.clone`` or the like at ``site``."""

    __slots__ = ("depth", "of", "site")

    def __init__(self, site: Value, of: Bound) -> None:
        self.site = site
        self.of = of
        self.depth: int = of.value.depth + 1 if isinstance(of.value, Part) else 1  # of copies of copies


class Indexed(Value):
    """``base[index]`` with both followed as far as they go; the same object for the same base and index."""

    __slots__ = ("base", "index")

    def __init__(self, base: Value, index: Bound) -> None:
        self.base = base
        self.index = index


class Round(Value):
    """The element of ``base`` in the current round of a loop in an activation."""

    __slots__ = ("_hash", "base", "frame", "loop")

    def __init__(self, base: Value, loop: ast.AST, frame: Frame | None) -> None:
        self.base = base
        self.loop = loop
        self.frame = frame
        self._hash = hash((base, loop, frame))  # of an element of an element of ... as well

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Round)
            and self.base == other.base
            and self.loop == other.loop
            and self.frame == other.frame
        )


def slices(value: Indexed | Item) -> bool:
    """Say whether a part of a container is several elements, and so a container again."""
    index = value.index.value if isinstance(value, Indexed) else value.index
    return isinstance(index, Unknown) and isinstance(index.node, ast.Slice)
