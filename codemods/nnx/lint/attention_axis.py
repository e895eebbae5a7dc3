"""NNX975: attention weights that are normalized along another axis than the values are summed over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import SOFTMAX
from codemods.nnx.lint.places import foreign, formula_of, in_test
from codemods.nnx.lint.syntax import argument, constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# where the queries, slots or capsules compete for the values on purpose
_COMPETING = pattern(r"slot|caps|rout|moe|expert|cluster|sinkhorn|dispatch|inverted|match|assign", re.I)
_PRODUCTS = frozenset({"einsum", "matmul", "dot"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "softmax"):
        if name not in SOFTMAX or in_test(event.scope) or _competes(event):
            continue
        axis = argument(event.node, 1, "axis")
        number = -1 if axis is None else constant(axis)
        if not isinstance(number, int) or not _of_product(context, event):
            continue
        reads = _reads(context, event)
        if any(_rescaled(context, event, node) for node in reads if isinstance(node, ast.Name)):
            continue
        for user, taken in _users(context, event, reads):
            summed = _summed(user, taken)
            if summed is None:
                continue
            rank, axes, least = summed
            if not rank and number >= 0 and event.value.args:
                rank = Arrays(context, {}).axes(event.value.args[0], event.scope)
                axes = [one % rank for one in axes] if rank else axes
            mine = number % rank if rank else number
            before = not rank and 0 <= number < min(least + axis for axis in axes)
            if mine not in axes and (rank or mine < 0 or before):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the weights add up to 1 along axis {number}, and the values are summed along axis {axes[0]}",
                    "normalize over the keys: jax.nn.softmax(scores, axis=-1)",
                    related=[(user, "summed here")],
                )
                break


def _reads(context: Context, event: CallEvent) -> list[ast.AST]:
    """Return what stands for the weights in the scope, also behind a cast or a dropout, which keep the axes."""
    nodes, values = context.bodies.nodes(event.scope), event.scope.module.values
    reads = [n for n in nodes if values.get(n) is event.value]
    for _ in range(_WRAPPED):
        wrapped = {values[n] for n in nodes if isinstance(n, ast.Call) and n in values and _keeps_axes(n, reads)}
        more = [n for n in nodes if values.get(n) in wrapped and n not in reads] if wrapped else []
        if not more:
            break
        reads += more
    return reads


def _keeps_axes(node: ast.Call, weights: list[ast.AST]) -> bool:
    """Say whether a call keeps the axes of the weights: ``weights.astype(dtype)`` or ``self.dropout(weights)``."""
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        return node.func.value in weights
    return bool(node.args) and node.args[0] in weights and bool(_DROPS.search(last_word(node.func)))


_WRAPPED = 3
_DROPS = pattern(r"dropout|drop$", re.I)


def _users(context: Context, event: CallEvent, reads: list[ast.AST]) -> Iterator[tuple[ast.AST, list[ast.AST]]]:
    """Yield what may take the weights, with what stands for them: also in the callers of a function that gives them."""
    yield from ((node, reads) for node in context.bodies.nodes(event.scope))
    function = event.scope.function
    if function is None or formula_of(context, function) is not event.node:
        return
    callers = context.flow.sites.callers(function)
    if any(_competes(caller) for caller in callers) or len(callers) > _CALLERS:
        return
    for caller in callers:
        nodes, values = context.bodies.nodes(caller.scope), caller.scope.module.values
        given: list[ast.AST] = [n for n in nodes if values.get(n) is caller.value]
        if not any(_rescaled(context, caller, node) for node in given if isinstance(node, ast.Name)):
            yield from ((node, given) for node in nodes)


_CALLERS = 8


def _competes(event: CallEvent) -> bool:
    scope = event.scope
    function = scope.function
    names = [function.name, function.owner.name if function.owner is not None else ""] if function is not None else []
    return any(map(_COMPETING.search, (*names, *names_in(event.statement))))


def _of_product(context: Context, event: CallEvent) -> bool:
    """Say whether the scores are products of two arrays, as of queries and keys."""
    given = event.node.args[0] if event.node.args else None
    nodes: list[ast.AST] = [given] if given is not None else []
    names = set(names_in(given)) if given is not None else set()
    nodes += [
        node.value
        for node in context.bodies.nodes(event.scope)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in names for t in node.targets)
    ]
    return any(
        (isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult))
        or (isinstance(n, ast.Call) and last_word(n.func) in _PRODUCTS)
        for node in nodes
        for n in ast.walk(node)
    )


def _rescaled(context: Context, event: CallEvent, name: ast.Name) -> bool:
    """Say whether the weights are divided by their sum along another axis."""
    return any(
        isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) and name.id in names_in(n.right)
        for n in context.bodies.nodes(event.scope)
    )


def _summed(user: ast.AST, weights: list[ast.AST]) -> tuple[int, list[int], int] | None:
    """Return of what takes weights their rank, 0 if unknown, the axes that it sums over, and the least rank."""
    if isinstance(user, ast.BinOp) and isinstance(user.op, ast.MatMult):
        return (0, [-1], 0) if user.left in weights else None
    if not isinstance(user, ast.Call) or not user.args:
        return None
    if last_word(user.func) == "matmul" and len(user.args) == 2:
        return (0, [-1], 0) if user.args[0] in weights else None
    spec = constant(user.args[0])
    if last_word(user.func) != "einsum" or not isinstance(spec, str) or "->" not in spec:
        return None
    given, _, result = spec.replace(" ", "").partition("->")
    places = [place for place, one in enumerate(user.args[1:]) if one in weights]
    parts = given.split(",")
    if len(places) != 1 or len(parts) != len(user.args) - 1 or len(parts) < 2:
        return None
    mine = parts[places[0]]
    leading = "..." in mine
    if "." in spec.replace("...", "") or (leading and not mine.startswith("...")):
        return None
    mine = mine.removeprefix("...")
    others = "".join(part for place, part in enumerate(parts) if place != places[0]).replace("...", "")
    if len(mine) > 2 and len(others) == 2 and len(parts) == 2 and len(result.replace("...", "")) == len(mine):
        return None  # a matrix mixes the heads
    axes = [place for place, letter in enumerate(mine) if letter in others and letter not in result]
    if not axes:
        return None
    if leading:
        return 0, [place - len(mine) for place in axes], len(mine)
    return len(mine), axes, len(mine)


_BAD = """\
import jax
import jax.numpy as jnp


def attention(q, k, v):
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])
    weights = jax.nn.softmax(scores, axis=1)
    return jnp.einsum("bqk,bkd->bqd", weights, v)
"""

RULE = lint_rule(
    "NNX975",
    "attention-axis",
    "attention weights that add up to 1 along another axis than the values are summed over",
    why="""\
The output of attention is a mean of the values, weighted for each query. The weights have to add up to 1 over the keys,
the axis that the values are summed over; along the queries, how strongly one attends depends on the others. Slots,
capsules and experts that compete for their inputs are left alone, as are weights that are divided by their sum again.
""",
    source="Vaswani et al. 2017, section 3.2.1; measured: the output of one query depends on the other queries",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("axis=1", "axis=-1"),),
)
