"""Spelling names of ``flax.nnx`` the way a module does, importing what is missing."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.source import Source
from codemods.nnx.values import Ref


@dataclass(frozen=True)
class Spelling:
    """How a name is written at a place.

    Attributes:
        text: the expression.
        edits: edits of the module that make the expression valid there.
    """

    text: str
    edits: tuple[Edit, ...] = ()


def spell(flow: Flow, scope: Scope, name: str) -> Spelling | None:
    """Return how a scope can write ``flax.nnx.<name>``; None if it cannot without clashing with its own names.

    The module's own ways are preferred: a name imported from ``flax.nnx``, an alias of ``flax.nnx``, ``flax`` itself;
    else the name is added to an import of the module.
    """
    module = scope.module
    full = f"flax.nnx.{name}"
    ways: list[tuple[int, str]] = []
    for bound in module.scope.env:
        if _shadowed(scope, bound):
            continue
        values = set(module.scope.bindings.get(bound, ()))
        resolved = {flow.resolve(Bound(v)).value for v in values}
        if len(resolved) != 1:
            continue
        target = resolved.pop()
        if isinstance(target, Ref):
            if target.name == full:
                ways.append((0, bound))
            elif target.name == "flax.nnx":
                ways.append((1, f"{bound}.{name}"))
            elif target.name == "flax":
                ways.append((2, f"{bound}.nnx.{name}"))
    if ways:
        return Spelling(min(ways)[1])
    return _imported(module, scope, name)


def _shadowed(scope: Scope, name: str) -> bool:
    inner: Scope | None = scope
    while inner is not None and inner.parent is not None:
        if name in inner.bindings and inner.owner is None:
            return True
        inner = inner.parent
    return False


def _imported(module: ModuleFacts, scope: Scope, name: str) -> Spelling | None:
    if name in module.scope.bindings or _shadowed(scope, name):
        if "nnx" in module.scope.bindings or _shadowed(scope, "nnx"):
            return None
        return Spelling(f"nnx.{name}", (_new_import(module, "from flax import nnx"),))
    for node in module.imports:
        if (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and node.module == "flax.nnx"
            and node in module.source.tree.body
        ) and node.names[0].name != "*":
            return Spelling(name, (extend(module.source, node, name),))
    return (
        Spelling(f"nnx.{name}", (_new_import(module, "from flax import nnx"),))
        if "nnx" not in module.scope.bindings
        else None
    )


def extend(source: Source, node: ast.ImportFrom, name: str) -> Edit:
    """Add a name to a ``from`` import, on a line of its own if the others have one."""
    last = node.names[-1]
    _, end = source.span(last)
    separator = b", "
    if len(node.names) > 1:
        _, before = source.span(node.names[-2])
        between = source.data[before : source.span(last)[0]]
        if b"\n" in between or b"\r" in between:
            comment = between.find(b"#")
            separator = between if comment < 0 else b", "
    return Edit(end, end, separator + name.encode(), joins=True)


def _new_import(module: ModuleFacts, text: str) -> Edit:
    """Add an import line behind the last one at the top of a module."""
    source = module.source
    newline = b"\r\n" if b"\r\n" in source.data else b"\n"
    body = source.tree.body
    position = 0
    for statement in body:
        leading = isinstance(statement, ast.Import | ast.ImportFrom)
        docstring = (
            statement is body[0] and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )
        if not leading and not docstring:
            break
        line = statement.end_lineno or statement.lineno
        position = source.line_starts[line] if line < len(source.line_starts) else len(source.data)
    return Edit(position, position, text.encode() + newline, joins=True)
