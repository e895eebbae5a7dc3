"""Symbolic values: what an expression denotes, as far as the text of one scope tells.

A value belongs to one activation of the scope in which it is written. :mod:`codemods.nnx.flow` follows values
through calls, fields and modules.

Values are never changed, a :class:`Loop` aside. They are not declared frozen, since that makes them three times as dear
to make, and a project has hundreds of thousands.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope


class Value:
    """Base of all symbolic values; compared by identity unless a subclass says otherwise."""

    __slots__ = ()


class Const(Value):
    """A literal: a string, number, None, True, False or Ellipsis."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:  # True, 1 and 1.0 are equal to Python, and not the same in a program
        return isinstance(other, Const) and type(self.value) is type(other.value) and self.value == other.value


class Ref(Value):
    """A name of a package outside the project, such as ``flax.nnx.Optimizer``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash((self.name,))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.name == other.name


class ModuleRef(Value):
    """A module by its dotted name, as the module ``importer`` spells it; the project's own or another's."""

    __slots__ = ("importer", "name")

    def __init__(self, name: str, importer: str = "") -> None:
        self.name = name
        self.importer = importer

    def __hash__(self) -> int:
        return hash((self.name, self.importer))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleRef) and self.name == other.name and self.importer == other.importer


class Unknown(Value):
    """Some object, different at each place."""

    __slots__ = ("node",)

    def __init__(self, node: ast.AST) -> None:
        self.node = node


class Function(Value):
    """A function, method or lambda of the project."""

    __slots__ = ("facts",)

    def __init__(self, facts: FunctionFacts) -> None:
        self.facts = facts


class Class(Value):
    """A class of the project."""

    __slots__ = ("facts",)

    def __init__(self, facts: ClassFacts) -> None:
        self.facts = facts


class Param(Value):
    """A parameter of a function."""

    __slots__ = ("function", "name")

    def __init__(self, function: FunctionFacts, name: str) -> None:
        self.function = function
        self.name = name


class Free(Value):
    """A variable of an enclosing scope, or a global, as it is when the inner function runs."""

    __slots__ = ("name", "scope")

    def __init__(self, scope: Scope, name: str) -> None:
        self.scope = scope
        self.name = name

    def __hash__(self) -> int:
        return hash((self.scope, self.name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Free) and self.scope == other.scope and self.name == other.name

    @property
    def of_global(self) -> bool:
        """Whether it is a global."""
        return self.scope.parent is None


class Call(Value):
    """The result of a call.

    Attributes:
        keywords: pairs of a name and a value; the name of ``**mapping`` is None.
        starred: whether an argument is unpacked with ``*`` or ``**``.
    """

    __slots__ = ("args", "callee", "keywords", "node", "starred")

    def __init__(
        self,
        node: ast.Call,
        callee: Value,
        args: tuple[Value, ...],
        keywords: tuple[tuple[str | None, Value], ...],
        starred: bool = False,
    ) -> None:
        self.node = node
        self.callee = callee
        self.args = args
        self.keywords = keywords
        self.starred = starred

    @property
    def given(self) -> tuple[Value, ...]:
        """All arguments, those by position first."""
        return (*self.args, *(value for _, value in self.keywords))

    def keyword(self, name: str) -> Value | None:
        """Return the argument passed by ``name=``, if there is one."""
        return next((value for key, value in self.keywords if key == name), None)

    def argument(self, position: int, name: str) -> Value | None:
        """Return the argument at a 0-based position or under a name; None if it is missing or unpacked.

        The object of a method is at position -1, which no call passes.
        """
        if 0 <= position < len(self.args):
            unpacked = any(isinstance(a, Star) for a in self.args[: position + 1])
            return None if unpacked else self.args[position]
        return self.keyword(name)


class Star(Value):
    """The unpacking ``*value`` in a call or display."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class _Derived(Value):
    """What is taken out of another value; equal if the whole and the part are. The hash is found once."""

    __slots__ = ("_hash", "_part", "base")

    def __init__(self, base: Value, part: object) -> None:
        self.base = base
        self._part = part
        self._hash = hash((type(self), base, part))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, _Derived)
            and self._hash == other._hash
            and type(self) is type(other)
            and self._part == other._part
            and self.base == other.base
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base!r}, {self._part!r})"


class Attr(_Derived):
    """An attribute of a value; ``node`` is None for one that no expression spells, and not compared.

    Attributes:
        of_global: whether it is an attribute of an attribute ... of a module or global, as most library names are.
    """

    __slots__ = ("name", "node", "of_global")

    def __init__(self, base: Value, name: str, node: ast.AST | None = None) -> None:
        super().__init__(base, name)
        self.name = name
        self.node = node
        self.of_global: bool = base.of_global if isinstance(base, Attr | Free) else isinstance(base, ModuleRef)


