"""NNX893: a metric that is not given what it counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import FLOAT, Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.label_kind import one_hot
from codemods.nnx.lint.metric_methods import uncalled_methods
from codemods.nnx.lint.origins import made_by_calls
from codemods.nnx.lint.places import each, foreign, in_test, resolved
from codemods.nnx.lint.syntax import entry_word
from codemods.nnx.values import Attr, Call, Const, Mapping, Value

_MADE = ("flax.nnx.MultiMetric", "flax.nnx.metrics.Accuracy", "flax.nnx.metrics.Average", "flax.nnx.metrics.Welford")


def _check(context: Context) -> Iterator[Finding]:
    if not any(name in _MADE for _, name in foreign(context, "MultiMetric", "Accuracy", "Average", everywhere=True)):
        return
    for event, name in foreign(context, "Accuracy"):
        limit = event.value.argument(0, "threshold") if name == "flax.nnx.metrics.Accuracy" else None
        number = context.flow.resolve(context.flow.here(limit, event.scope)).value if limit is not None else None
        if isinstance(number, Const) and type(number.value) is int and event.scope.module in context.asked:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the threshold of an Accuracy is a float, and this is an integer: it raises a TypeError",
                "write 0.5; without a threshold it counts the largest logit",
            )
    yield from _results(context)
    for method, word in uncalled_methods(context):
        yield finding(
            RULE.code,
            method.scope,
            method.node,
            f"`{ast.unparse(method.node)}` is not called: "
            + ("it is the method, and no result" if word == "compute" else "it does nothing"),
            f"write {ast.unparse(method.node)}()",
        )
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if not isinstance(callee, Attr) or in_test(event.scope):
            continue
        if any(isinstance(one, ast.Starred) for one in event.node.args):
            continue
        if not event.node.args and not event.node.keywords:
            continue
        given = _given(context, event)
        if event.scope.module not in context.asked or given is None:
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        if event.node.args and len(event.node.args) > 2:
            continue
        sources = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
        wanted = [_wanted(context, source) for source in sources]
        if not wanted or any(one is None for one in wanted):
            continue
        missing = set.intersection(*(set(one or ()) for one in wanted)) - given
        named = {key for key, _ in event.value.keywords}
        if {"logits", "labels"} <= named and all(_accuracy(context, source) for source in sources):
            if _exchanged(event):
                words = "the metric gets the labels as `logits`, and the logits as `labels`"
                yield finding(RULE.code, event.scope, event.node, words, "exchange them")
                continue
            yield from _labels(context, event)
        if missing:
            names = " and ".join(f"`{name}`" for name in sorted(missing))
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the metric is not given {names}, which it counts",
                "pass it by name",
            )


def _given(context: Context, event: CallEvent) -> set[str] | None:
    """Return the names of the arguments of a call, also of a dict that it unpacks; None if some are not known."""
    found: set[str] = set()
    for word in event.node.keywords:
        if word.arg is not None:
            found.add(word.arg)
            continue
        made = resolved(context, word.value, event.scope)
        whole = made.value if made is not None else None
        names = [name.value for name, _ in whole.items if isinstance(name, Const)] if isinstance(whole, Mapping) else []
        if not isinstance(whole, Mapping) or len(names) != len(whole.items):
            return None
        found |= {name for name in names if isinstance(name, str)}
    return found


def _results(context: Context) -> Iterator[Finding]:
    """Yield the results of a MultiMetric that are asked for by a name that it has not."""
    for scope, node in each(context, ast.Subscript):
        if not isinstance(node.slice, ast.Constant) or not scope.module.source.mentions(b"compute()"):
            continue
        value, name = scope.module.values.get(node.value), node.slice.value
        if value is None or not isinstance(name, str) or not isinstance(node.ctx, ast.Load):
            continue
        found = context.flow.resolve(context.flow.here(value, scope))
        call = found.value
        if not isinstance(call, Call) or not isinstance(call.callee, Attr) or call.callee.name != "compute":
            continue
        made = made_by_calls(context, context.flow.with_value(found, call.callee.base))
        names = [_names(context, one) for one in made]
        if names and all(one and name not in one for one in names) and not context.bodies.guarded(node, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                f'the MultiMetric has no "{name}": it was made with {" and ".join(sorted(names[0]))}',
                "ask by a name that it was made with",
            )


def _names(context: Context, made: Bound) -> set[str]:
    """Return the names of the metrics of a MultiMetric; empty if they are not known."""
    value = made.value
    if not isinstance(value, Call) or value.starred or context.flow.calls.callee_name(made) != "flax.nnx.MultiMetric":
        return set()
    return {key for key, _ in value.keywords if key}


def _accuracy(context: Context, made: Bound, name: str = "flax.nnx.metrics.Accuracy") -> bool:
    """Say whether a metric is, or holds, an Accuracy over classes."""
    value = made.value
    if not isinstance(value, Call) or value.starred:
        return False
    if context.flow.calls.callee_name(made) == name:
        return value.keyword("threshold") is None and not value.args
    parts = [context.flow.follow(made, part) for _, part in value.keywords]
    return any(context.flow.calls.callee_name(p) == name and _accuracy(context, p) for p in parts if p is not made)


def _exchanged(event: CallEvent) -> bool:
    """Say whether the names of what a metric gets for logits and labels are each other's."""
    words = {keyword.arg: entry_word(keyword.value).lower() for keyword in event.node.keywords}
    return "label" in words["logits"] and "logit" in words["labels"] and "label" not in words["labels"]


