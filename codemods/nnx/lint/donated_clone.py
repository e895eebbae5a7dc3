"""Clones of a model that share their arrays with it when it is donated; part of NNX856."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.frames import Bound, Part
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.places import passed
from codemods.nnx.lint.syntax import inside, outermost_loop
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Param, Value

_READING = frozenset({"flax.nnx.state", "flax.nnx.split", "flax.nnx.variables", "flax.nnx.to_pure_dict"})
_DEPTH = 3


def clone_read(context: Context, event: CallEvent, node: ast.expr, value: Value) -> ast.expr | None:
    """Return where a clone of a donated model is used first, if that is behind the call which donates the model.

    Args:
        context: the analysis.
        event: the call of a function that nnx.jit compiled.
        node: an argument that it donates.
        value: the value of that.
    """
    if not any(module.source.mentions(b"clone") for module in context.project.modules):
        return None
    scope, loop = event.scope, outermost_loop(event)
    model = context.flow.resolve(context.flow.here(value, scope))
    reads: dict[str, list[ast.Name | ast.Attribute]] = {}
    for one in context.bodies.nodes(scope):
        if isinstance(one, type(node)) and isinstance(one, ast.Name | ast.Attribute):
            reads.setdefault(ast.unparse(one), []).append(one)
    start = loop if loop is not None else event.statement
    paths = context.bodies.paths(scope)
    for text, places in reads.items():
        site = _cloned(context, places, scope, model) if text != ast.unparse(node) else None
        if site is None or (site in paths and _place(site) >= _place(start)):
            continue
        stored = [one for one in places if not isinstance(one.ctx, ast.Load)]
        if len(stored) > 1 or any(_place(one) >= _place(start) for one in stored):
            continue
        if isinstance(node, ast.Attribute) and stored:
            continue  # which a constructor binds
        # an update that comes between gives it arrays of its own
        loads = [one for one in places if isinstance(one.ctx, ast.Load) and not inside(one, site)]
        first = min((one for one in loads if site not in paths or _place(one) > _place(site)), key=_place, default=None)
        if first is None or _place(first) < _place(event.node) or inside(first, event.node):
            continue
        if not apart(paths.get(event.node, ()), paths.get(first, ()), scope.node) and _used(context, first, scope):
            return first
    return None


def _place(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _cloned(context: Context, places: list[ast.Name | ast.Attribute], scope: Scope, model: Bound) -> ast.Call | None:
    """Return the call that made a variable or attribute a clone of a model, or the model one of it."""
    for one in places:
        value = scope.module.values.get(one) if isinstance(one.ctx, ast.Load) else None
        if value is None:
            continue
        if isinstance(value, Attr) and _bound_elsewhere(context, value):
            return None
        found = context.flow.resolve(context.flow.here(value, scope))
        return _made_from(context, found, model) or _made_from(context, model, found)
    return None


def _made_from(context: Context, clone: Bound, model: Bound) -> ast.Call | None:
    """Return the call of nnx.clone that made one of two models of the other."""
    part = clone.value
    if not isinstance(part, Part) or not isinstance(part.site, Call) or last_word(part.site.node.func) != "clone":
        return None
    return part.site.node if context.flow.resolve(part.of) == model else None


def _bound_elsewhere(context: Context, value: Attr) -> bool:
    """Say whether anything but a constructor binds an attribute."""
    events = context.flow.fields.stores().get(value.name, ())
    return any(one.scope.function is None or one.scope.function.name != "__init__" for one in events)


def _used(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether the arrays of a model are certainly read, where a call is given it or calls it."""
    for event in context.bodies.calls.get(scope, ()):
        if event.node.func is node:
            return True
        given = [*zip(event.node.args, event.value.args, strict=False)]
        given += [(k.value, v) for k, (_, v) in zip(event.node.keywords, event.value.keywords, strict=True)]
        value = next((v for one, v in given if one is node), None)
        if value is not None:
            return _reads(context, event, value, 0)
    return False


def _reads(context: Context, event: CallEvent, value: Value, depth: int) -> bool:
    """Say whether a call reads the arrays of a model that it is given, and does not only write others into it."""
    name = context.flow.calls.name(event)
    if name:
        return name in _READING and event.used and last_word(event.node.func) != "split"
    return depth < _DEPTH and any(
        _read_in(context, param, depth)
        for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope))
        for param in callee.function.params.values()
        if param is not callee.function.self_param and passed(event, param) is value
    )


def _read_in(context: Context, param: Param, depth: int) -> bool:
    function: FunctionFacts = param.function
    if any(root.function is function and root.transform in COMPILING for root in context.traced.roots):
        return True  # which takes all arrays of its arguments
    for event in context.bodies.calls.get(function.scope, ()):
        if event.value.callee is param:
            return True
        if any(one is param for one in event.value.given):
            return _reads(context, event, param, depth + 1)
    return False
