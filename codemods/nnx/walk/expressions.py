"""How a walk evaluates expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from codemods.nnx.facts import CallEvent
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Each,
    Free,
    Function,
    Item,
    Loop,
    Mapping,
    ModuleRef,
    Sequence,
    Star,
    Unknown,
    Value,
)
from codemods.nnx.walk.definitions import Definitions
from codemods.nnx.walk.stores import CHANGING, FILLING, MOST


class Expressions(Definitions):
    """Gives every expression its symbolic value."""

    def value(self, node: ast.expr) -> Value:
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            self.children(node)
            result: Value = Unknown(node)
        else:
            result = handler(self, node)
        self.facts.values[node] = result
        return result

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
            and callee.name in FILLING
            and len(args) > FILLING[callee.name]
            and isinstance(node.func, ast.Attribute)  # not: put = queue.put; put(x)
            and not _library(callee.base)
        ):
            known = len(args) <= MOST[callee.name] and not keywords
            added = args[FILLING[callee.name]] if known else Unknown(node)
            self.change(node.func.value, Changed(node, callee.base, added))
        elif (
            isinstance(callee, Attr)
            and callee.name in CHANGING
            and isinstance(node.func, ast.Attribute)
            and self.container(callee.base)
        ):
            changed = callee.base
            for added in _added(node, callee.name, args, keywords):
                changed = Changed(node, changed, added)
            self.change(node.func.value, changed)
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
            if isinstance(node, ast.YieldFrom):
                function.delegated.append(value)
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


def _added(
    node: ast.Call, method: str, args: tuple[Value, ...], keywords: tuple[tuple[str | None, Value], ...]
) -> list[Value]:
    """Return what a method puts into a container: elements of its argument, or the values of a dict."""
    if method == "extend" and len(args) == 1 and not isinstance(args[0], Star):
        return [Each(args[0], node)]
    if method == "update" and all(isinstance(arg, Mapping) for arg in args) and all(name for name, _ in keywords):
        items = [item for arg in args if isinstance(arg, Mapping) for item in arg.items]
        if items and all(key is not None for key, _ in items):
            return [value for _, value in (*items, *keywords)]
        if keywords and not items:
            return [value for _, value in keywords]
    return [Unknown(node)]


def _library(value: Value) -> bool:
    """Say whether a value is a module of arrays, whose ``append`` and ``add`` change no container."""
    if isinstance(value, Free):
        value = next(iter(value.scope.bindings.get(value.name, ())), value)
    while isinstance(value, Attr | Loop):  # at the head of a loop `jnp.append` may change `jnp`, as far as is known
        value = value.base if isinstance(value, Attr) else value.before
    return isinstance(value, ModuleRef) and value.name.partition(".")[0] in {"jax", "numpy"}


_EXPRESSIONS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.load,
    ast.Attribute: Expressions.attribute,
    ast.Subscript: Expressions.subscript,
    ast.Call: Expressions.call,
    ast.Starred: Expressions.starred,
    ast.Tuple: Expressions.sequence,
    ast.List: Expressions.sequence,
    ast.Set: Expressions.sequence,
    ast.Dict: Expressions.mapping,
    ast.IfExp: Expressions.conditional,
    ast.BoolOp: Expressions.boolean,
    ast.NamedExpr: Expressions.walrus,
    ast.Await: Expressions.awaited,
    ast.Yield: Expressions.yielded,
    ast.YieldFrom: Expressions.yielded,
    ast.Lambda: Expressions.lambda_,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.comprehension,
}
