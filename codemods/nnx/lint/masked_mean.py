"""NNX789: a loss of tokens without padding that is divided by all positions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, resolved, written
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Unknown

_LOSSES = frozenset({"optax.softmax_cross_entropy", "optax.softmax_cross_entropy_with_integer_labels"})
_CASTS = frozenset({"astype", "asarray", "float32", "array"})


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("mean"):
        scope = event.scope
        if scope.module not in context.asked or not _speaks_of_losses(scope) or in_test(scope):
            continue
        name = context.flow.calls.name(event)
        if name not in {"", "jax.numpy.mean"} or keyword(event.node, "where") is not None:
            continue
        if any(isinstance(n, ast.Div) for n in ast.walk(event.statement)):
            continue  # perhaps by what share of the positions counts
        inner = _averaged(event, name)
        pair = _masked(context, written(context, inner, scope), scope) if inner is not None else None
        if pair is not None and _token_loss(context, pair[0], scope) and _padding(context, pair[1], scope):
            yield finding(
                RULE.code,
                scope,
                event.node,
                "the loss of padding is zero, but its positions are counted: the more padding, the smaller the loss",
                "divide by what counts: (loss * mask).sum() / mask.sum(), or jnp.mean(loss, where=mask)",
            )


def _speaks_of_losses(scope: Scope) -> bool:
    return any(word in scope.module.source.data for word in (b"optax", b"log_softmax"))


def _averaged(event: CallEvent, name: str) -> ast.expr | None:
    """Return what a call averages."""
    if name:
        return event.node.args[0] if event.node.args else None
    return event.node.func.value if isinstance(event.node.func, ast.Attribute) else None


def _masked(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.expr, ast.expr] | None:
    """Return a loss and its mask, in ``loss * mask`` or ``jnp.where(mask, loss, 0)``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = node.left, node.right
        return (left, right) if _token_loss(context, left, scope) else (right, left)
    if isinstance(node, ast.Call) and last_word(node.func) == "where" and len(node.args) == 3:
        return (node.args[1], node.args[0]) if constant(node.args[2]) in (0, 0.0) else None
    return None


def _token_loss(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the loss of every token, also as a function of the project gives it."""
    found = resolved(context, node, scope)
    if found is not None and isinstance(found.value, Unknown) and found.frame is not None:
        words = {last_word(n) for n in ast.walk(found.frame.function.node) if isinstance(n, ast.Name | ast.Attribute)}
        picked = any(last_word(n) == "take_along_axis" for n in ast.walk(found.value.node))
        return picked and "log_softmax" in words and isinstance(found.value.node, ast.UnaryOp)
    return found is not None and isinstance(found.value, Call) and context.flow.calls.callee_name(found) in _LOSSES


def _padding(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression says which labels are no padding, and is read nowhere else."""
    function = scope.function
    if isinstance(node, ast.Name):
        body = function.node if function is not None else scope.node
        names = (n for n in ast.walk(body) if isinstance(n, ast.Name) and n.id == node.id)
        if sum(isinstance(n.ctx, ast.Load) for n in names) != 1:
            return False
    made = written(context, node, scope)
    while isinstance(made, ast.Call) and last_word(made.func) in _CASTS:
        inner = made.func.value if last_word(made.func) == "astype" and isinstance(made.func, ast.Attribute) else None
        inner = inner if inner is not None else made.args[0] if made.args else None
        if inner is None:
            return False
        made = inner
    if not isinstance(made, ast.Compare) or len(made.ops) != 1:
        return False
    other = made.comparators[0]
    if isinstance(made.ops[0], ast.NotEq):
        word = last_word(other).lower()
        return constant(other) in (0, -1, -100) or "pad" in word or "ignore" in word
    return isinstance(made.ops[0], ast.Gt | ast.GtE) and constant(other) == 0


RULE = lint_rule(
    "NNX789",
    "masked-mean",
    "the mean of token losses times a mask of padding, over all positions",
    why="""\
A mask takes the loss of padding away, but `mean` divides by all positions: a batch with more padding has a smaller loss
and smaller gradients, and losses of batches cannot be compared. The sum is to be divided by how many tokens count.
""",
    source="Flax example of machine translation, which divides by the weights; measured: the loss falls with padding",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
import optax

PAD = 0


def loss_fn(logits, labels):
    mask = (labels != PAD).astype(jnp.float32)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return (losses * mask).mean()
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
import optax

PAD = 0


def loss_fn(logits, labels):
    mask = (labels != PAD).astype(jnp.float32)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return (losses * mask).sum() / mask.sum()
""",
    ),
)
