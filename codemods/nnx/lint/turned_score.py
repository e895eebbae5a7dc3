"""NNX632: a coefficient of determination that is turned round, and precision and recall under each other's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import entry_word, operands, taken_apart
from codemods.nnx.patterns import pattern

_TP = pattern(r"^(n_?|num_?)?(tp|tps|true_pos\w*)(_\w+)?$")
_FP = pattern(r"^(n_?|num_?)?(fp|fps|false_pos\w*)(_\w+)?$")
_FN = pattern(r"^(n_?|num_?)?(fn|fns|false_neg\w*)(_\w+)?$")
_PRECISION = pattern(r"^(precision|prec|ppv)(_|$)")
_RECALL = pattern(r"^(recall|sensitivity|tpr)(_|$)")
_TOTAL = pattern(r"(?i)^(\w+\.)*(ss_?t(ot(al)?)?|total_sum_of_squares|tss)$")
_REST = pattern(r"(?i)^(\w+\.)*(ss_?r(es(id(ual)?)?)?|residual_sum_of_squares|rss)$")
_F1 = pattern(r"^f1(_|$)|^f_?score$|_f1$")


_TURNED = "the sum of squares around the mean is divided by that of the residuals: a better fit scores lower"
_RIGHT = "turn the quotient round: 1 - residuals / around_mean"
_SUMS = ("sum", "mean", "nansum", "nanmean")
_WRONG = (
    Wrong(
        tuple(
            f"1 - {over}((Y - {mean}(Y))**2)/{under}((Y - P)**2)"
            for over in _SUMS
            for under in _SUMS
            for mean in ("mean", "nanmean", "average")
        ),
        _TURNED,
        _RIGHT,
        (b"1",),
    ),
    Wrong(("1 - T/R",), _TURNED, _RIGHT, (b"1",), named={"T": _TOTAL, "R": _REST}),
)


def _check(context: Context) -> Iterator[Finding]:
    yield from wrong_forms(context, RULE.code, _WRONG)
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
