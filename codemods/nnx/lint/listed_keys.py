"""Keys that comprehensions over one list, or calls of one inner function, draw with twice; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.captured_key import key_bound_once
from codemods.nnx.lint.keys import SAME, Use, uses
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import formula_of
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.values import Call, Each, Free, Param, Value

_DRAWS = frozenset(
    {"normal", "uniform", "bernoulli", "truncated_normal", "gumbel", "laplace", "rademacher", "orthogonal"}
)


def gone_through_twice(context: Context) -> Iterator[tuple[Use, Use]]:
    """Yield the draws in two comprehensions over one list of keys.

    Args:
        context: the analysis.
    """
    lists: dict[tuple[Scope, Value], list[Use]] = {}
    for (scope, key), found in context.shared(uses).items():
        if isinstance(key, Each) and isinstance(key.base, Call | Param) and len(found) == 1:
            use = found[0]
            if last(use.name) in _DRAWS and not use.helper and _over_all(use, key):
                lists.setdefault((scope, key.base), []).append(use)
    for drawn in lists.values():
        drawn.sort(key=lambda use: use.event.node.lineno)
        yield from pairwise(drawn)


def _over_all(use: Use, key: Each) -> bool:
    """Say whether a draw stands in a comprehension that goes through a list by its name, and takes every key of it."""
    loop = use.event.loops[-1] if use.event.loops else None
    if not isinstance(loop, ast.comprehension) or len(use.event.loops) > 1 or loop.ifs:
        return False
    named = isinstance(loop.iter, ast.Name) and isinstance(loop.target, ast.Name) and isinstance(use.node, ast.Name)
    return named and isinstance(use.event.statement, ast.Assign) and not SAME.search(ast.unparse(use.event.statement))


def drawn_by_inner(context: Context) -> Iterator[tuple[Use, CallEvent, CallEvent]]:
    """Yield the calls of an inner function that draws weights with a key of the function around it, from the second on,
    each with the draw and the call before it.

    Args:
        context: the analysis.
    """
    for (scope, key), found in context.shared(uses).items():
        function, outer = scope.function, scope.parent
        if function is None or not isinstance(key, Free) or outer is None or key.scope is not outer or len(found) > 1:
            continue
        use = found[0]
        if outer.function is None or last(use.name) not in _DRAWS or use.helper or SAME.search(key.name):
            continue
        if use.event.loops or SAME.search(function.name) or not _only_draws(context, use, function):
            continue
        if key_bound_once(context, key) is None:
            continue
        paths = context.bodies.paths(outer)
        kept = _kept(context, outer)
        calls = [
            event
            for event in context.bodies.calls.get(outer, ())
            if isinstance(event.node.func, ast.Name)
            and event.node.func.id == function.name
            and event.node in kept
            and not event.loops
            and paths.get(event.node) == ()
        ]
        if len(outer.bindings.get(function.name, ())) != 1:
            continue
        for earlier, event in pairwise(sorted(calls, key=lambda one: (one.node.lineno, one.node.col_offset))):
            if ast.dump(earlier.node) != ast.dump(event.node):
                yield use, earlier, event
                break


def _only_draws(context: Context, use: Use, function: FunctionFacts) -> bool:
    """Say whether a function gives what is drawn in the shape of its arguments, scaled at most."""
    formula = formula_of(context, function)
    nodes = set(ast.walk(formula)) if formula is not None else set()
    if formula is None or use.event.node not in nodes or context.bodies.paths(use.event.scope).get(use.event.node):
        return False
    drawn = {*ast.walk(use.event.node)}
    shape = [one for one in use.event.node.args[1:2] if isinstance(one, ast.Tuple | ast.Name)]
    sizes = {name for one in shape for name in names_in(one)} & set(function.params)
    if not sizes or any(isinstance(n, ast.Attribute) and n.attr == "shape" for n in drawn):
        return False
    rest = {n.id for n in nodes - drawn if isinstance(n, ast.Name)} & set(function.params)
    return rest <= sizes


def _kept(context: Context, scope: Scope) -> set[ast.AST]:
    """Return the expressions of a body that a variable is set to, or that stand in a display."""
    found: set[ast.AST] = set()
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign):
            found.add(node.value)
        elif isinstance(node, ast.Tuple | ast.List):
            found.update(node.elts)
        elif isinstance(node, ast.Dict):
            found.update(node.values)
    return found
