"""NNX789: a loss of tokens without padding that is divided by all positions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.averaged_masks import averaged_masks
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, resolved, written
from codemods.nnx.lint.syntax import constant, entry_word, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Unknown

_LOSSES = frozenset({"optax.softmax_cross_entropy", "optax.softmax_cross_entropy_with_integer_labels"})
_CASTS = frozenset({"astype", "asarray", "float32", "array"})


def _check(context: Context) -> Iterator[Finding]:
    told = set()
    for event in _masked_means(context):
        told.add(event)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the loss of padding is zero, but its positions are counted: the more padding, the smaller the loss",
            "divide by what counts: (loss * mask).sum() / mask.sum(), or jnp.mean(loss, where=mask)",
        )
    for event, mask in averaged_masks(context, told):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the mean divides by all positions, also by those that `{mask}` leaves out: the more padding a batch has, "
            "the smaller it is",
            f"divide by what counts: jnp.sum(values * {mask}) / jnp.sum({mask})",
        )


def _masked_means(context: Context) -> Iterator[CallEvent]:
    """Yield the means over all positions of losses that are zero where the labels are padding."""
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
        pair = None
        if inner is not None:
            pair = _multiplied(context, inner, scope) or _masked(context, written(context, inner, scope), scope)
        if pair is not None and _token_loss(context, pair[0], scope) and _padding(context, pair[1], scope):
            yield event


def _speaks_of_losses(scope: Scope) -> bool:
    return any(map(scope.module.source.mentions, (b"optax", b"log_softmax")))


def _averaged(event: CallEvent, name: str) -> ast.expr | None:
    """Return what a call averages."""
    if name:
        return event.node.args[0] if event.node.args else None
    return event.node.func.value if isinstance(event.node.func, ast.Attribute) else None


def _multiplied(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.expr, ast.expr] | None:
    """Return a loss and its mask of a variable that is bound once and then multiplied: ``losses *= mask``."""
    if not isinstance(node, ast.Name):
        return None
    stores = context.bodies.stores(scope, node.id)
    changes = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.AugAssign) and n.target in stores]
    if len(stores) != 2 or len(changes) != 1 or not isinstance(changes[0].op, ast.Mult):
        return None
    bound = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and n.targets[0] in stores]
    ordered = len(bound) == 1 and bound[0].lineno < changes[0].lineno < node.lineno
    return (bound[0].value, changes[0].value) if ordered else None


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
    if made is node and isinstance(node, ast.Name):  # of a function that gives it beside the losses
        found = resolved(context, node, scope)
        if found is None or found.frame is None or not isinstance(found.value, Call | Unknown):
            return False
        scope = found.frame.function.scope
        made = found.value.node if isinstance(found.value.node, ast.expr) else node
    while isinstance(made, ast.Call) and last_word(made.func) in _CASTS:
        inner = made.func.value if last_word(made.func) == "astype" and isinstance(made.func, ast.Attribute) else None
        inner = inner if inner is not None else made.args[0] if made.args else None
        if inner is None:
            return False
        made = inner
    return _real(context, made, scope)


def _real(context: Context, made: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is true, or 1, where a label is no padding."""
    if isinstance(made, ast.Call) and last_word(made.func) == "where" and len(made.args) == 3:
        asked, *chosen = written(context, made.args[0], scope), *map(constant, made.args[1:])
        if chosen == [0, 1]:
            return _compares(asked, ast.Eq) and _is_padding(asked)
        return chosen == [1, 0] and _real(context, asked, scope)
    if isinstance(made, ast.Call) and last_word(made.func) == "not_equal" and len(made.args) == 2:
        return _names_padding(made.args[1])
    if _compares(made, ast.NotEq):
        return _is_padding(made)
    if _compares(made, ast.Eq):
        assert isinstance(made, ast.Compare)
        return entry_word(made.left) == "attention_mask" and constant(made.comparators[0]) in (1, True)
    return _compares(made, ast.Gt, ast.GtE) and isinstance(made, ast.Compare) and constant(made.comparators[0]) == 0


def _compares(node: ast.expr, *kinds: type[ast.cmpop]) -> bool:
    return isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], kinds)


def _is_padding(node: ast.expr) -> bool:
    """Say whether a comparison is one with the label of padding."""
    return isinstance(node, ast.Compare) and _names_padding(node.comparators[0])


def _names_padding(node: ast.expr) -> bool:
    word = last_word(node).lower()
    return constant(node) in (0, -1, -100) or "pad" in word or "ignore" in word


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
