"""What host code changes between two calls of one compiled function."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.looked_into import looked_into
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant, inside
from codemods.nnx.lint.traced import Root, function_of
from codemods.nnx.lint.uncompiled import uncompiled

Place = tuple[Scope, ast.stmt | ast.expr]
_CALLERS = 3  # how many callers up a call is followed


def compiling_roots(context: Context, function: FunctionFacts) -> list[Root]:
    """Return what compiles a function, or one that calls it or that it is written in."""
    found: list[Root] = []
    seen = {function}
    queue = [function]
    while queue:
        one = queue.pop()
        tracing = context.traced.get(one)
        if tracing is None:
            continue
        found += [root for root in tracing.roots if root.transform in COMPILING]
        callers: list[FunctionFacts | None] = [
            site.caller.function for site in tracing.sites if site.caller is not None
        ]
        callers += [root.scope.function for root in tracing.roots if root.scope.function in context.traced]
        callers.append(function_of(one.scope.parent))
        for above in callers:
            if above is not None and above not in seen:
                seen.add(above)
                queue.append(above)
    return found


def changed_between(
    context: Context,
    roots: Iterable[Root],
    changes: Iterable[Place],
    owner: str = "",
    reading: FunctionFacts | None = None,
) -> Place | None:
    """Return the first change that stands between two calls of one compiled function; None if there is none.

    Args:
        context: the analysis.
        roots: what is compiled.
        changes: where the value is bound or changed, in host code.
        owner: only calls of methods of what this text names count; all if it is empty.
        reading: the function that reads the value: where calls give it for a static argument, only these count.
    """
    changes = [(scope, node) for scope, node in changes if scope.function not in context.traced and not in_test(scope)]
    if not changes:
        return None
    for root in roots:
        if in_test(root.scope):
            continue
        direct = _given(_uses(context, root), root, reading)
        calls = upwards(context, [one for one in direct if not _compiled_here(root, one[0])])
        calls += [one for one in direct if one not in calls]
        for change in changes:
            for scope, node in upwards(context, [change], root):
                lines = [call for home, call in calls if home is scope and call is not node and _of(call, owner)]
                if lines and stands_between(context, root, scope, node, lines, change[1]):
                    return change
    return None


def _uses(context: Context, root: Root) -> list[Place]:
    """Return the calls of compiled code, and other uses of it for arguments that it was called with."""
    events = context.traced.calls_of(root)
    found: list[Place] = [(event.scope, event.node) for event in events]
    for scope in dict.fromkeys(event.scope for event in events):
        calls = [event.node for event in events if event.scope is scope and isinstance(event.node.func, ast.Name)]
        names = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        found += [(scope, use) for use in looked_into(context, scope, names, calls)]
    return found


def _given(calls: list[Place], root: Root, reading: FunctionFacts | None) -> list[Place]:
    """Return the calls that give a function for a static argument, for which code is compiled apart; all calls if
    none does."""
    if reading is None or reading is root.function or not root.declared:
        return calls
    source = reading.scope.module.source
    assigned = [node for node in source.of_type(ast.Assign) if not node.col_offset or node.value is reading.node]
    names = {reading.name}
    if isinstance(reading.node, ast.Lambda):
        names = {
            n.id for node in assigned if node.value is reading.node for n in node.targets if isinstance(n, ast.Name)
        }
    again = [  # where a name stands for another function
        node.lineno
        for node in assigned
        if node.value is not reading.node and any(isinstance(n, ast.Name) and n.id in names for n in node.targets)
    ]
    giving: list[Place] = [
        (scope, call)
        for scope, call in calls
        if isinstance(call, ast.Call)
        and any(
            one is reading.node or (isinstance(one, ast.Name) and one.id in names)
            for one in (*call.args, *(k.value for k in call.keywords))
        )
    ]
    if not giving:
        return calls
    return [
        (scope, call)
        for scope, call in giving
        if scope.module is not reading.scope.module
        or not any(reading.node.lineno < line < call.lineno for line in again)
    ]


def _of(call: ast.AST, owner: str) -> bool:
    if not owner:
        return True
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == owner


def upwards(context: Context, places: list[Place], root: Root | None = None) -> list[Place]:
    """Return places with the calls, in host code, of the functions that they stand in.

    Args:
        context: the analysis.
        places: the places.
        root: what is compiled anew by functions that do so behind a place: whoever calls them gets the new value.
    """
    found = dict.fromkeys(places)
    for _ in range(_CALLERS):
        above: list[Place] = [
            (event.scope, event.node)
            for scope, node in places
            if scope.function is not None and not (root is not None and _compiles_behind(context, root, scope, node))
            for event in context.flow.sites.callers(scope.function)
            if event.scope.function not in context.traced and (event.scope, event.node) not in found
        ]
        found |= dict.fromkeys(above)
        places = above
    return list(found)


def _compiled_here(root: Root, scope: Scope) -> bool:
    """Say whether a function compiles what another one makes for it each time: no two of its calls share that."""
    made, function = function_of(root.function.scope.parent), scope.function
    if root.decorator:  # of a function within it
        return function is not None and root.function.scope.parent is scope and not function.decorators
    if root.scope is not scope or made is None or function is None:
        return False
    return not function.decorators and not made.decorators


def _compiles_behind(context: Context, root: Root, scope: Scope, node: ast.stmt | ast.expr) -> bool:
    """Say whether a function always compiles something behind a place in it, which it reaches itself."""
    paths = context.bodies.paths(scope)
    behind = root.scope is scope and getattr(root.node, "lineno", 0) > node.lineno
    return behind and paths.get(root.node) == () == paths.get(node)


def stands_between(
    context: Context,
    root: Root,
    scope: Scope,
    node: ast.stmt | ast.expr,
    calls: list[ast.stmt | ast.expr],
    change: ast.stmt | ast.expr,
) -> bool:
    """Say whether a place stands between calls, or in a loop with one.

    Args:
        context: the analysis.
        root: what is compiled.
        scope: the scope of the place and of the calls.
        node: the place.
        calls: the calls.
        change: what changes there, or in what is called there.
    """
    paths = context.bodies.paths(scope)
    calls = [call for call in calls if not uncompiled(paths.get(call, ()))]
    beside = [call for call in calls if not apart(paths.get(call, ()), paths.get(node, ()), scope.node)
              and not apart(paths.get(node, ()), paths.get(call, ()), scope.node)]  # fmt: skip
    before = [call for call in beside if call.lineno < node.lineno]
    after = [call for call in beside if call.lineno > node.lineno]
    if any(not apart(paths.get(a, ()), paths.get(b, ()), scope.node) for a in before for b in after):
        return True
    loops = [block for block, arm in paths.get(node, ()) if isinstance(block, ast.For | ast.While) and arm == "body"]
    for loop in loops:
        if inside(root.node, loop) or inside(root.function.node, loop):
            continue
        together = [call for call in beside if inside(call, loop)]
        if not together:
            continue
        given = getattr(change, "value", None)
        same = isinstance(change, ast.Assign) and isinstance(given, ast.expr) and constant(given) is not None
        once = any(isinstance(block, ast.If) for block, _ in paths[node])
        if not same or once or any(call.lineno < node.lineno for call in together):
            return True
    return False
