"""How many models a stack has that nnx.vmap made; part of NNX867."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.applied import calls_of, option
from codemods.nnx.lint.image_sizes import product
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Value


def stack_size(context: Context, value: Value, scope: Scope) -> int | None:
    """Return how many models an object holds, if nnx.vmap made them and says so; None if that is not known.

    Args:
        context: the analysis.
        value: the object.
        scope: the scope that it belongs to.
    """
    made = context.sources.originals(context.flow.here(value, scope))
    sizes = set()
    for one in made:
        home = context.bodies.home(one.value.node) if isinstance(one.value, Call) else None
        sizes.add(context.shared(_stacks).get(home.function) if home is not None else None)
    return sizes.pop() if len(sizes) == 1 else None


def _stacks(context: Context) -> dict[FunctionFacts | None, int]:
    """Return the functions that make the members of stacks and nothing else, with how many there are."""
    found: dict[FunctionFacts | None, int] = {}
    for root in context.traced.roots:
        size = _size(context, root) if root.transform == "flax.nnx.vmap" and not root.partial else None
        calls = {event.node for event in calls_of(context, root)}
        if size is None or not {event.node for event in context.flow.sites.callers(root.function)} <= calls:
            continue
        if root.function.owner is None and sum(one.function is root.function for one in context.traced.roots) == 1:
            found[root.function] = size
    return found


def _size(context: Context, root: Root) -> int | None:
    """Return over how many members a function is mapped, by its own option or by the streams that are split for it."""
    given = option(root, "axis_size")
    if given is not None:
        return _number(context, given, root.scope)
    node = root.function.node
    if isinstance(node, ast.Lambda) or not root.decorator or root.function.scope.parent is None:
        return None
    for decorator in node.decorator_list:
        maker = decorator if isinstance(decorator, ast.Call) else None
        splits = keyword(maker, "splits") if maker is not None and last_word(maker.func) == "split_rngs" else None
        if splits is not None:
            return _number(context, splits, root.function.scope.parent)
    return None


def _number(context: Context, node: ast.expr, scope: Scope) -> int | None:
    value = scope.module.values.get(node)
    return product(context, context.flow.here(value, scope)) if value is not None else None
