"""NNX673: hyperparameters set in a state of optax that computes them anew from a schedule."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.syntax import constant
from codemods.nnx.values import Attr, Call, Const, Function, Item, Value

_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_FIRST = "learning_rate"  # the first parameter of what optax has for optimizers
_ENDINGS = ("_schedule", "_decay", "join_schedules")  # of what optax calls its schedules


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"inject_hyperparams") for module in context.project.modules):
        return
    for scope, node, place in _stores(context):
        name = constant(place.slice)
        held = place.value
        assert isinstance(held, ast.Attribute)
        if not isinstance(name, str) or in_test(scope) or context.bodies.guarded(node, scope):
            continue
        state = scope.module.values.get(held.value)
        schedule = _schedule(context, state, scope, name) if state is not None else None
        if schedule is not None:
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{name}` is made of a schedule in every update: what is set here has no effect",
                f"give inject_hyperparams a number for `{name}` to change it by hand, or change the schedule",
                related=[(schedule, "made with a schedule")] if schedule in scope.module.values else [],
            )


def _stores(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.Subscript]]:
    """Yield the stores to hyperparameters, each with the place ``state.hyperparams["name"]`` in it."""
    for module in context.asked.modules:
        if not module.source.mentions(b"hyperparams"):
            continue
        for store in module.item_stores:
            place = store.node.value if constant(store.node.slice) is ... else store.node
            if _hyperparam(place):
                assert isinstance(place, ast.Subscript)
                yield store.scope, store.node, place
    for event in context.asked.attributes():
        if event.node.attr == "value" and isinstance(event.node.ctx, ast.Store) and _hyperparam(event.node.value):
            assert isinstance(event.node.value, ast.Subscript)
            yield event.scope, event.node, event.node.value


def _hyperparam(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "hyperparams"
    )


def _schedule(context: Context, state: Value, scope: Scope, name: str) -> ast.expr | None:
    """Return what makes the transformation of a state, if it gets a schedule for a hyperparameter on every way."""
    made: list[Bound] = []
    if isinstance(state, Attr) and state.name == "opt_state":
        if kinds_of(context, state.base, scope) == {Kind.OPTIMIZER}:
            for source in context.sources.originals(context.flow.here(state.base, scope)):
                if not isinstance(source.value, Call) or context.flow.calls.callee_name(source) not in _OPTIMIZERS:
                    return None
                given = source.value.argument(1, "tx")
                made += [] if given is None else [context.flow.with_value(source, given)]
    else:
        made = [*_begun(context, context.flow.here(state, scope))]
    found = [_scheduled(context, one, name) for tx in made for one in context.sources.originals(tx)]
    return found[0] if found and all(found) else None


def _begun(context: Context, state: Bound) -> Iterator[Bound]:
    """Yield the transformations that begin a state, or the part of it that is meant."""
    place = None
    if isinstance(state.value, Item | Indexed):  # of the state of a chain
        index = state.value.index.value if isinstance(state.value, Indexed) else state.value.index
        place = index.value if isinstance(index, Const) and type(index.value) is int else None
    whole = context.flow.with_value(state, state.value.base) if place is not None else state  # type: ignore[attr-defined]
    for source in context.sources.originals(whole):
        callee = source.value.callee if isinstance(source.value, Call) else None
        if not isinstance(callee, Attr) or callee.name != "init":
            continue
        tx = context.flow.with_value(source, callee.base)
        if place is None:
            yield tx
            continue
        for chain in context.sources.originals(tx):
            if isinstance(chain.value, Call) and context.flow.calls.callee_name(chain) == "optax.chain":
                if -len(chain.value.args) <= place < len(chain.value.args) and not chain.value.starred:
                    yield context.flow.with_value(chain, chain.value.args[place])


def _scheduled(context: Context, made: Bound, name: str) -> ast.expr | None:
    """Return the call ``inject_hyperparams(optax.adam)(learning_rate=schedule)``; None for any other."""
    value = made.value
    if not isinstance(value, Call) or value.starred:
        return None
    maker = context.flow.follow(made, value.callee)
    if not isinstance(maker.value, Call) or context.flow.calls.callee_name(maker) != "optax.inject_hyperparams":
        return None
    if maker.value.keyword("static_args") is not None or len(maker.value.args) > 1:
        return None
    given = value.keyword(name)
    if given is None and name == _FIRST and value.args:
        given = value.args[0]
    found = context.flow.follow(made, given) if given is not None else None
    if found is None:
        return None
    if isinstance(found.value, Function):
        return value.node
    if isinstance(found.value, Call):
        schedule = context.flow.calls.callee_name(found)
        return value.node if schedule.startswith("optax.") and last(schedule).endswith(_ENDINGS) else None
    return None


_BAD = """\
import jax.numpy as jnp
import optax

schedule = optax.cosine_decay_schedule(1e-3, 1000)
tx = optax.inject_hyperparams(optax.adam)(learning_rate=schedule)
params = {"w": jnp.ones(3)}
opt_state = tx.init(params)
opt_state.hyperparams["learning_rate"] = jnp.asarray(1e-4)
updates, opt_state = tx.update({"w": jnp.ones(3)}, opt_state, params)
"""

RULE = lint_rule(
    "NNX673",
    "scheduled-hyperparam",
    "a hyperparameter that is set by hand, though a schedule makes it anew in every update",
    why="""\
`optax.inject_hyperparams` keeps in `opt_state.hyperparams` what an optimizer is made with. What is a number stays there
until somebody changes it; what is a schedule is computed anew from the count of steps in every update, so that a value
set by hand is overwritten before it is ever used.
""",
    source="optax issue 424, documentation of inject_hyperparams; measured on optax 0.2.5 to 0.2.8: no effect",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("learning_rate=schedule", "learning_rate=1e-3"),),
)
