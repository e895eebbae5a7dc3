"""NNX886: labels of another kind than the loss takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.arrays import INT, Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.labels_first import labels_first
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Attr, Call, Choice, Const, Item, Param, Value

_CLASSES = frozenset({"argmax", "argmin"})
_KEEPING = frozenset({"astype", "reshape", "squeeze", "ravel", "flatten"})
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(
        context,
        "softmax_cross_entropy",
        "softmax_cross_entropy_with_integer_labels",
        "safe_softmax_cross_entropy",
        "sigmoid_binary_cross_entropy",
    ):
        labels = event.value.argument(1, "labels")
        if not name.startswith("optax.") or labels is None:
            continue
        node = event.node.args[1] if len(event.node.args) > 1 else event.node
        if labels_first(event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` takes the logits first, and gets the labels",
                "exchange the arguments",
            )
            continue
        whole = last(name).endswith("integer_labels")
        if whole and one_hot(context, labels, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{last(name)}` takes the numbers of the classes, and gets one-hot labels",
                "give it the integers, or use softmax_cross_entropy",
            )
        elif last(name) == "sigmoid_binary_cross_entropy":
            continue
        elif not whole and (_numbers(context, labels, event.scope)):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{last(name)}` takes a probability for every class, and gets the numbers of the classes",
                "use softmax_cross_entropy_with_integer_labels, or jax.nn.one_hot(labels, classes)",
            )


def one_hot(context: Context, labels: Value, scope: Scope) -> bool:
    """Say whether labels are one-hot on every way."""
    return _made(context, labels, scope, frozenset({"one_hot", "smooth_labels"}), 0)


def _numbers(context: Context, labels: Value, scope: Scope) -> bool:
    """Say whether labels are integers, one for each example."""
    array = Arrays(context, {}).of(labels, scope)
    if array.number == INT and array.axes == 1:
        return True
    return _made(context, labels, scope, _CLASSES, 0)


def _made(context: Context, value: Value, scope: Scope, words: frozenset[str], depth: int) -> bool:
    """Say whether a value comes from some functions of jax.numpy or jax.nn on every way."""
    if depth > _DEPTH:
        return False
    bound = context.flow.here(value, scope)
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(bound)
        if name:
            return last(name) in words and name.startswith(("jax.", "numpy.", "flax.nnx.", "optax."))
        if isinstance(value.callee, Attr):
            if value.callee.name in words:
                return True
            if value.callee.name in _KEEPING:
                return _made(context, value.callee.base, scope, words, depth + 1)
    if isinstance(value, Item) and "one_hot" in words and not isinstance(value.index, Const):  # jnp.eye(n)[labels]
        return _made(context, value.base, scope, frozenset({"eye", "identity"}), depth + 1)
    found = context.flow.resolve(bound)
    if isinstance(found.value, Param | Choice | Indexed | Attr):
        sources = [s for s in context.sources.originals(found) if s.value is not found.value]
        return bool(sources) and all(_made_bound(context, s, scope, words, depth) for s in sources)
    return found.value is not value and _made_bound(context, found, scope, words, depth)


def _made_bound(context: Context, bound: Bound, scope: Scope, words: frozenset[str], depth: int) -> bool:
    home = bound.frame.function.scope if bound.frame is not None else None
    if home is None:
        node = getattr(bound.value, "node", None)
        home = context.bodies.home(node) if isinstance(node, ast.AST) else None
    return home is not None and _made(context, bound.value, home, words, depth + 1)


RULE = lint_rule(
    "NNX886",
    "label-kind",
    "a cross-entropy gets one-hot labels where it takes integers, or the other way round",
    why="""\
`softmax_cross_entropy` takes a probability for every class: integers are broadcast against the classes, which raises,
or gives a wrong loss where the sizes happen to agree. `softmax_cross_entropy_with_integer_labels` takes the integers.
All of them take the logits first.
""",
    source="optax documentation and issues; measured on optax 0.2: ValueError, or another loss",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
import optax


def loss(logits, scores):
    labels = jnp.argmax(scores, axis=-1)
    return optax.softmax_cross_entropy(logits, labels).mean()
""",
        """\
import jax
import optax


def loss(logits, labels):
    hot = jax.nn.one_hot(labels, 10)
    return optax.softmax_cross_entropy_with_integer_labels(logits, hot).mean()
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp
import optax


def loss(logits, scores):
    labels = jnp.argmax(scores, axis=-1)
    hot = jax.nn.one_hot(labels, 10)
    one = optax.softmax_cross_entropy(logits, hot).mean()
    return one + optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
""",
    ),
)
