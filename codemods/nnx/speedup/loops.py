"""Hot training loops around ``nnx.jit``, and the conditions under which they may be rewritten."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import NNX_OBJECTS, jit_of, kinds_of
from codemods.nnx.lint.syntax import inside
from codemods.nnx.lint.traced import Root
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Value

_STRUCTURE = frozenset({"sow", "perturb", "pop", "train", "eval", "set_attributes", "set_mode", "add_module"})
_SHARDING = frozenset({"in_shardings", "out_shardings", "donate_argnums", "donate_argnames", "device", "backend"})


@dataclass(frozen=True, eq=False)
class HotLoop:
    """A loop that calls a function compiled with ``nnx.jit``.

    Attributes:
        root: the compiled function.
        loop: the outermost loop around the calls.
        scope: the scope of the loop.
        calls: all calls of the function in the project.
        objects: the names of the NNX objects that lead the arguments; empty if they cannot be told.
    """

    root: Root
    loop: ast.For | ast.While
    scope: Scope
    calls: tuple[CallEvent, ...]
    objects: tuple[str, ...]


def hot_loops(context: Context) -> Iterator[HotLoop]:
    """Yield the hot loops of a project, at most one for each compiled function."""
    if not any(root.transform == "flax.nnx.jit" for root in context.traced.roots):
        return
    found: dict[Root, list[CallEvent]] = {}
    for event in context.project.calls():
        for root in jit_of(context, event):
            if root.transform == "flax.nnx.jit" and event.node is not root.node:
                found.setdefault(root, []).append(event)
    for root, calls in found.items():
        hot = next((e for e in calls if e.loops and isinstance(e.loops[0], ast.For | ast.While)), None)
        if hot is None or enclosing_function(hot.scope) in context.traced:
            continue
        objects = _leading(context, hot)
        every = list(hot.value.given)
        if objects or any(kinds_of(context, value, hot.scope) & NNX_OBJECTS for value in every):
            loop = hot.loops[0]
            assert isinstance(loop, ast.For | ast.While)
            yield HotLoop(root, loop, hot.scope, tuple(calls), objects)


def _leading(context: Context, event: CallEvent) -> tuple[str, ...]:
    """Return the names of the first arguments as long as they are NNX objects."""
    names: list[str] = []
    for node, value in zip(event.node.args, event.value.args, strict=True):
        kinds = kinds_of(context, value, event.scope)
        if not isinstance(node, ast.Name) or not kinds or not kinds <= NNX_OBJECTS:
            break
        names.append(node.id)
    return tuple(names)


def obstacle(context: Context, hot: HotLoop) -> str | None:
    """Return the condition of either rewrite that a loop fails; None if it fails none."""
    root, function = hot.root, hot.root.function
    if isinstance(function.node, ast.Lambda) or function.owner is not None or root.bound:
        return "the compiled function is no plain function"
    options = {k.arg for k in root.options.keywords} if root.options is not None else set()
    if options & _SHARDING:
        return "the compiled function has sharding or donation options"
    if any(call.scope is not hot.scope or hot.loop not in call.loops for call in hot.calls):
        return "the function is called elsewhere too"
    if _other_references(context, hot):
        return "the function is used otherwise than in direct calls"
    if not hot.objects:
        return "the NNX objects are not known by name as the first arguments"
    if any(_leading(context, call) != hot.objects or _starred(call) for call in hot.calls):
        return "the calls differ in their NNX objects"
    if any(_object_later(context, call, len(hot.objects)) for call in hot.calls):
        return "an NNX object is passed behind other arguments or by keyword"
    if len(set(hot.objects)) != len(hot.objects):
        return "one object is passed twice"
    if _rebound(hot):
        return "the loop binds one of the objects anew"
    return _structural(context, function) or _returned(context, function, len(hot.objects))


def _starred(call: CallEvent) -> bool:
    return call.value.starred


def _object_later(context: Context, call: CallEvent, count: int) -> bool:
    values = [*call.value.args[count:], *(value for _, value in call.value.keywords)]
    return any(kinds_of(context, value, call.scope) & NNX_OBJECTS for value in values)


def _other_references(context: Context, hot: HotLoop) -> bool:
    """Say whether the function is named anywhere but as the callee of its calls."""
    callees = {call.node.func for call in hot.calls}
    flow = context.flow
    wrapped = {hot.root.function.node, hot.root.node}
    names = {func.id for func in callees if isinstance(func, ast.Name)} | {hot.root.function.name}
    for module, node, value in (place for name in sorted(names) for place in context.shared(_named).get(name, ())):
        if node in callees or any(inside(node, own) for own in wrapped if module is hot.scope.module):
            continue
        reached = {c.function for c in flow.calls.callables(Bound(value, flow.open_frame(hot.scope)))}
        if hot.root.function in reached:
            return True
    return any(
        hot.root.function in {c.function for c in flow.calls.callables(Bound(value))}
        for module in context.project.modules
        if module is not hot.root.scope.module
        for statement in module.imports
        for alias in statement.names
        if alias.name == hot.root.function.name
        for value in module.scope.bindings.get(alias.asname or alias.name, ())
    )


def _named(context: Context) -> dict[str, list[tuple[ModuleFacts, ast.Name, Value]]]:
    """Return where names are read, by name."""
    found: dict[str, list[tuple[ModuleFacts, ast.Name, Value]]] = {}
    for module in context.project.modules:
        for node, value in module.values.items():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append((module, node, value))
    return found


def _rebound(hot: HotLoop) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id in hot.objects and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(hot.loop)
    )


def touches(hot: HotLoop) -> list[ast.Name]:
    """Return the places in the loop that use the objects otherwise than as arguments of the calls."""
    given = {argument for call in hot.calls for argument in call.node.args}
    return [
        node
        for node in ast.walk(hot.loop)
        if isinstance(node, ast.Name) and node.id in hot.objects and node not in given
    ]


def metric_touch(context: Context, hot: HotLoop, name: ast.Name) -> bool:
    """Say whether a use of an object only reads or resets a metric."""
    for call in ast.walk(hot.loop):
        func = call.func if isinstance(call, ast.Call) else None
        if isinstance(func, ast.Attribute) and func.value is name and func.attr in {"compute", "reset"}:
            value = hot.scope.module.values.get(name)
            return value is not None and kinds_of(context, value, hot.scope) == {Kind.METRIC}
    return False


def reached(context: Context, function: FunctionFacts) -> OrderedSet[FunctionFacts]:
    """Return the project's functions that a function runs, those it defines among them, nearest first."""
    found = {function: None}
    queue = [function]
    for current in queue:
        more = [*context.shared(_inner).get(current, ())]
        for event in context.bodies.calls.get(current.scope, ()):
            call = context.flow.here(event.value, event.scope)
            more += [callee.function for callee, _ in context.flow.calls.invoked(call)]
        queue += [one for one in dict.fromkeys(more) if one not in found]
        found |= dict.fromkeys(more)
    return OrderedSet(found)


