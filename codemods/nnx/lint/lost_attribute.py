"""Attributes of a pytree that compiled code sets on its own copy of the object; part of NNX741."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts
from codemods.nnx.lint.origins import made
from codemods.nnx.lint.places import compiled_roots, in_test, position
from codemods.nnx.lint.syntax import argument
from codemods.nnx.lint.traced import Root
from codemods.nnx.lint.unlike_rebuilt import registered
from codemods.nnx.values import Call, Class

_LOOPS = ast.For | ast.While | ast.AsyncFor


def lost_attributes(context: Context) -> Iterator[tuple[FunctionFacts, ast.AST, str, str]]:
    """Yield where compiled code sets an attribute of an argument that it neither reads again nor gives back.

    Yields:
        The function, the statement, the argument and its attribute.
    """
    if not any(module.source.mentions(b"register_pytree") for module in context.project.modules):
        return
    classes = {cls for cls, _, _ in registered(context)}
    for root in compiled_roots(context) if classes else ():
        function = root.function
        if function.scope.module not in context.asked or in_test(function.scope) or function.generator:
            continue
        if root.transform != "jax.jit" or root.partial or root.bound or isinstance(function.node, ast.Lambda):
            continue
        for name, param in function.params.items():
            if name in root.static or not _stored(context, function, name):
                continue
            own = param is function.self_param
            cls = function.owner if own else _class_of(context, root, name)
            found = _lost(context, function, name, cls) if cls in classes and cls is not None else None
            if found is not None:
                yield function, *found


def _stored(context: Context, function: FunctionFacts, name: str) -> list[ast.Attribute]:
    return [
        n
        for n in context.bodies.nodes(function.scope)
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and _is_name(n.value, name)
    ]


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _class_of(context: Context, root: Root, name: str) -> ClassFacts | None:
    """Return the one class of which every call of a compiled function gives an object."""
    found: set[ClassFacts | None] = set()
    for event in context.traced.calls_of(root):
        given = argument(event.node, position(root.function.params[name]), name)
        bound = made(context, given, event.scope) if given is not None and not event.value.starred else None
        call = bound.value if bound is not None else None
        callee = context.flow.follow(bound, call.callee).value if bound is not None and isinstance(call, Call) else None
        found.add(callee.facts if isinstance(callee, Class) else None)
    return found.pop() if len(found) == 1 else None


def _lost(context: Context, function: FunctionFacts, name: str, cls: ClassFacts) -> tuple[ast.AST, str, str] | None:
    """Return the first attribute that is set last thing before an object is dropped; None if it may get out."""
    nodes = list(ast.walk(function.node))
    bases = {n.value: n for n in nodes if isinstance(n, ast.Attribute)}
    reads = [n for n in nodes if _is_name(n, name)]
    if any(n not in bases for n in reads) or any(isinstance(n, ast.Call) and _asks(n) for n in nodes):
        return None
    uses = [bases[n] for n in reads if isinstance(n, ast.Name)]
    if any(isinstance(n, _LOOPS) and any(m in uses for m in ast.walk(n)) for n in nodes):
        return None
    own = {method for parent in context.flow.classes.mro(cls)[0] for method in parent.methods}
    statements = [n for n in nodes if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign)]
    for target in _stored(context, function, name):
        statement = next((one for one in statements if target in ast.walk(one)), None)
        if statement is None or target.attr in own:
            continue
        end = statement.end_lineno or statement.lineno
        later = [one for one in uses if one.lineno > end and isinstance(one.ctx, ast.Load)]
        if not any(one.attr == target.attr or one.attr in own for one in later):
            return statement, name, target.attr
    return None


def _asks(call: ast.Call) -> bool:
    """Say whether a call may see all variables of a function, or all attributes of an object."""
    return isinstance(call.func, ast.Name) and call.func.id in {"vars", "locals", "setattr", "super"}
