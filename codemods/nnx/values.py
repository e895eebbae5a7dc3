"""Symbolic values: what an expression denotes, as far as the text of one scope tells.

A value belongs to one activation of the scope in which it is written. :mod:`codemods.nnx.flow` follows values
through calls, fields and modules.

Values are never changed, a :class:`Loop` aside. They are not declared frozen, since that makes them three times as dear
to make, and a project has hundreds of thousands.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope


class Value:
    """Base of all symbolic values; compared by identity unless a subclass says otherwise."""

    __slots__ = ()


@dataclass(slots=True, unsafe_hash=True)
class Const(Value):
    """A literal: a string, number, None, True, False or Ellipsis."""

    value: object


@dataclass(slots=True, unsafe_hash=True)
class Ref(Value):
    """A name of a package outside the project, such as ``flax.nnx.Optimizer``."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class ModuleRef(Value):
    """A module by its dotted name, as the module ``importer`` spells it; the project's own or another's."""

    name: str
    importer: str = ""


@dataclass(slots=True, eq=False)
class Unknown(Value):
    """Some object, different at each place."""

    node: ast.AST


@dataclass(slots=True, eq=False)
class Function(Value):
    """A function, method or lambda of the project."""

    facts: FunctionFacts


@dataclass(slots=True, eq=False)
class Class(Value):
    """A class of the project."""

    facts: ClassFacts


@dataclass(slots=True, eq=False)
class Param(Value):
    """A parameter of a function."""

    function: FunctionFacts
    name: str


@dataclass(slots=True, unsafe_hash=True)
class Free(Value):
    """A variable of an enclosing scope, or a global, as it is when the inner function runs."""

    scope: Scope
    name: str

    @property
    def of_global(self) -> bool:
        """Whether it is a global."""
        return self.scope.parent is None


@dataclass(slots=True, eq=False)
class Call(Value):
    """The result of a call.

    Attributes:
        keywords: pairs of a name and a value; the name of ``**mapping`` is None.
        starred: whether an argument is unpacked with ``*`` or ``**``.
    """

    node: ast.Call
    callee: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str | None, Value], ...]
    starred: bool = False

    def keyword(self, name: str) -> Value | None:
        """Return the argument passed by ``name=``, if there is one."""
        return next((value for key, value in self.keywords if key == name), None)

    def argument(self, position: int, name: str) -> Value | None:
        """Return the argument at a 0-based position or under a name; None if it is missing or unpacked."""
        if position < len(self.args):
            unpacked = any(isinstance(a, Star) for a in self.args[: position + 1])
            return None if unpacked else self.args[position]
        return self.keyword(name)


@dataclass(slots=True, eq=False)
class Star(Value):
    """The unpacking ``*value`` in a call or display."""

    value: Value


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


@dataclass(slots=True, eq=False)
class Sequence(Value):
    """A tuple or list display."""

    node: ast.AST
    items: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Mapping(Value):
    """A dict display; the key of ``**other`` is None."""

    node: ast.AST
    items: tuple[tuple[Value | None, Value], ...]


@dataclass(slots=True, eq=False)
class Comprehension(Value):
    """A list, set, generator or dict comprehension over one loop.

    Attributes:
        loop: what its :class:`Each` values refer to.
        key: the key of a dict comprehension.
        element: the value of one round.
    """

    loop: ast.AST
    key: Value | None
    element: Value


@dataclass(slots=True, eq=False)
class Choice(Value):
    """One of several values, depending on the way taken to ``node``."""

    node: ast.AST
    options: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Either(Choice):
    """A variable that holds its options one after the other; reading it twice may give different ones."""


@dataclass(slots=True, unsafe_hash=True)
class Assigned(Value):
    """What an inner function assigns to a variable of the scope around it."""

    scope: Scope
    value: Value


@dataclass(slots=True, eq=False)
class Loop(Value):
    """A variable at the head of a loop: its value from before, or that of the round before."""

    node: ast.AST
    before: Value
    again: Value | None = None


@dataclass(slots=True, eq=False)
class Changed(Value):
    """A container after ``container[index] = value``, ``.append(value)`` or the like."""

    node: ast.AST
    before: Value
    value: Value
