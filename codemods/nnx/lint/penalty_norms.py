"""Gradient penalties whose norm is that of a whole batch, or whose gradient is that of a mean; part of NNX563."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.array_calls import array_of, axis_of, whole_of
from codemods.nnx.lint.arrays import batched
from codemods.nnx.lint.places import formula_of, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_TOTALS = frozenset({"sum", "mean"})
_DEPTH = 4


def penalty_norms(context: Context, code: str, less: ast.BinOp, norm: ast.Call, scope: Scope) -> Iterator[Finding]:
    """Yield what is wrong with the norm of a gradient by samples, of which 1 is taken.

    Args:
        context: the analysis.
        code: the code of the rule.
        less: the difference of the norm and 1.
        norm: the call that gives the norm.
        scope: the body that both stand in.
    """
    normed, whole = _normed(context, norm, scope)
    taken = _taken(context, normed, scope) if normed is not None else None
    total = _total(context, taken, scope) if taken is not None else ""
    if not total or _mapped(context, scope):
        return
    if whole and _averaged(context, less, scope):
        yield finding(
            code,
            scope,
            norm,
            "this is one norm of the gradients of all samples: the penalty makes it 1, and the slope at each sample "
            "much smaller",
            "take the norm of each sample: jnp.linalg.norm(grads, axis=-1)",
        )
    elif not whole and total == "mean":
        yield finding(
            code,
            scope,
            taken or norm,
            "the gradient of a mean over the batch is as many times smaller as there are samples: the penalty makes "
            "the critic that many times steeper",
            "differentiate the sum of the outputs: jax.grad(lambda x: critic(x).sum())(mixed)",
        )


def _normed(context: Context, norm: ast.Call, scope: Scope) -> tuple[ast.expr | None, bool]:
    """Return what a norm is taken of, and whether all of it gives one number."""
    word = last_word(norm.func)
    if word == "global_norm":
        return (norm.args[0], True) if len(norm.args) == 1 else (None, False)
    if word == "norm":
        given = norm.args[0] if norm.args else None
        order = argument(norm, 1, "ord")
        if given is None or (order is not None and constant(order) != 2):
            return None, False
        return given, argument(norm, 2, "axis") is None
    under = written(context, norm.args[0], scope) if word == "sqrt" and len(norm.args) == 1 else None
    if isinstance(under, ast.BinOp) and isinstance(under.op, ast.Add):  # with a small number
        under = written(context, under.left, scope)
    if not isinstance(under, ast.Call) or last_word(under.func) != "sum":
        return None, False
    inner = array_of(under)
    square = written(context, inner, scope) if inner is not None else None
    if isinstance(square, ast.Call) and last_word(square.func) == "square" and len(square.args) == 1:
        base = square.args[0]
    elif isinstance(square, ast.BinOp) and isinstance(square.op, ast.Pow) and constant(square.right) == 2:
        base = square.left
    else:
        return None, False
    return (base, whole_of(under) is not None) if whole_of(under) is not None or axis_of(under) else (None, False)


def _taken(context: Context, node: ast.expr, scope: Scope) -> ast.Call | None:
    """Return the call of ``grad(f)`` that gives an array, also if that was reshaped to a row for each sample."""
    for _ in range(_DEPTH):
        node = written(context, node, scope)
        if isinstance(node, ast.Call) and last_word(node.func) == "reshape" and (inner := array_of(node)) is not None:
            node = inner
        else:
            break
    if not isinstance(node, ast.Call):
        return None
    made = written(context, node.func, scope)
    if isinstance(made, ast.Call):
        return node if last_word(made.func) == "grad" else None
    value = scope.module.values.get(node)
    invoked = context.flow.calls.invoked(context.flow.here(value, scope)) if isinstance(value, Call) else []
    decorated = len(invoked) == 1 and invoked[0][0].gradient and len(invoked[0][0].function.decorators) == 1
    return node if decorated else None


def _total(context: Context, taken: ast.Call, scope: Scope) -> str:
    """Return whether a function that is differentiated gives the sum or the mean of the outputs for all samples."""
    value = scope.module.values.get(taken)
    if not isinstance(value, Call) or value.starred:
        return ""
    function = _differentiated(context, value, scope)
    given = formula_of(context, function) if function is not None else None
    if not isinstance(given, ast.Call) or last_word(given.func) not in _TOTALS or function is None:
        return ""
    outputs = whole_of(given)
    outputs = written(context, outputs, function.scope) if outputs is not None else None
    while isinstance(outputs, ast.Subscript | ast.Attribute):
        outputs = outputs.value
    return last_word(given.func) if isinstance(outputs, ast.Call) else ""


def _differentiated(context: Context, value: Call, scope: Scope) -> FunctionFacts | None:
    callees = context.flow.calls.callables(context.flow.here(value.callee, scope))
    return callees[0].function if len(callees) == 1 else None


def _mapped(context: Context, scope: Scope) -> bool:
    """Say whether a body, or one around it, may get one sample."""
    inner: Scope | None = scope
    while inner is not None:
        if inner.function is not None and inner.function in context.shared(batched):
            return True
        inner = inner.parent
    return False


def _averaged(context: Context, less: ast.BinOp, scope: Scope) -> bool:
    """Say whether the mean of the squares of the differences is taken: the norm is thought to be one of each sample."""
    above = around(context, scope)
    node: ast.AST | None = less
    for _ in range(_DEPTH):
        inner, node = node, above.get(node) if node is not None else None
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            reads = context.bodies.reads(scope, node.targets[0].id)
            node = above.get(reads[0]) if len(reads) == 1 else None
            inner = reads[0] if len(reads) == 1 else None
        if isinstance(node, ast.Call) and last_word(node.func) == "mean":
            return True
        if isinstance(node, ast.Attribute):
            return node.attr == "mean"
        square = isinstance(node, ast.Call) and last_word(node.func) in {"square", "maximum", "relu"}
        if not square and not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and node.left is inner):
            return False
    return False
