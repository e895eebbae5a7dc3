"""NNX976: a mask that does not hide what it is to hide from a softmax."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.mask_meaning import BEHIND, OVER_QUERIES, Meaning, is_upper_half, meaning, over_queries
from codemods.nnx.lint.masked_entropy import masked_entropies
from codemods.nnx.lint.masked_weights import masked_weights
from codemods.nnx.lint.names import SOFTMAX
from codemods.nnx.lint.places import foreign, formula_of, in_test, resolved, written
from codemods.nnx.lint.syntax import argument, constant, names_in, operands
from codemods.nnx.lint.truth_masks import added
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call, Const, Unknown

_MASK = pattern(r"(\w+_)?mask")
_INFINITE = pattern(r"-(jnp|np|numpy|math|jax\.numpy)\.inf|-?float\('-?inf'\)")
_TYPES = frozenset({"jax.numpy.finfo", "numpy.finfo"})
_FAR = -100  # from which number on something added to a score hides it


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "softmax"):
        if name not in SOFTMAX or in_test(event.scope) or not event.node.args or event.value.keyword("where"):
            continue
        scores = written(context, event.node.args[0], event.scope)
        found = _of_where(context, event.scope, scores)
        axis = argument(event.node, 1, "axis")
        if found is None and _is_where(scores) and (axis is None or constant(axis) == -1):
            found = _over_queries(context, event.scope, scores) or _nothing_seen(context, event.scope, scores)
        found = found or _zeroed(context, event.scope, scores)
        found = found or _of_sum(context, event.scope, scores)
        found = found or _of_product(context, event.scope, scores)
        if found is not None:
            yield finding(RULE.code, event.scope, scores, *found)
        else:
            yield from _moved(context, event, event.node.args[0])
    for word, place in (("log_softmax", 0), ("categorical", 1)):
        for event, name in foreign(context, word):
            logits = argument(event.node, place, "logits" if place else "x")
            if name in _OF_LOGITS and logits is not None and not in_test(event.scope):
                yield from _moved(context, event, logits)
    yield from _of_weights(context)
    for scope, product, logits in masked_entropies(context):
        yield finding(
            RULE.code,
            scope,
            product,
            "a masked probability is 0 and its logarithm minus infinity: their product is NaN, and so is the entropy",
            "mask the logits with a finite number, as -1e9, or the product: jnp.where(mask, p * log_p, 0.0)",
            related=[(logits, "they are masked here")],
        )
    for scope, whole, mask in masked_weights(context):
        yield finding(
            RULE.code,
            scope,
            whole,
            f"`{ast.unparse(mask)}` hides later positions when they have had their share: "
            "the rest of a row sums to less than one, and depends on them",
            "hide their scores before the softmax: jnp.where(mask, scores, -jnp.inf)",
        )


_OF_LOGITS = frozenset({"jax.nn.log_softmax", "flax.nnx.log_softmax", "jax.random.categorical"})


def _moved(context: Context, event: CallEvent, scores: ast.expr) -> Iterator[Finding]:
    """Yield where a mask of truth values is added to scores: those that are true grow by one, and nothing is hidden."""
    if event.value.keyword("where") is not None or not event.scope.module.source.matches(_TRUTHS):
        return
    found = added(context, event.scope, scores)
    if found is None:
        return
    mask, whole = found
    text = ast.unparse(mask)
    product = isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult)
    done = "as a factor it makes scores zero" if product else "added to scores it moves them by one"
    if not _applied_again(context, event.scope, [whole], text):
        yield finding(
            RULE.code,
            event.scope,
            whole,
            f"`{text}` is of truth values: {done}, and hides nothing",
            "choose by it: jnp.where(mask, scores, -jnp.inf)",
        )


# how masks of truth values are made
_TRUTHS = pattern(rb"mask|bool|[<>]|==|!=|logical_|causal|valid|legal|allowed", re.I)


def _of_weights(context: Context) -> Iterator[Finding]:
    """Yield where numbers far below zero are put among the weights that a softmax has given."""
    modules = {module for module in context.asked.modules if module.source.mentions(b"softmax")}
    for event, name in foreign(context, "where") if modules else ():
        if name not in {"jax.numpy.where", "numpy.where"} or event.scope.module not in modules or in_test(event.scope):
            continue
        if len(event.node.args) != 3 or True not in _hiding(context, event.scope, event.node):
            continue
        kept = [one for one in event.node.args[1:] if not _far(context, event.scope, one)]
        found = resolved(context, kept[0], event.scope) if len(kept) == 1 else None
        weights = (
            found is not None and isinstance(found.value, Call) and context.flow.calls.callee_name(found) in SOFTMAX
        )
        if weights and not _only_ranked(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "these are weights that a softmax has given: a number far below zero is none, and counts in sums",
                "mask the scores before the softmax",
            )


def _only_ranked(context: Context, event: CallEvent) -> bool:
    """Say whether it is only asked which of the masked weights are largest, or their softmax is taken again."""
    above = around(context, event.scope)
    node = above.get(event.node)
    name = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    uses = [node] if name is None else []
    if isinstance(name, ast.Name):
        reads = context.bodies.reads(event.scope, name.id)
        uses = [above.get(one) for one in reads if event.scope.module.values.get(one) is event.value]
    return not uses or any(isinstance(one, ast.Call) and last_word(one.func) in _RANKING for one in uses)


_RANKING = frozenset({"argmax", "max", "top_k", "argsort", "sort", "softmax", "categorical", "exp", "amax"})


def _of_where(context: Context, scope: Scope, scores: ast.expr) -> tuple[str, str] | None:
    """Say what is wrong with ``jnp.where(mask, -1e9, scores)``, if the mask is true for what may be seen."""
    if not _is_where(scores):
        return None
    far = _hiding(context, scope, scores)
    mask = _meaning(context, scope, scores.args[0]) or _upper_half(context, scope, scores.args[0])
    if mask is None or far[0] is far[1] or mask.seen is not far[0]:
        return None
    return _hidden(mask), "take the other branch where the mask is true"


def _zeroed(context: Context, scope: Scope, scores: ast.expr) -> tuple[str, str] | None:
    """Say what is wrong with ``jnp.where(mask, scores, 0)``: what is zero still has a weight."""
    if not _is_where(scores):
        return None
    zeros = [constant(one) == 0 and constant(one) is not False for one in scores.args[1:]]
    mask = _meaning(context, scope, scores.args[0])
    if mask is None or zeros[0] is zeros[1] or mask.seen is zeros[0]:
        return None
    names = names_in(scores.args[0])
    if sum(n.id in names and isinstance(n.ctx, ast.Load) for n in _names(context, scope)) > 1:
        return None  # it may be applied to the weights as well
    return "the scores of what is hidden are zero, and the softmax of zero is a weight like others", _FILL


def _names(context: Context, scope: Scope) -> Iterator[ast.Name]:
    return (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Name))


_FILL = "hide them by a number far below all scores: -jnp.inf or -1e9"


def _is_where(scores: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(scores, ast.Call) and last_word(scores.func) == "where" and len(scores.args) == 3


def _over_queries(context: Context, scope: Scope, scores: ast.Call) -> tuple[str, str] | None:
    """Say what is wrong with ``softmax(jnp.where(keep[:, None, :, None], scores, -1e9))``."""
    others = [written(context, one, scope) for one in scores.args[1:] if not _far(context, scope, one)]
    if any(isinstance(n, ast.Call) and last_word(n.func) == "where" for one in others for n in ast.walk(one)):
        return None  # another mask hides the keys
    mask = scope.module.values.get(scores.args[0]) if True in _hiding(context, scope, scores) else None
    masks = context.sources.originals(context.flow.here(mask, scope)) if mask is not None else []
    return OVER_QUERIES if masks and all(over_queries(context, one, scope) for one in masks) else None


def _nothing_seen(context: Context, scope: Scope, scores: ast.Call) -> tuple[str, str] | None:
    """Say what is wrong with -inf for all keys of a query that is padding: ``where(keep_q & keep_k, scores, -inf)``."""
    if not any(_INFINITE.fullmatch(ast.unparse(one)) for one in scores.args[1:]):
        return None
    mask, home = _formula(context, written(context, scores.args[0], scope), scope)
    parts = operands(mask, ast.BitAnd) if isinstance(mask, ast.BinOp) else []
    if isinstance(mask, ast.Call) and last_word(mask.func) == "logical_and":
        parts = mask.args
    values = [value for part in parts if (value := home.module.values.get(part)) is not None]
    if not any(over_queries(context, context.flow.here(value, home), home) for value in values):
        return None
    words = {last_word(n.func) for n in context.bodies.nodes(scope) if isinstance(n, ast.Call)}
    if words & {"nan_to_num", "isnan", "isfinite", "isinf"}:
        return None
    return (
        "the mask hides all keys of queries that are padding, and the softmax of -inf alone is NaN",
        "hide the keys alone, or take a large number for -inf: -1e9",
    )


def _formula(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.expr, Scope]:
    """Return the one expression that a function of the project gives where it is called, with its scope."""
    call = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(call, Call):
        return node, scope
    called = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))]
    formula = formula_of(context, called[0]) if len(called) == 1 else None
    return (formula, called[0].scope) if formula is not None else (node, scope)


def _of_sum(context: Context, scope: Scope, scores: ast.expr) -> tuple[str, str] | None:
    """Say what is wrong with ``scores + mask * -1e9``, if the mask is true for what may be seen.

    So it is with ``scores + jnp.where(mask, -1e9, 0.0)``.
    """
    for term in operands(scores, ast.Add):
        chosen = written(context, term, scope)
        if term is not scores and _is_where(chosen) and any(constant(one) == 0 for one in chosen.args[1:]):
            wrong = _of_where(context, scope, chosen)
            if wrong is not None:
                return wrong
        factors = operands(term, ast.Mult)
        if term is scores or len(factors) != 2:
            continue
        for mask, number in (factors, factors[::-1]):
            found = _meaning(context, scope, mask) if _far(context, scope, number) else None
            if found is not None and found.seen:
                return _hidden(found), "add it where the mask is false: scores + (1 - mask) * -1e9"
    return None


def _of_product(context: Context, scope: Scope, scores: ast.expr) -> tuple[str, str] | None:
    """Say what is wrong with the softmax of ``scores * mask``: what is zero still has a weight."""
    factors = operands(scores, ast.Mult)
    value = scope.module.values.get(scores)
    changed = value.node if isinstance(value, Unknown) else None
    if isinstance(changed, ast.AugAssign) and isinstance(changed.op, ast.Mult):
        factors = [scores, changed.value]  # scores *= mask
    for factor in factors if len(factors) > 1 else ():
        whole = factor.value if isinstance(factor, ast.Subscript) else factor
        named = isinstance(whole, ast.Name) and _MASK.fullmatch(whole.id)
        if named or _meaning(context, scope, factor) is not None:
            text = ast.unparse(factor)
            if _applied_again(context, scope, factors, text):
                return None
            return (
                f"`{text}` makes scores zero, and the softmax of zero is a weight like others",
                f"hide them: jnp.where({text}, scores, -jnp.inf)",
            )
    return None


def _applied_again(context: Context, scope: Scope, factors: list[ast.expr], text: str) -> bool:
    """Say whether the weights, or something else, are masked as well, so that they may be put right by that."""
    inner = {n for factor in factors for n in ast.walk(factor)}
    return any(
        ast.unparse(side) == text
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        for side in (node.left, node.right)
        if side not in inner
    )


def _hidden(mask: Meaning) -> str:
    if mask.seen:
        return "what the mask is true for may be seen, and is what gets hidden here"
    return f"the mask is true for {mask.hides}, and all but those are hidden here"


def _upper_half(context: Context, scope: Scope, node: ast.expr) -> Meaning | None:
    """Return what ``jnp.triu`` is true for with the positions themselves, unless the order is meant to be turned."""
    value = scope.module.values.get(node)
    if value is None or scope.module.source.once(_is_turned):
        return None
    masks = context.sources.originals(context.flow.here(value, scope))
    return Meaning(BEHIND, False) if masks and all(is_upper_half(context, one) for one in masks) else None


def _is_turned(source: Source) -> bool:
    return source.matches(_TURNED)


# where the order is turned, or what lies ahead is what is looked at
_TURNED = pattern(rb"backward|revers|anti_?causal|right_?to_?left|look_?ahead|suffix|future", re.I)


def _meaning(context: Context, scope: Scope, node: ast.expr) -> Meaning | None:
    value = scope.module.values.get(node)
    if value is None:
        return None
    found = {meaning(context, one, scope) for one in context.sources.originals(context.flow.here(value, scope))}
    return found.pop() if len(found) == 1 else None


def _hiding(context: Context, scope: Scope, where: ast.Call) -> list[bool]:
    """Say of both branches of a ``jnp.where`` whether they hide what gets them."""
    return [_far(context, scope, one) for one in where.args[1:]]


def _far(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether a number is so small that what it is added to, or stands for, gets no weight: ``-1e9``, ``BIG``."""
    found = resolved(context, node, scope) if isinstance(node, ast.Name | ast.Attribute) else None
    if found is not None and isinstance(made := getattr(found.value, "node", None), ast.expr):
        node = made
    number = found.value.value if found is not None and isinstance(found.value, Const) else constant(node)
    if isinstance(number, int | float) and not isinstance(number, bool):
        return number <= _FAR
    if found is not None and isinstance(found.value, Attr) and found.value.name == "min":
        return context.flow.calls.callee_name(context.flow.follow(found, found.value.base)) in _TYPES
    text = ast.unparse(node)
    return bool(_INFINITE.fullmatch(text) or re.fullmatch(r".*finfo\(.*\)\.min", text))


