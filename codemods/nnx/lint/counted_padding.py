"""NNX959: a loss of the next tokens that counts the padding, which other places leave out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.masked_mean import masked_means
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, keyword, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_LOSS = "optax.softmax_cross_entropy_with_integer_labels"
_LOSSES = frozenset({_LOSS, "optax.softmax_cross_entropy", "jax.numpy.take_along_axis"})
_PAD = rb"(?:\w+\.)*(?:pad|PAD)(?:ding)?(?:_?(?:id|idx|token|token_id|index|value|ID|IDX|TOKEN|TOKEN_ID|INDEX))?\b"
# rows that are filled up to one length
_FILLED = re.compile(
    rb"\[ *" + _PAD + rb" *\] *\*|constant_values *= *" + _PAD + rb"|(?:full|where|full_like)\([^\n]*, *" + _PAD
)
# places that know what is padding
_KNOWN = re.compile(rb"[!=]= *" + _PAD + rb"|not_equal\([^\n]*" + _PAD)
# a function that gives some positions another weight
_WEIGHED = re.compile(r"mask|weight|valid|pad|PAD|ignore|where|keep|length")


def _check(context: Context) -> Iterator[Finding]:
    yield from _masked_means(context)
    texts = [module.source.data for module in context.project.modules]
    if not any(map(_FILLED.search, texts)) or not any(map(_KNOWN.search, texts)):
        return
    for event in context.bodies.named("mean"):
        scope = event.scope
        if scope.module not in context.asked or scope.function is None or in_test(scope):
            continue
        name = context.flow.calls.name(event)
        if name not in {"", "jax.numpy.mean"} or keyword(event.node, "where") is not None or len(event.node.args) > 1:
            continue
        given = event.node.args[0] if name and event.node.args else getattr(event.node.func, "value", None)
        loss = written(context, given, scope) if isinstance(given, ast.expr) else None
        while isinstance(loss, ast.UnaryOp):
            loss = written(context, loss.operand, scope)
        if not isinstance(loss, ast.Call) or not _of_next_tokens(context, loss, scope):
            continue
        if not _WEIGHED.search(ast.unparse(scope.function.node)):
            yield finding(
                RULE.code,
                scope,
                event.node,
                "the sequences are filled up, and this loss counts the padding as tokens to be predicted",
                "leave it out: jnp.sum(losses * mask) / jnp.sum(mask) of mask = targets != the id of padding",
            )


def _masked_means(context: Context) -> Iterator[Finding]:
    """Yield the means over all positions of losses that are zero at those which do not count."""
    told = set(context.shared(masked_means))  # NNX789 tells of them
    for event in context.bodies.named("mean"):
        scope, node = event.scope, event.node
        if event in told or scope.module not in context.asked or scope.function is None or in_test(scope):
            continue
        if not scope.module.source.mentions(b"softmax_cross_entropy") or node.keywords or len(node.args) > 1:
            continue
        name = context.flow.calls.name(event)
        given = node.args[0] if name == "jax.numpy.mean" and node.args else getattr(node.func, "value", None)
        if name not in {"", "jax.numpy.mean"} or not isinstance(given, ast.expr):
            continue
        factors = operands(written(context, given, scope), ast.Mult)
        masks = [one for one in factors if _MASK.search(entry_word(_bare(one)))]
        losses = [one for one in factors if _each_loss(context, written(context, one, scope), scope)]
        if len(factors) != 2 or len(masks) != 1 or len(losses) != 1 or _weighed_anew(context, node, masks[0], scope):
            continue
        mask = ast.unparse(_bare(masks[0]))
        yield finding(
            RULE.code,
            scope,
            node,
            f"the mean divides by all positions, also by those that `{mask}` leaves out: the more padding a batch has, "
            "the smaller its loss",
            f"divide by what counts: jnp.sum(losses * {mask}) / jnp.sum({mask})",
        )


def _bare(node: ast.expr) -> ast.expr:
    """Return a mask without its conversion to numbers, or further axes: ``mask.astype(jnp.float32)``."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            node = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            node = node.value
        else:
            return node


