"""Gradients under ``pmap`` that every device keeps to itself; a part of NNX757."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant, keyword, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.optimizer.gradients import gradient
from codemods.nnx.values import Call, Const, Item, Value

# what asks the other devices for their part
_ASKING = frozenset({"pmean", "psum", "all_gather", "psum_scatter", "ppermute", "all_to_all", "pmax", "pmin"})
_BATCH = re.compile("batch|data|dp$", re.IGNORECASE)
_TAKING = frozenset({"grads", "gradients", "updates", "value"})
_UPDATE = re.compile(r"^(opt|optimi[sz]er|tx)_?update(_?fn|_?func)?$")  # of a transformation, in a variable
_STEPPING = frozenset({"update", "apply_gradients", "map", "tree_map", "tree_multimap"})


def own_gradients(context: Context) -> Iterator[tuple[Root, ast.Name]]:
    """Yield functions under ``pmap`` with the gradients of one device that they step with.

    The loss or a metric of such a function is reduced over the devices, or the axis is called so, which shows that
    these share one batch.
    """
    for root in context.traced.roots:
        if last(root.transform) != "pmap" or root.scope.module not in context.asked or in_test(root.scope):
            continue
        if option(root, "axis_name", 1) is None:
            continue
        used = _used(context, root.function.scope)
        if _given_back(context, root.function.scope, used):
            continue
        asked = _asked(context, root) if used else set()
        shared = bool(asked) or _of_one_batch(context, root)
        if used and shared and not _following(context, root.function.scope, used) & asked:
            yield root, used[0]


def _of_one_batch(context: Context, root: Root) -> bool:
    """Say whether an axis is called so as if devices shared a batch, in a project where no code but that of layers, for
    the statistics of a batch, asks other devices."""
    name = constant(option(root, "axis_name", 1))
    if not isinstance(name, str) or not _BATCH.search(name):
        return False
    return not any(
        last_word(node) in _ASKING and node not in context.shared(_in_layers)
        for module in context.project.modules
        if any(module.source.mentions(word.encode()) for word in _ASKING)
        for node in module.source.of_type(ast.Name, ast.Attribute)
    )


def _in_layers(context: Context) -> frozenset[ast.AST]:
    """Return what stands in classes of layers."""
    return frozenset(
        node
        for module in context.project.modules
        for cls in module.classes
        if any(last_word(base) == "Module" for base in cls.node.bases)
        for node in ast.walk(cls.node)
    )


def _used(context: Context, scope: Scope) -> list[ast.Name]:
    """Return the variables with gradients that a step takes as they are."""
    given = [
        argument
        for event in context.bodies.calls.get(scope, ())
        if last_word(event.node.func) in _STEPPING or _UPDATE.search(last_word(event.node.func))
        for argument in (*event.node.args, *(k.value for k in event.node.keywords if k.arg in _TAKING))
    ]
    given += [
        side
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        for side in (node.left, node.right)
    ]
    values, flow = scope.module.values, context.flow
    return [
        one
        for one in given
        if isinstance(one, ast.Name) and one in values and gradient(flow, flow.here(values[one], scope)) is not None
        if not _beside(context, scope, values[one]) and not _without_batch(context, scope, values[one])
    ]


def _without_batch(context: Context, scope: Scope, value: Value) -> bool:
    """Say whether a gradient is that of a function that gets one argument, the parameters, and takes nothing else from
    the body around the call: of a penalty, which all devices compute alike."""
    found = gradient(context.flow, context.flow.here(value, scope))
    call = found.call.value if found is not None else None
    made = found.transform.value if found is not None else None
    if not isinstance(call, Call) or not isinstance(made, Call) or call.starred or made.starred or not made.args:
        return False
    if len(call.node.args) != 1 or call.node.keywords:
        return False
    assert found is not None
    callees = context.flow.calls.callables(context.flow.follow(found.transform, made.args[0]))
    inner = [callee.function.scope.parent for callee in callees if not callee.args and not callee.keywords]
    if not callees or len(inner) != len(callees):
        return False
    return not any(_within(one, scope) for one in inner)


def _within(inner: Scope | None, scope: Scope) -> bool:
    """Say whether a scope is another one, or lies in it."""
    while inner is not None:
        if inner is scope or inner.function is scope.function:
            return True
        inner = inner.parent
    return False


def _given_back(context: Context, scope: Scope, used: list[ast.Name]) -> bool:
    """Say whether a function returns the gradients themselves: whoever steps with them may reduce them first."""
    names = {one.id for one in used}
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple | ast.List) else [node.value]
            parts += node.value.values if isinstance(node.value, ast.Dict) else []
            if any(isinstance(part, ast.Name) and part.id in names for part in parts):
                return True
    return False


def _beside(context: Context, scope: Scope, value: Value) -> bool:
    """Say whether a value is the loss, or what a loss returns beside it, and no gradient."""
    places: list[object] = []
    while isinstance(value, Item):
        places.append(value.index.value if isinstance(value.index, Const) else None)
        value = value.base
    if not places:
        return False
    found = gradient(context.flow, context.flow.here(value, scope))
    if found is None or not isinstance(made := found.transform.value, Call):
        return False
    if context.flow.calls.wrapper_name(found.transform, made).endswith("value_and_grad"):
        return places[-1] == 0
    aux = keyword(made.node, "has_aux")
    return aux is not None and constant(aux) is not False and places[-1] == 1


def _asked(context: Context, root: Root) -> set[str]:
    """Return the variables of which a function asks the other devices; none if other functions may ask, too."""
    scope = root.function.scope
    asking = [n for n in ast.walk(root.function.node) if isinstance(n, ast.Call) and last_word(n.func) in _ASKING]
    if any(context.bodies.home(call) is not scope for call in asking):
        return set()
    for event in context.bodies.calls.get(scope, ()):
        for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, scope)):
            if any(last_word(node) in _ASKING for node in ast.walk(callee.function.node)):
                return set()
    return {name for call in asking for one in call.args for name in names_in(one)}


def _following(context: Context, scope: Scope, used: list[ast.Name]) -> set[str]:
    """Return gradients with what is computed of them from their use on: before, names are of other values."""
    found, more = {one.id for one in used}, True
    first = min(one.lineno for one in used)
    while more:
        before = len(found)
        for node in context.bodies.nodes(scope):
            if isinstance(node, ast.Assign) and node.lineno >= first and names_in(node.value) & found:
                found |= {name for target in node.targets for name in names_in(target)}
        more = len(found) > before
    return found
