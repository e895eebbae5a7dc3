"""Where a project names ``nnx.VariableState``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.nodes import every
from codemods.nnx.values import Attr, Call, Free, Ref

VARIABLE_STATE = "flax.nnx.VariableState"
_CLASS = Ref(VARIABLE_STATE)


class Test(NamedTuple):
    """A call ``isinstance(x, classes)``, or ``type(x)`` compared with a class.

    Attributes:
        node: the call or comparison.
        scope: its scope.
        subject: the text of ``x``.
        classes: full names of the classes; empty for one that is not known.
    """

    node: ast.Call | ast.Compare
    scope: Scope
    subject: str
    classes: tuple[str, ...]


def speaks(context: Context, module: ModuleFacts) -> bool:
    """Say whether a module may name the class, be it by another name that a module of the project gives to it."""
    source = module.source
    return source.mentions(b"VariableState") or any(source.mentions(name) for name in context.shared(_other_names))


def _other_names(context: Context) -> tuple[bytes, ...]:
    """Return the names that modules of the project bind to the class: ``Leaf = nnx.VariableState``."""
    flow, found = context.flow, set[str]()
    for module in context.project.modules:
        if not module.source.mentions(b"VariableState"):
            continue
        for name, values in module.scope.bindings.items():
            if name != "VariableState" and any(
                isinstance(value, Attr | Free) and flow.resolve(flow.here(value, module.scope)).value == _CLASS
                for value in values
            ):
                found.add(name)
    return tuple(name.encode() for name in sorted(found))


def references(context: Context, module: ModuleFacts) -> Iterator[tuple[ast.Name | ast.Attribute, Scope]]:
    """Yield the expressions of a module that are ``nnx.VariableState``."""
    if not module.source.mentions(b"VariableState"):
        return
    flow = context.flow
    scopes = _scopes(module)
    for node, value in module.values.items():
        if isinstance(node, ast.Attribute):
            if node.attr != "VariableState":
                continue
            base = module.values.get(node.value)
            scope = scopes.get(node, module.scope)
            if base is not None and flow.resolve(flow.here(Attr(base, node.attr), scope)).value == Ref(VARIABLE_STATE):
                yield node, scope
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and isinstance(value, Attr | Free):
            scope = scopes.get(node, module.scope)
            if flow.resolve(flow.here(value, scope)).value == Ref(VARIABLE_STATE):
                yield node, scope


def _scopes(module: ModuleFacts) -> dict[ast.AST, Scope]:
    """Return the scope of the function body around each node below a function."""
    found: dict[ast.AST, Scope] = {}
    for function in module.functions:  # outer functions come first, so that inner ones win
        found.update(dict.fromkeys(every(function.node), function.scope))
    return found


def tests(context: Context, module: ModuleFacts) -> Iterator[Test]:
    """Yield the ``isinstance`` calls of a module in order, then the comparisons of ``type(x)`` with a class."""
    flow = context.flow
    for event in module.calls:
        node = event.node
        if len(node.args) != 2 or not (isinstance(node.func, ast.Name) and node.func.id == "isinstance"):
            continue
        classes = flow.resolve(flow.here(event.value.args[1], event.scope))
        members = list(flow.containers.elements(classes)) if not isinstance(classes.value, Call | Ref) else []
        names = tuple(
            resolved.name if isinstance(resolved, Ref) else ""
            for resolved in (flow.resolve(member).value for member in members or [classes])
        )
        yield Test(node, event.scope, ast.unparse(node.args[0]), names)
    scopes: dict[ast.AST, Scope] | None = None
    for compare in module.source.of_type(ast.Compare):
        compared = type_compared(compare)
        if compared is not None:
            subject, named = compared
            scopes = _scopes(module) if scopes is None else scopes
            scope = scopes.get(compare, module.scope)
            value = module.values.get(named)
            if isinstance(named, ast.Attribute):
                value = flow.classes.spelled(named, scope)
            found = flow.resolve(flow.here(value, scope)).value if value is not None else None
            yield Test(compare, scope, ast.unparse(subject), (found.name if isinstance(found, Ref) else "",))


def type_compared(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return ``x`` and ``C`` of ``type(x) is C``, ``x.__class__ == C`` and the like, either way round."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    if not isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        return None
    for kind, named in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
        if isinstance(kind, ast.Attribute) and kind.attr == "__class__":
            return kind.value, named
        if isinstance(kind, ast.Call) and isinstance(kind.func, ast.Name) and kind.func.id == "type":
            if len(kind.args) == 1 and not kind.keywords:
                return kind.args[0], named
    return None
