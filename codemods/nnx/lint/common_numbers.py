"""Keys that two calls share on purpose: differences under common random numbers, couplings, and what is only timed."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_MAKING = pattern(
    r"(^|_)(init\w*|make|create|build|new|get|sampl\w*|draw|noise|dropout|augment\w*|random\w*|perturb\w*|gen|generate)"
    r"(_|$)"
)
_COUPLED = pattern(r"(^|_)(coupl\w+|antithetic\w*|common_random\w*|crn)(_|$)")
_CLOCKS = frozenset({"time", "perf_counter", "perf_counter_ns", "monotonic", "time_ns", "default_timer", "timer"})
_MEASURING = pattern(r"(^|_|-)(bench\w*|perf\w*|profil\w*|timings?|speed\w*)(_|-|\.|$)")  # of files
_FITTING = pattern(r"train|update|optimi[sz]er|adam|sgd|(^|_)fit|loss|grad|learn")


def common_numbers(context: Context, one: Use, two: Use) -> bool:
    """Say whether two calls are to see the same numbers, or nobody looks at what they make of them.

    Args:
        context: the analysis.
        one: a use of a key.
        two: another use of the same key.
    """
    if one.helper and two.helper:
        if _subtracted(context, one, two) or _coupled(one, two) or _two_ways(one, two):
            return True
    if any(use.helper and _gives_times(context, use) for use in (one, two)):
        return True
    return (one.helper or two.helper) and _only_measured(context, two.event.scope)


def _subtracted(context: Context, one: Use, two: Use) -> bool:
    """Say whether a function is called for two settings with one key, and what it gives for them is subtracted or
    compared, as in finite differences."""
    if one.name != two.name or _MAKING.search(last(one.name).lower()) or one.event.scope is not two.event.scope:
        return False
    if ast.dump(one.event.node) == ast.dump(two.event.node):
        return False
    results = zip(_results(one), _results(two), strict=False)
    pairs = [{a, b} for a, b in results if a != b and "_" not in (a, b)]
    for node in context.bodies.nodes(one.event.scope):
        sides: tuple[ast.expr, ast.expr] | None = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            sides = (node.left, node.right)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = (node.left, node.comparators[0])
        if sides is not None:
            if {*sides} == {one.event.node, two.event.node} or {_whole(side) for side in sides} in pairs:
                return True
    return False


def _whole(node: ast.expr) -> str:
    """Return the variable that an expression is, also of its mean or a part of it; empty for what is more."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.args[0] if node.args else node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return node.id if isinstance(node, ast.Name) else ""


def _results(use: Use) -> list[str]:
    """Return the variables that get the parts of what a call gives, by their places."""
    statement = use.event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not use.event.node or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    parts = elements(target)
    return [part.id if isinstance(part, ast.Name) else "_" for part in parts]


def _coupled(one: Use, two: Use) -> bool:
    """Say whether both calls draw for a coupling, or an antithetic pair, as the functions around them are named."""
    scope: Scope | None = two.event.scope
    while scope is not None:
        if scope.function is not None and _COUPLED.search(scope.function.name.lower()):
            return True
        scope = scope.parent
    return any(_COUPLED.search(last(use.name).lower()) for use in (one, two))


_SHOWING = pattern(r"(^|_|-)(demo\w*|compar\w*|plot\w*|ablat\w*|versus|vs)(_|-|\.|$)")  # of files and functions


def _two_ways(one: Use, two: Use) -> bool:
    """Say whether a demonstration draws samples in two ways, told apart by one word, with the same arguments:
    ``x_with = sampler_with(key, n)`` beside ``x_without = sampler_without(key, n)``."""
    scope = two.event.scope
    name = scope.function.name.lower() if scope.function is not None else ""
    file = scope.module.source.file_name.lower()
    if one.event.scope is not scope or not (_SHOWING.search(name) or _SHOWING.search(file)):
        return False
    if not all("sampl" in last(use.name).lower() for use in (one, two)):
        return False
    given = [[ast.unparse(a) for a in (*use.event.node.args, *use.event.node.keywords)] for use in (one, two)]
    results = [_results(use) for use in (one, two)]
    if given[0] != given[1] or not results[0] or not results[1]:
        return False
    unlike = _unlike(last(one.name), last(two.name))
    return unlike is not None and unlike == _unlike(results[0][0], results[1][0])


def _unlike(one: str, two: str) -> tuple[str, str] | None:
    """Return the one word in which two names differ."""
    first, second = one.lower().split("_"), two.lower().split("_")
    pairs = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
    return pairs[0] if len(first) == len(second) > 1 and len(pairs) == 1 else None


def _gives_times(context: Context, use: Use) -> bool:
    """Say whether all that a function of the project gives is how long something took."""
    invoked = context.flow.calls.invoked(context.flow.here(use.event.value, use.event.scope))
    return bool(invoked) and all(_times_alone(callee.function) for callee, _ in invoked)


def _times_alone(function: FunctionFacts) -> bool:
    """Say whether every ``return`` of a function gives differences of what a clock says, and nothing else."""
    if isinstance(function.node, ast.Lambda) or function.generator:
        return False
    nodes = list(ast.walk(function.node))
    given = [n.value for n in nodes if isinstance(n, ast.Return)]
    if not given or None in given:
        return False
    assigned = [
        (t.id, n.value) for n in nodes if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
    ]
    clocks = {name for name, value in assigned if _clock(value)}
    if not clocks:
        return False
    times = {name for name, value in assigned if _difference(value, clocks)}
    for n in nodes:
        if isinstance(n, ast.Call) and last_word(n.func) == "append" and n.args and isinstance(n.func, ast.Attribute):
            if _difference(n.args[0], clocks) or names_in(n.args[0]) & times:
                times |= names_in(n.func.value)
    times |= {name for name, value in assigned if names_in(value) & times and isinstance(value, ast.BinOp)}
    return all(
        isinstance(one, ast.expr) and bool(names_in(one) & times or _difference(one, clocks))
        and names_in(one) <= times | clocks | {"np", "jnp", "numpy", "statistics", "len", "sum", "min", "max"}
        for one in given
    )  # fmt: skip


def _clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_word(node.func) in _CLOCKS and not node.args


def _difference(node: ast.expr, clocks: set[str]) -> bool:
    """Say whether an expression is a time between two readings of a clock, also scaled."""
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Sub)
        and all(_clock(side) or (isinstance(side, ast.Name) and side.id in clocks) for side in (n.left, n.right))
        for n in ast.walk(node)
    )


def _only_measured(context: Context, scope: Scope) -> bool:
    """Say whether a file is about speed, and a body of it hands what it makes to a function of the project that takes
    the time of what it is given; nothing is trained there."""
    if not _MEASURING.search(scope.module.source.file_name.lower()):
        return False
    events = context.bodies.calls.get(scope, ())
    if any(_FITTING.search(last_word(event.node.func).lower()) for event in events):
        return False
    return any(
        _takes_time(callee.function)
        for event in events
        for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    )


def _takes_time(function: FunctionFacts) -> bool:
    """Say whether a function reads a clock around calls of what it is given."""
    calls = [n for n in ast.walk(function.node) if isinstance(n, ast.Call)]
    clocks = sum(_clock(call) for call in calls)
    return clocks > 1 and any(isinstance(call.func, ast.Name) and call.func.id in function.params for call in calls)