_BAD = """\
import jax
import jax.numpy as jnp


def attention(q, k, v):
    scores = q @ k.T / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape))
    return jax.nn.softmax(scores * mask) @ v
"""
_WHERE = _BAD.replace("ones(scores.shape)", "ones(scores.shape, dtype=bool)").replace(
    "scores * mask", "jnp.where(mask, -1e9, scores)"
)

RULE = lint_rule(
    "NNX976",
    "masked-scores",
    "a mask that leaves a softmax what it is to hide from it",
    why="""\
The softmax of a score of zero is a weight like others: a mask has to put -inf, or a number far below all scores, where
nothing may be seen, and not to multiply with zero. A mask of truth values that is added counts as 1 and 0: all scores
stay, and those of one kind grow by one. `jnp.where(mask, -1e9, scores)` of a mask of `jnp.tril` hides what
may be seen, and shows each position only what comes behind it. Weights that are set to zero behind the softmax have
taken their share already: what is left of a row sums to less than one, the less the more is hidden. Where every score
of a row is -inf the softmax is NaN: a mask that leaves out the queries of the padding too needs a finite number.
""",
    source="jax.nn.softmax; measured: outputs that change with later tokens",
    severity="error",
    check=_check,
    bad=(_BAD, _WHERE),
    clean=(
        _BAD.replace("scores * mask", "jnp.where(mask == 1, scores, -1e9)"),
        _WHERE.replace("(mask, -1e9, scores)", "(mask, scores, -1e9)"),
    ),
)
