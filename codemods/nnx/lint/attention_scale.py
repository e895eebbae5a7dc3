"""NNX697: scores of attention that are multiplied by the root of the width."""

from __future__ import annotations

import ast
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

_SOFTMAX = pattern(rb"softmax", needs=(b"softmax",))
_ROOTS = pattern(rb"sqrt|\*\* ?0\.5", needs=(b"sqrt", b"0.5"))
_WIDTH = pattern(r"\.shape\[-1\]|(^|[._(])(d|dk|d_k|dim|dim_head|d_head|head_dim|head_size|key_dim|qkv_dim|depth)\)?$")
# scores of unit vectors lie between -1 and 1, and are made larger on purpose
_UNIT = pattern(r"norm|rsqrt|unit|cos|tanh|temperature")
_PRODUCTS = frozenset({"einsum", "matmul", "dot_general", "dot", "tensordot"})
_TURNS = frozenset({"swapaxes", "transpose", "T", "mT", "moveaxis"})


def _check(context: Context) -> Iterator[Finding]:
    asked = context.asked.modules
    modules = {module for module in asked if module.source.matches(_SOFTMAX) and module.source.matches(_ROOTS)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Mult) or scope.module not in modules or scope.function is None or in_test(scope):
            continue
        parts = [written(context, one, scope) for one in factors(node)]
        roots = [one for one in parts if _root_of_width(one)]
        products = [one for one in parts if _product(one)]
        if len(roots) != 1 or len(products) != 1 or len(parts) != 2:
            continue
        text = ast.unparse(scope.function.node)
        if _UNIT.search(text.lower()) or not _softmax_of(context, node, scope):
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            f"the scores are multiplied by {ast.unparse(roots[0])}: the softmax becomes one for the greatest of them",
            "divide by it",
        )


def _root_of_width(node: ast.expr) -> bool:
    inner = None
    if isinstance(node, ast.Call) and last_word(node.func) == "sqrt" and len(node.args) == 1:
        inner = node.args[0]
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and constant(node.right) == 0.5:
        inner = node.left
    if isinstance(inner, ast.Call) and last_word(inner.func) in {"float", "float32", "array", "asarray"} and inner.args:
        inner = inner.args[0]
    return inner is not None and _WIDTH.search(ast.unparse(inner)) is not None


def _product(node: ast.expr) -> bool:
    """Say whether an expression is a product of queries and keys."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        turned = node.right.func if isinstance(node.right, ast.Call) else node.right
        return last_word(turned) in _TURNS
    if not isinstance(node, ast.Call) or last_word(node.func) not in _PRODUCTS:
        return False
    words = {ast.unparse(one).lower().rpartition(".")[2][:1] for one in node.args}
    return {"q", "k"} <= words


def _softmax_of(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a softmax gets the scores, perhaps behind a mask."""
    for event in context.bodies.named("softmax"):
        if event.scope is scope and event.node.args:
            given = [event.node.args[0]]
            for _ in range(_STEPS):
                made = [written(context, n, scope) for one in given for n in ast.walk(one) if isinstance(n, ast.Name)]
                if any(n is node for one in (*given, *made) for n in ast.walk(one)):
                    return True
                given = made
    return False


_STEPS = 3
_BAD = """\
import jax
import jax.numpy as jnp


def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * jnp.sqrt(q.shape[-1])
    return jax.nn.softmax(scores, axis=-1) @ v
"""

RULE = lint_rule(
    "NNX697",
    "attention-scale",
    "scores of attention that are multiplied by the root of the width",
    why="""\
The product of two vectors of `d` normal numbers has the deviation `sqrt(d)`. Divided by it the scores are of size 1;
multiplied by it they are of size `d`, the softmax is one for the greatest and zero for the rest, and its gradient is
zero.
""",
    source="Vaswani and others, 2017, section 3.2.1; measured: weights of 0 and 1",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("* jnp.sqrt(q.shape[-1])", "/ jnp.sqrt(q.shape[-1])"),),
)
