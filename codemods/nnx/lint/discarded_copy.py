"""Changed copies of frozen objects that nobody takes; part of NNX842."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.lint.places import formula_of, in_test
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Changed, Choice, Const, Loop, Value

_FROZEN = (
    b"struct",
    b"TrainState",
    b"apply_fn",
    b"NamedTuple",
    b"namedtuple",
    b"chex",
    b"PyTreeNode",
    b"frozen=True",
    b"register_dataclass",
)
_COPYING = frozenset({"replace", "_replace", "apply_gradients"})


def discarded_copies(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the statements that only make a changed copy, with what they would change."""
    if not _made_here(context):
        return
    own = {
        name
        for cls in context.project.classes()
        for name, method in cls.methods.items()
        if name in _COPYING and _may_change(context, method)
    }
    for event in context.bodies.named(*sorted(_COPYING)):
        func, node = event.node.func, event.node
        if not isinstance(func, ast.Attribute) or not isinstance(event.value.callee, Attr):
            continue
        left = _left_over(event, func.value)
        if (event.used and not left) or event.scope.module not in context.asked or in_test(event.scope):
            continue
        if func.attr in own:
            continue
        words = [keyword.arg for keyword in node.keywords]
        if node.args or not words or None in words or "inplace" in words or context.flow.calls.name(event):
            continue
        if not left and (not isinstance(event.statement, ast.Expr) or event.statement.value is not node):
            continue
        if all(_has_it(event, keyword) for keyword in node.keywords):
            continue
        if (func.attr != "apply_gradients" or "grads" in words) and not context.bodies.guarded(node, event.scope):
            yield event, ast.unparse(func.value)
    yield from _by_methods(context)


def _made_here(context: Context) -> bool:
    """Say whether there are frozen objects, by the names of their makers or by a changed copy that is taken."""
    if any(module.source.mentions(word) for module in context.asked.modules for word in _FROZEN):
        return True
    return any(
        event.used and event.node.keywords and not event.node.args and isinstance(event.node.func, ast.Attribute)
        for event in context.bodies.named("replace", "_replace")
    )


def _may_change(context: Context, method: FunctionFacts) -> bool:
    """Say whether a method may change its object, or gives nothing."""
    if not _gives_something(method) or method.self_param is None:
        return True
    own = method.self_param.name
    return any(
        (isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and names_in(node) == {own})
        or last_word(node) in _SETTING
        for node in context.bodies.nodes(method.scope)
    )


_SETTING = frozenset({"setattr", "__setattr__", "__dict__", "vars", "__init__"})


def _gives_something(method: FunctionFacts) -> bool:
    return bool(method.returns) and all(value != Const(None) for value in method.returns)


def _left_over(event: CallEvent, old: ast.expr) -> bool:
    """Say whether a variable that nothing reads gets the copy, and the function returns the old object in its place."""
    statement, function = event.statement, event.scope.function
    if function is None or not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return False
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name) or not isinstance(old, ast.Name):
        return False
    names = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id in {target.id, old.id}]
    if target.id == old.id or target.id.startswith("_") or target.id in event.scope.globals:
        return False
    if any(n.id == target.id and n is not target for n in names):
        return False
    if old.id not in function.params or any(n.id == old.id and not isinstance(n.ctx, ast.Load) for n in names):
        return False
    returned = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return)]
    parts = [part for one in returned for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    return any(isinstance(part, ast.Name) and part.id == old.id for part in parts)


def _by_methods(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield the statements that call a method of a frozen class which does nothing but return a changed copy."""
    copying = {
        method
        for cls in context.project.classes()
        if _is_frozen(context, cls)
        for method in cls.methods.values()
        if _copies(context, method)
    }
    for event in context.bodies.named(*sorted({method.name for method in copying})) if copying else ():
        func, node = event.node.func, event.node
        if event.used or not isinstance(func, ast.Attribute) or not isinstance(event.value.callee, Attr):
            continue
        if event.scope.module not in context.asked or in_test(event.scope) or context.bodies.guarded(node, event.scope):
            continue
        if not isinstance(event.statement, ast.Expr) or event.statement.value is not node:
            continue
        made = context.sources.originals(context.flow.here(event.value.callee.base, event.scope))
        classes = {context.flow.classes.class_of(one) for one in made}
        called = [context.flow.classes.method(cls, func.attr) if cls is not None else None for cls in classes]
        if called and all(method in copying for method in called):
            yield event, ast.unparse(func.value)


def _is_frozen(context: Context, cls: ClassFacts) -> bool:
    """Say whether the objects of a class are frozen ones of ``flax.struct``."""
    if "flax.struct.PyTreeNode" in context.flow.classes.mro(cls)[1]:
        return True
    outer = cls.scope.parent
    return outer is not None and any(
        getattr(context.flow.resolve(context.flow.here(one, outer)).value, "name", "") == "flax.struct.dataclass"
        for one in cls.decorators
    )


def _copies(context: Context, method: FunctionFacts) -> bool:
    """Say whether a method returns ``self.replace(...)``, and does nothing else."""
    if method.self_param is None or method.decorators or method.generator or not method.name.isidentifier():
        return False
    given = formula_of(context, method)
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute) or given.func.attr != "replace":
        return False
    own = isinstance(given.func.value, ast.Name) and given.func.value.id == method.self_param.name
    return own and not any(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) for one in ast.walk(method.node)
    )


def _has_it(event: CallEvent, given: ast.keyword) -> bool:
    """Say whether an object has the value already that a copy is to get: it is its own attribute, changed in place."""
    assert isinstance(event.value.callee, Attr)
    value = event.scope.module.values.get(given.value)
    return value is not None and _is_its_own(value, given.arg, event.value.callee.base, set())


def _is_its_own(value: Value, name: str | None, owner: Value, seen: set[Value]) -> bool:
    """Say whether a value is an attribute of an object on every way, changed in place or not."""
    while isinstance(value, Changed):
        value = value.before
    if value in seen:
        return True
    seen.add(value)
    if isinstance(value, Loop):
        ways: tuple[Value, ...] = (value.before,) if value.again is None else (value.before, value.again)
    elif isinstance(value, Choice):
        ways = value.options
    else:
        return isinstance(value, Attr) and value.name == name and value.base == owner
    return all(_is_its_own(one, name, owner, seen) for one in ways)
