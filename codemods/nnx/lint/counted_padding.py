"""NNX959: a loss of the next tokens that counts the padding, which other places leave out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, written
from codemods.nnx.lint.syntax import argument, constant, keyword, taken_apart
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_LOSS = "optax.softmax_cross_entropy_with_integer_labels"
_LOSSES = frozenset({_LOSS, "optax.softmax_cross_entropy", "jax.numpy.take_along_axis"})
_PAD = rb"(?:\w+\.)*(?:pad|PAD)(?:ding)?(?:_?(?:id|idx|token|token_id|index|value|ID|IDX|TOKEN|TOKEN_ID|INDEX))?\b"
# rows that are filled up to one length
_FILLED = pattern(
    rb"\[ *" + _PAD + rb" *\] *\*|constant_values *= *" + _PAD + rb"|(?:full|where|full_like)\([^\n]*, *" + _PAD
)
# places that know what is padding
_KNOWN = pattern(rb"[!=]= *" + _PAD + rb"|not_equal\([^\n]*" + _PAD)
# a function that gives some positions another weight
_WEIGHED = pattern(r"mask|weight|valid|pad|PAD|ignore|where|keep|length")


def _check(context: Context) -> Iterator[Finding]:
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
    pairs = taken_apart(node.targets[0], node.value)
    return next((value for one, value in pairs if isinstance(one, ast.Name) and one.id == name), node.value)


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
