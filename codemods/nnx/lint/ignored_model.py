"""Losses that run a model of outside and never the one they are differentiated for; part of NNX852."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Free, Param, Value

_DEPTH = 3  # helpers between the loss and what runs the model
# what is called to say that a parameter has no use, and what only sets a mode
_UNUSED = ("_", "dummy", "unused")
_MODES = frozenset({"train", "eval", "set_attributes", "sow", "perturb"})


def ignored_models(context: Context) -> list[tuple[FunctionFacts, ast.expr, str, str]]:
    """Return the losses that never read what they are differentiated for, as found once for all rules.

    Args:
        context: the analysis.

    Returns:
        Of each the loss, the expression in it, what is wrong, and what to do.
    """
    return context.shared(_every)


def _every(context: Context) -> list[tuple[FunctionFacts, ast.expr, str, str]]:
    return list(_ignored_models(context))


def _ignored_models(context: Context) -> Iterator[tuple[FunctionFacts, ast.expr, str, str]]:
    """Yield the losses that never read what they are differentiated for, and run another object, or no object at all.

    Yields:
        The loss, the expression in it, what is wrong, and what to do.
    """
    told: set[FunctionFacts] = set()
    for root in context.traced.gradients:
        function = root.function
        if root.partial or function in told or function.scope.module not in context.asked or in_test(root.scope):
            continue
        param = differentiated(root)
        if param is None or param.name.startswith(_UNUSED):
            continue
        if _read(function, param):
            yield from _wasted(context, root, param)
            continue
        told.add(function)
        found = next(_runs(context, root, function, 0, {function}), None)
        name = param.name
        if found is None:
            result = _result(function)
            if result is not None and kinds_of(context, param, function.scope) == {Kind.MODULE}:
                yield (
                    function,
                    result,
                    f"the loss never uses its own argument `{name}`, for which the gradient is taken: it is zero",
                    f"compute in the loss what it needs of `{name}`: what was made before is a number to it",
                )
            continue
        call, text, direct = found
        yield (
            function,
            call.node,
            f"the loss runs {text} and never its own argument `{name}`, for which the gradient is taken: it is zero"
            if direct
            else f"`{ast.unparse(call.node.func)}` runs {text}, and the loss never its own argument `{name}`, for "
            "which the gradient is taken: it is zero",
            f"use `{name}` instead" if direct else f"give it `{name}`, and use that instead",
        )


def _wasted(context: Context, root: Root, param: Param) -> Iterator[tuple[FunctionFacts, ast.expr, str, str]]:
    """Yield the call of a model by a loss that reads its argument only for results which nobody takes."""
    function = root.function
    dead, names = dead_values(function)
    if not dead or _read(function, param, dead):
        return
    for call in context.bodies.calls.get(function.scope, ()):
        if any(isinstance(n, ast.Name) and n.id == param.name for n in ast.walk(call.node.func)) and call.node in dead:
            yield (
                function,
                call.node,
                f"the loss never uses `{names[0]}`, all that it makes of `{param.name}`, for which the gradient is "
                "taken: it is zero",
                f"use `{names[0]}` in the loss, instead of what is taken from elsewhere",
            )
            return


def _result(function: FunctionFacts) -> ast.expr | None:
    """Return what a function with one way out gives, if that is computed of other things."""
    if isinstance(function.node, ast.Lambda):
        result: ast.expr | None = function.node.body
    else:
        exits = [n for n in ast.walk(function.node) if isinstance(n, ast.Return | ast.Raise)]
        result = exits[0].value if len(exits) == 1 and isinstance(exits[0], ast.Return) else None
    return result if result is not None and any(isinstance(n, ast.Name) for n in ast.walk(result)) else None


def dead_values(function: FunctionFacts) -> tuple[set[ast.AST], list[str]]:
    """Return all parts of the values that a function binds to names which nothing reads, and these names.

    Args:
        function: the function.
    """
    bound: list[tuple[set[str], ast.expr]] = []
    kept: set[str] = set()
    for node in ast.walk(function.node):
        if isinstance(node, ast.Global | ast.Nonlocal):
            kept.update(node.names)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            parts = elements(target)
            if all(isinstance(one, ast.Name) for one in parts):
                bound.append(({one.id for one in parts if isinstance(one, ast.Name)}, node.value))
    dead: set[ast.AST] = set()
    names: list[str] = []
    before = -1
    while before != len(dead):
        before = len(dead)
        loaded = {
            n.id
            for n in ast.walk(function.node)
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store) and n not in dead
        }
        for targets, value in bound:
            if value not in dead and not targets & (loaded | kept):
                dead.update(ast.walk(value))
                names += sorted(targets)
    return dead, names


def differentiated(root: Root) -> Param | None:
    """Return the parameter with respect to which a gradient is taken, if it is one.

    Args:
        root: the gradient of a loss.
    """
    function = root.function
    numbers = argument(root.options, 1, "argnums") if root.options is not None else None
    if isinstance(numbers, ast.Call) and last_word(numbers.func) == "DiffState" and numbers.args:
        place = constant(numbers.args[0])
        params = [one for one in function.params.values() if one is not function.self_param]
        return params[place] if type(place) is int and 0 <= place < len(params) else None
    if isinstance(numbers, ast.Name | ast.Attribute | ast.Subscript):
        return None
    wanted = [param for name, param in function.params.items() if name not in root.static]
    return wanted[0] if len(wanted) == 1 else None


def _read(function: FunctionFacts, param: Param, besides: Collection[ast.AST] = ()) -> bool:
    """Say whether a function, or one in it, reads a parameter, other than to set its mode, or in some places."""
    found = loads_of(function, param)
    return found is None or any(node not in besides for node in found)


def loads_of(function: FunctionFacts, param: Param) -> list[ast.Name] | None:
    """Return where a function, or one in it, reads a parameter, other than to set its mode; None if that is not known.

    Args:
        function: the function.
        param: the parameter.
    """
    values = function.scope.module.values
    modes: set[ast.AST] = set()
    for node in ast.walk(function.node):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            func = node.value.func
            if isinstance(func, ast.Attribute) and func.attr in _MODES:
                modes.add(func.value)
        elif isinstance(node, ast.Name) and node.id in {"locals", "vars", "eval", "exec"}:
            return None
    return [
        node
        for node in ast.walk(function.node)
        if isinstance(node, ast.Name)
        and node.id == param.name
        and isinstance(node.ctx, ast.Load)
        and node not in modes
        and not _other(values.get(node), function)
    ]


def _other(value: Value | None, function: FunctionFacts) -> bool:
    """Say whether a name was given to something else than what was passed."""
    return isinstance(value, Attr | Call) or (isinstance(value, Free) and value.scope is not function.scope)


def _runs(
    context: Context, root: Root, function: FunctionFacts, depth: int, seen: set[FunctionFacts]
) -> Iterator[tuple[CallEvent, str, bool]]:
    """Yield the calls by which a function runs modules, with the text of the module, and whether it runs it itself."""
    inner = [one for one in function.scope.module.functions if _within(one, function)]
    seen.update(inner)
    for event in (call for one in inner for call in context.bodies.calls.get(one.scope, ())):
        func = event.node.func
        if _module(context, root, event, func) or (
            isinstance(func, ast.Attribute)
            and func.attr not in _MODES
            and not _of_self(event, func.value)
            and _module(context, root, event, func.value)
        ):
            given = depth and isinstance(event.value.callee, Param)
            yield event, "another model" if given else f"`{ast.unparse(func)}` of outside", not depth
            continue
        if depth == _DEPTH or context.flow.calls.name(event):
            continue
        for called, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
            if called.function not in seen:
                seen.add(called.function)
                for _, text, _ in _runs(context, root, called.function, depth + 1, seen):
                    yield event, text, False


def _within(inner: FunctionFacts, outer: FunctionFacts) -> bool:
    found: FunctionFacts | None = inner
    while found is not None and found is not outer:
        found = enclosing_function(found.scope.parent)
    return found is outer


def _of_self(event: CallEvent, node: ast.expr) -> bool:
    """Say whether an expression is the object whose method the code belongs to."""
    function = event.scope.function
    while function is not None and function.owner is None:
        function = enclosing_function(function.scope.parent)
    own = function.self_param if function is not None else None
    return own is not None and isinstance(node, ast.Name) and node.id == own.name


def _module(context: Context, root: Root, event: CallEvent, node: ast.expr) -> bool:
    """Say whether an expression is a module for certain, or what the gradient of NNX is taken of."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    held = event.scope.module.values.get(node)
    if held is None:
        return False
    if kinds_of(context, held, event.scope) == {Kind.MODULE}:
        return True
    return root.transform.startswith("flax.nnx.") and any(
        call.node.args and ast.unparse(call.node.args[0]) == ast.unparse(node)
        for call in context.bodies.calls.get(root.scope, ())
        if getattr(call.value.callee, "node", None) is root.node
    )