def _each_loss(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the loss at each position."""
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or keyword(node, "where") is not None:
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    return name in {_LOSS, "optax.softmax_cross_entropy"}


def _weighed_anew(context: Context, mean: ast.Call, mask: ast.expr, scope: Scope) -> bool:
    """Say whether a mean, or its mask, is divided by what counts, or multiplied by something else."""
    if any(isinstance(n, ast.Div) for n in ast.walk(written(context, _bare(mask), scope))):
        return True
    above = around(context, scope)
    outer = above.get(mean)
    names = {n.id for n in outer.targets if isinstance(n, ast.Name)} if isinstance(outer, ast.Assign) else set()
    places = [mean, *(n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name) and n.id in names)]
    factors = (above.get(one) for one in places)
    return any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult | ast.Div) for one in factors)


_MASK = re.compile(r"(^|_)(masks?|valid|nonpad|padding)(_|$)", re.I)


def _of_next_tokens(context: Context, node: ast.Call, scope: Scope) -> bool:
    """Say whether a call is the loss of each next token of sequences: of labels that are ``tokens[:, 1:]``."""
    value = scope.module.values.get(node)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
    if name not in _LOSSES or keyword(node, "where") is not None:
        return False
    labels = argument(node, 1, "indices" if name.endswith("axis") else "labels")
    if name.endswith("axis"):
        labels = _before_none(labels)
    elif name.endswith("entropy") and labels is not None:
        given = written(context, labels, scope)
        one_hot = isinstance(given, ast.Call) and last_word(given.func) == "one_hot" and bool(given.args)
        labels = given.args[0] if one_hot and isinstance(given, ast.Call) else None
    if labels is None:
        return False
    if isinstance(labels, ast.Name):
        bound = [n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign) and _binds(n, labels.id)]
        labels = _bound_to(bound[0], labels.id) if len(bound) == 1 else labels
    return isinstance(labels, ast.Subscript) and _shifted(labels.slice)


def _before_none(node: ast.expr | None) -> ast.expr | None:
    """Return the labels in ``labels[..., None]``, of ``tokens[:, 1:, None]`` without the None."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    *first, last = node.slice.elts
    if not isinstance(last, ast.Constant) or last.value is not None:
        return None
    whole = all(ast.unparse(one) in {":", "..."} for one in first)
    return node.value if whole else ast.Subscript(node.value, ast.Tuple(first, ast.Load()), ast.Load())


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for target in node.targets for n in ast.walk(target))


def _bound_to(node: ast.Assign, name: str) -> ast.expr:
    """Return what a variable is bound to, also as one of several."""
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        for one, value in zip(target.elts, node.value.elts, strict=False):
            if isinstance(one, ast.Name) and one.id == name:
                return value
    return node.value


def _shifted(index: ast.expr) -> bool:
    """Say whether an index is ``:, 1:``."""
    parts = index.elts if isinstance(index, ast.Tuple) else []
    return len(parts) == 2 and isinstance(parts[1], ast.Slice) and constant(parts[1].lower) == 1 and not parts[1].upper


_BAD = """\
import jax.numpy as jnp
import numpy as np
import optax

PAD = 0


def batch(texts, length):
    return np.array([ids + [PAD] * (length - len(ids)) for ids in texts])


def loss_fn(model, tokens):
    logits = model(tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()


def accuracy(model, tokens):
    real = tokens[:, 1:] != PAD
    return jnp.sum((model(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]) & real) / real.sum()
"""
_SUM = """\
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    mask = tokens[:, 1:] != PAD
    return jnp.sum(losses * mask) / jnp.sum(mask)
"""

RULE = lint_rule(
    "NNX959",
    "counted-padding",
    "a loss of the next tokens that counts the padding",
    why="""\
Sequences of several lengths are filled up with an id of padding. A mean over all positions asks the model to predict
that too, which is easy: the loss looks small, falls with the share of the padding, and what is learned of real tokens
is little. The rule speaks where the project fills up sequences, and tells padding from tokens somewhere else.
""",
    source="issues on padded batches, as arcee-ai/DAM 16; measured: real tokens are predicted as padding",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace(_BAD[_BAD.index("    return optax") : _BAD.index("\n\ndef accuracy")], _SUM),),
)
