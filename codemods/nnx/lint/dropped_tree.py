"""Calls of the project's functions that do nothing but compute new trees, which nobody takes; part of NNX842."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.discarded import PURE, displayed
from codemods.nnx.lint.names import COMPILING, TREE_MAPS, last
from codemods.nnx.lint.places import callers_of, in_test
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Function, Mapping, Ref, Sequence, Value

_MAKING = TREE_MAPS | {"optax.apply_updates", "optax.incremental_update", "optax.periodic_update"}
_WORDS = frozenset(last(name) for name in _MAKING)
# what is called for its time, for its errors or to compile it
OTHER_AIMS = pattern("bench|profil|time|warm|eval|valid|test|measure|compile|example|check|assert|demo", re.I)
_HOMES = ("jax.numpy.", "jax.nn.", "jax.random.", "jax.tree.", "jax.tree_util.", "optax.", "numpy.", "math.")
_OF_LAX = frozenset({"stop_gradient", "cond", "select", "add", "sub", "mul", "convert_element_type", "pmean", "psum"})
_OF_NNX = frozenset({"state", "variables", "split", "merge", "clone", "graphdef", "to_pure_dict", "to_flat_state",
                     "from_flat_state", "filter_state", "split_state", "merge_state", "All", "Any", "Not",
                     "PathContains", "OfType", "Param"})  # fmt: skip
_BUILTINS = frozenset({"len", "float", "int", "min", "max", "abs", "zip", "dict", "list", "tuple", "isinstance", "sum",
                       "range", "enumerate", "getattr", "hasattr", "str", "bool", "sorted"})  # fmt: skip
_METHODS = frozenset({"astype", "mean", "sum", "items", "keys", "values", "get", "copy", "reshape", "get_value",
                      "flat_state", "to_pure_dict", "filter", "split", "conj", "max", "min", "clip"})  # fmt: skip
# what does more than to compute a result, or may
_EFFECTS = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.Raise, ast.Assert, ast.Delete, ast.With,
            ast.Try, ast.Import, ast.ImportFrom, ast.ClassDef, ast.While, ast.AugAssign)  # fmt: skip
_DEPTH = 4


def dropped_trees(context: Context) -> Iterator[tuple[CallEvent, FunctionFacts]]:
    """Yield the calls whose only outcome is a new tree of parameters that nobody takes, with the function called."""
    made: dict[FunctionFacts, None] = {}
    for event in context.bodies.named(*sorted(_WORDS)):
        function = event.scope.function
        if (
            function is not None
            and function not in made
            and any(event.value in _parts(one) for one in function.returns)
        ):
            if context.flow.calls.name(event) in _MAKING:
                made[function] = None
    seen: set[FunctionFacts] = set()
    waiting = [*made]
    while waiting:
        function = waiting.pop(0)
        if function in seen or function.name == "<lambda>" or OTHER_AIMS.search(function.name):
            continue
        seen.add(function)
        calls = callers_of(context, function)
        dropped = [
            event for event in calls if _dropped(event) and (not event.used or _blends(context, event, function))
        ]
        # a function that hands the tree on, and does nothing else
        waiting += [
            above
            for event in calls
            if (above := event.scope.function) is not None and any(event.value is one for one in above.returns)
        ]
        if dropped and computes_only(context, function):
            for event in dropped:
                if _meant(context, event, function):
                    yield event, function


def _blends(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a variable that nobody reads was to get new weights: what several trees make together, and that is
    set nowhere else. What converts one tree is any variable that is left over."""
    target = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
    names = context.bodies.names(event.scope).get(target.id, ()) if isinstance(target, ast.Name) else ()
    if sum(isinstance(name.ctx, ast.Store) for name in names) > 1:
        return False
    within = context.bodies.calls.get(function.scope, ())
    mapped = [one for one in within if context.flow.calls.name(one) in _MAKING]
    return not mapped or any(context.flow.calls.name(one) not in TREE_MAPS or len(one.node.args) > 2 for one in mapped)


def _parts(value: Value) -> list[Value]:
    """Return a value and what it holds, if it is a tuple or a dict that is written out."""
    if isinstance(value, Sequence):
        return [value, *value.items]
    if isinstance(value, Mapping):
        return [value, *(held for _, held in value.items)]
    return [value]


