"""What all devices of a ``shard_map`` draw alike, and join or average as if each had its own; part of NNX783."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.places import written
from codemods.nnx.lint.shards import Axes, spec_of
from codemods.nnx.lint.syntax import assignments, constant, names_in, new_axis
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Param

# what makes something else on each device of what all have in common
_TELLING_APART = frozenset(
    {"axis_index", "psum_scatter", "all_to_all", "process_index", "pure_callback", "io_callback", "ppermute"}
)
_JOINING = frozenset({"pmean", "psum", "all_gather"})
_COPYING = frozenset({"expand_dims", "broadcast_to", "stack", "replicate"})
# functions that make what every device is to have a copy of
_COPIES = pattern(r"init|param|state|replicat|broadcast|copy|copies|setup|create")
_DEPTH = 6


def joined_axis(
    context: Context, root: Root, known: dict[Param, tuple[Axes, ...]], drawn: Iterable[ast.AST]
) -> str | None:
    """Return the axis of the mesh over which a function joins or averages what all devices have drawn alike.

    Args:
        context: the analysis.
        root: the application of ``shard_map``.
        known: the specs of its parameters, as far as they are known.
        drawn: the expressions in the function that have something of the draw.
    """
    function = root.function
    params = list(function.params.values())[skipped(root) :]
    whole = all(one in known and not any(known[one]) for one in params)
    if not whole or root.partial or function.vararg is not None or function.generator:
        return None
    if any(_told_apart(one) for one in _reached(context, function)):
        return None
    has = _Has(function.node, set(drawn))
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call) and last_word(node.func) in _JOINING and node.args and has.part(node.args[0]):
            axis = constant(node.args[1]) if len(node.args) > 1 else None
            if isinstance(axis, str):
                return axis
    return None if _COPIES.search(function.name.lower()) else _given_out(context, root, has)


def _reached(context: Context, function: FunctionFacts) -> list[FunctionFacts]:
    """Return a function and those that it calls, with what they call."""
    found = [function]
    scopes: list[tuple[Scope, int]] = [(function.scope, 0)]
    while scopes:
        scope, depth = scopes.pop()
        for event in context.bodies.calls.get(scope, ()):
            for callee in context.flow.calls.reached(context.flow.here(event.value, scope)):
                if callee.function not in found and depth < _DEPTH:
                    found.append(callee.function)
                    scopes.append((callee.function.scope, depth + 1))
    return found


def _told_apart(function: FunctionFacts) -> bool:
    """Say whether a function asks which device runs it, or gives each device another part."""
    return any(
        isinstance(n, ast.Name | ast.Attribute) and last_word(n) in _TELLING_APART for n in ast.walk(function.node)
    )


class _Has:
    """Tells which expressions of a function have something of a draw."""

    def __init__(self, node: ast.AST, drawn: set[ast.AST]) -> None:
        self._drawn = drawn
        self._names: set[str] = set()
        before = -1
        while before < len(self._names):
            before = len(self._names)
            for target, value in _bindings(node):
                if self.part(value):
                    self._names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}

    def part(self, node: ast.AST) -> bool:
        """Say whether an expression is what was drawn, or has it in it."""
        return any(n in self._drawn for n in ast.walk(node)) or bool(names_in(node) & self._names)


def _bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what is bound in a function, with what it is bound to."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign | ast.AnnAssign):
            yield from assignments(inner)
        elif isinstance(inner, ast.AugAssign | ast.NamedExpr):
            yield inner.target, inner.value
        elif isinstance(inner, ast.For):
            yield inner.target, inner.iter
        elif isinstance(inner, ast.FunctionDef) and inner is not node:
            yield ast.Name(inner.name), inner


def _given_out(context: Context, root: Root, has: _Has) -> str | None:
    """Return the axis over which what has something of the draw is given out, a part from each device."""
    node = option(root, "out_specs", 3)
    out = written(context, node, root.scope) if node is not None else None
    returned = _returned(context, root.function)
    if out is None or returned is None:
        return None
    parts = returned.elts if isinstance(returned, ast.Tuple) else [returned]
    specs = out.elts if isinstance(out, ast.Tuple | ast.List) else [out] * len(parts)
    if len(specs) != len(parts):
        return None
    for spec, part in zip(specs, parts, strict=True):
        value = root.scope.module.values.get(spec)
        axes = spec_of(context, context.flow.here(value, root.scope)) if value is not None else None
        axis = next((name for one in axes or () for name in one), None)
        if axis is not None and has.part(part) and not _copied(written(context, part, root.function.scope)):
            return axis
    return None


def _returned(context: Context, function: FunctionFacts) -> ast.expr | None:
    """Return what stands behind the only ``return`` of a function."""
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    nodes = context.bodies.nodes(function.scope)
    returns = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
    return returns[0] if len(returns) == 1 else None


def _copied(node: ast.expr) -> bool:
    """Say whether an array gets another first axis, over which the devices have copies: ``x[None]``."""
    if isinstance(node, ast.Subscript):
        return new_axis(first_element(node.slice))
    return isinstance(node, ast.Call) and last_word(node.func) in _COPYING
