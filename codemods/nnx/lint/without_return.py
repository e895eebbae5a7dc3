"""Functions that compute something and return nothing, although what they return is wanted."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.carry_type import gives_nothing
from codemods.nnx.lint.owners import left_to_heirs
from codemods.nnx.lint.places import error_wanted, in_test, shown
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word

_MAPPED = frozenset({"jax.vmap", "flax.nnx.vmap", "jax.jit", "flax.nnx.jit", "jax.pmap", "flax.nnx.pmap"})
# methods of arrays that only compute
_COMPUTING = frozenset({"mean", "sum", "max", "min", "prod", "std", "var", "astype", "reshape", "squeeze", "item"})
_SPACES = ("jnp.", "jax.numpy.", "jax.nn.", "jax.lax.", "optax.", "nnx.")
# of these spaces what is called for its effect
_EFFECTS = frozenset({"update", "reseed", "display", "train", "eval", "print", "callback", "pop", "scan", "cond"})


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
            computed = _computed(function.node.body[-1], called=bool(graded))
            if (computed is None and not graded) or in_test(function.scope) or _failing(context, [*own, *graded]):
                continue
            node = computed or function.node
            if graded:
                yield Silent(function, node, computed, "differentiated")
            elif computed is not None and (why := _wanted(context, function, own)):
                yield Silent(function, node, computed, why)


def _speaks(function: FunctionFacts) -> bool:
    """Say whether a function has a body that ends without a value, and is not there to be overridden."""
    return gives_nothing(function) and not left_to_heirs(function) and function.name != "__init__"


def _computed(statement: ast.stmt, *, called: bool) -> ast.expr | None:
    """Return the expression that a statement computes and throws away; None if it does something else.

    Args:
        statement: the last one of a function.
        called: whether any call will do, too.
    """
    if not isinstance(statement, ast.Expr):
        return None
    value = statement.value
    return value if _pure(value) or (called and isinstance(value, ast.Call)) else None


def _pure(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(isinstance(one, ast.Constant) or _pure(one) for one in node.elts)
    if isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp | ast.Name):
        return not any(isinstance(n, ast.NamedExpr | ast.Await | ast.Yield) for n in ast.walk(node))
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _COMPUTING:
        return not isinstance(node.func.value, ast.Name) or bool(node.func.value.id)
    text = ast.unparse(node.func)
    return text.startswith(_SPACES) and last_word(node.func) not in _EFFECTS


def _wanted(context: Context, function: FunctionFacts, roots: list[Root]) -> str:
    """Return how the result of a function is used; empty if it is not, as far as is seen."""
    if any(root.transform in _MAPPED and _read(context, root) for root in roots):
        return "compiled or mapped"
    makers = {root.node for root in roots}
    calls = [event for event in context.flow.sites.callers(function) if event.node not in makers]
    return "read" if any(event.used and not in_test(event.scope) for event in calls) else ""


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
    what = "its result is read" if one.why == "read" else f"it is {one.why}"
    return f"{text} is computed and thrown away: {name} returns nothing, and {what}", "write `return` before it"
