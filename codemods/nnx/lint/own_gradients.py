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
_OPTIMIZER = re.compile(r"(^|_)(opt|optim|optimi[sz]er|state)$")
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
        if _given_back(context, root.function.scope, used) and not _stepped(context, root.function.scope, used):
            continue
        asked = _asked(context, root) if used else {}
        shared = bool(asked) or _of_one_batch(context, root)
        if not used or not shared:
            continue
        following = _following(context, root.function.scope, used)
        if not any(following.get(name, line + 1) <= line for name, line in asked.items()):
            yield root, used[0]


def _of_one_batch(context: Context, root: Root) -> bool:
    """Say whether an axis is called so as if devices shared a batch, in a project where no code asks other devices but
    that of layers, for the statistics of a batch, and of other functions that are mapped."""
    name = constant(option(root, "axis_name", 1))
    if not isinstance(name, str) or not _BATCH.search(name):
        return False
    others = {
        node
        for one in context.traced.roots
        if last(one.transform) == "pmap" and one.function is not root.function
        for node in ast.walk(one.function.node)
    } - set(ast.walk(root.function.node))
    return not any(
        last_word(node) in _ASKING and node not in context.shared(_in_layers) and node not in others
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


def _stepped(context: Context, scope: Scope, used: list[ast.Name]) -> bool:
    """Say whether an optimizer that changes its model in place gets the gradients in this body."""
    return any(
        isinstance(event.node.func, ast.Attribute)
        and event.node.func.attr == "update"
        and not event.used
        and any(argument in used for argument in event.node.args)
        and _OPTIMIZER.search(last_word(event.node.func.value)) is not None
        for event in context.bodies.calls.get(scope, ())
    )


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


def _asked(context: Context, root: Root) -> dict[str, int]:
    """Return the variables of which a function asks the other devices, itself or by other functions, with the last line
    where it does; none if the loss may ask, too."""
    scope = root.function.scope
    asking = [n for n in ast.walk(root.function.node) if isinstance(n, ast.Call) and last_word(n.func) in _ASKING]
    calls = context.bodies.calls.get(scope, ())
    mapped = {
        node: event.node
        for event in calls
        if last_word(event.node.func) in {"map", "tree_map"} and event.node.args
        for node in ast.walk(event.node.args[0])
        if isinstance(event.node.args[0], ast.Lambda)
    }
    found: dict[str, int] = {}
    for call in asking:
        whole = mapped.get(call, call)
        if context.bodies.home(whole) is not scope:
            return {}
        given = whole.args if whole is call else whole.args[1:]
        found |= {name: max(call.lineno, found.get(name, 0)) for one in given for name in names_in(one)}
    for event in calls:
        for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
            if any(last_word(node) in _ASKING for node in ast.walk(callee.function.node)):
                if callee.gradient:
                    return {}
                if callee.function.node in mapped:
                    continue
                given = [*event.node.args, *(word.value for word in event.node.keywords)]
                found |= {name: event.node.lineno for one in given for name in names_in(one)}
    return found


def _following(context: Context, scope: Scope, used: list[ast.Name]) -> dict[str, int]:
    """Return gradients with what is computed of them from their use on, and from which line on: before, names are of
    other values."""
    first = min(one.lineno for one in used)
    found, more = {one.id: first for one in used}, True
    while more:
        before = len(found)
        for node in context.bodies.nodes(scope):
            if isinstance(node, ast.Assign) and node.lineno >= first and names_in(node.value) & set(found):
                for name in (name for target in node.targets for name in names_in(target)):
                    found[name] = min(node.lineno, found.get(name, node.lineno))
        more = len(found) > before
    return found
