"""How a walk enters imports, functions and classes."""

from __future__ import annotations

import ast

from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.known import GRADIENTS
from codemods.nnx.nodes import every, last_word
from codemods.nnx.values import Attr, Call, Class, Function, ModuleRef, Param, Unknown, Value
from codemods.nnx.walk.stores import Stores

_GRADIENTS = frozenset(name.rpartition(".")[2] for name in GRADIENTS)


def _field_names(call: ast.Call) -> list[str]:
    """Return the names of the fields that are written in ``namedtuple("Pair", "one two")``."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    given = call.args[1] if len(call.args) > 1 else keywords.get("field_names")
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value.replace(",", " ").split()
    written = given.elts if isinstance(given, ast.List | ast.Tuple) else []
    names = [item.value for item in written if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return names if len(names) == len(written) else []


class Definitions(Stores):
    """Enters what imports, functions and classes define; bodies of functions are put off."""

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
        gradient = self.gradient(node, decorator, value, facts)
        if gradient is not None:
            return gradient
        call = ast.copy_location(ast.Call(func=node, args=[], keywords=[]), node)
        return Call(call, decorator, (value,), ())

    def gradient(self, node: ast.expr, decorator: Value, value: Value, facts: FunctionFacts) -> Value | None:
        """Return the call that a decorator which differentiates a function stands for, ``f = grad(f)``; else None.

        To the rules it is a call like others: losses are as often decorated as they are given to ``grad``.
        """
        transform, callee = node, decorator
        options: list[ast.keyword] = []
        keywords: tuple[tuple[str | None, Value], ...] = ()
        if isinstance(node, ast.Call) and isinstance(decorator, Call):
            options, keywords = node.keywords, decorator.keywords
            if not node.args:  # @nnx.grad(has_aux=True)
                transform, callee = node.func, decorator.callee
            elif last_word(node.func) == "partial" and len(node.args) == 1:
                transform, callee = node.args[0], decorator.args[0]
        if last_word(transform) not in _GRADIENTS or any(name is None for name, _ in keywords):
            return None
        given = ast.copy_location(ast.Name(facts.name, ast.Load()), node)
        call = ast.copy_location(ast.Call(func=transform, args=[given], keywords=options), node)
        self.facts.values[given] = value
        made = self.facts.values[call] = Call(call, callee, (value,), keywords)
        assert self.statement is not None
        self.facts.calls.append(CallEvent(made, self.scope, self.snapshot(), self.statement, self.loops, used=True))
        return made

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
        for base in node.bases:
            if isinstance(base, ast.Call) and last_word(base.func) == "namedtuple":
                facts.fields.update(dict.fromkeys(_field_names(base), base))
        self.facts.classes.append(facts)
        outer, env, shared = self.scope, self.env, self.shared
        self.scope, self.env, self.shared = scope, {}, False
        self.body(node.body)
        scope.env = self.env
        self.scope, self.env, self.shared = outer, env, shared
        self.bind(node.name, Class(facts))

    def annotation(self, node: ast.expr) -> None:
        self.facts.annotations.append((node, self.scope))
        for child in every(node):
            if isinstance(child, ast.Name):
                self.facts.values[child] = self.name(child.id)
            elif isinstance(child, ast.Attribute):
                self.facts.values[child] = Unknown(child)
        self.value(node)
