"""NNX628: metrics of one nnx.MultiMetric that count the same values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Attr, Call, Const, Value

_COUNTING = frozenset({"flax.nnx.metrics.Average", "flax.nnx.metrics.Welford"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "MultiMetric"):
        if name != "flax.nnx.MultiMetric" or in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        word = _twice(context, event)
        if word and _updated_whole(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"several metrics count `{word}` here: each update of the MultiMetric gives it to all of them, and they"
                " stay equal",
                "give each its own argument, as nnx.metrics.Average('loss_b'), and one of that name to update",
            )


def _twice(context: Context, event: CallEvent) -> str:
    """Return the name of the argument that more than one metric counts in the same way; empty if none does."""
    seen: set[tuple[str, str]] = set()
    for key, value in event.value.keywords:
        given = context.flow.here(value, event.scope)
        for part in (given,) if key is not None else context.flow.containers.elements(given):
            counted = _counted(context, context.flow.resolve(part))
            if counted is None:
                continue
            if counted in seen or (key is None and _repeated(context, part, event)):
                return counted[1]
            seen.add(counted)
    return ""


def _counted(context: Context, made: Bound) -> tuple[str, str] | None:
    """Return the class of a metric, and the name of the argument that it counts; None if they are not known."""
    value, name = made.value, context.flow.calls.callee_name(made)
    if not isinstance(value, Call) or name not in _COUNTING or value.starred:
        return None
    if any(key is None for key, _ in value.keywords):
        return None
    given = value.argument(0, "argname")
    word = Const("values") if given is None else context.flow.follow(made, given).value
    return (name, word.value) if isinstance(word, Const) and isinstance(word.value, str) else None


def _repeated(context: Context, part: Bound, event: CallEvent) -> bool:
    """Say whether a metric is made in every round of a loop that fills the dict which a call unpacks."""
    value = part.value
    home = context.bodies.home(value.node) if isinstance(value, Call) else None
    made = next((one for one in context.bodies.calls.get(home, ()) if one.value is value), None) if home else None
    return made is not None and any(loop not in event.loops for loop in made.loops)


def _updated_whole(context: Context, event: CallEvent) -> bool:
    """Say whether the metrics are updated together somewhere, and none of them alone."""
    whole = False
    for call in context.bodies.named("update"):
        callee = call.value.callee
        if not isinstance(callee, Attr):
            continue
        if _is(context, callee.base, event, call):
            whole = True
        elif isinstance(callee.base, Attr) and _is(context, callee.base.base, event, call):
            return False
        elif isinstance(call.node.func, ast.Attribute) and isinstance(call.node.func.value, ast.Call | ast.Subscript):
            return False  # getattr(metrics, name)
    return whole


def _is(context: Context, value: Value, event: CallEvent, call: CallEvent) -> bool:
    """Say whether a value may be what the call of MultiMetric makes."""
    return any(one.value is event.value for one in context.sources.originals(context.flow.here(value, call.scope)))


_BAD = """\
import jax.numpy as jnp
from flax import nnx

metrics = nnx.MultiMetric(train=nnx.metrics.Average(), test=nnx.metrics.Average())
metrics.update(values=jnp.ones(3))
metrics.update(values=jnp.zeros(3))
print(metrics.compute())
"""

RULE = lint_rule(
    "NNX628",
    "equal-metrics",
    "several metrics of an nnx.MultiMetric count the same argument",
    why="""\
`MultiMetric.update` gives all that it gets to each of its metrics, and each takes the argument whose name it was made
with: `values`, unless another one is given. Two Averages of one name are fed alike at every update and stay equal,
such as one that is meant for training and one for evaluation, or the losses of several tasks.
""",
    source="Flax documentation of MultiMetric; measured on Flax 0.10.7 and 0.12.8: equal numbers",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("train=nnx.metrics.Average()", "train=nnx.metrics.Average('train')")
        .replace("test=nnx.metrics.Average()", "test=nnx.metrics.Average('test')")
        .replace("metrics.update(values=jnp.ones(3))\n", "")
        .replace("values=jnp.zeros(3)", "train=jnp.ones(3), test=jnp.zeros(3)"),
    ),
)
