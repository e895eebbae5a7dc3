"""Numbers that are drawn for what is traced or timed with them alone; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import inside
from codemods.nnx.lint.traced import free_params
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_TRACING = frozenset({"make_jaxpr", "eval_shape", "lower", "tabulate", "ShapeDtypeStruct", "cost_analysis"})
_TIMING = pattern(r"(^|_)(bench(mark)?\w*|timeit|measure\w*|profile\w*|performance|latency|throughput)(_|$)")
_OF_SHAPE = frozenset({"shape", "ndim", "dtype", "size"})
_ADDING = frozenset({"append", "extend", "insert", "add"})
_DEEP = 3  # through how many functions of the project what is drawn is followed
_Statement = ast.Assign | ast.AnnAssign | ast.AugAssign


def only_measured(context: Context, use: Use) -> bool:
    """Say whether what a key gives comes to nothing but tracing, as by ``jax.make_jaxpr``, and functions that are named
    for measuring: the shapes count there, and no number does.

    Args:
        context: the analysis.
        use: a use of the key.
    """
    statement, scope = use.event.statement, use.event.scope
    if use.helper or last(use.name) == "split" or not isinstance(statement, ast.Assign):
        return False
    names = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    if not all(isinstance(target, ast.Name) for target in statement.targets):
        return False
    loops = [loop for loop in use.event.loops if isinstance(loop, ast.For | ast.While)]
    return _ends(context, scope, names, statement.end_lineno or statement.lineno, loops, 0)


def _ends(context: Context, scope: Scope, names: set[str], end: int, loops: Sequence[ast.AST], depth: int) -> bool:
    """Say whether variables, from a line on, are read for tracing and measuring alone, and are read at all."""
    if names & {*scope.globals, *scope.remote}:
        return False
    held, measured = {*names}, False
    around = loops[0] if loops else None
    for node in sorted(_parts(context, scope), key=lambda one: (one.lineno, one.col_offset)):
        if node.lineno <= end:
            if around is not None and inside(node, around) and node.lineno < end and _loads(node) & names:
                return False  # what the round before has drawn
            continue
        read = _read(node, held)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if _loads(node) & held:
                return False
            continue
        free = [n for n in read if not _taken(context, scope, node, n, depth)]
        measured = measured or len(free) < len(read)
        if isinstance(node, ast.For):
            if free:
                held |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        elif isinstance(node, _Statement):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bases = {_base(target) for target in targets}
            if free:
                if "" in bases:
                    return False
                held |= bases
            elif node in getattr(scope.node, "body", ()) and not isinstance(node, ast.AugAssign):
                held -= {target.id for target in targets if isinstance(target, ast.Name)}
        elif free:
            added = _added_to(node)
            if not added:
                return False
            held.add(added)
    return measured


def _parts(context: Context, scope: Scope) -> Iterator[ast.stmt | ast.expr]:
    """Yield the statements of a body without blocks, the heads of its loops, its conditions and what it defines."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.For | _Statement | ast.Expr | ast.Return | ast.Raise | ast.FunctionDef | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.withitem):
            yield node.context_expr


def _loads(node: ast.AST) -> set[str]:
    place: ast.AST = node.iter if isinstance(node, ast.For) else node
    return {n.id for n in ast.walk(place) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _read(node: ast.AST, held: set[str]) -> list[ast.Name]:
    place: ast.AST = node.iter if isinstance(node, ast.For) else node
    return [n for n in ast.walk(place) if isinstance(n, ast.Name) and n.id in held and isinstance(n.ctx, ast.Load)]


def _base(target: ast.expr) -> str:
    """Return the variable that an assignment changes; empty if it is an attribute or several."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _added_to(node: ast.AST) -> str:
    """Return the list that a statement adds to."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING:
        return call.func.value.id if isinstance(call.func.value, ast.Name) else ""
    return ""


def _taken(context: Context, scope: Scope, statement: ast.AST, name: ast.Name, depth: int) -> bool:
    """Say whether what reads a variable traces or measures, or asks for its shape."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr in _OF_SHAPE and inside(name, node.value):
            return True
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *(k.value for k in node.keywords)]
        if not any(inside(name, one) for one in given):
            continue
        word = last_word(node.func.func) if isinstance(node.func, ast.Call) else last_word(node.func)
        if word in _TRACING or _TIMING.search(word.lower()):
            return True
        if depth < _DEEP and _in_function(context, scope, node, name, depth):
            return True
    return False


def _in_function(context: Context, scope: Scope, call: ast.Call, name: ast.Name, depth: int) -> bool:
    """Say whether a function of the project that gets a variable does nothing but trace and measure with it."""
    value = scope.module.values.get(call)
    invoked = context.flow.calls.invoked(context.flow.here(value, scope)) if value is not None else []
    if len(invoked) != 1:
        return False
    function: FunctionFacts = invoked[0][0].function
    params = free_params(invoked[0][0])
    got: set[str] = set()
    for place, one in enumerate(call.args):
        if inside(name, one):
            starred = isinstance(one, ast.Starred) or place >= len(params)
            got.add((function.vararg or "") if starred else params[place])
    got |= {k.arg or "" for k in call.keywords if inside(name, k.value)}
    if "" in got or function.generator or isinstance(function.node, ast.Lambda):
        return False
    return _ends(context, function.scope, got, function.node.lineno, [], depth + 1)
