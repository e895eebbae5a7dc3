"""Spelling names of ``flax.nnx`` the way a module does, importing what is missing."""

from __future__ import annotations

import ast
from typing import NamedTuple

from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.source import Source
from codemods.nnx.values import Ref


class Spelling(NamedTuple):
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
    ways = _ways(flow, scope, f"flax.nnx.{name}")
    return Spelling(min(ways)[1]) if ways else _imported(scope.module, scope, name)


def spell_name(flow: Flow, scope: Scope, full: str) -> Spelling | None:
    """Return how a scope can write a dotted name of any package; None if it cannot without a clash.

    Where the module knows no part of it, the outermost package is imported, so that the text is the name itself.
    """
    ways = _ways(flow, scope, full)
    if ways:
        return Spelling(min(ways)[1])
    top = full.partition(".")[0]
    if top in scope.module.scope.bindings or shadowed(scope, top):
        return None
    return Spelling(full, (new_import(scope.module, f"import {top}"),))


def _ways(flow: Flow, scope: Scope, full: str) -> list[tuple[int, str]]:
    """Return the ways in which the module's global names reach a name, with the length of each."""
    module = scope.module
    ways: list[tuple[int, str]] = []
    for bound in module.scope.env:
        if shadowed(scope, bound):
            continue
        resolved = {flow.resolve(Bound(v)).value for v in module.scope.bindings.get(bound, ())}
        target = resolved.pop() if len(resolved) == 1 else None
        if isinstance(target, Ref) and f"{full}.".startswith(f"{target.name}."):
            rest = full[len(target.name) :]
            ways.append((rest.count("."), f"{bound}{rest}"))
    return ways


def shadowed(scope: Scope, name: str) -> bool:
    """Say whether a name means something else in a scope than in its module."""
    inner: Scope | None = scope
    while inner is not None and inner.parent is not None:
        if name in inner.bindings and inner.owner is None:
            return True
        inner = inner.parent
    return False


def _imported(module: ModuleFacts, scope: Scope, name: str) -> Spelling | None:
    if name in module.scope.bindings or shadowed(scope, name):
        if "nnx" in module.scope.bindings or shadowed(scope, "nnx"):
            return None
        return Spelling(f"nnx.{name}", (new_import(module, "from flax import nnx"),))
    for node in module.imports:
        if (
            isinstance(node, ast.ImportFrom)
            and not node.level
            and node.module == "flax.nnx"
            and node in module.source.tree.body
        ) and node.names[0].name != "*":
            return Spelling(name, (extend(module.source, node, name),))
    return (
        Spelling(f"nnx.{name}", (new_import(module, "from flax import nnx"),))
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


def new_import(module: ModuleFacts, text: str) -> Edit:
    """Add an import line behind the last one at the top of a module, below its docstring and leading comments."""
    source = module.source
    body = source.tree.body
    position = _behind_comments(source)
    for statement in body:
        leading = isinstance(statement, ast.Import | ast.ImportFrom)
        docstring = (
            statement is body[0] and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        )
        if not leading and not docstring:
            break
        line = statement.end_lineno or statement.lineno
        position = source.line_starts[line] if line < len(source.line_starts) else len(source.data)
    line_ended = position == 0 or source.data[position - 1 : position] in (b"\n", b"\r")
    added = text.encode() + source.newline
    return Edit(position, position, added if line_ended else source.newline + added, joins=True)


def _behind_comments(source: Source) -> int:
    """Return the offset behind the comment lines at the top: a shebang, the encoding, a licence."""
    position = 0
    for start, end in zip(source.line_starts, [*source.line_starts[1:], len(source.data)], strict=True):
        if not source.data[start:end].startswith(b"#"):
            break
        position = end
    return position
