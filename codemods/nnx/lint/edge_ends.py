"""NNX689: sums along the edges of a graph that do not go by the ends that they should go by."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lost_messages import end_of
from codemods.nnx.lint.names import SOFTMAX
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_SUMS = ("segment_sum", "segment_mean", "segment_max")
_HOMES = ("jax.ops.", "jraph.")
_COUNTS = pattern(r"deg|norm|count|sum|total|num|max|denom|size|inv|^z$", re.I)
_MANY = 40


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_SUMS):
        if not name.startswith(_HOMES) or in_test(event.scope):
            continue
        data, ids = argument(event.node, 0, "data"), argument(event.node, 1, "segment_ids")
        end = end_of(context, ids, event.scope) if ids is not None else None
        if data is None or ids is None or end is None:
            continue
        parts = list(_parts(context, data, event.scope))
        gathers = [one for part in parts if not _of_sum(context, part, event.scope) and (one := _gathered(part))]
        ends = [found for one in gathers if (found := end_of(context, one, event.scope)) is not None]
        if ends and len(ends) == len(gathers) and all(one == end for one in ends) and not _both(context, parts, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"what is taken of the nodes at `{ast.unparse(ids)}` is added up there again: no node hears of another",
                "sum at the other end of the edges: messages of the senders go to the receivers",
            )
        elif end[0] == "receivers" or end[1] is not None:
            yield from _shared(context, event, parts)


def _of_sum(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether what is taken is a part of sums along the edges, as that by which weights are divided."""
    if isinstance(node, ast.Subscript) and _COUNTS.search(last_word(node.value)):
        return True
    base = node.value if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and node.args:
        base = node.args[0]
    made = bound_once(context, scope, base) if isinstance(base, ast.Name) else base
    while isinstance(made, ast.BinOp | ast.Subscript):
        made = made.left if isinstance(made, ast.BinOp) else made.value
    if isinstance(made, ast.Call) and last_word(made.func) in {"maximum", "clip", "where"} and made.args:
        made = made.args[0]
    return isinstance(made, ast.Call) and last_word(made.func).startswith("segment_")


def _both(context: Context, parts: list[ast.expr], event: CallEvent) -> bool:
    """Say whether the other ends of the edges have a part in what is summed, as arguments of a function may."""
    own = end_of(context, event.node.args[1], event.scope) if len(event.node.args) > 1 else None
    words = [one for one in parts if isinstance(one, ast.Name | ast.Attribute)]
    ends = [end_of(context, one, event.scope) for one in words]
    return any(one is not None and one != own for one in ends)


def _shared(context: Context, event: CallEvent, parts: list[ast.expr]) -> Iterator[Finding]:
    """Yield the weights of edges that are normalised over all edges of the graph."""
    for part in parts:
        value = event.scope.module.values.get(part)
        if not isinstance(part, ast.Call) or last_word(part.func) != "softmax" or not isinstance(value, Call):
            continue
        name = context.flow.calls.callee_name(context.flow.here(value, event.scope))
        if name not in SOFTMAX or not part.args:
            continue
        axis = argument(part, 1, "axis")
        first = axis is not None and constant(axis) == 0
        if not first and not (axis is None and _widened(context, event, part)):
            continue
        inner = [*_parts(context, part.args[0], event.scope)]
        if any(end_of(context, one, event.scope) is not None for one in inner):
            yield finding(
                RULE.code,
                event.scope,
                part,
                "this softmax is over all edges of the graph: the weights of a node's own edges do not add up to one",
                "divide by the sum at each receiver: e / jax.ops.segment_sum(e, receivers, n)[receivers]",
            )


def _widened(context: Context, event: CallEvent, weights: ast.Call) -> bool:
    """Say whether weights get a second axis before they are multiplied with messages: they have one number an edge."""
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Tuple):
            index = node.slice.elts
            plain = len(index) == 2 and isinstance(index[0], ast.Slice) and constant(index[1]) is None
            if plain and isinstance(index[1], ast.Constant | ast.Attribute):
                if bound_once(context, event.scope, node.value) is weights:
                    return True
    return False


def _parts(context: Context, node: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield the expressions that one is made of, by the variables of its body too."""
    waiting, seen = [node], set[str]()
    for _ in range(_MANY):
        if not waiting:
            return
        for one in ast.walk(waiting.pop()):
            if not isinstance(one, ast.expr):
                continue
            yield one
            if isinstance(one, ast.Name) and one.id not in seen:
                seen.add(one.id)
                made = _made(context, one, scope)
                waiting += [made] if made is not None else []


def _made(context: Context, name: ast.Name, scope: Scope) -> ast.expr | None:
    """Return what the only assignment of a variable gives it, or gives it a part of."""
    made = bound_once(context, scope, name)
    stores = context.bodies.stores(scope, name.id)
    if made is not None or len(stores) != 1:
        return made
    above = around(context, scope)
    target = above.get(stores[0])
    statement = above.get(target) if isinstance(target, ast.Tuple) else None
    return statement.value if isinstance(statement, ast.Assign) else None


def _gathered(node: ast.expr) -> ast.expr | None:
    """Return the index that nodes are taken by: ``nodes[senders]`` or ``jnp.take(nodes, senders, axis=0)``."""
    if isinstance(node, ast.Call) and last_word(node.func) == "take" and len(node.args) >= 2:
        return node.args[1]
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice | ast.Constant):
        return None
    index = first_element(node.slice)
    return None if isinstance(index, ast.Slice | ast.Constant | ast.UnaryOp) else index


_BAD = """\
import jax
import jax.numpy as jnp


def graph_conv(w, nodes, senders, receivers):
    messages = nodes[senders] @ w
    return jax.ops.segment_sum(messages, senders, num_segments=nodes.shape[0])


print(graph_conv(jnp.eye(2), jnp.ones((3, 2)), jnp.array([0, 1]), jnp.array([1, 2])))
"""
_ATTENTION = """\
import jax
import jax.numpy as jnp


def attend(a, nodes, senders, receivers):
    scores = jnp.concatenate([nodes[senders], nodes[receivers]], -1) @ a
    weights = jax.nn.softmax(scores)
    return jax.ops.segment_sum(weights[:, None] * nodes[senders], receivers, nodes.shape[0])
"""
_RIGHT = """\
    scores = jnp.exp(scores - jax.ops.segment_max(scores, receivers, nodes.shape[0])[receivers])
    weights = scores / jax.ops.segment_sum(scores, receivers, nodes.shape[0])[receivers]
"""

RULE = lint_rule(
    "NNX689",
    "wrong-end-of-edges",
    "messages that are summed at the nodes that they come from, or weights of edges normalised over a whole graph",
    why="""\
A message goes from the sender of an edge to its receiver: taken with `nodes[senders]`, it is summed with
`jax.ops.segment_sum(messages, receivers)`. Summed at the senders, each node gets itself as often as it has edges. The
weights of attention are those of the edges of one receiver: `jax.nn.softmax` over all edges makes them the smaller, the
larger the graph, and those of a batch of graphs depend on each other. Nothing is raised.
""",
    source="Velickovic et al. 2018, Graph Attention Networks; measured: other nodes, and weights that do not add up",
    severity="error",
    check=_check,
    bad=(_BAD, _ATTENTION),
    clean=(
        _BAD.replace("(messages, senders,", "(messages, receivers,"),
        _ATTENTION.replace("    weights = jax.nn.softmax(scores)\n", _RIGHT),
    ),
)
