"""Stacks of layers that nnx.scan or nnx.vmap hands on whole, where each round is for one layer; part of NNX868."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.stacked_sizes import stack_size
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Class, Const, Mapping, Param, Ref, Value

_MAPPING = frozenset({"flax.nnx.vmap", "jax.vmap"})
_RUNNING = frozenset({"flax.nnx.scan", "flax.nnx.vmap"})
_WRAPPED = 5  # decorators


def broadcast_stacks(context: Context) -> Iterator[tuple[Root, ast.expr, Param]]:
    """Yield the transforms whose function calls a parameter that has no axis, and gets layers that nnx.vmap stacked.

    Args:
        context: the analysis.

    Yields:
        The transform, the axis in its options, and the parameter.
    """
    for root in context.traced.roots:
        if root.transform not in _RUNNING or root.partial or root.scope.module not in context.asked:
            continue
        axes = option(root, "in_axes")
        if not isinstance(axes, ast.Tuple | ast.List):
            continue
        params = list(root.function.params.values())[skipped(root) :]
        for place, (axis, param) in enumerate(zip(axes.elts, params, strict=False)):
            if not _whole(context, axis, root.scope) or not _only_called(context, param):
                continue
            calls = context.traced.calls_of(root)
            given = [_given(event, place, param.name) for event in calls]
            if given and all(
                one is not None and _stacked(context, one, event) for one, event in zip(given, calls, strict=True)
            ):
                yield root, axis, param


def uncarried_layers(context: Context) -> Iterator[tuple[Root, ast.expr, Param, Param]]:
    """Yield the scans over stacked layers that give each of them the same input, and of which the last result is taken.

    Args:
        context: the analysis.

    Yields:
        The transform, the axis of the input in its options, the layer and the input.
    """
    for root in context.traced.roots:
        if root.transform != "flax.nnx.scan" or root.partial or root.scope.module not in context.asked:
            continue
        axes = option(root, "in_axes")
        params = list(root.function.params.values())[skipped(root) :]
        if not isinstance(axes, ast.Tuple | ast.List) or len(axes.elts) != 2 or len(params) != 2:
            continue
        found = [axis.value if isinstance(axis, ast.Constant) else ... for axis in axes.elts]
        if found not in ([0, None], [None, 0]):
            continue
        place = found.index(0)
        layer, given = params[place], params[1 - place]
        results = root.function.returns
        if not results or not all(
            isinstance(one, Call) and one.callee is layer and one.given == (given,) for one in results
        ):
            continue
        calls = context.traced.calls_of(root)
        stacks = [_given(event, place, layer.name) for event in calls]
        if calls and all(
            one is not None and _stacked(context, one, event) and _last_taken(event)
            for one, event in zip(stacks, calls, strict=True)
        ):
            yield root, axes.elts[1 - place], layer, given


def _last_taken(event: CallEvent) -> bool:
    """Say whether of the result of a call nothing but the last row is read."""
    nodes = [*ast.walk(event.scope.node)]
    taken = [n.value for n in nodes if isinstance(n, ast.Subscript) and constant(n.slice) == -1]
    if event.node in taken:
        return True
    kept = event.statement
    if not isinstance(kept, ast.Assign) or kept.value is not event.node or event.scope.function is None:
        return False
    names = {target.id for target in kept.targets if isinstance(target, ast.Name)}
    if len(names) != 1 or len(kept.targets) != 1:
        return False
    named = [n for n in nodes if isinstance(n, ast.Name) and n.id in names and n is not kept.targets[0]]
    return bool(named) and all(n in taken for n in named)


def _whole(context: Context, axis: ast.expr, scope: Scope) -> bool:
    """Say whether an entry of ``in_axes`` leaves the weights of a model unmapped: None, or None for its Params."""
    value = scope.module.values.get(axis)
    if value is None:
        return False
    found = context.flow.resolve(context.flow.here(value, scope))
    if found.value == Const(None):
        return True
    made = found.value
    if not isinstance(made, Call) or context.flow.calls.callee_name(found) != "flax.nnx.StateAxes" or not made.args:
        return False
    entries = context.flow.follow(found, made.args[0])
    for key, given in entries.value.items if isinstance(entries.value, Mapping) else ():
        named = context.flow.follow(entries, key).value if key is not None else None
        if named == Ref("flax.nnx.Param") or named == Const(...):
            return context.flow.follow(entries, given).value == Const(None)
        if not isinstance(named, Ref) or named.name in {"flax.nnx.Variable", "flax.nnx.LoRAParam"}:
            return False
    return False


def _only_called(context: Context, param: Param) -> bool:
    """Say whether all that a function does with a parameter is to call it."""
    scope = param.function.scope
    called = {event.node.func for event in context.bodies.calls.get(scope, ()) if event.value.callee is param}
    named = {n for n in ast.walk(param.function.node) if isinstance(n, ast.Name) and n.id == param.name}
    return bool(called) and named == called


def _given(event: CallEvent, place: int, name: str) -> Value | None:
    return None if event.value.starred else event.value.argument(place, name)


def _stacked(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a value is what a mapped function gave: layers with one more axis."""
    function = event.scope.function
    if isinstance(value, Attr) and function is not None and function.owner is not None:
        if value.base is not function.self_param:
            return False
        stores = [
            one for parent in context.flow.classes.mro(function.owner)[0] for one in parent.stores.get(value.name, ())
        ]
        return bool(stores) and all(_mapped(context, context.flow.here(made, method.scope)) for method, made in stores)
    if isinstance(value, Param) and stack_size(context, value, event.scope) is not None:
        return True
    return _mapped(context, context.flow.here(value, event.scope))


def _mapped(context: Context, made: Bound) -> bool:
    """Say whether a call is one of a function under ``vmap`` that gives a module."""
    value = made.value
    if not isinstance(value, Call):
        return False
    callee = context.flow.follow(made, value.callee)
    for _ in range(_WRAPPED):
        if not isinstance(callee.value, Call):
            return False
        if context.flow.calls.wrapper_name(callee, callee.value) in _MAPPING:
            return Kind.MODULE in context.kinds.of(made) or _of_class(context, callee, callee.value)
        if not callee.value.args:
            return False
        callee = context.flow.follow(callee, callee.value.args[0])
    return False


def _of_class(context: Context, callee: Bound, mapping: Call) -> bool:
    """Say whether ``vmap`` is applied to a class of modules itself, as in ``nnx.vmap(Layer)``."""
    made = context.flow.follow(callee, mapping.args[0]).value if mapping.args else None
    return isinstance(made, Class) and "flax.nnx.Module" in context.flow.classes.mro(made.facts)[1]
