"""Values of which no part goes into the number that is differentiated: what a loss gives beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import assignments, constant, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function

_DEPTH = 4  # how many callers up a value is followed
_STOPPED = frozenset({"stop_gradient"})


def beside_loss(context: Context, function: FunctionFacts, node: ast.AST) -> bool:
    """Say whether a value goes into no number of which a gradient is taken, as far as the project's calls tell.

    So it is with ``metric`` of ``return loss, (metric,)`` in a function that is differentiated with ``has_aux=True``.

    Args:
        context: the analysis.
        function: the function that the value is computed in.
        node: the expression that gives it.
    """
    return not _reaches(context, function, node, frozenset(), 0)


def _reaches(context: Context, function: FunctionFacts, node: ast.AST, names: frozenset[str], depth: int) -> bool:
    """Say whether an expression, or one of some variables, may reach what is differentiated."""
    places = _places(context, function, node, names)
    if not places:
        return False
    roots = [root for root in context.traced.gradients if root.function is function]
    if depth > _DEPTH or (roots and min(places) <= 0):
        return True
    if function.self_param is not None and min(places) <= 0:
        return True  # who calls a method is not always known
    called = context.flow.sites.callers(function)
    if function.self_param is not None:
        called = context.flow.sites.calls_of(function.name)  # whatever object has it
    callers = [event for event in called if not _gradient(context, event, function)]
    if not roots and not callers:
        return True
    callers = [event for event in callers if not in_test(event.scope)] or callers
    return any(_goes_on(context, event, places, depth + 1) for event in callers)


def _goes_on(context: Context, event: CallEvent, places: set[int], depth: int) -> bool:
    """Say whether some places of what a call gives may reach what is differentiated."""
    outer = enclosing_function(event.scope)
    if outer is None:
        return False
    statement, direct = event.statement, not context.flow.calls.name(event)
    if min(places) > 0 and direct and statement is not None:
        part = next((n for n in ast.walk(statement) if isinstance(n, ast.Subscript) and n.value is event.node), None)
        if part is not None and isinstance(place := constant(part.slice), int) and 0 <= place not in places:
            return False  # f(x)[0]
    if min(places) > 0 and direct and isinstance(statement, ast.Assign) and statement.value is event.node:
        target = statement.targets[0]
        if len(statement.targets) == 1 and isinstance(target, ast.Tuple) and len(target.elts) > max(places):
            got = [target.elts[place] for place in places]
            if not any(isinstance(one, ast.Starred) for one in target.elts):
                got = [n for one in got for n in ast.walk(one) if isinstance(n, ast.expr)]
                if all(isinstance(one, ast.Name | ast.Tuple) for one in got):
                    read = frozenset(one.id for one in got if isinstance(one, ast.Name))
                    return bool(read) and _reaches(context, outer, event.node, read, depth)
    if min(places) > 0 and direct and _given(context, outer) == [event.node]:  # a function around the loss
        if any(root.function is outer for root in context.traced.gradients) or _only_handed_on(context, outer):
            return False
    return _reaches(context, outer, event.node, frozenset(), depth)


def _only_handed_on(context: Context, function: FunctionFacts) -> bool:
    """Say whether an inner function is called nowhere by its name, but given to one that differentiates it."""
    if function.owner is not None or enclosing_function(function.scope.parent) is None:
        return False
    return not any(last_word(event.node.func) == function.name for event in context.flow.sites.callers(function))


def _gradient(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call asks for gradients of a function."""
    invoked = context.flow.calls.invoked(context.flow.here(event.value, event.scope))
    return any(callee.function is function and callee.gradient for callee, _ in invoked)


def _given(context: Context, function: FunctionFacts) -> list[ast.expr]:
    """Return the expressions that a function gives."""
    if isinstance(function.node, ast.Lambda):
        return [function.node.body]
    return [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return) and n.value is not None]


def _places(context: Context, function: FunctionFacts, node: ast.AST, names: frozenset[str]) -> set[int]:
    """Return the places of the tuple that a function gives into which a value goes; -1 if it gives anything else."""
    bindings = bindings_of(function)
    found: set[int] = set()
    for given in _given(context, function):
        parts = enumerate(given.elts) if isinstance(given, ast.Tuple) else [(-1, given)]
        if isinstance(given, ast.Tuple) and any(isinstance(one, ast.Starred) for one in given.elts):
            parts = [(-1, given)]
        found |= {place for place, part in parts if _made_of(part, node, names, bindings)}
    if any(isinstance(n, ast.Yield | ast.YieldFrom) for n in context.bodies.nodes(function.scope)):
        found.add(-1)
    if any(_made_of(value, node, names, bindings) for value in _handed_out(function)):
        found.add(-1)
    return found


def _handed_out(function: FunctionFacts) -> Iterator[ast.expr]:
    """Yield what a function puts into objects that it is given."""
    for node in ast.walk(function.node):
        for target, value in _bound(node):
            if isinstance(value, ast.expr) and not isinstance(target, ast.Name | ast.Tuple | ast.List):
                if any(name in function.params for name in _owners(target)):
                    yield value


def _made_of(part: ast.expr, node: ast.AST, names: frozenset[str], bindings: dict[str, list[ast.AST]]) -> bool:
    """Say whether an expression is made of another one, or of one of some variables, through other variables too."""
    pending: list[ast.AST] = [part]
    seen: set[str] = set()
    while pending:
        for one in _read(pending.pop()):
            if one is node and not names:
                return True
            if isinstance(one, ast.Name) and one.id not in seen:
                if one.id in names:
                    return True
                seen.add(one.id)
                pending += bindings.get(one.id, ())
    return False


def _read(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of some syntax, without what stands behind ``stop_gradient``."""
    pending = [node]
    while pending:
        one = pending.pop()
        if isinstance(one, ast.Call) and last_word(one.func) in _STOPPED:
            continue
        yield one
        pending += ast.iter_child_nodes(one)


def bindings_of(function: FunctionFacts) -> dict[str, list[ast.AST]]:
    """Return what the variables of a function, and of those in it, get their values from.

    Args:
        function: the function.
    """
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(function.node):
        for target, value in _bound(node) if node is not function.node else ():  # a variable may have its own name
            for name in _owners(target):
                found.setdefault(name, []).append(value)
    return found


def _bound(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what a statement, or a part of one, gives a value to, and that value."""
    if isinstance(node, ast.Assign):
        yield from assignments(node)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, ast.For | ast.comprehension):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr
    elif isinstance(node, ast.FunctionDef):
        yield ast.Name(node.name), node
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # which may change all that it gets
        yield node.value, node.value


def _owners(target: ast.AST) -> Iterator[str]:
    """Yield the variables that change with a target, those that hold it among them."""
    if isinstance(target, ast.Call):
        for one in (target.func, *target.args, *(k.value for k in target.keywords)):
            yield from _owners(one)
    elif isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _owners(one)
    elif isinstance(target, ast.Starred | ast.Subscript):
        yield from _owners(target.value)
    elif isinstance(target, ast.Attribute):
        yield from _owners(root_of(target))
    elif isinstance(target, ast.Name):
        yield target.id
