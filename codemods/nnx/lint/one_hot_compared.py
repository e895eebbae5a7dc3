"""NNX979: classes that are compared with one-hot labels."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, resolved
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Item, Sequence

_ONE_HOT = frozenset({"jax.nn.one_hot", "flax.nnx.one_hot"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"argmax") for module in context.asked.modules):
        return
    for scope, node, pair in _compared(context):
        for classes, labels in (pair, pair[::-1]):
            if not in_test(scope) and _classes(context, scope, classes) and _one_hot(context, scope, labels):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{ast.unparse(labels)}` is one-hot: each class is compared with all its zeros and ones",
                    "compare with the classes: jnp.argmax(labels, axis=-1)",
                )


def _compared(context: Context) -> Iterator[tuple[Scope, ast.expr, tuple[ast.expr, ast.expr]]]:
    """Yield what is compared for being equal."""
    for scope, node in each(context, ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
            yield scope, node, (node.left, node.comparators[0])
    for event in context.bodies.named("equal"):
        if event.scope.module in context.asked and len(event.node.args) == 2:
            yield event.scope, event.node, (event.node.args[0], event.node.args[1])


def _classes(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression is the numbers of the classes that ``argmax`` finds, without an axis for them."""
    found = resolved(context, node, scope)
    if found is None or not isinstance(found.value, Call) or last_word(found.value.node.func) != "argmax":
        return False
    kept = keyword(found.value.node, "keepdims")
    return kept is None or constant(kept) is False


def _one_hot(context: Context, scope: Scope, node: ast.expr) -> bool:
    value = scope.module.values.get(node)
    if value is None:
        return False
    found = context.sources.originals(context.flow.here(value, scope))
    return bool(found) and all(
        (isinstance(one.value, Call) and context.flow.calls.callee_name(one) in _ONE_HOT) or _rows_of_eye(context, one)
        for one in found
    )


def _rows_of_eye(context: Context, found: Bound) -> bool:
    """Say whether a value is ``np.eye(n)[labels]``."""
    if not isinstance(found.value, Item | Indexed):
        return False
    index = found.value.index.value if isinstance(found.value, Indexed) else found.value.index
    whole = context.flow.follow(found, found.value.base)
    eye = isinstance(whole.value, Call) and context.flow.calls.callee_name(whole) in {"numpy.eye", "jax.numpy.eye"}
    return eye and not isinstance(index, Const | Sequence)


_BAD = """\
import jax
import jax.numpy as jnp


def accuracy(logits, labels):
    targets = jax.nn.one_hot(labels, logits.shape[-1])
    return jnp.mean(jnp.argmax(logits, axis=-1) == targets)
"""

RULE = lint_rule(
    "NNX979",
    "one-hot-compared",
    "the classes that argmax finds are compared with one-hot labels",
    why="""\
`jnp.argmax` gives a number for each example, and one-hot labels have an entry for each class. The comparison broadcasts
the one against the other, where it does not raise: it compares numbers of classes with zeros and ones, and its mean is
no accuracy.
""",
    source="Stack Overflow, on accuracies above or below what is possible; measured: another number",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("== targets", "== jnp.argmax(targets, axis=-1)"),),
)
