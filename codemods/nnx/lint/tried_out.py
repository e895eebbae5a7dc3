"""Functions that a script only tries out: a helper that goes on after their errors gets them, and nothing else does."""

from __future__ import annotations

import ast

from codemods.nnx.findings import Finding
from codemods.nnx.lint.syntax import handles
from codemods.nnx.source import Source


def tried_out(source: Source, finding: Finding) -> bool:
    """Say whether a mistake stands in a function that only helpers call which go on after errors, as ``attempt(f)``.

    Args:
        source: the source of the finding.
        finding: the finding.
    """
    helpers = source.once(_helpers)
    if not helpers:
        return False
    function = next(
        (
            node
            for node in source.tree.body
            if isinstance(node, ast.FunctionDef) and source.span(node)[0] <= finding.start < source.span(node)[1]
        ),
        None,
    )
    if function is None:
        return False
    again = [
        node.lineno
        for node in source.tree.body
        if node.lineno > function.lineno and isinstance(node, ast.FunctionDef) and node.name == function.name
    ]
    until = min(again, default=len(source.line_starts) + 1)
    handed = {
        name
        for call in source.of_type(ast.Call)
        if isinstance(call.func, ast.Name)
        for place in helpers.get(call.func.id, ())
        for name in _given(call, place)
    }
    uses = [
        node
        for node in source.of_type(ast.Name)
        if node.id == function.name and isinstance(node.ctx, ast.Load) and function.lineno < node.lineno < until
    ]
    return bool(uses) and all(one in handed for one in uses)


def _given(call: ast.Call, place: int) -> list[ast.Name]:
    """Return the name of the function that a call gives at a place, also of what a transform makes of it."""
    given = call.args[place] if place < len(call.args) else None
    while isinstance(given, ast.Call) and given.args:  # jax.jit(f)
        given = given.args[0]
    return [given] if isinstance(given, ast.Name) else []


def _helpers(source: Source) -> dict[str, list[int]]:
    """Return the functions of a file that call some of their parameters only where they go on after errors."""
    found: dict[str, list[int]] = {}
    for function in source.tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        caught = {
            node.func
            for block in ast.walk(function)
            if isinstance(block, ast.Try) and handles(block)
            for statement in block.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Call)
        }
        if not caught:
            continue
        called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
        for place, param in enumerate(function.args.args):
            calls = [one for one in called if isinstance(one, ast.Name) and one.id == param.arg]
            if calls and all(one in caught for one in calls):
                found.setdefault(function.name, []).append(place)
    return found
