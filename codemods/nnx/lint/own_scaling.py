"""NNX658: test data that is scaled by its own mean and deviation, beside training data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_TRAIN = pattern(r"(^|_)(train|training|tr)(_|$)|train$")
_TEST = pattern(r"(^|_)(test|testing|te|val|valid|validation|dev|eval)(_|$)|test$|val$")
_WORD = pattern(rb"std\(|mean\(", needs=(b"std(", b"mean("))


class _Scaled(NamedTuple):
    """An array that is scaled by its own numbers: ``(x - x.mean(0)) / x.std(0)``."""

    scope: Scope
    node: ast.BinOp
    name: str


def _check(context: Context) -> Iterator[Finding]:
    modules = {m for m in context.asked.modules if m.source.matches(_WORD) and m.source.mentions(b"std")}
    found: dict[Scope, list[_Scaled]] = {}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if isinstance(node.op, ast.Div) and scope.module in modules and not in_test(scope):
            name = _scaled(context, node, scope)
            if name:
                found.setdefault(scope, []).append(_Scaled(scope, node, name))
    for every in found.values():
        for one in every:
            train = next((o for o in every if _TRAIN.search(o.name.lower()) and _alike(o.name, one.name)), None)
            if train is not None and _TEST.search(one.name.lower()):
                yield finding(
                    RULE.code,
                    one.scope,
                    one.node,
                    f"`{one.name}` is scaled by its own mean and deviation, and `{train.name}` by others: the same "
                    "input gives two numbers to the model",
                    f"scale both by the mean and the deviation of `{train.name}`",
                    related=[(train.node, "scaled here")],
                )


def _alike(train: str, test: str) -> bool:
    """Say whether two names differ in the part of the data that they tell of alone."""
    return _TRAIN.sub("", train.lower()).strip("_") == _TEST.sub("", test.lower()).strip("_")


def _scaled(context: Context, node: ast.BinOp, scope: Scope) -> str:
    """Return the array of ``(x - x.mean(...)) / x.std(...)``."""
    top = written(context, node.left, scope)
    if not isinstance(top, ast.BinOp) or not isinstance(top.op, ast.Sub) or not isinstance(top.left, ast.Name):
        return ""
    deviation = node.right
    if isinstance(deviation, ast.BinOp) and isinstance(deviation.op, ast.Add):  # + 1e-8
        deviation = deviation.left
    parts = (written(context, top.right, scope), "mean"), (written(context, deviation, scope), "std")
    name = top.left.id
    return name if all(_of(call, word) == name for call, word in parts) else ""


def _of(node: ast.expr, word: str) -> str:
    """Return the array of which an expression is the mean or the deviation."""
    if not isinstance(node, ast.Call) or last_word(node.func) != word:
        return ""
    whole = array_of(node)
    return whole.id if isinstance(whole, ast.Name) else ""


_BAD = """\
import jax.numpy as jnp


def scaled(x_train, x_test):
    x_train = (x_train - x_train.mean(0)) / x_train.std(0)
    x_test = (x_test - x_test.mean(0)) / x_test.std(0)
    return x_train, x_test
"""

RULE = lint_rule(
    "NNX658",
    "own-scaling",
    "test data that is scaled by its own mean and deviation",
    why="""\
A model learns what the numbers mean after the scaling of the training data. Test data that is scaled by its own mean
and
deviation is shifted against it: the same example becomes another input, and one example alone cannot be scaled at all.
""",
    source="scikit-learn, common pitfalls: inconsistent preprocessing",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("x_test.mean", "mean")
        .replace("x_test.std", "std")
        .replace("    x_train = ", "    mean, std = x_train.mean(0), x_train.std(0)\n    x_train = "),
    ),
)
