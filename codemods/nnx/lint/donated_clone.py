"""Clones and states of a model that share their arrays with it when one of them is donated; part of NNX856."""

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
from codemods.nnx.values import Attr, Call, Const, Item, Loop, Param, Value

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


def clone_given(context: Context, event: CallEvent, node: ast.expr, value: Value) -> ast.expr | None:
    """Return another argument of a call that is a clone of a donated model, or the model of which that is one.

    Args:
        context: the analysis.
        event: the call of a function that nnx.jit compiled.
        node: an argument that it donates.
        value: the value of that.
    """
    if not any(module.source.mentions(b"clone") for module in context.project.modules):
        return None
    model = _first(context, value, event.scope)
    pairs = [*zip(event.node.args, event.value.args, strict=False)]
    pairs += [(k.value, v) for k, (_, v) in zip(event.node.keywords, event.value.keywords, strict=True)]
    for one, other in pairs:
        if one is node or not isinstance(one, ast.Name | ast.Attribute):
            continue
        if any(isinstance(v, Attr) and _bound_elsewhere(context, v) for v in (value, other)):
            continue
        found = _first(context, other, event.scope)
        if _made_from(context, found, model) is None and _made_from(context, model, found) is None:
            continue
        if not any(_renewed(context, event, text) for text in (node, one)):
            return one
    return None


def _first(context: Context, value: Value, scope: Scope) -> Bound:
    """Return what a variable holds, before the first round of a loop that binds it anew."""
    if isinstance(value, Loop):
        value = value.before
    return context.flow.resolve(context.flow.here(value, scope))


# functions that leave the arrays of a model as they are
_LEAVING = frozenset({"Optimizer", "ModelAndOptimizer", "state", "split", "graphdef", "clone", "display", "print",
                      "len", "isinstance", "type", "id", "iter_graph", "variables"})  # fmt: skip


def _renewed(context: Context, event: CallEvent, node: ast.expr) -> bool:
    """Say whether something before a call may have given a model, or what has its name elsewhere, other arrays."""
    text, name = ast.unparse(node), node.attr if isinstance(node, ast.Attribute) else ""
    for one in context.bodies.nodes(event.scope):
        if getattr(one, "lineno", event.node.lineno) >= event.node.lineno:
            continue
        if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store):
            if any(ast.unparse(n) == text for n in ast.walk(one.value)):
                return True
        if isinstance(one, ast.Call) and last_word(one.func) not in _LEAVING:
            given = [*one.args, *(k.value for k in one.keywords)]
            given += [one.func.value] if isinstance(one.func, ast.Attribute) and not one.args else []
            if any(ast.unparse(part) == text for each in given for part in ast.walk(each)):
                return True
    if not name:
        return False
    calls = (other for module in context.project.modules for other in module.calls)
    return any(
        last_word(other.node.func) in {"update", "copy_from", "set_value"}
        and any(isinstance(n, ast.Attribute) and n.attr == name for part in other.node.args for n in ast.walk(part))
        and not inside(event.node, other.node)
        and other.scope is not event.scope
        for other in calls
    )


def model_read(context: Context, event: CallEvent, value: Value) -> tuple[ast.expr, ast.expr] | None:
    """Return a model of which a call donates the state, as nnx.split or nnx.state gave it, where it is run behind that,
    and where it was split.

    Args:
        context: the analysis.
        event: the call.
        value: what it donates.
    """
    scope = event.scope
    value = value.before if isinstance(value, Loop) else value
    made = value.base if isinstance(value, Item) and value.index != Const(0) else value
    if not isinstance(made, Call) or last_word(made.node.func) not in {"split", "state"} or not made.node.args:
        return None
    model = made.node.args[0]
    name = context.flow.calls.callee_name(context.flow.here(made, scope))
    if name not in {"flax.nnx.split", "flax.nnx.state"} or not isinstance(model, ast.Name):
        return None
    if context.bodies.home(made.node) is not scope or model.id not in scope.bindings:
        return None
    start = outermost_loop(event) or event.statement
    paths = context.bodies.paths(scope)
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.Name) and one.id == model.id and not isinstance(one.ctx, ast.Load):
            if _place(one) > _place(made.node):
                return None
        if isinstance(one, ast.Call) and last_word(one.func) in {"update", "copy_from", "merge"}:
            if any(isinstance(n, ast.Name) and n.id == model.id for n in ast.walk(one)):
                return None
    for later in context.bodies.calls.get(scope, ()):
        func = later.node.func
        if not isinstance(func, ast.Name) or func.id != model.id or _place(later.node) < _place(start):
            continue
        if _place(later.node) < _place(event.node) and later.loops != event.loops:
            continue
        if not apart(paths.get(event.node, ()), paths.get(later.node, ()), scope.node):
            return func, made.node
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
