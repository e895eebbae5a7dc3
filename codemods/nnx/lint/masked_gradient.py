"""NNX770: ``optax.masked`` around an optimizer, with nothing for the parameters that the mask leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import OPTIMIZERS, last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Param, Ref, Sequence

_CALLERS = 3  # through how many functions what a call gives is followed
_TELLING = frozenset({"print", "info", "debug", "warning", "log"})
# what else keeps parameters as they are
_FREEZING = frozenset({"set_to_zero", "stop_gradient", "multi_transform", "partition", "selective_transform"})


def _check(context: Context) -> Iterator[Finding]:
    masks = [event for event, name in foreign(context, "masked") if name.startswith("optax.")]
    for event in masks:
        if in_test(event.scope) or event.value.starred:
            continue
        if sum(other.scope.module is event.scope.module for other in masks) > 1:
            continue  # another optimizer for the rest
        given = event.value.argument(0, "inner")
        if given is None or not _all_step(context, context.flow.here(given, event.scope)):
            continue
        if _scaled_after(context, event) or _frozen_elsewhere(context, event):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "`masked` hands on what the mask leaves out: these parameters are not frozen, and move by their gradients",
            "add optax.masked(optax.set_to_zero(), the opposite mask) in a chain, or use optax.multi_transform",
        )


def _frozen_elsewhere(context: Context, event: CallEvent) -> bool:
    """Say whether something in the module of a mask may keep parameters, other than the function around it."""
    source = event.scope.module.source
    if any(node.attr in _FREEZING for node in source.of_type(ast.Attribute)):
        return True
    if any(node.name in _FREEZING for node in source.of_type(ast.alias)):
        return True
    return any(
        ("freeze" in word or "frozen" in word)
        and not _only_told(context, other)
        and not any(
            callee.function.scope is event.scope
            for callee in context.flow.calls.reached(context.flow.here(other.value, other.scope))
        )
        for other in event.scope.module.calls
        if (word := last_word(other.node.func).lower())
    )


def _only_told(context: Context, event: CallEvent, depth: int = 0) -> bool:
    """Say whether what a call gives is printed or asserted and comes nowhere else, also by way of its function."""
    nodes = context.bodies.nodes(event.scope)
    told = {
        inner
        for node in nodes
        if isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and last_word(node.func) in _TELLING)
        for inner in ast.walk(node)
    }
    if event.node in told:
        return True
    function = event.scope.function
    if isinstance(event.statement, ast.Return) and function is not None and depth < _CALLERS:
        callers = context.flow.sites.callers(function)
        return bool(callers) and all(_only_told(context, one, depth + 1) for one in callers)
    target = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
    if not isinstance(target, ast.Name) or len(event.statement.targets) != 1:  # type: ignore[attr-defined]
        return False
    reads = [n for n in ast.walk(event.scope.node) if isinstance(n, ast.Name) and n.id == target.id and n is not target]
    return function is not None and all(n in told for n in reads)


def _all_step(context: Context, bound: Bound) -> bool:
    """Say whether a transformation is a whole optimizer, of an argument whatever the callers give."""
    found = context.flow.resolve(bound)
    if not isinstance(found.value, Param):
        return _steps(context, found)
    given = context.sources.originals(found)
    return bool(given) and all(_steps(context, one) for one in given)


def _steps(context: Context, bound: Bound) -> bool:
    """Say whether a transformation is a whole optimizer: what it gives is subtracted with a learning rate."""
    if not isinstance(bound.value, Call):
        return False
    name = context.flow.calls.callee_name(bound) or _injected(context, bound, bound.value)
    if not name.startswith("optax."):
        return False
    if last(name) == "chain" and bound.value.args and not isinstance(bound.value.args[-1], Sequence):
        return any(_steps(context, context.flow.follow(bound, part)) for part in bound.value.args)
    return last(name) in OPTIMIZERS


def _injected(context: Context, bound: Bound, value: Call) -> str:
    """Return the name of the optimizer that ``optax.inject_hyperparams`` makes; empty if it is none."""
    maker = context.flow.follow(bound, value.callee)
    if context.flow.calls.callee_name(maker) != "optax.inject_hyperparams" or not isinstance(maker.value, Call):
        return ""
    made = context.flow.follow(maker, maker.value.args[0]).value if maker.value.args else None
    return made.name if isinstance(made, Ref) else ""


def _scaled_after(context: Context, event: CallEvent) -> bool:
    """Say whether the steps of a chain are made of what a mask gives, and so may make nothing of the rest."""
    return any(
        isinstance(outer, ast.Call)
        and last_word(outer.func) in {"chain", "named_chain"}
        and any(part is event.node for part in ast.walk(outer))
        and any(isinstance(a, ast.Call) and "scale" in last_word(a.func) for a in outer.args)
        for outer in context.bodies.nodes(event.scope)
    )


RULE = lint_rule(
    "NNX770",
    "masked-is-not-frozen",
    "an optimizer behind a mask, where the parameters outside of the mask get their bare gradients",
    why="""\
`optax.masked(tx, mask)` applies `tx` where the mask is true, and hands on the gradients elsewhere: `apply_updates` adds
them, which is a step of the size of the gradient, upwards. Freezing takes `optax.set_to_zero()` for the others.
""",
    source="optax issues 290 and 296; measured: frozen weights that grow by their gradients",
    check=_check,
    bad=(
        """\
import optax


def build(mask):
    return optax.masked(optax.adam(1e-3), mask)
""",
    ),
    clean=(
        """\
import jax
import optax


def build(mask):
    frozen = jax.tree.map(lambda m: not m, mask)
    return optax.chain(optax.masked(optax.adam(1e-3), mask), optax.masked(optax.set_to_zero(), frozen))
""",
        """\
import optax


def build(mask):
    return optax.chain(optax.masked(optax.add_decayed_weights(1e-4), mask), optax.adam(1e-3))
""",
    ),
)
