"""What one module says: its scopes, functions, classes, calls and attribute accesses."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property

from codemods.nnx.source import Source
from codemods.nnx.values import Call, Param, Value

Env = dict[str, Value]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(eq=False)
class Scope:
    """A module, class body or function body.

    Attributes:
        module: the module it belongs to.
        node: its syntax.
        parent: the scope around it; None for a module.
        function: the function whose body it is.
        owner: the class whose body it is.
        bindings: every value that each name is bound to, in order.
        env: the values of names at the end of the scope.
        globals: names declared ``global`` or ``nonlocal``.
        rebound: names that are bound again after they were bound, or in a loop.
        remote: names that inner functions bind, with those functions.
    """

    module: ModuleFacts
    node: ast.AST
    parent: Scope | None = None
    function: FunctionFacts | None = None
    owner: ClassFacts | None = None
    bindings: dict[str, list[Value]] = field(default_factory=dict)
    env: Env = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    remote: dict[str, list[FunctionFacts]] = field(default_factory=dict)


@dataclass(eq=False)
class FunctionFacts:
    """A function.

    Attributes:
        node: its syntax.
        scope: its body's scope; ``scope.parent`` is where it is defined.
        owner: the class of a method.
        name: its name; ``<lambda>`` for a lambda.
        params: its parameters in order, starred ones excluded.
        positional: how many of them may be passed by position.
        vararg: name of ``*args``.
        kwarg: name of ``**kwargs``.
        defaults: values of defaults by parameter name, in the scope around.
        decorators: values of its decorators, outermost first, in the scope around.
        returns: values that it returns or yields.
        generator: whether it yields; what it yields stands among ``returns``.
        delegated: what it yields the elements of, with ``yield from``.
        binding: how a method is called: ``instance``, ``class`` or ``static``; ``function`` otherwise.
        is_property: whether it is a property.
        is_cached: whether the property keeps the object that it returned first.
    """

    node: FunctionNode
    scope: Scope
    owner: ClassFacts | None
    name: str
    params: dict[str, Param] = field(default_factory=dict)
    positional: int = 0
    vararg: str | None = None
    kwarg: str | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    decorators: tuple[Value, ...] = ()
    returns: list[Value] = field(default_factory=list)
    generator: bool = False
    delegated: list[Value] = field(default_factory=list)
    binding: str = "function"
    is_property: bool = False
    is_cached: bool = False

    @property
    def self_param(self) -> Param | None:
        """The parameter that receives the instance of a method."""
        if self.binding != "instance":
            return None
        return next(iter(self.params.values()), None)

    @property
    def annotations(self) -> dict[str, ast.expr]:
        """Annotations by parameter name."""
        arguments = self.node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return {a.arg: a.annotation for a in every if a.annotation is not None}


@dataclass(eq=False)
class ClassFacts:
    """A class.

    Attributes:
        bases: values of its base classes, in the scope around.
        decorators: values of its decorators.
        methods: its own functions by name.
        fields: names that are annotated in its body, in order, with their annotation.
        stores: values assigned to ``self.name`` in its methods, with the method.
    """

    node: ast.ClassDef
    scope: Scope
    name: str
    bases: tuple[Value, ...] = ()
    decorators: tuple[Value, ...] = ()
    methods: dict[str, FunctionFacts] = field(default_factory=dict)
    fields: dict[str, ast.expr] = field(default_factory=dict)
    stores: dict[str, list[tuple[FunctionFacts, Value]]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class CallEvent:
    """A call, with the values of all names where it happens.

    Attributes:
        statement: the smallest statement around it.
        loops: the loops around it in its scope, outermost first.
        used: whether its result is used (it is not an expression statement).
        node: the syntax of the call.
    """

    value: Call
    scope: Scope
    env: Env
    statement: ast.stmt
    loops: tuple[ast.AST, ...]
    used: bool
    node: ast.Call = field(init=False)  # a field of its own, since rules ask for it millions of times

    def __post_init__(self) -> None:
        self.node = self.value.node


@dataclass(slots=True, eq=False)
class AttrEvent:
    """An attribute that is read, stored or deleted.

    Attributes:
        context: ``load``, ``store`` or ``del``.
        stored: the value of a store.
    """

    node: ast.Attribute
    base: Value
    scope: Scope
    env: Env
    statement: ast.stmt
    context: str
    stored: Value | None = None


@dataclass(slots=True, eq=False)
class ItemStore:
    """An assignment ``base[index] = value``, the only target of its statement or one of several."""

    node: ast.Subscript
    base: Value
    scope: Scope
    statement: ast.stmt


@dataclass(eq=False)
class ModuleFacts:
    """Everything one walk over a module finds.

    Attributes:
        item_stores: every ``base[index] = value``.
        imports: all import statements.
        stars: modules whose names are imported with ``*``.
        annotations: annotation expressions with the scope in which they stand.
        values: the value of every expression that was evaluated, and of every definition.
        mutated: containers that are changed through something else than a variable that holds them.
    """

    source: Source
    scope: Scope = field(init=False)
    functions: list[FunctionFacts] = field(default_factory=list)
    classes: list[ClassFacts] = field(default_factory=list)
    calls: list[CallEvent] = field(default_factory=list)
    attributes: list[AttrEvent] = field(default_factory=list)
    item_stores: list[ItemStore] = field(default_factory=list)
    annotations: list[tuple[ast.expr, Scope]] = field(default_factory=list)
    imports: list[ast.Import | ast.ImportFrom] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)
    values: dict[ast.AST, Value] = field(default_factory=dict)
    mutated: list[tuple[Value, Scope]] = field(default_factory=list)

    @cached_property
    def _by_scope(self) -> dict[Scope, list[CallEvent]]:
        found: dict[Scope, list[CallEvent]] = {}
        for event in self.calls:
            found.setdefault(event.scope, []).append(event)
        return found

    def calls_in(self, scope: Scope) -> list[CallEvent]:
        """Return the calls of a scope of the module, in order."""
        return self._by_scope.get(scope, [])

    @property
    def name(self) -> str:
        """The dotted name of the module, or its path where it has none."""
        return self.source.module or self.source.path
