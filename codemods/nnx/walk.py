"""One ordered walk over a module that gives every expression its symbolic value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, Env, FunctionFacts, ItemStore, ModuleFacts, Scope
from codemods.nnx.source import Source
from codemods.nnx.values import (
    Assigned,
    Attr,
    Call,
    Changed,
    Choice,
    Class,
    Comprehension,
    Const,
    Each,
    Free,
    Function,
    Item,
    Loop,
    Mapping,
    ModuleRef,
    Param,
    Ref,
    Sequence,
    Star,
    Unknown,
    Value,
)

# methods that put a value into the container they are called on, with the position of that value
_FILLING = {"append": 0, "add": 0, "insert": 1, "setdefault": 1}
# methods that change a container in another way
_CHANGING = frozenset({"clear", "extend", "pop", "popitem", "remove", "reverse", "sort", "update"})
# context managers that go on after an exception in their block
_SWALLOWING = frozenset({"suppress", "raises", "assertRaises"})


def walk(source: Source) -> ModuleFacts:
    """Return the facts of one module.

    Raises:
        SyntaxError: if the source does not parse.
        RecursionError: if it is nested too deeply.
    """
    return _Walker(source).run()


class _Walker:
    """The state of one walk. Bodies of functions are walked after the scope that defines them."""

    def __init__(self, source: Source) -> None:
        self.facts = ModuleFacts(source)
        self.scope = Scope(self.facts, source.tree)
        self.facts.scope = self.scope
        self.env: Env = {}
        self.shared = False  # whether an event holds on to env
        self.statement: ast.stmt | None = None
        self.loops: tuple[ast.AST, ...] = ()
        self.exits: list[list[Env]] = []  # environments at the breaks of the loops around
        self.rounds: list[list[Env]] = []  # the same at their continues
        self.transient = 0  # depth of comprehensions, whose names do not belong to the scope
        self.pending: list[FunctionFacts] = []
        self.statements: dict[ast.Lambda, ast.stmt] = {}
        self.leaking: list[tuple[str, Value]] = []  # bindings that leave the comprehension around them
        self.remote: frozenset[str] = frozenset()  # names that some function declares global or nonlocal

    def run(self) -> ModuleFacts:
        data = self.facts.source.data
        if b"global" in data or b"nonlocal" in data:
            self.remote = frozenset(
                name
                for node in ast.walk(self.facts.source.tree)
                if isinstance(node, ast.Global | ast.Nonlocal)
                for name in node.names
            )
        self.body(self.facts.source.tree.body)
        self.scope.env = self.env
        while self.pending:
            self.function_body(self.pending.pop(0))
        return self.facts

    # -- environment ------------------------------------------------------------------------------

    def snapshot(self) -> Env:
        """Return the environment as it is now; later assignments do not change it."""
        self.shared = True
        return self.env

    def bind(self, name: str, value: Value) -> None:
        scope = self.scope
        if name in scope.globals:
            outer = self.outer_scope(name)
            outer.bindings.setdefault(name, []).append(Assigned(scope, value))
            if scope.function is not None:
                outer.remote.setdefault(name, []).append(scope.function)
            return
        if not self.transient:
            if self.loops or not _empty(self.env.get(name)):
                scope.rebound.add(name)
            scope.bindings.setdefault(name, []).append(value)
        if self.shared:
            self.env = dict(self.env)
            self.shared = False
        self.env[name] = value

    def outer_scope(self, name: str) -> Scope:
        """Return the scope that a ``global`` or ``nonlocal`` name belongs to."""
        scope = self.scope.parent
        while scope is not None and scope.parent is not None:
            if scope.owner is None and name in scope.bindings:
                return scope
            scope = scope.parent
        return scope or self.scope

    def name(self, name: str) -> Value:
        value = self.env.get(name)
        if value is not None:
            return Free(self.scope, name) if name in self.remote and name in self.scope.bindings else value
        scope = self.scope.parent
        while scope is not None:
            # names of a class body are not seen by its methods
            if scope.owner is None and (name in scope.bindings or scope.parent is None):
                return Free(scope, name)
            scope = scope.parent
        return Free(self.scope, name)

    # -- statements -------------------------------------------------------------------------------

    def body(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.statement = statement
            handler = _STATEMENTS.get(type(statement))
            if handler is not None:
                handler(self, statement)
            else:
                self.children(statement)

    def children(self, node: ast.AST) -> None:
        """Evaluate the expressions below a node that has no handler of its own."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
            elif isinstance(child, ast.stmt):
                self.body([child])
            elif not isinstance(child, ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop):
                self.children(child)

    def assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.store(target, value)

    def annotated(self, node: ast.AnnAssign) -> None:
        self.annotation(node.annotation)
        if isinstance(node.target, ast.Name) and self.scope.owner is not None:
            self.scope.owner.fields[node.target.id] = node.annotation
        if node.value is not None:
            self.store(node.target, self.value(node.value))

    def augmented(self, node: ast.AugAssign) -> None:
        self.value(node.value)
        if isinstance(node.target, ast.Name):
            before = self.name(node.target.id)
            added = self.facts.values.get(node.value, Unknown(node))
            self.facts.values[node.target] = before
            self.bind(
                node.target.id,
                Changed(node, before, Each(added, node)) if isinstance(node.op, ast.Add) else Unknown(node),
            )
        else:
            self.store(node.target, Unknown(node))

    def store(self, target: ast.expr, value: Value) -> None:
        """Bind a target to a value; an unpacked target binds its parts."""
        if isinstance(target, ast.Name):
            self.facts.values[target] = value
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self.unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            base = self.value(target.value)
            self.attribute_event(target, base, "store", value)
        elif isinstance(target, ast.Subscript):
            self.value(target.slice)
            base = self.value(target.value)
            if self.statement is not None:
                self.facts.item_stores.append(ItemStore(target, base, self.scope, self.statement))
            self.change(target.value, Changed(target, base, value))
        elif isinstance(target, ast.Starred):
            self.store(target.value, Unknown(target))

    def unpack(self, targets: list[ast.expr], value: Value) -> None:
        starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), len(targets))
        for index, target in enumerate(targets):
            if index < starred:
                self.store(target, Item(value, Const(index)))
            elif index == starred:
                self.store(target, Unknown(target))
            else:
                self.store(target, Item(value, Const(index - len(targets))))

    def change(self, container: ast.expr, value: Value) -> None:
        """Note that a container that a name or attribute holds was changed in place."""
        if isinstance(container, ast.Name):
            before = self.env.get(container.id)
            if before is None or not isinstance(before, _DISPLAYS):
                self.note_mutation(container)
            if before is not None:
                for name in [n for n, other in self.env.items() if other is before]:
                    self.bind(name, value)
            elif container.id in self.scope.globals:
                self.bind(container.id, value)
            else:
                self.outer_scope(container.id).bindings.setdefault(container.id, []).append(value)
        else:
            self.note_mutation(container)
            base = self.facts.values.get(container.value) if isinstance(container, ast.Attribute) else None
            if isinstance(container, ast.Attribute) and base is not None:
                self.attribute_event(container, base, "store", value)

    def note_mutation(self, container: ast.expr) -> None:
        """Note that a container is changed that other names may hold too."""
        held = self.facts.values.get(container)
        if held is not None:
            self.facts.mutated.append((held, self.scope))

    def attribute_event(self, node: ast.Attribute, base: Value, context: str, stored: Value | None = None) -> None:
        assert self.statement is not None
        self.facts.attributes.append(
            AttrEvent(node, base, self.scope, self.snapshot(), self.statement, context, stored)
        )
        function = self.scope.function
        if stored is None or function is None or function.owner is None or base is not function.self_param:
            return
        function.owner.stores.setdefault(node.attr, []).append((function, stored))

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                self.attribute_event(target, self.value(target.value), "del")
            elif isinstance(target, ast.Name):
                self.facts.values[target] = self.name(target.id)
            elif isinstance(target, ast.Subscript):
                self.value(target.slice)
                base = self.value(target.value)
                self.change(target.value, Changed(node, base, Unknown(target)))
            else:
                self.children(target)

    def returned(self, node: ast.Return) -> None:
        value: Value = Const(None) if node.value is None else self.value(node.value)
        if self.scope.function is not None:
            self.scope.function.returns.append(value)

    def branch(self, node: ast.If) -> None:
        self.value(node.test)
        before = self.snapshot()
        self.body(node.body)
        first, first_ends = self.snapshot(), _leaves(node.body)
        self.env = before
        self.shared = True
        self.body(node.orelse)
        if first_ends and _leaves(node.orelse):
            return
        if _leaves(node.orelse):
            self.env = first
        elif not first_ends:
            self.env = self.joined(node, [first, self.env])
        self.shared = True

    def joined(self, node: ast.AST, environments: list[Env]) -> Env:
        """Return the environment after several ways meet."""
        first = environments[0]
        if all(env is first for env in environments):
            return first
        result: Env = {}
        for name in {name: None for env in environments for name in env}:
            options: list[Value] = []
            for env in environments:
                value = env.get(name)
                if value is not None and value not in options:
                    options.append(value)
            result[name] = options[0] if len(options) == 1 else Choice(node, tuple(options))
        return result

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if isinstance(node, ast.While):
            head: Callable[[], object] = lambda: self.value(node.test)  # noqa: E731
        else:
            iterated = self.value(node.iter)
            head = lambda: self.iterate(node.target, iterated, node)  # noqa: E731
        variables: dict[str, Loop] = {}
        for name in sorted(_assigned(node)):
            before = self.env.get(name)
            if before is not None:
                variables[name] = Loop(node, before)
        if variables:
            self.env = {**self.env, **variables}
            self.shared = False
        start = self.snapshot()
        self.loops += (node,)
        self.exits.append([])
        self.rounds.append([])
        head()
        self.body(node.body)
        ends = [*self.rounds.pop(), *([] if _leaves(node.body) else [self.snapshot()])]
        if ends:
            self.env = self.joined(node, ends)
            self.shared = True
        for name, variable in variables.items():
            variable.again = self.env.get(name, variable)
        self.loops = self.loops[:-1]
        exits = self.exits.pop()
        after = [] if isinstance(node, ast.While) and _always(node.test) and exits else [{**self.env, **start}]
        self.env = self.joined(node, [*after, *exits])
        self.shared = True
        self.body(node.orelse)

    def leave_loop(self, node: ast.Break) -> None:
        if self.exits:
            self.exits[-1].append(self.snapshot())

    def next_round(self, node: ast.Continue) -> None:
        if self.rounds:
            self.rounds[-1].append(self.snapshot())

    def iterate(self, target: ast.expr, iterated: Value, loop: ast.AST) -> None:
        """Bind the target of a loop to what one round gets, through enumerate, zip and dict views."""
        self.store(target, self.element(iterated, loop))

    def element(self, iterated: Value, loop: ast.AST) -> Value:
        if isinstance(iterated, Call) and not iterated.starred:
            callee = iterated.callee
            if isinstance(callee, Free | Ref):
                name = callee.name
                if name == "enumerate" and iterated.args:
                    return Sequence(loop, (Unknown(loop), self.element(iterated.args[0], loop)))
                if name == "zip" and iterated.args:
                    return Sequence(loop, tuple(self.element(a, loop) for a in iterated.args))
                if name in {"list", "tuple", "iter", "tqdm"} and iterated.args:
                    return self.element(iterated.args[0], loop)
                if name in {"reversed", "sorted"} and iterated.args:  # the elements, in an order of its own
                    return self.element(iterated.args[0], iterated.node)
            if isinstance(callee, Attr) and not iterated.args:
                key = Each(callee.base, loop)
                if callee.name == "items":
                    return Sequence(loop, (key, Item(callee.base, key)))
                if callee.name == "values":
                    return Item(callee.base, key)
                if callee.name == "keys":
                    return key
        return Each(iterated, loop)

    def guarded(self, node: ast.Try) -> None:
        before = self.snapshot()
        counts = {name: len(values) for name, values in self.scope.bindings.items()}
        self.body(node.body)
        after_body = self.snapshot()
        interrupted = self.interrupted(node, [before, after_body], counts)
        self.body(node.orelse)
        ends = [] if _leaves([*node.body, *node.orelse]) else [self.snapshot()]
        for handler in node.handlers:
            self.env = interrupted
            self.shared = True
            if handler.type is not None:
                self.value(handler.type)
            if handler.name:
                self.bind(handler.name, Unknown(handler))
            self.body(handler.body)
            if not _leaves(handler.body):
                ends.append(self.snapshot())
        self.env = self.joined(node, ends or [after_body])
        self.shared = True
        self.body(node.finalbody)

    def interrupted(self, node: ast.AST, environments: list[Env], counts: dict[str, int]) -> Env:
        """Return the environment after a block that an exception may leave at any statement.

        Args:
            node: the statement around the block.
            environments: those at its start and end.
            counts: how many bindings each name had before the block.
        """
        result = self.joined(node, environments)
        for name, values in self.scope.bindings.items():
            within = dict.fromkeys(values[counts.get(name, 0) :])
            if len(within) > 1 and name in result:
                ends = [env[name] for env in environments if name in env]
                result = {**result, name: Choice(node, tuple(dict.fromkeys([*ends, *within])))}
        return result

    def managed(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.store(item.optional_vars, value)
        before = self.snapshot()
        counts = {name: len(values) for name, values in self.scope.bindings.items()}
        self.body(node.body)
        if any(_last_name(item.context_expr) in _SWALLOWING for item in node.items):
            self.env = self.interrupted(node, [before, self.snapshot()], counts)
            self.shared = True

    def matched(self, node: ast.Match) -> None:
        self.value(node.subject)
        before = self.snapshot()
        ends = [before]
        for case in node.cases:
            self.env = before
            self.shared = True
            for pattern in ast.walk(case.pattern):
                for name in (getattr(pattern, "name", None), getattr(pattern, "rest", None)):
                    if isinstance(name, str):
                        self.bind(name, Unknown(pattern))
                if isinstance(pattern, ast.MatchValue):
                    self.value(pattern.value)
            if case.guard is not None:
                self.value(case.guard)
            self.body(case.body)
            if not _leaves(case.body):
                ends.append(self.snapshot())
        self.env = self.joined(node, ends)
        self.shared = True

    def import_names(self, node: ast.Import) -> None:
        self.facts.imports.append(node)
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, ModuleRef(alias.name, self.facts.name))
            else:
                top = alias.name.split(".")[0]
                self.bind(top, ModuleRef(top, self.facts.name))

    def import_from(self, node: ast.ImportFrom) -> None:
        self.facts.imports.append(node)
        module = self.absolute(node)
        for alias in node.names:
            if alias.name == "*":
                self.facts.stars.append(module)
            else:
                self.bind(alias.asname or alias.name, Attr(ModuleRef(module, self.facts.name), alias.name, node))

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the dotted name of the module that a ``from`` import names."""
        if not node.level:
            return node.module or ""
        source = self.facts.source
        parts = (source.module or "").split(".") if source.module else []
        drop = node.level - (1 if source.package else 0)
        parts = parts[: len(parts) - drop] if drop <= len(parts) else []
        return ".".join([*parts, *([node.module] if node.module else [])])

    def declare(self, node: ast.Global | ast.Nonlocal) -> None:
        self.scope.globals.update(node.names)

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        facts = self.function(node, node.name)
        value: Value = Function(facts)
        self.facts.values[node] = value
        for decorator, decorated in zip(reversed(node.decorator_list), reversed(facts.decorators), strict=True):
            value = self.decorated(decorator, decorated, value, facts)
        if self.scope.owner is not None:
            self.scope.owner.methods[node.name] = facts
        self.bind(node.name, value)

    def decorated(self, node: ast.expr, decorator: Value, value: Value, facts: FunctionFacts) -> Value:
        """Return what a decorator makes of a function; descriptors are noted in the facts instead."""
        name = getattr(decorator, "name", "")
        if name in {"staticmethod", "classmethod"} and facts.owner is not None:
            facts.binding = name.removesuffix("method")
            return value
        if name in {"property", "cached_property", "setter"} and facts.owner is not None:
            facts.is_property = True
            facts.is_cached = name == "cached_property"
            return value
        call = ast.copy_location(ast.Call(func=node, args=[], keywords=[]), node)
        return Call(call, decorator, (value,), ())

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> FunctionFacts:
        """Evaluate what belongs to the scope around a function and put its body off."""
        owner = self.scope.owner
        scope = Scope(self.facts, node, self.scope)
        facts = FunctionFacts(node, scope, owner, name)
        scope.function = facts
        arguments = node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        for argument in [*positional, *arguments.kwonlyargs]:
            facts.params[argument.arg] = Param(facts, argument.arg)
            if argument.annotation is not None:
                self.annotation(argument.annotation)
        facts.positional = len(positional)
        facts.vararg = arguments.vararg.arg if arguments.vararg else None
        facts.kwarg = arguments.kwarg.arg if arguments.kwarg else None
        for argument, default in zip(
            positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True
        ):
            facts.defaults[argument.arg] = self.value(default)
        for argument, kw_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if kw_default is not None:
                facts.defaults[argument.arg] = self.value(kw_default)
        if not isinstance(node, ast.Lambda):
            for extra in (arguments.vararg, arguments.kwarg):
                if extra is not None and extra.annotation is not None:
                    self.annotation(extra.annotation)
            if node.returns is not None:
                self.annotation(node.returns)
            facts.decorators = tuple(self.value(d) for d in node.decorator_list)
        if owner is not None:
            facts.binding = (
                "class"
                if name in {"__init_subclass__", "__class_getitem__"}
                else "static"
                if name == "__new__"
                else "instance"
            )
        self.facts.functions.append(facts)
        self.pending.append(facts)
        return facts

    def function_body(self, facts: FunctionFacts) -> None:
        node = facts.node
        self.scope = facts.scope
        self.env = dict(facts.params)
        self.shared = False
        self.loops = ()
        for extra in (facts.vararg, facts.kwarg):
            if extra is not None:
                self.env[extra] = Unknown(node)
        for name, value in self.env.items():
            self.scope.bindings.setdefault(name, []).append(value)
        if isinstance(node, ast.Lambda):
            self.statement = self.statements[node]
            facts.returns.append(self.value(node.body))
        else:
            self.body(node.body)
        self.scope.env = self.env

    def class_definition(self, node: ast.ClassDef) -> None:
        bases = tuple(self.value(b) for b in node.bases)
        for keyword in node.keywords:
            self.value(keyword.value)
        decorators = tuple(self.value(d) for d in node.decorator_list)
        scope = Scope(self.facts, node, self.scope)
        facts = ClassFacts(node, scope, node.name, bases, decorators)
        scope.owner = facts
        self.facts.classes.append(facts)
        outer, env, shared = self.scope, self.env, self.shared
        self.scope, self.env, self.shared = scope, {}, False
        self.body(node.body)
        scope.env = self.env
        self.scope, self.env, self.shared = outer, env, shared
        self.bind(node.name, Class(facts))

    # -- expressions ------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            self.children(node)
            result: Value = Unknown(node)
        else:
            result = handler(self, node)
        self.facts.values[node] = result
        return result

    def annotation(self, node: ast.expr) -> None:
        self.facts.annotations.append((node, self.scope))
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                self.facts.values[child] = self.name(child.id)
            elif isinstance(child, ast.Attribute):
                self.facts.values[child] = Unknown(child)
        self.value(node)

    def constant(self, node: ast.Constant) -> Value:
        return Const(node.value)

    def load(self, node: ast.Name) -> Value:
        return self.name(node.id)

    def attribute(self, node: ast.Attribute) -> Value:
        base = self.value(node.value)
        value = Attr(base, node.attr, node)
        self.attribute_event(node, base, "load")
        return value

    def subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        return Item(base, self.value(node.slice))

    def call(self, node: ast.Call) -> Value:
        callee = self.value(node.func)
        args = tuple(self.value(a) for a in node.args)
        keywords = tuple((k.arg, self.value(k.value)) for k in node.keywords)
        starred = any(isinstance(a, Star) for a in args) or any(k is None for k, _ in keywords)
        value = Call(node, callee, args, keywords, starred)
        statement = self.statement
        assert statement is not None
        used = not (isinstance(statement, ast.Expr) and statement.value is node)
        self.facts.calls.append(CallEvent(value, self.scope, self.snapshot(), statement, self.loops, used))
        if (
            isinstance(callee, Attr)
            and callee.name in _FILLING
            and len(args) > _FILLING[callee.name]
            and not _library(callee.base)
        ):
            assert isinstance(node.func, ast.Attribute)
            self.change(node.func.value, Changed(node, callee.base, args[_FILLING[callee.name]]))
        elif (
            isinstance(callee, Attr)
            and callee.name in _CHANGING
            and isinstance(node.func, ast.Attribute)
            and self.container(callee.base)
        ):
            self.change(node.func.value, Changed(node, callee.base, Unknown(node)))
        return value

    def container(self, value: Value) -> bool:
        """Say whether a value is known to be a list, set or dict of the scope."""
        while isinstance(value, Loop | Changed):
            value = value.before
        return isinstance(value, Sequence | Mapping | Comprehension)

    def starred(self, node: ast.Starred) -> Value:
        return Star(self.value(node.value))

    def sequence(self, node: ast.Tuple | ast.List | ast.Set) -> Value:
        return Sequence(node, tuple(self.value(e) for e in node.elts))

    def mapping(self, node: ast.Dict) -> Value:
        pairs = tuple(
            (None if key is None else self.value(key), self.value(value))
            for key, value in zip(node.keys, node.values, strict=True)
        )
        return Mapping(node, pairs)

    def conditional(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        return Choice(node, (self.value(node.body), self.value(node.orelse)))

    def boolean(self, node: ast.BoolOp) -> Value:
        return Choice(node, tuple(self.value(v) for v in node.values))

    def walrus(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.store(node.target, value)
        if self.transient:
            self.leaking.append((node.target.id, value))
        return value

    def awaited(self, node: ast.Await) -> Value:
        return self.value(node.value)

    def yielded(self, node: ast.Yield | ast.YieldFrom) -> Value:
        value: Value = Const(None) if node.value is None else self.value(node.value)
        function = self.scope.function
        if function is not None:
            function.generator = True
            function.returns.append(value)
        return Unknown(node)

    def lambda_(self, node: ast.Lambda) -> Value:
        assert self.statement is not None
        self.statements[node] = self.statement
        return Function(self.function(node, "<lambda>"))

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        env, shared = self.env, self.shared
        self.env, self.shared = dict(env), False
        self.transient += 1
        for generator in node.generators:
            iterated = self.value(generator.iter)
            self.loops += (generator,)
            self.store(generator.target, self.element(iterated, generator))
            for condition in generator.ifs:
                self.value(condition)
        key = None
        if isinstance(node, ast.DictComp):
            key, element = self.value(node.key), self.value(node.value)
        else:
            element = self.value(node.elt)
        self.loops = self.loops[: len(self.loops) - len(node.generators)]
        self.env, self.shared = env, shared
        self.transient -= 1
        if not self.transient:
            for name, value in self.leaking:  # none of them runs if there is nothing to go through
                before = self.env.get(name)
                self.bind(name, value if before is None else Choice(node, (before, value)))
            self.leaking.clear()
        if len(node.generators) > 1 or node.generators[0].ifs:
            return Changed(node, Unknown(node), element)
        return Comprehension(node.generators[0], key, element)


def _leaves(body: list[ast.stmt]) -> bool:
    """Say whether control never reaches the end of a block."""
    return any(isinstance(s, ast.Return | ast.Raise | ast.Break | ast.Continue) for s in body)


def _empty(value: Value | None) -> bool:
    """Say whether a variable holds nothing yet."""
    return value is None or (isinstance(value, Const) and value.value is None)


def _last_name(node: ast.expr) -> str:
    """Return the last part of the name that an expression calls."""
    called = node.func if isinstance(node, ast.Call) else node
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _always(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)


def _assigned(loop: ast.For | ast.AsyncFor | ast.While) -> set[str]:
    """Return the names that a loop binds, or whose container it changes, in its own scope."""
    names: set[str] = set()
    stack: list[ast.AST] = [*loop.body]
    if not isinstance(loop, ast.While):
        stack.append(loop.target)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        elif (
            isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and not isinstance(node.ctx, ast.Load)
        ):
            names.add(node.value.id)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ) and (node.func.attr in _FILLING or node.func.attr in _CHANGING):
            names.add(node.func.value.id)
        stack.extend(ast.iter_child_nodes(node))
    return names


def _library(value: Value) -> bool:
    """Say whether a value is a module of arrays, whose ``append`` and ``add`` change no container."""
    if isinstance(value, Free):
        value = next(iter(value.scope.bindings.get(value.name, ())), value)
    while isinstance(value, Attr):
        value = value.base
    return isinstance(value, ModuleRef) and value.name.partition(".")[0] in {"jax", "numpy"}


_DISPLAYS = (Sequence, Mapping, Comprehension, Changed, Loop, Choice, Const, Unknown, Call)
_STATEMENTS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: _Walker.assign,
    ast.AnnAssign: _Walker.annotated,
    ast.AugAssign: _Walker.augmented,
    ast.Delete: _Walker.delete,
    ast.Return: _Walker.returned,
    ast.If: _Walker.branch,
    ast.For: _Walker.loop,
    ast.AsyncFor: _Walker.loop,
    ast.While: _Walker.loop,
    ast.Break: _Walker.leave_loop,
    ast.Continue: _Walker.next_round,
    ast.Try: _Walker.guarded,
    ast.With: _Walker.managed,
    ast.AsyncWith: _Walker.managed,
    ast.Match: _Walker.matched,
    ast.Import: _Walker.import_names,
    ast.ImportFrom: _Walker.import_from,
    ast.Global: _Walker.declare,
    ast.Nonlocal: _Walker.declare,
    ast.FunctionDef: _Walker.define,
    ast.AsyncFunctionDef: _Walker.define,
    ast.ClassDef: _Walker.class_definition,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _Walker.guarded
_EXPRESSIONS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _Walker.constant,
    ast.Name: _Walker.load,
    ast.Attribute: _Walker.attribute,
    ast.Subscript: _Walker.subscript,
    ast.Call: _Walker.call,
    ast.Starred: _Walker.starred,
    ast.Tuple: _Walker.sequence,
    ast.List: _Walker.sequence,
    ast.Set: _Walker.sequence,
    ast.Dict: _Walker.mapping,
    ast.IfExp: _Walker.conditional,
    ast.BoolOp: _Walker.boolean,
    ast.NamedExpr: _Walker.walrus,
    ast.Await: _Walker.awaited,
    ast.Yield: _Walker.yielded,
    ast.YieldFrom: _Walker.yielded,
    ast.Lambda: _Walker.lambda_,
    ast.ListComp: _Walker.comprehension,
    ast.SetComp: _Walker.comprehension,
    ast.GeneratorExp: _Walker.comprehension,
    ast.DictComp: _Walker.comprehension,
}
