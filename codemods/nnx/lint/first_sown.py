"""The first of all sown values, read after every call where nothing takes them away; part of NNX793."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.places import callers_of, each, in_test, kinds_of
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word

_TAKING = frozenset({"pop", "capture", "clone", "delattr", "split", "merge"})


def first_reads(context: Context, taking: bool) -> Iterator[tuple[Scope, ast.Subscript]]:
    """Yield what reads the first sown value again and again.

    Args:
        context: the analysis.
        taking: whether the project takes sown values away in other places; if not, only what is read twice in one body
            counts, once after each of two calls.
    """
    sown = {name for event in context.bodies.named("sow") if (name := _sown(event))}
    for scope, node in each(context, ast.Subscript) if sown else ():
        model = _read(node, sown) if constant(node.slice) == 0 else None
        value = scope.module.values.get(model) if model is not None else None
        if model is None or value is None or in_test(scope) or Kind.MODULE not in kinds_of(context, value, scope):
            continue
        runs = [
            event
            for event in context.bodies.calls.get(scope, ())
            if ast.unparse(event.node.func) == ast.unparse(model) and event.node.lineno <= node.lineno
        ]
        if not runs or _takes(context, scope):
            continue
        again = taking and (
            any(_again(event, model, node) for event in runs) or _repeated(context, scope.function, model)
        )
        if again or _read_before(context, scope, node, runs):
            yield scope, node


def _sown(event: CallEvent) -> str:
    """Return the name of what a call sows into a tuple of all values."""
    node = event.node
    if len(node.args) != 3 or node.keywords or not isinstance(node.func, ast.Attribute):
        return ""
    name = constant(node.args[1])
    return name if isinstance(name, str) and last_word(node.func.value) == "self" else ""


def _read(node: ast.Subscript, sown: set[str]) -> ast.Name | None:
    """Return the model of which a part of what was sown is read: ``model.hidden.value[0]``."""
    held: ast.expr = node.value
    if isinstance(held, ast.Call) and isinstance(held.func, ast.Attribute) and held.func.attr == "get_value":
        held = held.func.value
    elif isinstance(held, ast.Attribute) and held.attr in {"value", "raw_value"}:
        held = held.value
    if not isinstance(held, ast.Attribute) or held.attr not in sown:
        return None
    return held.value if isinstance(held.value, ast.Name) else None


def _read_before(context: Context, scope: Scope, node: ast.Subscript, runs: list[CallEvent]) -> bool:
    """Say whether the same was read before the model's last run, as if that run put its own value in the place."""
    text = ast.unparse(node)
    if any(context.bodies.paths(scope).get(one) for one in (node, *(event.node for event in runs))):
        return False
    return any(
        isinstance(other, ast.Subscript)
        and ast.unparse(other) == text
        and any(event.node.lineno < other.lineno for event in runs)
        and any(other.lineno < event.node.lineno < node.lineno for event in runs)
        and not context.bodies.paths(scope).get(other)
        for other in context.bodies.nodes(scope)
    )


def _takes(context: Context, scope: Scope) -> bool:
    """Say whether a body takes away what was sown, or makes a model anew."""
    return any(last_word(event.node.func) in _TAKING for event in context.bodies.calls.get(scope, ()))


def _again(event: CallEvent, model: ast.Name, node: ast.AST | None = None) -> bool:
    """Say whether a call stands in a loop, also around a node, that does not make its model."""
    for loop in event.loops:
        inner = list(ast.walk(loop))
        made = any(isinstance(n, ast.Name) and n.id == model.id and not isinstance(n.ctx, ast.Load) for n in inner)
        if not made and (node is None or node in inner):
            return True
    return False


def _repeated(context: Context, function: FunctionFacts | None, model: ast.Name) -> bool:
    """Say whether a function gets the same model in every round of a loop, which takes nothing away."""
    if function is None or model.id not in function.params:
        return False
    place = list(function.params).index(model.id)
    for caller in callers_of(context, function):
        given = caller.node.args[place] if place < len(caller.node.args) and not caller.value.starred else None
        if isinstance(given, ast.Name) and not _takes(context, caller.scope) and _again(caller, given):
            return True
    return False
