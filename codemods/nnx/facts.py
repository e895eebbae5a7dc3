"""What one module says: its scopes, functions, classes, calls and attribute accesses."""

from __future__ import annotations

import ast

from codemods.nnx.source import Source
from codemods.nnx.values import Call, Param, Value

Env = dict[str, Value]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


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

    def __init__(
        self,
        module: ModuleFacts,
        node: ast.AST,
        parent: Scope | None = None,
        function: FunctionFacts | None = None,
        owner: ClassFacts | None = None,
    ) -> None:
        self.module = module
        self.node = node
        self.parent = parent
        self.function = function
        self.owner = owner
        self.bindings: dict[str, list[Value]] = {}
        self.env: Env = {}
        self.globals: set[str] = set()
        self.rebound: set[str] = set()
        self.remote: dict[str, list[FunctionFacts]] = {}


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

    def __init__(
        self,
        node: FunctionNode,
        scope: Scope,
        owner: ClassFacts | None,
        name: str,
        positional: int = 0,
        vararg: str | None = None,
        kwarg: str | None = None,
        decorators: tuple[Value, ...] = (),
        generator: bool = False,
        binding: str = "function",
        is_property: bool = False,
        is_cached: bool = False,
    ) -> None:
        self.node = node
        self.scope = scope
        self.owner = owner
        self.name = name
        self.params: dict[str, Param] = {}
        self.positional = positional
        self.vararg = vararg
        self.kwarg = kwarg
        self.defaults: dict[str, Value] = {}
        self.decorators = decorators
        self.returns: list[Value] = []
        self.generator = generator
        self.delegated: list[Value] = []
        self.binding = binding
        self.is_property = is_property
        self.is_cached = is_cached

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


class ClassFacts:
    """A class.

    Attributes:
        bases: values of its base classes, in the scope around.
        decorators: values of its decorators.
        methods: its own functions by name.
        fields: names that are annotated in its body, in order, with their annotation.
        stores: values assigned to ``self.name`` in its methods, with the method.
    """

    def __init__(
        self,
        node: ast.ClassDef,
        scope: Scope,
        name: str,
        bases: tuple[Value, ...] = (),
        decorators: tuple[Value, ...] = (),
    ) -> None:
        self.node = node
        self.scope = scope
        self.name = name
        self.bases = bases
        self.decorators = decorators
        self.methods: dict[str, FunctionFacts] = {}
        self.fields: dict[str, ast.expr] = {}
        self.stores: dict[str, list[tuple[FunctionFacts, Value]]] = {}


class CallEvent:
    """A call, with the values of all names where it happens.

    Attributes:
        statement: the smallest statement around it.
        loops: the loops around it in its scope, outermost first.
        used: whether its result is used (it is not an expression statement).
        node: the syntax of the call.
    """

    __slots__ = ("env", "loops", "node", "scope", "statement", "used", "value")

    def __init__(
        self, value: Call, scope: Scope, env: Env, statement: ast.stmt, loops: tuple[ast.AST, ...], used: bool
    ) -> None:
        self.value = value
        self.scope = scope
        self.env = env
        self.statement = statement
        self.loops = loops
        self.used = used
        self.node = value.node  # an attribute of its own, since rules ask for it millions of times


class AttrEvent:
    """An attribute that is read, stored or deleted.

    Attributes:
        context: ``load``, ``store`` or ``del``.
        stored: the value of a store.
    """

    __slots__ = ("base", "context", "env", "node", "scope", "statement", "stored")

    def __init__(
        self,
        node: ast.Attribute,
        base: Value,
        scope: Scope,
        env: Env,
        statement: ast.stmt,
        context: str,
        stored: Value | None = None,
    ) -> None:
        self.node = node
        self.base = base
        self.scope = scope
        self.env = env
        self.statement = statement
        self.context = context
        self.stored = stored


class ItemStore:
    """An assignment ``base[index] = value``, the only target of its statement or one of several."""

    __slots__ = ("base", "node", "scope", "statement")

    def __init__(self, node: ast.Subscript, base: Value, scope: Scope, statement: ast.stmt) -> None:
        self.node = node
        self.base = base
        self.scope = scope
        self.statement = statement


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

    scope: Scope

    def __init__(self, source: Source) -> None:
        self.source = source
        self.functions: list[FunctionFacts] = []
        self.classes: list[ClassFacts] = []
        self.calls: list[CallEvent] = []
        self.attributes: list[AttrEvent] = []
        self.item_stores: list[ItemStore] = []
        self.annotations: list[tuple[ast.expr, Scope]] = []
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self.stars: list[str] = []
        self.values: dict[ast.AST, Value] = {}
        self.mutated: list[tuple[Value, Scope]] = []
        self._by_scope: dict[Scope, list[CallEvent]] | None = None
        self._bodies: list[tuple[int, int, Scope]] | None = None

    def calls_in(self, scope: Scope) -> list[CallEvent]:
        """Return the calls of a scope of the module, in order."""
        if self._by_scope is None:
            self._by_scope = {}
            for event in self.calls:
                self._by_scope.setdefault(event.scope, []).append(event)
        return self._by_scope.get(scope, [])

    @property
    def postpones(self) -> bool:
        """Whether annotations are kept as texts that nothing evaluates: ``from __future__ import annotations``."""
        return any(
            isinstance(s, ast.ImportFrom) and s.module == "__future__" and any(a.name == "annotations" for a in s.names)
            for s in self.imports
        )

    def bodies(self) -> list[tuple[int, int, Scope]]:
        """Return where the bodies of the functions begin and end, with their scopes."""
        if self._bodies is None:
            self._bodies = []
            for function in self.functions:
                body = function.node.body
                start, _ = self.source.span(body[0] if isinstance(body, list) else body)
                self._bodies.append((start, self.source.span(function.node)[1], function.scope))
        return self._bodies

    @property
    def name(self) -> str:
        """The dotted name of the module, or its path where it has none."""
        return self.source.module or self.source.path