class Item(_Derived):
    """``base[index]``, also a position of an unpacked tuple."""

    __slots__ = ("index",)

    def __init__(self, base: Value, index: Value) -> None:
        super().__init__(base, index)
        self.index = index


class Each(_Derived):
    """The element of ``base`` in the current round of a loop or comprehension."""

    __slots__ = ("loop",)

    def __init__(self, base: Value, loop: ast.AST) -> None:
        super().__init__(base, loop)
        self.loop = loop


class Sequence(Value):
    """A tuple or list display."""

    __slots__ = ("items", "node")

    def __init__(self, node: ast.AST, items: tuple[Value, ...]) -> None:
        self.node = node
        self.items = items


class Mapping(Value):
    """A dict display; the key of ``**other`` is None."""

    __slots__ = ("items", "node")

    def __init__(self, node: ast.AST, items: tuple[tuple[Value | None, Value], ...]) -> None:
        self.node = node
        self.items = items


class Comprehension(Value):
    """A list, set, generator or dict comprehension over one loop.

    Attributes:
        loop: what its :class:`Each` values refer to.
        key: the key of a dict comprehension.
        element: the value of one round.
    """

    __slots__ = ("element", "key", "loop")

    def __init__(self, loop: ast.AST, key: Value | None, element: Value) -> None:
        self.loop = loop
        self.key = key
        self.element = element


class Choice(Value):
    """One of several values, depending on the way taken to ``node``."""

    __slots__ = ("node", "options")

    def __init__(self, node: ast.AST, options: tuple[Value, ...]) -> None:
        self.node = node
        self.options = options


class Either(Choice):
    """A variable that holds its options one after the other; reading it twice may give different ones."""

    __slots__ = ()


class Assigned(Value):
    """What an inner function assigns to a variable of the scope around it."""

    __slots__ = ("scope", "value")

    def __init__(self, scope: Scope, value: Value) -> None:
        self.scope = scope
        self.value = value

    def __hash__(self) -> int:
        return hash((self.scope, self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Assigned) and self.scope == other.scope and self.value == other.value


class Loop(Value):
    """A variable at the head of a loop: its value from before, or that of the round before."""

    __slots__ = ("again", "before", "node")

    def __init__(self, node: ast.AST, before: Value, again: Value | None = None) -> None:
        self.node = node
        self.before = before
        self.again = again


class Changed(Value):
    """A container after ``container[index] = value``, ``.append(value)`` or the like."""

    __slots__ = ("before", "node", "value")

    def __init__(self, node: ast.AST, before: Value, value: Value) -> None:
        self.node = node
        self.before = before
        self.value = value


def of_display(value: Value) -> Value:
    """Return what a target gets of a display that is written out: of ``a, b = x, y`` the ``x`` for ``a``.

    Other values are returned as they are, and so is an element of a display in which something is unpacked.
    """
    if isinstance(value, Item) and isinstance(value.base, Sequence) and isinstance(value.index, Const):
        place, items = value.index.value, value.base.items
        if isinstance(place, int) and -len(items) <= place < len(items):
            if not any(isinstance(item, Star) for item in items):
                return items[place]
    return value


def element_at(value: Value, place: int, count: int) -> Value | None:
    """Return an element of a comprehension over a display: ``f(x)`` for ``a`` in ``a, b = (f(v) for v in (x, y))``.

    Args:
        value: what is unpacked.
        place: the element's position.
        count: how many elements are wanted.

    Returns:
        None for another value, and where the element is made by a constructor, which has one place for all of them.
    """
    if not isinstance(value, Comprehension) or value.key is not None:
        return None
    found = _in_round(value.element, value.loop, place, count)
    return found if found is not value.element else None


def _in_round(value: Value, loop: ast.AST, place: int, count: int) -> Value:
    """Return what a value of a comprehension is in one of its rounds; itself where that is not known."""
    if isinstance(value, Each):
        items = value.base.items if value.loop is loop and isinstance(value.base, Sequence) else ()
        return items[place] if len(items) == count and not any(isinstance(one, Star) for one in items) else value
    if isinstance(value, Attr):
        base = _in_round(value.base, loop, place, count)
        return value if base is value.base else Attr(base, value.name, value.node)
    if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name[:1].islower():
        callee = _in_round(value.callee, loop, place, count)
        args = tuple(_in_round(one, loop, place, count) for one in value.args)
        same = callee is value.callee and all(one is two for one, two in zip(args, value.args, strict=True))
        if value.starred or same:
            return value
        return Call(value.node, callee, args, value.keywords)
    return value