def _labels(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the labels of an Accuracy that are no numbers of classes."""
    labels = event.value.keyword("labels")
    node = next(k.value for k in event.node.keywords if k.arg == "labels")
    if labels is not None and (
        Arrays(context, {}).of(labels, event.scope).number == FLOAT or one_hot(context, labels, event.scope)
    ):
        yield finding(
            RULE.code,
            event.scope,
            node,
            "an Accuracy takes the numbers of the classes as integers, and these labels are floats or one-hot",
            "give it the integers: labels.astype(jnp.int32), or labels.argmax(-1)",
        )


def _wanted(context: Context, made: Bound) -> set[str] | None:
    """Return the arguments that a metric's update needs; None if that is not known."""
    value = made.value
    name = context.flow.calls.callee_name(made)
    if not isinstance(value, Call) or name not in _MADE or value.starred:
        return None
    if name == "flax.nnx.metrics.Accuracy":
        return {"logits", "labels"}
    if name != "flax.nnx.MultiMetric":
        word = _word(context, made, value.argument(0, "argname"))
        return {word} if word else None
    found: set[str] = set()
    for _, part in value.keywords:
        inner = _wanted(context, context.flow.follow(made, part))
        found |= inner or set()  # one that is not known may need anything
    return found


def _word(context: Context, made: Bound, value: Value | None) -> str:
    if value is None:
        return "values"
    found = context.flow.follow(made, value).value
    return found.value if isinstance(found, Const) and isinstance(found.value, str) else ""


RULE = lint_rule(
    "NNX893",
    "metric-argument-missing",
    "a metric is updated without the values that it counts, or with labels of another kind",
    why="""\
`nnx.metrics.Accuracy` takes `logits` and `labels`, and `nnx.metrics.Average("loss")` takes `loss`, both by name; a
MultiMetric hands on what it is given. What is missing raises a TypeError, and labels that are floats or one-hot a
ValueError.
""",
    source="measured on Flax 0.10.7 and 0.12.8: TypeError",
    check=_check,
    bad=(
        """\
from flax import nnx

metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))


def evaluate(loss, logits):
    metrics.update(loss=loss, logits=logits)
""",
    ),
    clean=(
        """\
from flax import nnx

metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))


def evaluate(loss, logits, labels):
    metrics.update(loss=loss, logits=logits, labels=labels)
""",
    ),
    severity="error",
)
