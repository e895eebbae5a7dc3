"""NNX893: a metric that is not given what it counts."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Attr, Call, Const, Value

_MADE = ("flax.nnx.MultiMetric", "flax.nnx.metrics.Accuracy", "flax.nnx.metrics.Average", "flax.nnx.metrics.Welford")


def _check(context: Context) -> Iterator[Finding]:
    if not any(name in _MADE for _, name in foreign(context, "MultiMetric", "Accuracy", "Average", everywhere=True)):
        return
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if not isinstance(callee, Attr) or event.node.args or not event.node.keywords or in_test(event.scope):
            continue
        if event.scope.module not in context.asked or any(key is None for key, _ in event.value.keywords):
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        given = {key for key, _ in event.value.keywords}
        sources = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
        wanted = [_wanted(context, source) for source in sources]
        if not wanted or any(one is None for one in wanted):
            continue
        missing = set.intersection(*(set(one or ()) for one in wanted)) - given
        if missing:
            names = " and ".join(f"`{name}`" for name in sorted(missing))
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the metric is not given {names}, which it counts",
                "pass it by name",
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
    "a metric is updated without the values that it counts",
    why="""\
`nnx.metrics.Accuracy` takes `logits` and `labels`, and `nnx.metrics.Average("loss")` takes `loss`, both by name; a
MultiMetric hands on what it is given. What is missing raises a TypeError.
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
