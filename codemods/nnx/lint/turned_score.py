"""NNX632: a coefficient of determination that is turned round, and precision and recall under each other's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, entry_word, operands, taken_apart
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_TP = pattern(r"^(n_?|num_?)?(tp|tps|true_pos\w*)(_\w+)?$")
_FP = pattern(r"^(n_?|num_?)?(fp|fps|false_pos\w*)(_\w+)?$")
_FN = pattern(r"^(n_?|num_?)?(fn|fns|false_neg\w*)(_\w+)?$")
_PRECISION = pattern(r"^(precision|prec|ppv)(_|$)")
_RECALL = pattern(r"^(recall|sensitivity|tpr)(_|$)")
_TOTAL = pattern(r"^ss_?t(ot(al)?)?$|^total_sum_of_squares$|^tss$")
_REST = pattern(r"^ss_?r(es(id(ual)?)?)?$|^residual_sum_of_squares$|^rss$")
_F1 = pattern(r"^f1(_|$)|^f_?score$|_f1$")


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.BinOp):
        if isinstance(node.op, ast.Sub) and constant(node.left) == 1 and not in_test(scope):
            share = written(context, node.right, scope)
            if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Div) and _turned(context, share, scope):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    "the sum of squares around the mean is divided by that of the residuals: a better fit scores lower",
                    f"turn the quotient round: 1 - {ast.unparse(share.right)} / {ast.unparse(share.left)}",
                )
    for scope, assigned in each(context, ast.Assign):
        if len(assigned.targets) != 1 or in_test(scope):
            continue
        for target, value in taken_apart(assigned.targets[0], assigned.value):
            if not isinstance(target, ast.Name | ast.Attribute):
                continue
            word = entry_word(target).lower()
            message = _exchanged(context, word, value, scope) or _halved(context, word, value, scope, target)
            if message:
                yield finding(RULE.code, scope, value, *message)


def _turned(context: Context, share: ast.BinOp, scope: Scope) -> bool:
    """Say whether a quotient is that of the squares around the mean by those of the residuals."""
    if _TOTAL.search(entry_word(share.left).lower()) and _REST.search(entry_word(share.right).lower()):
        return True
    over, under = (_difference(context, one, scope) for one in (share.left, share.right))
    if over is None or under is None:
        return False
    return _from_mean(context, over, scope) and not _from_mean(context, under, scope)


def _difference(context: Context, node: ast.expr, scope: Scope) -> ast.BinOp | None:
    """Return the difference of which an expression is the sum or mean of the squares."""
    node = written(context, node, scope)
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant):
        node = written(context, node.left, scope)  # a small number against a division by zero
    if not isinstance(node, ast.Call) or last_word(node.func) not in {"sum", "mean", "nansum", "nanmean"}:
        return None
    inner = node.args[0] if node.args else None
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.BinOp | ast.Call):
        inner = node.func.value  # ((y - p) ** 2).sum()
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow) and constant(inner.right) == 2:
        inner = inner.left
    elif isinstance(inner, ast.Call) and last_word(inner.func) == "square" and inner.args:
        inner = inner.args[0]
    else:
        return None
    inner = written(context, inner, scope)
    return inner if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) else None


def _from_mean(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a difference is that of numbers and their own mean."""
    mean = written(context, node.right, scope)
    if not isinstance(mean, ast.Call) or last_word(mean.func) not in {"mean", "average", "nanmean"}:
        return False
    given = mean.args[0] if mean.args else mean.func.value if isinstance(mean.func, ast.Attribute) else None
    method = isinstance(mean.func, ast.Attribute) and ast.unparse(mean.func.value) == ast.unparse(node.left)
    return method or (given is not None and ast.unparse(given) == ast.unparse(node.left))


def _exchanged(context: Context, word: str, value: ast.expr, scope: Scope) -> tuple[str, str] | None:
    """Return what is wrong with a precision or recall that is the other of the two."""
    precise = _PRECISION.search(word) is not None
    if (not precise and not _RECALL.search(word)) or not isinstance(value, ast.BinOp):
        return None
    if not isinstance(value.op, ast.Div) or not _TP.search(entry_word(value.left).lower()):
        return None
    terms = [entry_word(one).lower() for one in operands(written(context, value.right, scope), ast.Add)]
    wrong, right = (_FN, _FP) if precise else (_FP, _FN)
    if any(map(_TP.search, terms)) and any(map(wrong.search, terms)) and not any(map(right.search, terms)):
        other, missed = ("recall", "false positives") if precise else ("precision", "false negatives")
        return f"this is the {other}: the {word.split('_')[0]} counts the {missed}", f"divide by those and {terms[0]}"
    return None


def _halved(
    context: Context, word: str, value: ast.expr, scope: Scope, target: ast.Name | ast.Attribute
) -> tuple[str, str] | None:
    """Return what is wrong with an F1 without its factor 2."""
    if not _F1.search(word) or not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return None
    over, under = operands(value.left, ast.Mult), operands(value.right, ast.Add)
    names = {ast.unparse(one) for one in over}
    terms = [one for one in under if not isinstance(one, ast.Constant) and not _small(one)]
    if len(over) != 2 or len(terms) != 2 or names != {ast.unparse(one) for one in terms} or len(names) != 2:
        return None
    if not {word[:1] for word in map(str.lower, map(entry_word, over))} <= {"p", "r", "s"}:
        return None
    text = ast.unparse(target)
    doubled = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    if any(text in {ast.unparse(n.left), ast.unparse(n.right)} for n in doubled):
        return None
    return "F1 is twice the product by the sum: this one is never above one half", "multiply it by 2"


def _small(node: ast.expr) -> bool:
    return "eps" in ast.unparse(node).lower()


_BAD = """\
import jax.numpy as jnp


def r2_score(target, prediction):
    around_mean = jnp.sum((target - jnp.mean(target)) ** 2)
    residual = jnp.sum((target - prediction) ** 2)
    return 1 - around_mean / residual
"""
_SHARES = """\
import jax.numpy as jnp


def scores(tp, fp, fn):
    precision = tp / (tp + fn)
    recall = tp / (tp + fp)
    return precision, recall
"""

RULE = lint_rule(
    "NNX632",
    "turned-score",
    "a coefficient of determination that is turned round, or precision and recall under each other's names",
    why="""\
The coefficient of determination is one less the squares of the residuals by those around the mean; the other way round
a better fit scores lower, without a bound. Precision is the share of the right ones among what was found and so counts
the false positives; recall counts the false negatives. F1, their harmonic mean, is twice the product by the sum.
""",
    source="Wright, 1921; van Rijsbergen, 1979; measured: other scores",
    check=_check,
    bad=(_BAD, _SHARES),
    clean=(
        _BAD.replace("around_mean / residual", "residual / around_mean"),
        _SHARES.replace("recall = tp / (tp + fp)", "recall = tp / (tp + fn)").replace(
            "precision = tp / (tp + fn)", "precision = tp / (tp + fp)"
        ),
    ),
)
