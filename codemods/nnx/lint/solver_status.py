"""NNX573: the status that SciPy's iterative solvers give, awaited of JAX's, which give None."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Item

# gmres tells by its status whether it gave NaN
_SOLVERS = frozenset({"jax.scipy.sparse.linalg.cg", "jax.scipy.sparse.linalg.bicgstab"})
_TRUTHS = frozenset({"bool", "int"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(name in _SOLVERS for _, name in foreign(context, *map(last, _SOLVERS), everywhere=True)):
        return
    told: set[ast.expr] = set()
    for scope, node, status, outcome in _asked(context):
        if status in told or in_test(scope):
            continue
        solver = _solver(context, status, scope)
        if solver and not _may_be_none(context, status, scope):
            told.add(status)
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{last(solver)}` of JAX gives None in place of a status: {outcome}",
                "compute the residual: jnp.linalg.norm(b - A(x)) <= tol * jnp.linalg.norm(b)",
            )


def _asked(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.expr, str]]:
    """Yield the places that decide by a value, each with the value, and what comes of it if that is None."""
    for scope, compared in each(context, ast.Compare):
        sides = (compared.left, compared.comparators[0])
        if len(compared.ops) != 1 or any(isinstance(one, ast.Constant) and one.value is None for one in sides):
            continue
        operator = compared.ops[0]
        for status, other in (sides, sides[::-1]):
            if not isinstance(status, ast.Name | ast.Attribute | ast.Subscript) or not _number(other):
                continue
            if isinstance(operator, ast.Eq | ast.Is):
                yield scope, compared, status, "this is never true"
            elif isinstance(operator, ast.NotEq | ast.IsNot):
                yield scope, compared, status, "this is always true"
            elif isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                yield scope, compared, status, "this raises a TypeError"
    for scope, node in each(context, ast.If, ast.IfExp, ast.While, ast.Assert):
        assert isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert)
        test = node.test
        negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        status = test.operand if isinstance(test, ast.UnaryOp) and negated else test
        if isinstance(status, ast.Name | ast.Attribute | ast.Subscript):
            yield scope, test, status, f"this is {'always' if negated else 'never'} true"
    for scope, call in each(context, ast.Call):
        named = isinstance(call.func, ast.Name) and call.func.id in _TRUTHS and len(call.args) == 1
        if named and isinstance(call.args[0], ast.Name | ast.Attribute | ast.Subscript):
            whole = last_word(call.func) == "int"
            yield scope, call, call.args[0], "this raises a TypeError" if whole else "this is never true"


def _number(node: ast.expr) -> bool:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _solver(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return the name of the solver whose second result an expression is, on every way; empty if it is none."""
    value = scope.module.values.get(node)
    if value is None:
        return ""
    names = set()
    for found in context.sources.originals(context.flow.here(value, scope)):
        one = found.value
        index = one.index.value if isinstance(one, Indexed) else one.index if isinstance(one, Item) else None
        if not isinstance(one, Item | Indexed) or index not in (Const(1), Const(-1)):
            return ""
        whole = context.flow.resolve(context.flow.with_value(found, one.base))
        names.add(context.flow.calls.callee_name(whole) if isinstance(whole.value, Call) else "")
    return min(names) if names and names <= _SOLVERS else ""


def _may_be_none(context: Context, status: ast.expr, scope: Scope) -> bool:
    """Say whether a body asks whether the status is None."""
    text = ast.dump(status)
    return any(
        isinstance(node, ast.Compare)
        and any(isinstance(one, ast.Constant) and one.value is None for one in (node.left, *node.comparators))
        and any(ast.dump(one) == text for one in (node.left, *node.comparators))
        for node in context.bodies.nodes(scope)
    )


_BAD = """\
import jax.numpy as jnp
from jax.scipy.sparse.linalg import cg


def solve(matrix, b):
    x, info = cg(matrix, b)
    if info != 0:
        raise RuntimeError("no convergence")
    return x


try:
    print(solve(jnp.eye(3), jnp.ones(3)))
except RuntimeError as error:
    print(error)
"""

RULE = lint_rule(
    "NNX573",
    "status-of-solver",
    "the status of an iterative solver of JAX, which is always None",
    why="""\
SciPy's `cg` and `bicgstab` give a status beside the solution, 0 for success. Those of JAX give None in its place,
since compiled code has nowhere to tell it: `info != 0` is always true, `info == 0` and `if info` never are, and
`info > 0` raises a TypeError. Whether the solution is one, the residual tells.
""",
    source="jax issue 6490; measured on JAX 0.6.2, 0.7.2 and 0.10.2: None, also where the residual is large",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("x, info = cg(matrix, b)", "x, _ = cg(matrix, b)").replace(
            "info != 0", "jnp.linalg.norm(b - matrix @ x) > 1e-3"
        ),
    ),
)