def _dropped(event: CallEvent) -> bool:
    """Say whether a call stands alone, or what gets its result is never read in the function around."""
    statement = event.statement
    if not event.used:
        return isinstance(statement, ast.Expr) and statement.value is event.node
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or event.scope.function is None:
        return False
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name) or target.id.startswith("_"):
        return False
    around = event.scope.function.node
    return target.id not in event.scope.globals and not any(
        (isinstance(node, ast.Name) and node.id == target.id and not isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.Nonlocal) and target.id in node.names)
        or (isinstance(node, ast.Name) and node.id in {"locals", "vars", "eval", "exec"})
        for node in ast.walk(around)
    )


def _meant(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call is a part of a program that wants the tree, and no measurement, warm-up or trial."""
    if event.scope.module not in context.asked or in_test(event.scope) or displayed(event):
        return False
    above = event.scope.function
    if context.bodies.guarded(event.node, event.scope) or (above is not None and OTHER_AIMS.search(above.name)):
        return False
    around = context.bodies.calls.get(event.scope, ())
    if any("time" in ast.unparse(call.node.func) or "perf_counter" in ast.unparse(call.node.func) for call in around):
        return False
    compiled = any(root.function is function and root.transform in COMPILING for root in context.traced.roots)
    return not compiled or bool(event.loops) or (above is not None and above in context.traced)


def computes_only(context: Context, function: FunctionFacts, depth: int = 0) -> bool:
    """Say whether a function has no effect besides its result.

    Args:
        context: the analysis.
        function: the function.
        depth: how many calls lead to it.
    """
    if depth > _DEPTH or function.generator or isinstance(function.node, ast.AsyncFunctionDef):
        return False
    if any(one == Const(None) for one in function.returns) or not function.returns:
        return False
    body = [function.node.body] if isinstance(function.node, ast.Lambda) else function.node.body
    nodes = [node for statement in body for node in ast.walk(statement)]
    own = _own_dicts(nodes)
    for node in nodes:
        if isinstance(node, _EFFECTS):
            return False
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in own):
                return False
    within = set(nodes)
    inner = [one for one in function.scope.module.functions if one.node in within]
    scopes = [function.scope, *(one.scope for one in inner)]
    events = [event for scope in scopes for event in context.bodies.calls.get(scope, ())]
    known = {event.node for event in events}
    if any(isinstance(node, ast.Call) and node not in known for node in nodes):
        return False
    return all(_pure(context, event, {one.node for one in inner}, depth) for event in events)


def _own_dicts(nodes: list[ast.AST]) -> set[str]:
    """Return the variables that hold nothing but dicts which are made there."""
    bound: dict[str, bool] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            bound[name] = bound.get(name, True) and isinstance(node.value, ast.Dict | ast.DictComp)
    return {name for name, made in bound.items() if made}


def _pure(context: Context, event: CallEvent, inner: set[ast.AST], depth: int) -> bool:
    """Say whether a call does nothing but give a result."""
    name = context.flow.calls.name(event)
    func = event.node.func
    if name:
        home, _, word = name.rpartition(".")
        if name in TREE_MAPS:
            return _pure_function(context, event, inner, depth)
        if name in PURE or (home == "flax.nnx" and word in _OF_NNX) or (home == "jax.lax" and word in _OF_LAX):
            return True
        if name.startswith(_HOMES):
            return not {"set_printoptions", "save", "savez", "seed", "copyto"} & {word}
        return home == "builtins" and word in _BUILTINS
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    if callees:
        return all(one.function.node in inner or computes_only(context, one.function, depth + 1) for one in callees)
    if isinstance(func, ast.Name):
        return func.id in _BUILTINS
    return isinstance(event.value.callee, Attr) and event.value.callee.name in _METHODS


def _pure_function(context: Context, event: CallEvent, inner: set[ast.AST], depth: int) -> bool:
    """Say whether what jax.tree.map calls does nothing but give a result."""
    first = event.node.args[0] if event.node.args else None
    if isinstance(first, ast.Lambda):  # whose calls are looked at with the others; a constant only compares trees
        return not isinstance(first.body, ast.Constant)
    value = event.scope.module.values.get(first) if first is not None else None
    if value is None:
        return False
    found = context.flow.resolve(context.flow.here(value, event.scope)).value
    if isinstance(found, Ref):
        return found.name.startswith(_HOMES)
    if isinstance(found, Call) and found.args:
        here = context.flow.here(found, event.scope)
        if context.flow.calls.callee_name(here) == "functools.partial":
            found = context.flow.follow(here, found.args[0]).value
    if not isinstance(found, Function):
        return False
    return found.facts.node in inner or computes_only(context, found.facts, depth + 1)
