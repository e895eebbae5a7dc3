"""Numbers that are drawn for what is traced, timed or initialized with them alone; part of NNX830."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant, inside
from codemods.nnx.lint.traced import free_params
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_TRACING = frozenset({"make_jaxpr", "eval_shape", "lower", "tabulate", "ShapeDtypeStruct", "cost_analysis"})
_TIMING = pattern(r"(^|_)(bench(mark)?\w*|timeit|measure\w*|profile\w*|performance|latency|throughput)(_|$)")
_OF_SHAPE = frozenset({"shape", "ndim", "dtype", "size"})
_ADDING = frozenset({"append", "extend", "insert", "add"})
_INIT = frozenset({"init", "lazy_init"})  # which get examples behind the key
_CLOCKS = frozenset({"time", "perf_counter", "perf_counter_ns", "monotonic", "default_timer"})
_LEARNING = pattern(r"train|update|optimi[sz]|fit|learn|step|grad|adam|sgd")
_NEAR = 3  # how many statements stand between two readings of the clock, at most
_MAGIC = pattern(r"\s*0 +;\s*$")  # what stands for %timeit in front of a statement
_DEEP = 3  # through how many functions of the project what is drawn is followed
_Statement = ast.Assign | ast.AnnAssign | ast.AugAssign


def only_measured(context: Context, use: Use, *, examples: bool = True) -> bool:
    """Say whether what a key gives comes to nothing but tracing, as by ``jax.make_jaxpr``, initializing models, what is
    timed, and functions that are named for measuring: the shapes count there, and no number does.

    Args:
        context: the analysis.
        use: a use of the key.
        examples: whether what a model is only initialized with counts, too.
    """
    return _comes_to_nothing(context, use, applied=False, examples=examples)


def in_trial(context: Context, use: Use) -> bool:
    """Say whether what is drawn with a key of a fixed seed, in an ``if __name__ == "__main__"`` where nothing is
    learnt, only shows that a model runs: it goes to ``init`` and ``apply`` alone.

    Args:
        context: the analysis.
        use: a use of the key.
    """
    scope = use.event.scope
    paths = context.bodies.paths(scope).get(use.event.node, ()) if scope.function is None else ()
    block = next((one for one, arm in paths if isinstance(one, ast.If) and arm == "body"), None)
    if block is None or not ast.unparse(block.test).startswith("__name__ == "):
        return False
    calls = [n for part in block.body for n in ast.walk(part) if isinstance(n, ast.Call)]
    if any(learns(call) for call in calls):
        return False
    fixed = (n for n in calls if last_word(n.func) in {"PRNGKey", "key"} and len(n.args) == 1)
    return any(type(constant(n.args[0])) is int for n in fixed) and _comes_to_nothing(context, use, applied=True)


def learns(call: ast.Call) -> bool:
    """Say whether a call takes gradients, or trains, by its name; ``jax.config.update`` does not."""
    if last_word(getattr(call.func, "value", None)) == "config":
        return False
    return bool(_LEARNING.search(last_word(call.func).lower()))


def _comes_to_nothing(context: Context, use: Use, *, applied: bool, examples: bool = True) -> bool:
    """Say whether all that a draw gives is only traced, timed and the like; ``applied``: or given to ``apply``."""
    statement, scope = use.event.statement, use.event.scope
    if use.helper or last(use.name) == "split" or not isinstance(statement, ast.Assign):
        return False
    names = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    if not all(isinstance(target, ast.Name) for target in statement.targets):
        return False
    loops = [loop for loop in use.event.loops if isinstance(loop, ast.For | ast.While)]
    walk = _Walk(context, applied, examples, 0)
    return _ends(walk, scope, names, statement.end_lineno or statement.lineno, loops)


class _Walk(NamedTuple):
    """How what is drawn is followed.

    Attributes:
        context: the analysis.
        applied: whether it does not count either where a model is called with it by ``apply``.
        examples: whether it does not count where a model is initialized with it.
        depth: how many functions it was followed through.
    """

    context: Context
    applied: bool
    examples: bool
    depth: int


def _ends(walk: _Walk, scope: Scope, names: set[str], end: int, loops: Sequence[ast.AST]) -> bool:
    """Say whether variables, from a line on, are read for tracing and measuring alone, and are read at all."""
    context = walk.context
    if names & {*scope.globals, *scope.remote}:
        return False
    held, measured = {*names}, False
    unused, looked_at, lost = {*names}, False, False  # what is not read yet, whether shapes count, results nobody reads
    around = loops[0] if loops else None
    for node in sorted(_parts(context, scope), key=lambda one: (one.lineno, one.col_offset)):
        if node.lineno <= end:
            if around is not None and inside(node, around) and node.lineno < end and _loads(node) & names:
                return False  # what the round before has drawn
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node is not scope.node and _loads(node) & names:
                return False  # which is called at any time
            continue
        read = _read(node, held)
        if isinstance(node, ast.ClassDef):
            if _loads(node) & held:
                return False
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if _loads(node) & held:
                held.add(node.name)  # what it gives is made of what was drawn
            continue
        taken = [_taken(walk, scope, node, n) for n in read]
        free = [n for n, how in zip(read, taken, strict=True) if not how]
        measured, looked_at = measured or _MEASURED in taken, looked_at or _LOOKED_AT in taken
        unused -= {n.id for n in read}
        if free and _timed(context, scope, node):
            measured = True
            if isinstance(node, ast.Assign):
                held |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.For):
            if free:
                held |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        elif isinstance(node, _Statement):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bases = {_base(target) for target in targets}
            if free:
                if "" in bases:
                    return False
                held |= bases
                plain = {n.id for target in targets for n in _plain(target)}
                lost = lost or bool(unused & plain)
                unused |= plain
            elif node in getattr(scope.node, "body", ()) and not isinstance(node, ast.AugAssign):
                again = {n.id for target in targets for n in _plain(target)}
                lost = lost or bool(unused & again)
                unused -= again
                held -= again
        elif free and not _warms_up(context, scope, node):
            added = _added_to(node)
            if not added:
                return False
            held.add(added)
    return measured or (looked_at and not lost and not unused)


_MEASURED, _LOOKED_AT = "measured", "looked at"


def _timed(context: Context, scope: Scope, node: ast.stmt | ast.expr) -> bool:
    """Say whether a statement that does not learn is all whose time is taken: by ``%timeit`` in a notebook, or between
    two readings of a clock."""
    if not isinstance(node, ast.Assign | ast.Expr):
        return False
    if any(learns(n) for n in ast.walk(node) if isinstance(n, ast.Call)):
        return False
    source = scope.module.source
    if source.cell_starts and _MAGIC.match(source.line(node.lineno)[: node.col_offset]):
        return True
    block = context.bodies.block(node, node, scope)
    place = block.index(node) if node in block else 0
    before, behind = block[max(place - _NEAR, 0) : place], block[place + 1 : place + 1 + _NEAR]
    started = {
        target.id
        for one in before
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and last_word(one.value.func) in _CLOCKS
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    return bool(started) and any(
        isinstance(n, ast.Call) and last_word(n.func) in _CLOCKS for one in behind for n in ast.walk(one)
    )


def _warms_up(context: Context, scope: Scope, node: ast.AST) -> bool:
    """Say whether a statement only calls what is measured besides, to compile it, or asserts that results are equal."""
    call = node.value if isinstance(node, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    if last_word(call.func).startswith("assert_"):
        return True
    return isinstance(call.func, ast.Name) and any(
        isinstance(one, ast.Name) and one.id == call.func.id
        for event in context.bodies.calls.get(scope, ())
        if _TIMING.search(last_word(event.node.func).lower())
        for one in event.node.args
    )


def _parts(context: Context, scope: Scope) -> Iterator[ast.stmt | ast.expr]:
    """Yield the statements of a body without blocks, the heads of its loops, its conditions and what it defines."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.For | _Statement | ast.Expr | ast.Return | ast.Raise | ast.FunctionDef | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.withitem):
            yield node.context_expr


