"""What calls of compiled functions give for static arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import layers, on_object
from codemods.nnx.lint.places import compiled_roots, received
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Class, Ref


def static_arguments(context: Context, receivers: bool = False) -> Iterator[tuple[CallEvent, ast.expr, str]]:
    """Yield what calls in the modules asked about give for static parameters: call, argument, parameter's name.

    Args:
        context: the analysis.
        receivers: whether to yield the objects too whose methods are called, where ``self`` is static.
    """
    for event, node, name, _ in static_parameters(context, receivers):
        yield event, node, name


def static_parameters(
    context: Context, receivers: bool = False
) -> Iterator[tuple[CallEvent, ast.expr, str, FunctionFacts]]:
    """Yield what :func:`static_arguments` yields, with the function that is called.

    Args:
        context: the analysis.
        receivers: whether to yield the objects too whose methods are called, where ``self`` is static.
    """
    roots = {root.function: root for root in compiled_roots(context) if root.options is not None and root.declared}
    for function, root in roots.items():
        before = [name for name in function.params if name in root.static - root.declared]  # those bound before
        if not root.partial:  # the others have the axis None
            before = before[: int(root.bound)]
        given = [name for name in function.params if name not in before]
        positions = {name: given.index(name) for name in given if name in root.declared}
        named = set(list(function.params)[function.positional :])  # behind `*`, given by keyword alone
        for event in context.flow.sites.callers(function):
            if event.value.starred or event.node is root.node or event.scope.module not in context.asked:
                continue
            if _defined_again(event, function):
                continue
            callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope))
            if isinstance(callee.value, Ref):
                continue  # a function of a library that is given the compiled one, as fori_loop its body
            if not function.decorators and not isinstance(callee.value, Call):
                continue  # the function itself, not what jit made of it
            if not root.decorator and not _holds(context, callee, root):
                continue  # the function under another decorator, or another object made of it, as by vmap
            if not root.partial and _bound_before(context, callee):
                continue
            shift = 0 if root.bound or root.partial else _receiver(context, event, function)
            method = function.binding == "instance" and isinstance(event.value.callee, Attr)
            if method and not on_object(context, event):
                shift = 0  # `Net.apply(net, x)`: the class has no object to give
            for name, index in positions.items():
                position = index - shift
                if 0 <= position < len(event.node.args) and name not in named:
                    yield event, event.node.args[position], name, function
                elif position < 0 and receivers and function.binding == "instance":  # a class has a hash
                    yield event, _object(event.node.func, function), name, function
                for keyword in event.node.keywords:
                    if keyword.arg == name:
                        yield event, keyword.value, name, function


def _defined_again(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether another function of its name stands between a function and the one that calls it: as in notebooks,
    that other one is called."""
    home, inner = function.scope.parent, event.scope
    while inner.parent is not None and inner.parent is not home:
        inner = inner.parent
    if inner.parent is None or inner.function is None or inner.module is not function.scope.module:
        return False
    first, last = function.node.lineno, inner.function.node.lineno
    return any(
        other.name == function.name and other.scope.parent is home and first < other.node.lineno < last
        for other in inner.module.functions
    )


def _holds(context: Context, callee: Bound, root: Root) -> bool:
    """Say whether a callee is what an application of ``jit`` made, or holds it."""
    return any(isinstance(layer.value, Call) and layer.value.node is root.node for layer in layers(context, callee))


def _bound_before(context: Context, callee: Bound) -> bool:
    """Say whether some arguments were bound to compiled code behind a callee, as in ``vmap(partial(compiled, 3))``."""
    return any(context.flow.calls.callee_name(layer) == "functools.partial" for layer in layers(context, callee))


def _object(callee: ast.expr, function: FunctionFacts) -> ast.expr:
    """Return the object whose method a call calls."""
    return callee.value if isinstance(callee, ast.Attribute) and callee.attr == function.name else callee


def _receiver(context: Context, event: CallEvent, function: FunctionFacts) -> int:
    """Return how many first parameters a call gets from the object whose method it calls."""
    if not received(function):
        return 0
    callee = context.flow.here(event.value.callee, event.scope)
    for layer in layers(context, callee):
        made = layer.value
        if isinstance(made, Call) and made.node is not event.node and made.args:
            bound = _bound_method(context, context.flow.follow(layer, made.args[0]), function)
            if bound is not None:
                return bound  # vmap(self.method) takes what stands behind self
    bound = _bound_method(context, callee, function)  # in a name too: func = self.method
    return int(isinstance(event.node.func, ast.Attribute) or function.name == "__call__") if bound is None else bound


def _bound_method(context: Context, held: Bound, function: FunctionFacts) -> int | None:
    """Return how many first parameters the object of a method fills that a value holds; None if it holds none."""
    for one in (context.flow.resolve(held), *context.sources.originals(held)):
        if isinstance(one.value, Attr):
            base = context.flow.follow(one, one.value.base).value
            if one.value.name == function.name or not isinstance(base, Class):
                return int(function.binding == "class" or not isinstance(base, Class))
    return None
