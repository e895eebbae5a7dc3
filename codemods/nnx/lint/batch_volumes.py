"""The volume of a flow as one sum of the whole batch, beside densities of each example; part of NNX925."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.array_calls import axis_of, whole_of
from codemods.nnx.lint.places import callers_of, in_test, target_of, written
from codemods.nnx.lint.syntax import constant, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_FLOW = pattern(rb"log_?det|ldj|jacobian", re.I, needs=(b"logdet", b"log_det", b"ldj", b"jacobian"))
_MAPS = (b"vmap", b"pmap", b"vectorize", b"shard_map")
_LAST = frozenset({-1, 1, (-1,), (1,)})


def batch_volumes(context: Context) -> Iterator[tuple[Scope, ast.Call, Scope, ast.expr]]:
    """Yield the sums over whole batches that a function gives as its volume, each with the density that adds it, and
    where both stand.

    The density is summed for each example by its axis, and its mean is taken: there are several, and nothing is mapped.

    Args:
        context: the analysis.
    """
    modules = [module for module in context.asked.modules if module.source.matches(_FLOW)]
    if not modules or any(module.source.mentions(word) for module in context.project.modules for word in _MAPS):
        return
    for module in modules:
        for function in module.functions:
            summed = _whole_sum(context, function)
            if summed is None or in_test(function.scope):
                continue
            for event in callers_of(context, function):
                density = _density(context, event)
                if density is not None and _averaged(context, event.scope.function):
                    yield function.scope, summed, event.scope, density
                    break


def _whole_sum(context: Context, function: FunctionFacts) -> ast.Call | None:
    """Return the sum of all of s that a function gives beside what it multiplied or divided by ``exp(s)``."""
    returned = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    given = returned[0].value if len(returned) == 1 else None
    if not isinstance(given, ast.Tuple) or len(given.elts) != 2:
        return None
    volume = _unsigned(written(context, given.elts[1], function.scope))
    if not isinstance(volume, ast.Call) or last_word(volume.func) != "sum":
        return None
    scale = whole_of(volume)
    text = ast.unparse(_unsigned(scale)) if scale is not None else ""
    scaled = any(
        isinstance(n, ast.Call) and last_word(n.func) == "exp" and len(n.args) == 1
        and ast.unparse(_unsigned(n.args[0])) == text
        for n in context.bodies.nodes(function.scope)
    )  # fmt: skip
    return volume if text and scaled else None


def _unsigned(node: ast.expr) -> ast.expr:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node


def _density(context: Context, event: CallEvent) -> ast.expr | None:
    """Return the sum of a volume, or of several, and what was summed along the last axis."""
    target = target_of(event)
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
        return None
    names = {target.elts[1].id}
    nodes = context.bodies.nodes(event.scope)
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Name):
            names |= {node.target.id} if node.value.id in names else set()
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            terms = operands(node.value, ast.Add)
            if any(isinstance(one, ast.Name) and one.id in names for one in terms) and all(
                isinstance(one, ast.Name) for one in terms
            ):
                names.add(node.targets[0].id)
    above = around(context, event.scope)
    for node in nodes:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
            continue
        if isinstance(above.get(node), ast.BinOp):
            continue
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.Name) and one.id in names and _by_example(context, other, event.scope):
                return node
    return None


def _by_example(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a sum along the last axis, perhaps times a number."""
    made = _unsigned(written(context, node, scope))
    for one in operands(made, ast.Mult):
        one = _unsigned(one)
        if isinstance(one, ast.Call) and last_word(one.func) == "sum":
            return constant(axis_of(one)) in _LAST
    return False


def _averaged(context: Context, function: FunctionFacts | None) -> bool:
    """Say whether the mean is taken of what a function of this name gives."""
    for event in context.flow.sites.calls_of(function.name) if function is not None else ():
        above = around(context, event.scope)
        outer = above.get(event.node)
        if isinstance(outer, ast.UnaryOp):
            outer = above.get(outer)
        if isinstance(outer, ast.Call | ast.Attribute) and last_word(getattr(outer, "func", outer)) == "mean":
            return True
    return False
