"""NNX708: a decay behind a warmup that counts the steps of the warmup as its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Free

_WARMUP = pattern(r"warm_?up|warm|ramp|burn_?in", re.I)
_SPOKEN_OF = pattern(rb"warm|ramp|burn_?in", re.I, needs=(b"warm", b"ramp", b"burn"))
_CASTS = frozenset({"float", "float32", "asarray", "array", "astype"})
_BOUNDS = frozenset({"max", "maximum"})


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_SPOKEN_OF)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Div) or scope.module not in modules or in_test(scope):
            continue
        warmup = _rest(context, node.right, scope)
        if warmup is None:
            continue
        step = next((one for one in factors(node.left) if _behind(context, one, warmup, scope)), None)
        if step is not None:
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{ast.unparse(step)}` counts the warmup too: the decay begins in the middle and goes on past its end",
                f"count from the end of the warmup: ({ast.unparse(step)} - {ast.unparse(warmup)})",
            )


def _bare(node: ast.expr) -> ast.expr:
    """Return a number without what makes another type of it."""
    while isinstance(node, ast.Call) and last_word(node.func) in _CASTS:
        inner = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == "astype" else None
        if inner is None and len(node.args) != 1:
            break
        node = inner if inner is not None else node.args[0]
    return node


def _rest(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the warmup in ``total - warmup``, also where that is at least one."""
    whole = _bare(written(context, node, scope))
    if isinstance(whole, ast.Call) and last_word(whole.func) in _BOUNDS and len(whole.args) == 2:
        ends = [_bare(one) for one in whole.args]
        whole = next((one for one, other in (ends, ends[::-1]) if constant(other) is not None), whole)
        whole = written(context, whole, scope)
    if not isinstance(whole, ast.BinOp) or not isinstance(whole.op, ast.Sub):
        return None
    less = whole.right
    named = isinstance(less, ast.Name | ast.Attribute) and _WARMUP.search(last_word(less)) is not None
    return less if named else None


def _behind(context: Context, node: ast.expr, warmup: ast.expr, scope: Scope) -> bool:
    """Say whether a number is what the same body compares with the warmup, unchanged."""
    step = _bare(node)
    if not isinstance(step, ast.Name):
        return False
    value = scope.module.values.get(step)
    while isinstance(value, Free) and scope.parent is not None and scope.function is not None:
        scope = scope.parent  # a branch of `jax.lax.cond`, of what the function around it is given
        value = scope.function.params.get(step.id) if scope.function is not None else None
        stores = context.bodies.stores(scope, step.id)
        if value is None or any(stores):
            return False
    text = ast.unparse(warmup)
    for other in context.bodies.nodes(scope):
        if not isinstance(other, ast.Compare) or len(other.ops) != 1:
            continue
        if not isinstance(other.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE):
            continue
        for one, bound in ((other.left, other.comparators[0]), (other.comparators[0], other.left)):
            one, bound = _bare(one), _bare(bound)
            if isinstance(one, ast.Name) and one.id == step.id and ast.unparse(bound) == text:
                if value is not None and scope.module.values.get(one) == value:
                    return True
    return False


_BAD = """\
import jax.numpy as jnp

BASE, WARMUP, TOTAL = 1e-3, 20, 100


def rate(step):
    rising = BASE * step / WARMUP
    falling = 0.5 * BASE * (1 + jnp.cos(jnp.pi * step / (TOTAL - WARMUP)))
    return jnp.where(step < WARMUP, rising, falling)


print([float(rate(step)) for step in (19, 20, 60, 99)])
"""

RULE = lint_rule(
    "NNX708",
    "decay-from-zero",
    "a decay behind a warmup that is not counted from the end of the warmup",
    why="""\
What is divided by the steps that are left after the warmup has to be counted from its end. Otherwise the rate jumps
down where the warmup ends, is at its lowest too early, and a cosine rises again before the training is over.
`optax.warmup_cosine_decay_schedule` and `optax.join_schedules` count so.
""",
    source="issue 11 of a public project of state space models; measured: 0.85 of the rate at once, a rise at the end",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.pi * step", "jnp.pi * (step - WARMUP)"),),
)