def _inner(context: Context) -> dict[FunctionFacts, list[FunctionFacts]]:
    """Return the functions that are defined in each function, also in a class there."""
    found: dict[FunctionFacts, list[FunctionFacts]] = {}
    for function in context.project.functions():
        outer = enclosing_function(function.scope.parent)
        if outer is not None:
            found.setdefault(outer, []).append(function)
    return found


def _structural(context: Context, function: FunctionFacts) -> str | None:
    """Return why a step may change the structure of its objects, in code that can be seen."""
    for one in reached(context, function):
        for event in context.bodies.calls.get(one.scope, ()):
            func = event.node.func
            if isinstance(func, ast.Attribute) and func.attr in _STRUCTURE:
                return f"the step calls `{func.attr}`, which changes the structure of an object"
        if one.name == "__init__":
            continue
        for node in context.bodies.nodes(one.scope):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr != "value":
                return f"the step assigns to the attribute `{node.attr}` of an object"
    return None


def _returned(context: Context, function: FunctionFacts, count: int) -> str | None:
    """Return why a step may give its objects away."""
    names = set(list(function.params)[:count])
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else [node.value]
            if any(isinstance(part, ast.Name) and part.id in names for part in parts):
                return "the step returns one of the objects"
    return None


def line_start(scope: Scope, statement: ast.stmt) -> tuple[int, bytes] | None:
    """Return the offset and the indentation of the line of a statement; None if it does not begin its line."""
    source = scope.module.source
    start = source.line_starts[statement.lineno - 1]
    indent = source.data[start : source.offset(statement.lineno, statement.col_offset)]
    return None if indent.strip() else (start, indent)


def free_name(scope: Scope, name: str) -> bool:
    """Say whether a name means nothing yet in a scope, its module and the scopes between."""
    outer: Scope | None = scope
    while outer is not None:
        if name in outer.bindings:
            return False
        outer = outer.parent
    return True
