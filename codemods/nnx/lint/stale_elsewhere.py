"""Models that a state was split off for training, and that other functions and methods evaluate; part of NNX992."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Free

_KEPT = pattern(r"teacher|target|ref|frozen|old|init|base|prior|orig|before|pretrain|anchor|template")
_PUTTING = frozenset({"update", "load_state_dict", "copy_to", "sync", "merge", "setattr", "__setattr__"})


def elsewhere_called(
    context: Context, scope: Scope, loop: ast.For | ast.While, model: str, source: str
) -> tuple[ast.expr, Scope] | None:
    """Return where a function that a loop calls runs a model of outside, and the scope of that.

    Args:
        context: the analysis.
        scope: the scope of the loop, in which the model has its name.
        loop: a loop that trains what was split off the model.
        model: the model's name.
        source: the name of what is trained.
    """
    if any(_puts(node, model) for node in ast.walk(scope.node)):
        return None
    for event in context.bodies.calls.get(scope, ()):
        given = [*event.node.args, *(k.value for k in event.node.keywords)]
        if loop not in event.loops or any(source in names_in(one) for one in given):
            continue
        functions = {c.function for c, _ in context.flow.calls.invoked(context.flow.here(event.value, scope))}
        function = functions.pop() if len(functions) == 1 else None
        if function is None or function in context.traced or function.scope.module is not scope.module:
            continue  # of compiled code NNX801 tells
        if in_test(function.scope) or source in names_in(function.node):
            continue
        for call in context.bodies.calls.get(function.scope, ()):
            name = call.node.func
            value = function.scope.module.values.get(name)
            if isinstance(name, ast.Name) and name.id == model and isinstance(value, Free) and value.scope is scope:
                return call.node, function.scope
    return None


def behind_called(
    context: Context, scope: Scope, loop: ast.For | ast.While, model: str, source: str
) -> ast.Call | None:
    """Return where a model is run or evaluated behind a loop, where nothing reads what was trained of it.

    Args:
        context: the analysis.
        scope: the scope of the loop.
        loop: a loop that trains what was split off the model.
        model: the model's name.
        source: the name of what is trained.
    """
    end = loop.end_lineno or loop.lineno
    behind = [n for n in ast.walk(scope.node) if getattr(n, "lineno", 0) > end]
    names = [n for n in behind if isinstance(n, ast.Name)]
    if any(n.id == source or (n.id == model and not isinstance(n.ctx, ast.Load)) for n in names):
        return None
    words = {last_word(n.func) for n in behind if isinstance(n, ast.Call)}
    if words & _PUTTING or any(_puts(node, model) for node in ast.walk(scope.node)):
        return None
    paths = context.bodies.paths(scope)
    for event in context.bodies.calls.get(scope, ()):
        if event.node.lineno <= end or paths.get(event.node, ()) != paths.get(loop, ()):
            continue
        given = {n.id for n in event.node.args if isinstance(n, ast.Name)}
        called = isinstance(event.node.func, ast.Name) and event.node.func.id == model
        if called or (model in given and _EVALUATING.search(last_word(event.node.func))):
            return event.node
    return None


_EVALUATING = pattern(r"(^|_)(eval\w*|accuracy|valid\w*|acc|test|predict\w*)(_|$)")


def _puts(node: ast.AST, model: str) -> bool:
    """Say whether a node may put new parameters into a model, or is a call that is given it to do so."""
    if isinstance(node, ast.Call) and last_word(node.func) in _PUTTING:
        return model in names_in(node)
    if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
        return model in names_in(node.value)
    return isinstance(node, ast.Global | ast.Nonlocal) and model in node.names


def stale_attributes(context: Context) -> Iterator[tuple[Scope, ast.Call, str, str]]:
    """Yield the calls of a model that an object keeps beside the state that was split off it, which a method trains.

    Args:
        context: the analysis.

    Returns:
        Of each the scope, the call, and the texts of the model and of the state.
    """
    for module in context.asked.modules:
        if not module.source.mentions(b"split") or not module.source.mentions(b"nnx"):
            continue
        for cls in module.classes:
            init = cls.methods.get("__init__")
            if init is None or in_test(init.scope):
                continue
            for model, source in _split(context, init):
                if _trains(context, cls, init, source) and not _put_back(context, cls, model):
                    yield from _called(context, cls, init, model, source)


def _split(context: Context, init: FunctionFacts) -> Iterator[tuple[str, str]]:
    """Yield the attributes that hold a model and what a constructor split off it."""
    held: dict[str, str] = {}  # variables that become attributes
    for node in context.bodies.nodes(init.scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _own(init, node.targets[0]):
            if isinstance(node.value, ast.Name):
                held[node.value.id] = last_word(node.targets[0])
    for node in context.bodies.nodes(init.scope):
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        call = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or len(call.args) != 1:
            continue
        value = init.scope.module.values.get(call)
        if last_word(call.func) != "split" or not isinstance(value, Call) or len(target.elts) != 2:
            continue
        given = call.args[0]
        model = last_word(given) if _own(init, given) else held.get(last_word(given), "")
        if not model or _KEPT.search(model) or not _own(init, target.elts[1]):
            continue
        if context.flow.calls.callee_name(context.flow.here(value, init.scope)) == "flax.nnx.split":
            yield model, last_word(target.elts[1])


def _own(function: FunctionFacts, node: ast.expr) -> bool:
    """Say whether an expression is an attribute of the object of a method."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and function.self_param is not None
        and node.value.id == function.self_param.name
    )


def _trains(context: Context, cls: ClassFacts, init: FunctionFacts, source: str) -> bool:
    """Say whether a method gives an attribute what a call makes of its old value."""
    for method in cls.methods.values():
        for node in context.bodies.nodes(method.scope) if method is not init else ():
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            targets = [n for t in node.targets for n in (t.elts if isinstance(t, ast.Tuple) else [t])]
            given = [*node.value.args, *(k.value for k in node.value.keywords)]
            if any(_own(method, one) and last_word(one) == source for one in targets):
                if any(_own(method, one) and last_word(one) == source for one in given):
                    return True
    return False


def _put_back(context: Context, cls: ClassFacts, model: str) -> bool:
    """Say whether anything but the constructor may give the attribute with the model other parameters."""
    for module in context.project.modules:
        if not module.source.mentions(model.encode()):
            continue
        for node in ast.walk(module.scope.node):
            if isinstance(node, ast.Call) and last_word(node.func) in _PUTTING and _speaks_of(node, model):
                return True
            if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                if _speaks_of(node.value, model):
                    return True
    stores = context.flow.fields.stores().get(model, ())
    return any(
        store.scope.function is None
        or (store.scope.function.owner is cls and store.scope.function.name != "__init__")
        or store.scope.function.owner is None
        for store in stores
    )


def _speaks_of(node: ast.AST, attribute: str) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == attribute for n in ast.walk(node))


def _called(
    context: Context, cls: ClassFacts, init: FunctionFacts, model: str, source: str
) -> Iterator[tuple[Scope, ast.Call, str, str]]:
    for method in cls.methods.values():
        if method is init or method in context.traced:
            continue
        for event in context.bodies.calls.get(method.scope, ()):
            if _own(method, event.node.func) and last_word(event.node.func) == model:
                yield method.scope, event.node, f"self.{model}", f"self.{source}"
                return