def _loads(node: ast.AST, *, inner: bool = False) -> set[str]:
    """Return the variables that a statement reads, but for those of functions in it."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    parts = [node.iter] if isinstance(node, ast.For) and not inner else ast.iter_child_nodes(node)
    read: set[str] = set().union(*(_loads(part, inner=True) for part in parts))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        read -= {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
        body = node.body if isinstance(node.body, list) else [node.body]
        own = (n for part in body for n in ast.walk(part))
        read -= {n.id for n in own if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return read


def _read(node: ast.AST, held: set[str]) -> list[ast.Name]:
    place: ast.AST = node.iter if isinstance(node, ast.For) else node
    return [n for n in ast.walk(place) if isinstance(n, ast.Name) and n.id in held and isinstance(n.ctx, ast.Load)]


def _base(target: ast.expr) -> str:
    """Return the variable that an assignment changes; empty if it is an attribute or several."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _plain(target: ast.expr) -> list[ast.Name]:
    """Return the variables that a target binds."""
    parts = elements(target, lists=True)
    return [part for part in parts if isinstance(part, ast.Name)]


def _added_to(node: ast.AST) -> str:
    """Return the list that a statement adds to."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _ADDING:
        return call.func.value.id if isinstance(call.func.value, ast.Name) else ""
    return ""


def _taken(walk: _Walk, scope: Scope, statement: ast.AST, name: ast.Name) -> str:
    """Return how a variable is read that is only traced or measured, initialized with or asked for its shape, or ""."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr in _OF_SHAPE and inside(name, node.value):
            return _LOOKED_AT
        if not isinstance(node, ast.Call):
            continue
        given = [*node.args, *(k.value for k in node.keywords)]
        if not any(inside(name, one) for one in given):
            continue
        if statement is not node and _waited_for(scope, statement, node):
            return _MEASURED
        word = last_word(node.func.func) if isinstance(node.func, ast.Call) else last_word(node.func)
        if word in _TRACING or _TIMING.search(word.lower()):
            return _MEASURED
        if walk.examples and _method_of(node, _INIT) and not any(inside(name, one) for one in node.args[:1]):
            return _LOOKED_AT
        if walk.applied and _method_of(node, _APPLY):
            return _LOOKED_AT
        if walk.depth < _DEEP and _in_function(walk, scope, node, name):
            return _MEASURED
    return ""


def _waited_for(scope: Scope, statement: ast.AST, call: ast.Call) -> bool:
    """Say whether a statement only waits for what is computed, in a body that reads a clock."""
    if (
        not isinstance(statement, ast.Expr)
        or statement.value is not call
        or last_word(call.func) != "block_until_ready"
    ):
        return False
    clocks = (n for n in ast.walk(scope.node) if isinstance(n, ast.Call) and last_word(n.func) in _CLOCKS)
    return next(clocks, None) is not None


_APPLY = frozenset({"apply"})


def _method_of(call: ast.Call, names: frozenset[str]) -> bool:
    """Say whether a call is of some methods, or of what a transform makes of one: ``jax.jit(model.init)(key, x)``."""
    return any(isinstance(n, ast.Attribute) and n.attr in names for n in ast.walk(call.func))


def _in_function(walk: _Walk, scope: Scope, call: ast.Call, name: ast.Name) -> bool:
    """Say whether a function of the project that gets a variable does nothing but trace and measure with it."""
    context = walk.context
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
    return _ends(walk._replace(depth=walk.depth + 1), function.scope, got, function.node.lineno, [])
