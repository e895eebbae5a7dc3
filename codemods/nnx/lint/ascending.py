"""NNX755: a chain of optax whose updates go up the gradient."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.positive_schedule import positive_schedule
from codemods.nnx.lint.transform_labels import climbing
from codemods.nnx.lint.turned_sign import turned
from codemods.nnx.values import Call, Sequence, Star, Value

_SCALERS = frozenset(
    f"optax.scale_by_{word}" for word in ("adam", "rms", "rss", "amsgrad", "lion", "adamax", "belief", "radam",
                                          "novograd", "yogi", "stddev", "trust_ratio", "sm3", "factored_rms")
)  # fmt: skip
# what keeps the direction of the updates
_KEEPING = _SCALERS | frozenset(
    {"optax.clip", "optax.clip_by_global_norm", "optax.clip_by_block_rms", "optax.adaptive_grad_clip", "optax.trace",
     "optax.ema", "optax.identity", "optax.add_decayed_weights", "optax.zero_nans", "optax.centralize",
     "optax.add_noise", "optax.normalize_by_update_norm", "optax.keep_params_nonnegative"}
)  # fmt: skip
_TAKING = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer", "flax.training.train_state.TrainState.create"})


def _check(context: Context) -> Iterator[Finding]:
    taken = [event for event, name in foreign(context, *map(last, _TAKING)) if name in _TAKING]
    given = {
        source.value
        for event in taken
        if (tx := event.value.argument(1, "tx")) is not None
        for source in _sources(context, tx, event)
    }
    applied = any(name == "optax.apply_updates" for _, name in foreign(context, "apply_updates"))
    for event, name in foreign(context, "chain"):
        if name != "optax.chain" or not event.value.args or in_test(event.scope):
            continue
        if (event.value in given or (applied and _steps(context, event))) and _ascends(context, event):
            if climbing(context, event) or turned(context, _makers(context, event, taken)):
                continue  # NNX837 tells of it, or the minus is in another place
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "nothing in this chain turns the sign of the gradients: the updates are added, and the loss goes up",
                "end it with optax.scale(-learning_rate) or optax.scale_by_learning_rate(learning_rate)",
            )


def _sources(context: Context, value: Value, event: CallEvent) -> Iterable[Bound]:
    return context.sources.originals(context.flow.here(value, event.scope))


def _ascends(context: Context, event: CallEvent) -> bool:
    """Say whether every part of a chain is known, one of them prepares a step, and none turns the sign."""
    names = []
    for found in _parts(context, event):
        name = context.flow.calls.callee_name(found) if isinstance(found.value, Call) else ""
        if name == "optax.scale":
            assert isinstance(found.value, Call)
            size = found.value.argument(0, "step_size")
            if size is None or not _positive(context, found, size):
                return False
        elif name == "optax.scale_by_schedule":
            assert isinstance(found.value, Call)
            steps = found.value.argument(0, "step_size_fn")
            if steps is None or not positive_schedule(context, context.flow.with_value(found, steps)):
                return False
        elif name not in _KEEPING:
            return False
        names.append(name)
    return any(name in _SCALERS for name in names) or {"optax.trace", "optax.scale_by_schedule"} <= set(names)


def _makers(context: Context, event: CallEvent, taken: list[CallEvent]) -> set[Value]:
    """Return a chain, and the calls of optimizers that get it."""
    found: set[Value] = {event.value}
    for one in taken:
        tx = one.value.argument(1, "tx")
        if tx is not None and event.value in {s.value for s in _sources(context, tx, one)}:
            found.add(one.value)
    return found


def _parts(context: Context, event: CallEvent) -> Iterator[Bound]:
    """Yield the parts of a chain, those of a list that is unpacked too."""
    for part in event.value.args:
        bound = context.flow.here(part.value if isinstance(part, Star) else part, event.scope)
        if not isinstance(part, Star):
            yield context.flow.resolve(bound)
            continue
        held = context.flow.containers.elements(bound)
        for one in held:
            for source in context.sources.of(one):  # with `parts += [...]` lists stand in the list
                inner = context.flow.containers.elements(source) if isinstance(source.value, Sequence) else (source,)
                yield from (context.flow.resolve(each) for each in inner)
        if not held:
            yield bound  # not known


def _positive(context: Context, made: Bound, size: Value) -> bool:
    """Say whether a number is positive on every way that is known."""
    assert isinstance(made.value, Call)
    scope = made.frame.function.scope if made.frame is not None else context.bodies.home(made.value.node)
    found = numbers(context, size, scope) if scope is not None else frozenset()
    return bool(found) and min(found) > 0


def _steps(context: Context, event: CallEvent) -> bool:
    """Say whether a chain makes the updates of ``update`` calls itself, and is no part of another transformation."""
    return any(
        event.value
        in {s.value for s in context.sources.originals(context.flow.here(call.value.callee.base, call.scope))}
        for call in context.bodies.named("init")
        if hasattr(call.value.callee, "base") and call.scope.module in context.asked
    )


RULE = lint_rule(
    "NNX755",
    "ascending-chain",
    "a chain of optax that never turns the sign of the gradients",
    why="""\
`apply_updates` and `nnx.Optimizer.update` add the updates to the parameters. `optax.adam` and the like turn the sign
themselves, `optax.scale_by_adam` does not: without `optax.scale(-learning_rate)` or `scale_by_learning_rate` the loss
grows with every step, and so it does with `optax.scale_by_schedule` of a schedule above zero.
""",
    source="optax documentation of chain and scale_by_learning_rate; measured: a loss that grows",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx


def optimizer_for(model):
    return nnx.Optimizer(model, optax.chain(optax.scale_by_adam(), optax.scale(1e-3)), wrt=nnx.Param)
""",
    ),
    clean=(
        """\
import optax
from flax import nnx


def optimizer_for(model):
    return nnx.Optimizer(model, optax.chain(optax.scale_by_adam(), optax.scale(-1e-3)), wrt=nnx.Param)
""",
    ),
)
