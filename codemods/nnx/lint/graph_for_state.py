"""The definition of a graph where a tree of arrays is wanted: it has no leaves; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import foreign, in_test

_WORDS = ("leaves", "flatten", "leaves_with_path", "flatten_with_path", "reduce")
_LEAVES = frozenset(
    {f"jax.tree.{word}" for word in _WORDS}
    | {f"jax.tree_util.tree_{word}" for word in _WORDS}
    | {"jax.flatten_util.ravel_pytree", "optax.global_norm", "optax.tree_utils.tree_zeros_like"}
)


def graphs_for_states(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the functions of trees that get what nnx.split gives first, with the argument, what is wrong and the way
    out.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"nnx") for module in context.project.modules):
        return
    for event, name in foreign(context, *sorted({last(one) for one in (*_LEAVES, *TREE_MAPS)})):
        places = slice(1, None) if name in TREE_MAPS else slice(1, 2) if last(name).endswith("reduce") else slice(0, 1)
        if name not in {*TREE_MAPS, *_LEAVES} or event.value.starred or in_test(event.scope):
            continue
        for node, value in [*zip(event.node.args, event.value.args, strict=True)][places]:
            if context.kinds.only(context.flow.here(value, event.scope)) is not Kind.GRAPHDEF:
                continue
            if not context.bodies.guarded(event.node, event.scope):
                message = "this is the definition of the graph, which has no arrays: the state is what is wanted here"
                yield event, node, message, "take the other result: graphdef, state = nnx.split(model)"
            break
