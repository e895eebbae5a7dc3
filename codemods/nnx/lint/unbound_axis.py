"""Collectives that one of several callers runs where nothing names their axis; part of NNX863."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.applied import Handed, handed_on
from codemods.nnx.lint.names import BODIES, last
from codemods.nnx.lint.places import foreign, in_test, passed
from codemods.nnx.lint.syntax import behind
from codemods.nnx.lint.traced import Root, function_of
from codemods.nnx.nodes import is_decoration
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.values import Call, Const, Param, Sequence, Value

#: The collectives, with where the name of the axis stands among their arguments.
OVER_AXES = {"psum": 1, "pmean": 1, "pmax": 1, "pmin": 1, "all_gather": 1, "axis_index": 0, "axis_size": 0,
             "ppermute": 1, "pshuffle": 1, "all_to_all": 1, "psum_scatter": 1, "pswapaxes": 1}  # fmt: skip
# transforms that bind no axis, or tell its name
_PLAIN = frozenset(
    {"jax.jit", "jax.vmap", "jax.pmap", "jax.grad", "jax.value_and_grad", "jax.checkpoint", "jax.remat", "jax.jacfwd",
     "jax.jacrev", "jax.hessian", "flax.nnx.jit", "flax.nnx.grad", "flax.nnx.value_and_grad"}
)  # fmt: skip
_ALWAYS = frozenset({"jax.lax.scan", "jax.lax.map", "jax.lax.fori_loop", "jax.lax.while_loop"})
_DEPTH = 6
# words of what may bind an axis besides
_OTHER = (b"axis_env", b"extend_axis", b"xmap")


def unbound(context: Context) -> Iterator[tuple[Scope, ast.AST, FunctionFacts, str]]:
    """Yield the calls that lead to a collective although no transform names its axis, where others name it.

    With each come the scope, the function that holds the collective, and the axis.
    """
    if any(module.source.mentions(word) for module in context.project.modules for word in _OTHER):
        return
    told: set[tuple[ast.AST, str]] = set()
    for event, name in foreign(context, *OVER_AXES, everywhere=True):
        function = event.scope.function
        if not name.startswith("jax.lax.") or function is None or event.value.starred:
            continue
        given = event.value.argument(OVER_AXES[last(name)], "axis_name")
        if given is None or not always(context, event.node, event.scope):
            continue
        for scope, node, axis in _first(context, function, given):
            if (node, axis) not in told and scope.module in context.asked:
                told.add((node, axis))
                yield scope, node, function, axis


def _first(context: Context, function: FunctionFacts, given: Value) -> Iterator[tuple[Scope, ast.AST, str]]:
    """Yield the calls of a function with a collective that nothing binds the axis for."""
    found = context.flow.resolve(context.flow.here(given, function.scope)).value
    for scope, node, names in _ways(context, function):
        axes = found
        if isinstance(found, Param):
            event = node if isinstance(node, CallEvent) else None
            handed = passed(event, found) if event is not None and found.function is function else None
            if handed is not None and event is not None:
                axes = context.flow.resolve(context.flow.here(handed, event.scope)).value
            else:
                default = function.defaults.get(found.name) if found.function is function else None
                if event is None or default is None or event.value.starred:
                    continue
                axes = context.flow.resolve(context.flow.here(default, function.scope.parent or function.scope)).value
        for axis in _names(axes):
            place = _place(context, scope, _node(node), axis, frozenset({function})) if axis not in names else None
            if place is not None:
                yield *place, axis


def _names(axes: Value) -> list[str]:
    """Return the names of axes that a collective is given."""
    parts = axes.items if isinstance(axes, Sequence) else (axes,)
    return [part.value for part in parts if isinstance(part, Const) and isinstance(part.value, str)]


def _ways(context: Context, function: FunctionFacts) -> Iterator[tuple[Scope, CallEvent | ast.AST, frozenset[str]]]:
    """Yield the calls that run a function for certain, or the loops, with the axes that transforms there name."""
    roots = [root for root in context.traced.roots if root.function is function]
    nodes = {root.node for root in roots}
    if function.decorators and function.owner is not None:
        return
    for event in OrderedSet(context.flow.sites.callers(function)):
        if event.node in nodes or in_test(event.scope) or not always(context, event.node, event.scope):
            continue
        reached = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
        if len(reached) != 1 or reached[0].function is not function:
            continue
        names = _bound(context, event, function, roots)
        if names is not None:
            yield event.scope, event, names
    for root in roots:
        if root.transform in BODIES and root.transform in _ALWAYS and root.certain:
            if not in_test(root.scope) and always(context, root.node, root.scope):
                yield root.scope, root.node, frozenset()


def _bound(context: Context, event: CallEvent, function: FunctionFacts, roots: list[Root]) -> frozenset[str] | None:
    """Return the axes that the transforms between a call and a function name; None if they are not all known."""
    found: set[str] = set()
    decorators = len(function.decorators)
    made = [*handed_on(context, event, methods=True)]
    if not _whole(context, event, made):
        return None
    for handed in made:
        if handed.name not in _PLAIN:
            return None
        if is_decoration(handed.call.node):
            decorators -= 1
        axis = handed.option(context, "axis_name", 1 if handed.name == "jax.pmap" else None)
        if axis is None:
            continue
        if not isinstance(axis.value, Const) or not isinstance(axis.value.value, str | None):
            return None
        found.update([axis.value.value] if axis.value.value else [])
    if decorators > 0:
        return None
    callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope))
    if any(root.node is getattr(callee.value, "node", None) for root in roots if root.transform not in _PLAIN):
        return None
    return frozenset(found)


def _whole(context: Context, event: CallEvent, made: list[Handed]) -> bool:
    """Say whether some transforms are all that stand between a call and the function that it runs."""
    flow = context.flow
    inner = flow.resolve(flow.here(event.value.callee, event.scope))
    if made:
        inner = flow.follow(made[-1].made, made[-1].call.args[0])
    while isinstance(inner.value, Call) and flow.calls.callee_name(inner) == "functools.partial" and inner.value.args:
        inner = flow.follow(inner, inner.value.args[0])
    return not isinstance(inner.value, Call)


def _place(
    context: Context, scope: Scope, node: ast.AST, axis: str, seen: frozenset[FunctionFacts]
) -> tuple[Scope, ast.AST] | None:
    """Return the innermost call, on a way to a place, whose body never runs where an axis has a name, or the outermost;
    None if no way is known on which it has none."""
    function = function_of(scope)
    if function is None:
        return scope, node
    if len(seen) > _DEPTH or function in seen or in_test(function.scope):
        return None
    ways = [*_ways(context, function)]
    found = [
        place
        for outer, way, names in ways
        if axis not in names and (place := _place(context, outer, _node(way), axis, seen | {function})) is not None
    ]
    if not found:
        return None
    roots = {root.node for root in context.traced.roots if root.function is function}
    others = [event for event in OrderedSet(context.flow.sites.callers(function)) if event.node not in roots]
    alone = len(found) == len(ways) and len(others) + sum(not isinstance(w, CallEvent) for _, w, _ in ways) == len(ways)
    return (scope, node) if alone else found[0]


def _node(way: CallEvent | ast.AST) -> ast.AST:
    return way.node if isinstance(way, CallEvent) else way


def always(context: Context, node: ast.AST, scope: Scope) -> bool:
    """Say whether a place is reached whenever its body runs, as far as the text tells.

    Args:
        context: the analysis.
        node: the place, a call or an expression.
        scope: the body.
    """
    if context.bodies.guarded(node, scope):
        return False
    for block, _ in context.bodies.paths(scope).get(node, ()):
        if isinstance(block, ast.If) and "__main__" in ast.unparse(block.test):
            continue
        if isinstance(block, ast.If | ast.IfExp | ast.Match | ast.match_case | ast.ExceptHandler):
            return False
        if isinstance(block, ast.With) and any("axis" in ast.unparse(item.context_expr) for item in block.items):
            return False
    own = scope.node
    if isinstance(own, ast.FunctionDef | ast.AsyncFunctionDef):
        return node not in behind(own)
    return True
