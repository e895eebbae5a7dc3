"""Functions that compute something and return nothing, although what they return is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.only_computing import arithmetic, only_computes, own_values, promises, pure
from codemods.nnx.lint.owners import left_to_heirs
from codemods.nnx.lint.places import error_wanted, in_test, shown
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Const

_MAPPED = frozenset({"jax.vmap", "flax.nnx.vmap", "jax.jit", "flax.nnx.jit", "jax.pmap", "flax.nnx.pmap"})
# functions that are called for the time or the trace that they take
_TIMED = pattern(r"(^|_)(warm\w*|bench\w*|timed?|timing|profile\w*|trace|run|main|compile)(_|$)")


class Silent(NamedTuple):
    """A function without a return.

    Attributes:
        function: the function.
        node: where it is told.
        thrown_away: the last expression of it, which was to be returned; None if there is none.
        why: what wants its result.
    """

    function: FunctionFacts
    node: ast.AST
    thrown_away: ast.expr | None
    why: str


def without_return(context: Context) -> Iterator[Silent]:
    """Yield the functions of the project that return nothing, and are differentiated, or whose result is read.

    Args:
        context: the analysis.
    """
    roots: dict[FunctionFacts, list[Root]] = {}
    for root in context.traced.roots:
        roots.setdefault(root.function, []).append(root)
    gradients: dict[FunctionFacts, list[Root]] = {}
    for root in context.traced.gradients:
        gradients.setdefault(root.function, []).append(root)
    for module in context.asked.modules:
        for function in module.functions:
            if isinstance(function.node, ast.Lambda) or not _speaks(function):
                continue
            own = [root for root in roots.get(function, ()) if not in_test(root.scope)]
            graded = [root for root in gradients.get(function, ()) if not in_test(root.scope)]
            silent = gives_nothing(function)
            computed = _computed(context, function, called=bool(graded) and silent)
            if (computed is None and not (graded and silent)) or in_test(function.scope):
                continue
            if _failing(context, [*own, *graded]):
                continue
            node = computed or function.node
            if graded and silent:
                yield Silent(function, node, computed, "differentiated")
            elif computed is not None and (why := _wanted(context, function, own, computed)):
                yield Silent(function, node, computed, why)


def _speaks(function: FunctionFacts) -> bool:
    """Say whether a function has a body that ends without a value, and is not there to be overridden."""
    if left_to_heirs(function) or function.name == "__init__":
        return False
    return gives_nothing(function) or _gives_elsewhere(function)


def _gives_elsewhere(function: FunctionFacts) -> bool:
    """Say whether a function returns something in another way than at its end."""
    return bool(function.returns) and not function.generator and all(one != Const(None) for one in function.returns)


def _computed(context: Context, function: FunctionFacts, *, called: bool) -> ast.expr | None:
    """Return the expression that a function computes last and throws away; None if it ends with something else.

    Args:
        context: the analysis.
        function: a function that returns nothing.
        called: whether any call will do, too.
    """
    assert not isinstance(function.node, ast.Lambda)
    statement = function.node.body[-1]
    if not isinstance(statement, ast.Expr):
        return None
    value = statement.value
    if pure(value) or (isinstance(value, ast.Call) and (called or only_computes(context, value, function.scope))):
        return value
    return None


def _wanted(context: Context, function: FunctionFacts, roots: list[Root], computed: ast.expr) -> str:
    """Return how the result of a function is used; empty if it is not, as far as is seen."""
    if any(root.transform in _MAPPED and _read(context, root) for root in roots):
        return "compiled or mapped"
    makers = {root.node for root in roots}
    calls = [event for event in context.flow.sites.callers(function) if event.node not in makers]
    if any(event.used and not in_test(event.scope) for event in calls):
        return "read"
    if promises(function):
        return "promised"
    if _gives_elsewhere(function):
        return "given"
    # a name or a tuple that stands alone says that it was to be returned, unless all calls leave the result aside
    alone = isinstance(computed, ast.Name | ast.Tuple | ast.Subscript) or (
        bool(function.params) and not roots and arithmetic(computed)
    )
    dropped = any(last_word(event.node.func) == function.name for event in calls)
    return "" if dropped or not alone or _timed(function) or not own_values(function, computed) else "lost"


def _timed(function: FunctionFacts) -> bool:
    """Say whether the name of a function tells that nobody wants what it computes."""
    return bool(_TIMED.search(function.name.lower()))


def _read(context: Context, root: Root) -> bool:
    """Say whether a call of what a transform makes of a function is read."""
    return any(event.used and not in_test(event.scope) for event in context.traced.calls_of(root))


def _failing(context: Context, roots: list[Root]) -> bool:
    """Say whether an error is awaited where a transform is applied."""
    calls: list[CallEvent] = [event for root in roots for event in context.traced.calls_of(root)]
    if calls and all(error_wanted(context, event) for event in calls):
        return True
    return any(context.bodies.guarded(root.node, root.scope) for root in roots)


def words(one: Silent) -> tuple[str, str]:
    """Return what is said about a function without a return, and what to do.

    Args:
        one: the function.
    """
    name = shown(one.function)
    if one.thrown_away is None:
        return f"{name} is differentiated and returns nothing: there is no gradient of None", "return the loss"
    text = ast.unparse(one.thrown_away)
    text = f"`{text}`" if len(text) < 40 else "the last expression"
    what = _WHATS.get(one.why, f", and it is {one.why}")
    return f"{text} is computed and thrown away: {name} returns nothing{what}", "write `return` before it"


_WHATS = {"read": ", and its result is read", "promised": ", and says that it returns something", "lost": "",
          "given": " here, and something elsewhere"}  # fmt: skip
