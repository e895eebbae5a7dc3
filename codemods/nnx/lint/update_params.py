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


# what these are given by name besides
_EXTRA = {
    "optax.contrib.reduce_on_plateau": ("value",),
    "optax.lbfgs": ("value", "grad", "value_fn"),
    "optax.scale_by_backtracking_linesearch": ("value", "grad", "value_fn"),
    "optax.scale_by_zoom_linesearch": ("value", "grad", "value_fn"),
    "optax.polyak_sgd": ("value",),
    "optax.scale_by_polyak": ("value",),
}


def _check(context: Context) -> Iterator[Finding]:
    yield from _alone(context)
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if event.scope.module not in context.asked or not isinstance(callee, Attr) or event.value.starred:
            continue
        names = {word.arg for word in event.node.keywords}
        if len(event.node.args) + len(names) != 2 or not names <= {"updates", "state"}:
            continue
        if context.bodies.guarded(event.node, event.scope):
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


def _alone(context: Context) -> Iterator[Finding]:
    """Yield the updates that do not give the value of the loss to a transformation that goes by it."""
    words = tuple(name.rpartition(".")[2].encode() for name in _EXTRA)
    if not any(word in module.source.data for module in context.project.modules for word in words):
        return
    for event in context.bodies.named("update"):
        callee, given = event.value.callee, {key for key, _ in event.value.keywords}
        if (
            event.scope.module not in context.asked
            or not isinstance(callee, Attr)
            or event.value.starred
            or None in given
        ):
            continue
        kinds = kinds_of(context, callee.base, event.scope)
        if kinds not in ({Kind.TRANSFORM}, {Kind.OPTIMIZER}) or context.bodies.guarded(event.node, event.scope):
            continue
        missing = [
            one
            for source in context.sources.originals(context.flow.here(callee.base, event.scope))
            for one in _lacking(context, source, given)
        ]
        name, lacks = next((one for one in missing if one is not None), ("", ()))
        if lacks and (all(missing) or not _given_elsewhere(context, lacks)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` goes by {' and '.join(f'`{one}`' for one in lacks)}, and is not given that",
                f"give it by name: {', '.join(f'{one}=...' for one in lacks)}",
            )


def _given_elsewhere(context: Context, lacks: tuple[str, ...]) -> bool:
    """Say whether some update is given what another one lacks: the transformation may choose between them."""
    words = (word.arg for event in context.bodies.named("update") for word in event.node.keywords)
    return any(word is None or word in lacks for word in words)


def _lacking(context: Context, made: Bound, given: set[str | None]) -> Iterator[tuple[str, tuple[str, ...]] | None]:
    """Yield the parts of what a transformation, or that of an optimizer, may be, with the names that they lack."""
    tx: Bound | None = made
    if context.flow.calls.callee_name(made) in {"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"}:
        value = made.value.argument(1, "tx") if isinstance(made.value, Call) else None
        tx = context.flow.with_value(made, value) if value is not None else None
    known = [*context.sources.originals(tx)] if tx is not None else []
    if not known:
        yield None
    for one in known:
        word = _needing(context, one, 0, frozenset(_EXTRA))
        name = next((full for full in _EXTRA if word and last(full) == word), "")
        lacks = tuple(part for part in _EXTRA.get(name, ()) if part not in given)
        yield (name, lacks) if lacks else None


def _needing(context: Context, bound: Bound, depth: int, needing: frozenset[str] = _NEEDING) -> str:
    """Return the part of a transformation that needs something; empty if none does, or that is not known."""
    found = context.flow.resolve(bound)
    value = found.value
    if depth > _DEPTH or not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(found)
    if name in needing:
        if name == "optax.adafactor" and value.keywords:
            return ""
        searched = value.keyword("linesearch")
        if searched is not None and not isinstance(context.flow.follow(found, searched).value, Call):
            return ""  # perhaps None, with which nothing is searched
        return last(name)
    if not name.startswith("optax.") or last(name) not in _AROUND:
        return ""
    parts: list[Value] = list(value.given)
    for part in parts:
        one = context.flow.follow(found, part)
        inner = [one]
        if isinstance(one.value, Sequence):
            inner = [context.flow.with_value(one, item) for item in one.value.items]
        elif isinstance(one.value, Mapping):
            inner = [context.flow.with_value(one, item) for _, item in one.value.items]
        for each in inner:
            if not isinstance(each.value, Const):
                word = _needing(context, each, depth + 1, needing)
                if word:
                    return word
    return ""


RULE = lint_rule(
    "NNX885",
    "update-without-params",
    "an update of optax without the parameters, or the value of the loss, that its transformation needs",
    why="""\
Weight decay, trust ratios and clipping by the size of the parameters read the parameters: `tx.update(grads, state)`
without them raises a ValueError. nnx.Optimizer gives them itself. What goes by the loss, `optax.lbfgs` and
`optax.contrib.reduce_on_plateau`, is given it by name: `optimizer.update(model, grads, value=loss)`.
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
