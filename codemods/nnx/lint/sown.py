"""Values that a model sows or keeps in a list, and nobody takes away; part of NNX919."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.owners import plain_module
from codemods.nnx.lint.places import compiled_roots, in_test
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Changed

_TAKING = (b"nnx.pop", b"capture", b"import pop", b"reduce_fn", b"del model.", b"clear_intermediates")


def never_taken(context: Context) -> Iterator[CallEvent]:
    """Yield the calls of ``self.sow`` in a project that trains in a loop and never pops what was sown."""
    events = [event for event in context.bodies.named("sow") if _sows(context, event)]
    if not events or any(word in module.source.data for module in context.project.modules for word in _TAKING):
        return
    if not any(_in_loop(context)):
        return
    for event in events:
        if event.scope.module in context.asked and not in_test(event.scope):
            blocks = context.bodies.paths(event.scope).get(event.node, ())
            if all(isinstance(block, ast.For) and arm == "body" for block, arm in blocks):
                yield event


def lists_growing(context: Context) -> Iterator[tuple[CallEvent, str]]:
    """Yield where a forward pass appends to an nnx.List of its module, which compiled steps in a loop make longer."""
    candidates: list[tuple[CallEvent, str]] = []
    for event in context.bodies.named("append"):
        function, callee = event.scope.function, event.value.callee
        if (
            function is None
            or function.owner is None
            or not isinstance(callee, Attr)
            or function not in context.traced.known
        ):
            continue
        held = callee.base
        if not isinstance(held, Attr) or held.base is not function.self_param or function.name in _BUILDING:
            continue
        if function not in context.traced or event.scope.module not in context.asked or in_test(event.scope):
            continue
        if not context.bodies.paths(event.scope).get(event.node) and _kept_list(context, function, held.name):
            candidates.append((event, held.name))
    if not candidates or any(word in module.source.data for module in context.project.modules for word in _TAKING):
        return
    for event, name in candidates:
        assert event.scope.function is not None
        if any(_repeated(context, root) for root in _roots(context, event.scope.function)):
            yield event, name


def _roots(context: Context, function: FunctionFacts) -> list[Root]:
    """Return the transforms of the functions in which a function runs on tracers, however deep."""
    found: list[Root] = []
    seen: dict[FunctionFacts, None] = {}
    waiting: list[FunctionFacts | None] = [function]
    while waiting:
        one = waiting.pop()
        tracing = context.traced.get(one)
        if one is None or one in seen or tracing is None:
            continue
        seen[one] = None
        found += tracing.roots
        waiting += [site.caller.function for site in tracing.sites if site.caller is not None]
        waiting.append(enclosing_function(one.scope.parent) if one.scope.parent is not None else None)
    return found


def _repeated(context: Context, root: Root) -> bool:
    """Say whether a function that nnx.jit compiled is called in a loop."""
    return root.transform == "flax.nnx.jit" and any(
        isinstance(loop, ast.For | ast.While) for call in context.traced.calls_of(root) for loop in call.loops
    )


_BUILDING = frozenset({"__init__", "setup", "__post_init__", "build"})
_LISTS = frozenset({"flax.nnx.List", "flax.nnx.data"})


def _kept_list(context: Context, method: FunctionFacts, name: str) -> bool:
    """Say whether an attribute is a list that the constructor makes, and that nothing makes shorter or anew."""
    if method.owner is None or not plain_module(context, method.owner):
        return False
    parents = context.flow.classes.mro(method.owner)[0]
    # what is appended counts as a change of the attribute, too
    stores = [one for parent in parents for one in parent.stores.get(name, ()) if not isinstance(one[1], Changed)]
    events = [one for one in context.flow.fields.stores().get(name, ()) if not isinstance(one.stored, Changed)]
    if len(stores) != 1 or any(one.scope.function is not stores[0][0] for one in events):
        return False
    init, made = stores[0]
    if init.name != "__init__" or context.flow.calls.callee_name(context.flow.here(made, init.scope)) not in _LISTS:
        return False
    callers = (one.scope.function for one in context.flow.sites.callers(method))
    if any(one is not None and one.name in _BUILDING for one in callers):
        return False
    return not any(_shortens(module.source, name) for module in context.project.modules)


_SHORTER = frozenset({"clear", "pop", "remove", "popleft"})


def _shortens(source: Source, name: str) -> bool:
    """Say whether a text takes elements out of a list that is an attribute of a name."""
    if not source.mentions(name.encode()):
        return False
    calls = (call.func for call in source.of_type(ast.Call) if last_word(call.func) in _SHORTER)
    gone = (target for node in source.of_type(ast.Delete) for target in node.targets)
    stored = (target for node in source.of_type(ast.Assign) for target in node.targets)
    filled = (one for one in stored if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Slice))
    places = (*calls, *gone, *filled)
    return any(isinstance(one, ast.Attribute) and one.attr == name for place in places for one in ast.walk(place))


def _sows(context: Context, event: CallEvent) -> bool:
    function, callee = event.scope.function, event.value.callee
    return (
        function is not None
        and function.owner is not None
        and isinstance(callee, Attr)
        and callee.base is function.self_param
        and plain_module(context, function.owner)
    )


def _in_loop(context: Context) -> Iterator[bool]:
    """Yield True for every call of a function compiled by nnx.jit in a loop, in a project that differentiates."""
    if not any(True for _ in context.bodies.named("grad", "value_and_grad")):
        return
    for root in compiled_roots(context):
        if root.transform == "flax.nnx.jit":
            for call in context.traced.calls_of(root):
                if any(isinstance(loop, ast.For | ast.While) for loop in call.loops):
                    yield True
