"""NNX581: classes that begin at one, where one_hot and the cross-entropy count from zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.class_count import class_count
from codemods.nnx.lint.count_by_largest import counted_by_largest
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.label_range import label_range, written_into
from codemods.nnx.lint.places import foreign, in_test, literal
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.values import Call, Value

_SOFTMAX = frozenset({"jax.nn.log_softmax", "jax.nn.softmax"})
_ONE_HOT = frozenset({"jax.nn.one_hot", "flax.nnx.one_hot"})
# where the logits and the labels stand
_LABELS: dict[str, tuple[tuple[int, str], tuple[int, str]]] = {
    "optax.softmax_cross_entropy_with_integer_labels": ((0, "logits"), (1, "labels")),
    "optax.losses.softmax_cross_entropy_with_integer_labels": ((0, "logits"), (1, "labels")),
    "jax.numpy.take_along_axis": ((0, "arr"), (1, "indices")),
}


def _check(context: Context) -> Iterator[Finding]:
    for event, labels_of in counted_by_largest(context):
        text = ast.unparse(labels_of)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"labels begin at 0, so that there is one more than the greatest of `{text}` says: that one is left out",
            f"add one: {text}.max() + 1",
        )
    for event, name in foreign(context, "one_hot"):
        node = argument(event.node, 1, "num_classes")
        labels = event.value.argument(0, "x")
        if name not in _ONE_HOT or node is None or labels is None or event.value.starred or in_test(event.scope):
            continue
        classes = _integer(context, node, event.scope)
        largest = _past(context, labels, event, classes, counted=False) if classes is not None else None
        if largest is not None and classes is not None:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the labels go up to {largest}, and {classes} classes are 0 to {classes - 1}: of the last one no "
                "entry is set",
                "count them from zero: one_hot(labels - 1, ...)",
            )
    for event, largest, classes in _looked_up(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the labels go up to {largest}, and {classes} classes are 0 to {classes - 1}: the loss of the last one is "
            "NaN",
            "count the labels from zero: labels - 1",
        )


def _past(context: Context, labels: Value, event: CallEvent, classes: int, counted: bool = True) -> int | None:
    """Return the largest label, if none is zero and the largest is no class; also of those counted up if that is said:
    ``one_hot(jnp.arange(1, n + 1), n)`` is a matrix that shifts."""
    found = label_range(context, context.flow.here(labels, event.scope))
    if found is None or found.smallest <= 0 or found.largest < classes or (found.counted and not counted):
        return None
    return None if any(one in context.shared(written_into) for one in found.made) else found.largest


def _looked_up(context: Context) -> Iterator[tuple[CallEvent, int, int]]:
    """Yield the losses that look up the logits of labels of which one is no class, that label and the classes."""
    for event, name in foreign(context, "softmax_cross_entropy_with_integer_labels", "take_along_axis"):
        place = _LABELS.get(name)
        if place is None or event.value.starred or in_test(event.scope) or not event.value.args:
            continue
        if keyword(event.node, "mode") is not None or context.bodies.guarded(event.node, event.scope):
            continue
        axis = argument(event.node, 2, "axis")
        if (axis is None) != name.startswith("optax.") or (axis is not None and constant(axis) != -1):
            continue
        logits, labels = (event.value.argument(*one) for one in place)
        if axis is not None and not (logits is not None and _probabilities(context, logits, event)):
            continue  # else rows of anything, which may be left out later
        classes = None
        if labels is not None and logits is not None and _past(context, labels, event, 1) is not None:
            classes = class_count(context, context.flow.here(logits, event.scope))
        largest = _past(context, labels, event, classes) if labels is not None and classes is not None else None
        if largest is not None and classes is not None:
            yield event, largest, classes


def _probabilities(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a value is what a softmax gives."""
    sources = context.sources.originals(context.flow.here(value, event.scope))
    return bool(sources) and all(
        isinstance(one.value, Call) and context.flow.calls.callee_name(one) in _SOFTMAX for one in sources
    )


def _integer(context: Context, node: ast.expr, scope: Scope) -> int | None:
    """Return the integer that an expression is: a constant, also under a name, or a sum or difference of such."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = _integer(context, node.left, scope), _integer(context, node.right, scope)
        if left is None or right is None:
            return None
        return left + right if isinstance(node.op, ast.Add) else left - right
    known = literal(context, node, scope)
    return known if type(known) is int else None


RULE = lint_rule(
    "NNX581",
    "class-past-end",
    "labels from 1 to n, or up to n, for one_hot or a cross-entropy of n classes",
    why="""\
`jax.nn.one_hot(labels, n)` has an entry for each of 0 to n - 1. Of a label n it gives a row of zeros and says nothing:
a cross-entropy of it is zero, so that the last class is never learned, and the first entry stands for no class. The
greatest label, `labels.max()`, is one less than the number of classes, segments or bins. Of the label n optax's
`softmax_cross_entropy_with_integer_labels` and `jnp.take_along_axis` give NaN.
""",
    source="jax documentation of one_hot; measured on JAX 0.6.2 and 0.10.2: a row of zeros, a loss of NaN",
    check=_check,
    bad=(
        """\
import jax

STARS = 5


def targets(key, n):
    ratings = jax.random.randint(key, (n,), 1, STARS + 1)
    return jax.nn.one_hot(ratings, STARS)
""",
    ),
    clean=(
        """\
import jax

STARS = 5


def targets(key, n):
    ratings = jax.random.randint(key, (n,), 1, STARS + 1)
    return jax.nn.one_hot(ratings - 1, STARS)
""",
    ),
)
