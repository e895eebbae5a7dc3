"""NNX636: gradients that are clipped by their norm the wrong way round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_NORM = pattern(r"norm|sqrt|vdot")
_NAMED = pattern(r"(?i)norm|^(gn|g_n)$")
_LIMIT = pattern(r"(?i)max|clip|limit|thresh|bound")
_CLIPS = pattern(rb"(?i)norm", needs=(b"norm",))


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_CLIPS)}
    for scope, node in each(context, ast.Call) if modules else ():
        if scope.module not in modules or len(node.args) != 2 or in_test(scope):
            continue
        word = last_word(node.func)
        if word not in {"maximum", "minimum", "max", "min"}:
            continue
        quotient = next((one for one in node.args if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)), None)
        if quotient is None or not any(constant(one) == 1 for one in node.args):
            continue
        over, under = (_is_norm(context, one, scope) for one in (quotient.left, _plain(quotient.right)))
        multiplied = _used(context, node, scope)
        if over is under or multiplied is None or not _limits(quotient.left if under else quotient.right):
            continue
        # right are `g * min(1, limit / norm)` and `g / max(1, norm / limit)`
        low = word.startswith("min")
        if under and multiplied and not low:
            message, help = "this factor is never below 1: gradients that are too long are not cut", "take the minimum"
        elif over and multiplied and low:
            message, help = "this makes short gradients shorter, and leaves long ones as they are", "divide by the norm"
        elif over and not multiplied and low:
            message, help = (
                "divided by this, short gradients become as long as the limit, and long ones stay",
                ("take the maximum"),
            )
        else:
            continue
        yield finding(RULE.code, scope, node, message, f"{help}: g * min(1, limit / norm)")


def _plain(node: ast.expr) -> ast.expr:
    """Return the norm of ``norm + 1e-6``."""
    return node.left if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else node


def _is_norm(context: Context, node: ast.expr, scope: Scope) -> bool:
    if isinstance(node, ast.Name) and _LIMIT.search(node.id):
        return False  # max_norm
    made = written(context, node, scope)
    if isinstance(made, ast.Call):
        return _NORM.search(last_word(made.func)) is not None
    return isinstance(made, ast.Name) and _NAMED.search(made.id) is not None


def _limits(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or _LIMIT.search(last_word(node)) is not None


def _used(context: Context, node: ast.Call, scope: Scope) -> bool | None:
    """Say whether something is multiplied by a result, and not divided; None if neither or both is done."""
    above = around(context, scope).get(node)
    if isinstance(above, ast.BinOp):
        return _way(above, node)
    if not isinstance(above, ast.Assign) or len(above.targets) != 1 or not isinstance(above.targets[0], ast.Name):
        return None
    name = above.targets[0].id
    body = scope.function.node if scope.function is not None else scope.module.source.tree
    stores = [n for n in ast.walk(body) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    ways = {
        _way(one, part)
        for one in ast.walk(body)
        if isinstance(one, ast.BinOp)
        for part in (one.left, one.right)
        if isinstance(part, ast.Name) and part.id == name
    }
    return next(iter(ways)) if len(ways) == 1 and len(stores) == 1 else None


def _way(node: ast.BinOp, part: ast.expr) -> bool | None:
    if isinstance(node.op, ast.Mult):
        return True
    return False if isinstance(node.op, ast.Div) and node.right is part else None


_BAD = """\
import jax
import jax.numpy as jnp
import optax


def clipped(grads, max_norm):
    norm = optax.global_norm(grads)
    scale = jnp.maximum(1.0, max_norm / norm)
    return jax.tree.map(lambda g: g * scale, grads)
"""

RULE = lint_rule(
    "NNX636",
    "norm-clip",
    "gradients that are clipped by their norm the wrong way round",
    why="""\
To clip by the norm is to multiply by `min(1, limit / norm)`: what is too long is cut to the limit, the rest stays. With
the maximum, or with the quotient turned round, short gradients change and long ones go through.
""",
    source="Pascanu and others, 2013, algorithm 1; optax.clip_by_global_norm; measured: norms above the limit",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.maximum", "jnp.minimum"),),
)
