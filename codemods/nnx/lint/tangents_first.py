"""Values that are taken for the tangents which jax.jvp gives behind them; part of NNX857."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.around import around
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import named
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_DERIVATIVES = frozenset({"grad", "jacfwd", "jacrev", "jacobian"})
_TANGENTS = pattern(r"(^|_)(hvps?|jvps?|tangents?|hv|jv|hess(ian)?_?(vec(tor)?)?_?prod(uct)?|vhp)(_|$|\d)|_dot$")
_VALUES = pattern(r"(^|_)(d?grads?|g|gradients?|primals?|values?|out|outputs?|y|f|fx|residuals?)(_|$|\d)")


def tangents_first(context: Context) -> Iterator[tuple[CallEvent, ast.AST, str]]:
    """Yield calls of ``jax.jvp`` of which the value is taken for the tangent, with the place and what is taken.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "jvp"):
        if name != "jax.jvp" or event.value.starred or in_test(event.scope):
            continue
        if keyword(event.node, "has_aux") is not None:
            continue
        outer = around(context, event.scope).get(event.node)
        of_gradient = _of_gradient(context, event)
        if isinstance(outer, ast.Subscript) and constant(outer.slice) == 0:
            words = _words(context, event, outer)
            meant = any(map(_TANGENTS.search, words)) or (of_gradient and not any(map(_VALUES.search, words[:1])))
            if meant and not _both(context, event):
                yield event, outer, "the gradient" if of_gradient else "the value of the function"
        elif isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Tuple):
            pair = [named(one) for one in outer.targets[0].elts]
            if len(pair) == 2 and _exchanged(*pair):
                yield event, outer.targets[0], "the gradient" if of_gradient else "the value of the function"


def _exchanged(first: str, second: str) -> bool:
    """Say whether the names of the two results tell that they are the other way round."""
    if second and first in {f"{second}_dot", f"{second}_tangent", f"{second}dot", f"d{second}", f"d_{second}"}:
        return True
    meant = _TANGENTS.search(first) and not _VALUES.search(first) and not _TANGENTS.search(second)
    return bool(meant) and (second.startswith("_") or _VALUES.search(second) is not None)


def _of_gradient(context: Context, event: CallEvent) -> bool:
    """Say whether what is differentiated is a gradient already: the tangent then is a Hessian times a vector."""
    given = event.value.argument(0, "fun")
    made = context.flow.resolve(context.flow.here(given, event.scope)) if given is not None else None
    return (
        made is not None
        and isinstance(made.value, Call)
        and context.flow.calls.callee_name(made).startswith(("jax.", "flax.nnx."))
        and last(context.flow.calls.callee_name(made)) in _DERIVATIVES
    )


def _words(context: Context, event: CallEvent, taken: ast.Subscript) -> list[str]:
    """Return what the value is called: the variable that gets it, or the functions that return it."""
    outer = around(context, event.scope).get(taken)
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1:
        return [named(outer.targets[0])]
    function = event.scope.function
    words = []
    while isinstance(outer, ast.Return | ast.Lambda) and function is not None:
        words.append(function.name)
        function = function.scope.parent.function if function.scope.parent is not None else None
    return words


def _both(context: Context, event: CallEvent) -> bool:
    """Say whether the same body takes the tangent of an equal call as well."""
    text = ast.dump(event.node)
    return any(
        isinstance(node, ast.Subscript) and constant(node.slice) != 0 and ast.dump(node.value) == text
        for node in context.bodies.nodes(event.scope)
    )
