"""Arrays that every round of a loop donates to a compiled function which is handed in; part of NNX856."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, innermost_loop, inside, keyword, several
from codemods.nnx.patterns import pattern

# what lives on the device; arrays of NumPy are copied to it in every round
_STATE = pattern(r"(^|_)(state|params?|opt|carry|model|weights|ema|variables)(_|$)")
_COMPILERS = frozenset({"jax.jit", "jax.pmap"})


def donated_again(context: Context) -> Iterator[tuple[CallEvent, ast.Name]]:
    """Yield the calls in loops that donate the same variable in every round, with the variable.

    The functions that are compiled are not known: they are arguments, or attributes of what is.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"donate_argnums") for module in context.asked.modules):
        return
    known = {root.node for root in context.traced.roots}
    makers: dict[Scope, list[tuple[ast.Call, frozenset[int]]]] = {}
    for event, name in foreign(context, "jit", "pmap"):
        numbers = constant(keyword(event.node, "donate_argnums"))
        places = frozenset(one for one in several(numbers) if type(one) is int and one >= 0)
        if name in _COMPILERS and places and event.node not in known and event.node.args:
            makers.setdefault(event.scope, []).append((event.node, places))
    for scope, made in makers.items():
        for event in context.bodies.calls.get(scope, ()):
            func, loop = event.node.func, innermost_loop(event)
            if not isinstance(func, ast.Name) or not isinstance(loop, ast.For | ast.While) or in_test(scope):
                continue
            maker = bound_once(context, scope, func)
            places = next((one for node, one in made if node is maker), frozenset())
            for place in sorted(places):
                given = event.node.args[place] if place < len(event.node.args) else None
                if isinstance(given, ast.Name) and _STATE.search(given.id) and _same_again(context, event, given, loop):
                    yield event, given
                    break


def _same_again(context: Context, event: CallEvent, given: ast.Name, loop: ast.For | ast.While) -> bool:
    """Say whether a loop gives a call the same variable in each round, and goes on behind it."""
    if any(isinstance(one, ast.Starred) for one in event.node.args):
        return False
    if any(inside(store, loop) for store in context.bodies.stores(event.scope, given.id)):
        return False
    leaves = (n for n in ast.walk(loop) if isinstance(n, ast.Break | ast.Return | ast.Raise))
    return given.id not in event.scope.globals and not any(leaves)
