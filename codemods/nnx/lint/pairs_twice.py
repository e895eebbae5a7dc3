"""NNX690: the energy of all pairs of particles, each of which is counted twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import is_none
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_ENERGY = pattern(r"energy|potential|lennard|coulomb|hamiltonian", re.I)
# what counts each pair once, or half of each
_HALVED = pattern(r"triu|tril|combinations|\b0?\.5\b|/\s*2(\.0?)?\b|half|senders|neighb|mean\(|pair_list|i\s*<\s*j")
_MANY = 30


def _check(context: Context) -> Iterator[Finding]:
    for function in context.asked.functions():
        scope = function.scope
        if isinstance(function.node, ast.Lambda) or not _ENERGY.search(function.name) or in_test(scope):
            continue
        if not scope.module.source.mentions(b"eye") or function.generator:
            continue
        returned = [n.value for n in context.bodies.nodes(scope) if isinstance(n, ast.Return) and n.value is not None]
        total = _sum(context, returned[0], function) if len(returned) == 1 else None
        if total is None or not _off_diagonal(context, total, function) or _halved(context, function):
            continue
        yield finding(
            RULE.code,
            scope,
            total,
            "the sum over all i and j has each pair of particles twice: energies and forces are twice as large",
            "take half of it: 0.5 * jnp.sum(...)",
        )


def _sum(context: Context, node: ast.expr, function: FunctionFacts) -> ast.Call | None:
    """Return the sum of all entries that a function gives."""
    if isinstance(node, ast.Name):
        made = bound_once(context, function.scope, node)
        if made is None:
            return None
        node = made
    if not isinstance(node, ast.Call) or last_word(node.func) != "sum" or node.keywords or len(node.args) > 1:
        return None
    return node


def _off_diagonal(context: Context, total: ast.Call, function: FunctionFacts) -> bool:
    """Say whether a sum leaves out the diagonal of what depends on the differences of all positions."""
    texts = [ast.unparse(one) for one in _parts(context, total, function)]
    differences = any(isinstance(one, ast.BinOp) and _all_pairs(one) for one in _parts(context, total, function))
    called = any(isinstance(one, ast.Call) and _of_all(one) for one in _parts(context, total, function))
    return (differences or called) and any(re.search(r"\b(1(\.0?)?\s*-\s*|~\s*)?(jnp|np)\.eye\(", one) for one in texts)


def _all_pairs(node: ast.BinOp) -> bool:
    """Say whether an expression is ``x[:, None] - x[None, :]``."""
    if not isinstance(node.op, ast.Sub):
        return False
    return _axes(node.left) == "column" and _axes(node.right) == "row" and _same(node.left, node.right)


def _of_all(call: ast.Call) -> bool:
    """Say whether a function is called with ``x[:, None]`` and ``x[None, :]``."""
    pair = call.args[:2]
    return len(pair) == 2 and [_axes(one) for one in pair] == ["column", "row"] and _same(*pair)


def _same(one: ast.expr, other: ast.expr) -> bool:
    if not isinstance(one, ast.Subscript) or not isinstance(other, ast.Subscript):
        return False
    return ast.unparse(one.value) == ast.unparse(other.value)


def _axes(node: ast.expr) -> str:
    """Say whether an array has a new axis behind its first one, or in front of it."""
    if not isinstance(node, ast.Subscript):
        return ""
    index = elements(node.slice)
    new = [is_none(one) for one in index]
    if new[:1] == [True]:
        return "row"
    return "column" if len(new) > 1 and isinstance(index[0], ast.Slice) and new[1] else ""


def _parts(context: Context, node: ast.expr, function: FunctionFacts) -> Iterator[ast.expr]:
    """Yield what an expression is made of, by the variables of the function too."""
    waiting, seen = [node], set[str]()
    for _ in range(_MANY):
        if not waiting:
            return
        for one in ast.walk(waiting.pop()):
            if isinstance(one, ast.expr):
                yield one
            if isinstance(one, ast.Name) and one.id not in seen:
                seen.add(one.id)
                made = bound_once(context, function.scope, one)
                waiting += [made] if made is not None else []


def _halved(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function, one that it calls, or one that calls it counts each pair once."""
    near = {function}
    for call in context.bodies.calls.get(function.scope, ()):
        found = context.flow.calls.invoked(context.flow.here(call.value, call.scope))
        near |= {callee.function for callee, _ in found}
    if any(_HALVED.search(ast.unparse(_undocumented(one.node))) for one in near):
        return True
    for event in context.flow.sites.callers(function):
        above = around(context, event.scope).get(event.node)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult | ast.Div):
            return True
    return False


def _undocumented(node: ast.AST) -> ast.AST:
    """Return a function without its text of documentation."""
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None and len(node.body) > 1:
        return ast.Module(body=list(node.body[1:]), type_ignores=[])
    return node


_BAD = """\
import jax.numpy as jnp


def lennard_jones(r2):
    s6 = 1.0 / r2**3
    return 4.0 * (s6**2 - s6)


def potential(positions):
    dr = positions[:, None] - positions[None, :]
    off = 1.0 - jnp.eye(positions.shape[0])
    r2 = jnp.sum(dr**2, axis=-1) + jnp.eye(positions.shape[0])
    return jnp.sum(lennard_jones(r2) * off)
"""

RULE = lint_rule(
    "NNX690",
    "pairs-counted-twice",
    "the energy of all pairs of particles as the sum over all i and j",
    why="""\
The matrix of the energies of pairs has each pair twice, as (i, j) and as (j, i). Its sum without the diagonal is twice
the energy, and its gradient twice the force: the particles move as if they were lighter, and no law of conservation
tells. The rule is silent where a half, an upper triangle or a list of pairs is near.
""",
    source="Allen and Tildesley, Computer Simulation of Liquids; measured: twice the energy of two particles",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("return jnp.sum(lennard", "return 0.5 * jnp.sum(lennard"),),
)
