"""NNX885: an update of optax without the parameters that it needs."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.values import Attr, Call, Const, Mapping, Sequence, Value

# found by calling them all without parameters
_NEEDING = frozenset(
    f"optax.{name}"
    for name in (
        "adadelta", "adafactor", "adamaxw", "adamw", "adan", "adaptive_grad_clip", "add_decayed_weights", "fromage",
        "keep_params_nonnegative", "lamb", "lars", "lion", "nadamw", "novograd", "scale_by_distance_over_gradients",
        "scale_by_factored_rms", "scale_by_lbfgs", "scale_by_novograd", "scale_by_param_block_norm",
        "scale_by_param_block_rms", "scale_by_trust_ratio",
    )
)  # fmt: skip
_AROUND = frozenset({"chain", "named_chain", "masked", "MultiSteps", "apply_if_finite", "flatten"})
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or event.value.starred:
            continue
        if len(event.node.args) != 2 or event.node.keywords or context.bodies.guarded(event.node, event.scope):
            continue
        if kinds_of(context, callee.base, event.scope) != {Kind.TRANSFORM}:
            continue
        sources = context.sources.originals(context.flow.here(callee.base, event.scope))
        found = [_needing(context, source, 0) for source in sources]
        if found and all(found):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{found[0]}` needs the parameters, and this update is not given them",
                "give them as the third argument: tx.update(grads, state, params)",
            )


def _needing(context: Context, bound: Bound, depth: int) -> str:
    """Return the part of a transformation that needs parameters; empty if none does, or that is not known."""
    found = context.flow.resolve(bound)
    value = found.value
    if depth > _DEPTH or not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(found)
    if name in _NEEDING:
        if name == "optax.adafactor" and value.keywords:
            return ""
        return last(name)
    if not name.startswith("optax.") or last(name) not in _AROUND:
        return ""
    parts: list[Value] = [*value.args, *(part for _, part in value.keywords)]
    for part in parts:
        one = context.flow.follow(found, part)
        inner = [one]
        if isinstance(one.value, Sequence):
            inner = [context.flow.with_value(one, item) for item in one.value.items]
        elif isinstance(one.value, Mapping):
            inner = [context.flow.with_value(one, item) for _, item in one.value.items]
        for each in inner:
            if not isinstance(each.value, Const):
                word = _needing(context, each, depth + 1)
                if word:
                    return word
    return ""


RULE = lint_rule(
    "NNX885",
    "update-without-params",
    "an update of optax without the parameters that its transformation needs",
    why="""\
Weight decay, trust ratios and clipping by the size of the parameters read the parameters: `tx.update(grads, state)`
without them raises a ValueError. nnx.Optimizer gives them itself.
""",
    source="optax issues; found by calling every transformation of optax 0.2 without parameters",
    severity="error",
    check=_check,
    bad=(
        """\
import optax

tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))


def step(params, state, grads):
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state
""",
    ),
    clean=(
        """\
import optax

tx = optax.adamw(1e-3)
plain = optax.adam(1e-3)


def step(params, state, grads):
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state


def plain_step(params, state, grads):
    updates, state = plain.update(grads, state)
    return optax.apply_updates(params, updates), state
""",
    ),
)
