"""Counts in half precision that are an entry of the carry of a scan, begun by one function and counted up by another;
part of NNX947."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.loop_bodies import Body
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import formula_of
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Mapping


def rounded_entries(
    context: Context, body: Body, half: Callable[[ast.expr], int], counts: Callable[[ast.AST, str], bool]
) -> Iterator[tuple[Scope, ast.expr, int]]:
    """Yield the first numbers of such counts, each with the number at which it stands still.

    Args:
        context: the analysis.
        body: a body of ``jax.lax.scan``.
        half: returns up to where a first number counts exactly; zero for what is not in half precision.
        counts: says whether an expression adds a number of things to what a text stands for.
    """
    carry = (body.free or [])[:1]
    init = argument(body.event.node, 1, "init")
    if not carry or init is None or body.function.scope.function is None:
        return
    begun = _begun(context, init, body.event.scope)
    if begun is None:
        return
    home, entries, defaults = begun
    rounds = constant(argument(body.event.node, 3, "length"))
    for function, given in _counting(context, body.function, carry[0]):
        for grown in _dicts(context, function):
            for key, value in grown.items():
                first = entries.get(key)
                made = bound_once(context, function.scope, value) if isinstance(value, ast.Name) else value
                exact = half(_with(first, defaults)) if first is not None else 0
                if (
                    first is not None
                    and exact
                    and not (type(rounds) is int and rounds <= exact)
                    and made is not None
                    and counts(made, f"{given}[{key!r}]")
                ):
                    yield home, first, exact


def _begun(
    context: Context, init: ast.expr, scope: Scope
) -> tuple[Scope, dict[object, ast.expr], dict[str, ast.expr]] | None:
    """Return the entries that a carry begins with, where they stand, and the defaults that a function goes by."""
    value = scope.module.values.get(init)
    made = value.node if isinstance(value, Call | Mapping) and isinstance(value.node, ast.expr) else init
    own = _entries(made)
    if own:
        return scope, own, {}
    if not isinstance(value, Call) or not isinstance(made, ast.Call) or value.starred:
        return None
    reached = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))]
    formula = formula_of(context, reached[0]) if len(reached) == 1 else None
    if formula is None or isinstance(reached[0].node, ast.Lambda):
        return None
    args = reached[0].node.args
    names = [one.arg for one in args.args]
    defaults = dict(zip(names[len(names) - len(args.defaults) :], args.defaults, strict=True))
    said = {*names[: len(made.args)], *(word.arg for word in made.keywords)}
    left = {name: default for name, default in defaults.items() if name not in said}
    return reached[0].scope, _entries(formula), left


def _entries(node: ast.AST) -> dict[object, ast.expr]:
    """Return the entries of a dict that is written, as ``{...}`` or ``dict(...)``."""
    if isinstance(node, ast.Dict):
        return {constant(key): one for key, one in zip(node.keys, node.values, strict=True) if key is not None}
    if isinstance(node, ast.Call) and last_word(node.func) == "dict" and not node.args:
        return {word.arg: word.value for word in node.keywords if word.arg is not None}
    return {}


def _with(node: ast.expr, defaults: dict[str, ast.expr]) -> ast.expr:
    """Return what makes an array, with the defaults in the place of arguments that are not given."""
    if not isinstance(node, ast.Call):
        return node
    args = [defaults.get(last_word(one), one) if isinstance(one, ast.Name) else one for one in node.args]
    words = [
        ast.keyword(one.arg, defaults.get(last_word(one.value), one.value)) if one.arg == "dtype" else one
        for one in node.keywords
    ]
    return ast.Call(node.func, args, words)


def _counting(context: Context, function: FunctionFacts, carry: str) -> Iterator[tuple[FunctionFacts, str]]:
    """Yield the body of a scan, and the function that it hands its carry to and whose result is the next carry."""
    yield function, carry
    for node in context.bodies.nodes(function.scope):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        places = [i for i, one in enumerate(node.value.args) if last_word(one) == carry and isinstance(one, ast.Name)]
        value = function.scope.module.values.get(node.value)
        if len(places) != 1 or not isinstance(value, Call) or value.starred:
            continue
        reached = [
            callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, function.scope))
        ]
        if len(reached) == 1 and reached[0].owner is None and places[0] < len(reached[0].params):
            yield reached[0], list(reached[0].params)[places[0]]


def _dicts(context: Context, function: FunctionFacts) -> Iterator[dict[object, ast.expr]]:
    """Yield the entries of the dicts that a function makes."""
    for node in context.bodies.nodes(function.scope):
        found = _entries(node)
        if found:
            yield found
