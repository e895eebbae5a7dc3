"""NNX727: hyperparameters in the state of a transformation that keeps none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, Scope
from codemods.nnx.findings import Finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import OPTIMIZERS
from codemods.nnx.lint.places import kinds_of, once
from codemods.nnx.values import Attr, Call, Const, Item, Value

_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_PLAIN = frozenset(f"optax.{name}" for name in OPTIMIZERS | {"chain", "fromage", "sm3"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"hyperparams") for module in context.asked.modules):
        return
    found: dict[tuple[Scope, str, str], list[tuple[Scope, ast.AST]]] = {}
    for event in context.asked.attributes():
        if event.node.attr != "hyperparams" or context.bodies.guarded(event.node, event.scope):
            continue
        what = _wrong(context, event)
        if what:
            found.setdefault((event.scope, what, ast.unparse(event.node.value)), []).append((event.scope, event.node))
    for (_, what, _), places in found.items():
        yield from once(RULE.code, places, what, "make it by optax.inject_hyperparams(optax.adam)(learning_rate=...)")


def _wrong(context: Context, event: AttrEvent) -> str:
    """Return what is wrong with hyperparameters that are asked for; empty if nothing is known to be."""
    base = event.base
    if _of_plain(context, base, event.scope):
        return "this state has no `hyperparams`: the transformation that it is of keeps none"
    if not isinstance(base, Attr) or base.name != "opt_state":
        return ""
    if kinds_of(context, base.base, event.scope) != {Kind.OPTIMIZER}:
        return ""
    sources = list(context.sources.originals(context.flow.here(base.base, event.scope)))
    if sources and all(_plain(context, source) for source in sources):
        return "the state of this optimizer has no `hyperparams`: its transformation keeps none"
    return ""


def _of_plain(context: Context, state: Value, scope: Scope) -> bool:
    """Say whether a state is what ``init`` or ``update`` of transformations give that keep no hyperparameters."""
    sources = list(context.sources.originals(context.flow.here(state, scope)))
    for source in sources:
        given, word = source.value, "init"
        if isinstance(given, Item | Indexed):  # updates, state = tx.update(...)
            index = given.index.value if isinstance(given, Indexed) else given.index
            given, word = given.base, "update" if index == Const(1) else ""
        callee = given.callee if isinstance(given, Call) else None
        if not isinstance(callee, Attr) or callee.name != word:
            return False
        made = list(context.sources.of(context.flow.with_value(source, callee.base)))
        if not made or not all(context.flow.calls.callee_name(m) in _PLAIN and _bare(m.value) for m in made):
            return False
    return bool(sources)


def _plain(context: Context, made: Bound) -> bool:
    """Say whether an optimizer was made with a transformation that is known to keep no hyperparameters."""
    value = made.value
    if not isinstance(value, Call) or context.flow.calls.callee_name(made) not in _OPTIMIZERS:
        return False
    given = value.argument(1, "tx")
    found = [] if given is None else list(context.sources.of(context.flow.with_value(made, given)))
    return bool(found) and all(context.flow.calls.callee_name(one) in _PLAIN and _bare(one.value) for one in found)


def _bare(value: Value) -> bool:
    return isinstance(value, Call) and not value.starred


RULE = lint_rule(
    "NNX727",
    "no-hyperparams",
    "opt_state.hyperparams of an optimizer whose transformation keeps none",
    why="""\
The state of a transformation of optax holds no learning rate. `optax.inject_hyperparams(optax.adam)(learning_rate=lr)`
makes one whose state has `hyperparams`; of any other `opt_state.hyperparams` is an AttributeError, and in a chain it
is the state of one of the parts that has it.
""",
    source="google/flax issues 4320 and 4531; measured on Flax 0.10.7 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
print(optimizer.opt_state.hyperparams["learning_rate"])
""",
    ),
    clean=(
        """\
import optax
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
tx = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)
optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)
print(optimizer.opt_state.hyperparams["learning_rate"])
""",
    ),
)
