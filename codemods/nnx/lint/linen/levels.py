"""NNX588: variables of Linen that are given a level too deep, or too high."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import has_linen, modules_at, receiver_modules, wanted
from codemods.nnx.lint.places import passed
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Function, Item, Mapping, Param, Value

_PARAMS = Const("params")
_STATE = pattern(r"(^|_)(train_?)?state$")
_BARE = "these are the parameters alone, and Linen takes a dict of collections"
_DEEP = "these are all the variables that init returned, and no parameters: they hold `params` again"
_FIRST = "ApplyScopeInvalidVariablesStructureError"


def _check(context: Context) -> Iterator[Finding]:
    if not has_linen(context):
        return
    for event in context.bodies.named("apply", "bind"):
        given = event.value.args[0] if event.value.args else event.value.keyword("variables")
        if given is None or not wanted(context, event) or not receiver_modules(context, event):
            continue
        if _level(context, given, event.scope) == "params":
            help = 'give them under their name: apply({"params": params}, ...)'
            yield finding(RULE.code, event.scope, event.node, f"{_BARE}: {_FIRST}", help)
        elif _holds_whole(context, given, event.scope):
            yield finding(RULE.code, event.scope, event.node, f"{_DEEP}: {_FIRST}", "give the variables as they are")
    yield from _states(context)
    yield from _bare_states(context)


def _states(context: Context) -> Iterator[Finding]:
    """Yield the states that are made of all variables, in a project that applies their params as parameters."""
    applied = [*context.bodies.named("apply_fn")]
    if not applied or not all(_applies_params(context, event) for event in applied):
        return
    for event in context.bodies.named("create"):
        given = event.value.keyword("params")
        if given is None or not _by_apply(context, event) or not wanted(context, event):
            continue
        if _level(context, given, event.scope) == "variables":
            help = 'keep variables["params"] in the state'
            yield finding(RULE.code, event.scope, event.node, f"{_DEEP}: {_FIRST}", help)


def _bare_states(context: Context) -> Iterator[Finding]:
    """Yield the models that are applied to the ``params`` of a state, where all states keep the parameters alone."""
    made = [event for event in context.bodies.named("create") if event.value.keyword("apply_fn") is not None]
    kept = [(event.value.keyword("params"), event.scope) for event in made]
    if not kept or not all(given is not None and _level(context, given, scope) == "params" for given, scope in kept):
        return
    others = [(event.value.keyword("params"), event.scope) for event in context.bodies.named("create")]
    alone = all(given is None or _level(context, given, scope) == "params" for given, scope in others)
    alone = alone and not any(_whole(event.stored) for event in context.flow.fields.stores().get("params", ()))
    for event in context.bodies.named("apply_fn", "apply", "bind"):
        first = event.value.args[0] if event.value.args else None
        if first is None or not _params_of_state(context, first) or not wanted(context, event):
            continue
        word = last_word(event.node.func)
        if word != "apply_fn" and not (alone and _of_state(first, event) and receiver_modules(context, event)):
            continue
        help = f'give them under their name: {word}({{"params": state.params}}, ...)'
        yield finding(RULE.code, event.scope, event.node, f"{_BARE}: {_FIRST}", help)


def _whole(stored: Value | None) -> bool:
    """Say whether what an object of the project keeps under ``params`` is a dict of collections."""
    return isinstance(stored, Mapping) and any(key == Const("params") for key, _ in stored.items)


def _params_of_state(context: Context, value: Value) -> bool:
    """Say whether a value is ``state.params``, or what a function gets that is only called with such."""
    if isinstance(value, Param):
        callers = context.flow.sites.callers(value.function)
        calls = [event for event in callers if not _makes(event)]
        given = [passed(event, value) for event in calls]
        return bool(given) and all(isinstance(one, Attr) and one.name == "params" for one in given)
    return isinstance(value, Attr) and value.name == "params"


def _makes(event: CallEvent) -> bool:
    """Say whether a call makes something of a function, as ``grad`` does."""
    return last_word(event.node.func) in {"grad", "value_and_grad", "jit", "vmap", "checkpoint", "remat", "partial"}


def _of_state(first: Value, event: CallEvent) -> bool:
    """Say whether a call gets the ``params`` of a TrainState, by the name of that."""
    node = event.node.args[0]
    if isinstance(first, Param):
        return True
    return isinstance(node, ast.Attribute) and _STATE.search(last_word(node.value)) is not None


def _by_apply(context: Context, event: CallEvent) -> bool:
    """Say whether a state keeps a function that the model is applied by: with ``apply_fn=None`` its module is called
    in some other way, and with a function of the project that may take the variables apart."""
    function = event.value.keyword("apply_fn")
    if function is None:
        return False
    found = context.flow.resolve(context.flow.here(function, event.scope)).value
    return not isinstance(found, Const | Function)


def _applies_params(context: Context, event: CallEvent) -> bool:
    """Say whether a call gives the model a dict with parameters under their name."""
    first = event.value.args[0] if event.value.args else None
    value = context.flow.resolve(context.flow.here(first, event.scope)).value if first is not None else None
    return isinstance(value, Mapping) and any(key == _PARAMS for key, _ in value.items)


def _holds_whole(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value is a dict that holds all variables under the name of the parameters."""
    bound = context.flow.resolve(context.flow.here(value, scope))
    if not isinstance(bound.value, Mapping):
        return False
    return any(
        key == _PARAMS and _level_of(context, context.flow.follow(bound, item)) == "variables"
        for key, item in bound.value.items
    )


def _level(context: Context, value: Value, scope: Scope) -> str:
    bound = context.flow.resolve(context.flow.here(value, scope))
    if not isinstance(bound.value, Param):
        return _level_of(context, bound)
    found = {_level_of(context, one) for one in context.sources.originals(bound) if not _updated(context, one)}
    return found.pop() if len(found) == 1 else ""


def _updated(context: Context, bound: Bound) -> bool:
    """Say whether a value is a tree that optax or a tree function has changed: what it is comes from another way."""
    if not isinstance(bound.value, Call):
        return False
    return last_word(bound.value.node.func) in {"apply_updates", "map", "tree_map"}


def _level_of(context: Context, bound: Bound) -> str:
    """Return whether a value is what ``init`` of a module gives, or the parameters of that; empty for others."""
    value = bound.value
    if isinstance(value, Indexed | Item):
        index = value.index.value if isinstance(value.index, Bound) else value.index
        base = context.flow.follow(bound, value.base)
        return "params" if index == _PARAMS and _level_of(context, base) == "variables" else ""
    if not isinstance(value, Call) or not isinstance(value.callee, Attr) or value.callee.name != "init":
        return ""
    return "variables" if modules_at(context, context.flow.with_value(bound, value.callee.base)) else ""


_BAD = """\
import jax
import jax.numpy as jnp
from flax import linen as nn

model = nn.Dense(2)
params = model.init(jax.random.key(0), jnp.ones((1, 3)))["params"]
print(model.apply(params, jnp.ones((1, 3))))
"""

RULE = lint_rule(
    "NNX588",
    "linen-collections",
    "variables of Linen that are given on another level than `apply` expects",
    why="""\
`init` returns a dict of collections, `{"params": ..., "batch_stats": ...}`, and `apply` takes such a dict. The
parameters alone, and a dict whose `params` hold collections again, raise an ApplyScopeInvalidVariablesTypeError or an
ApplyScopeInvalidVariablesStructureError. So does a TrainState that keeps all variables as its `params`, where the model
is applied to `{"params": state.params}`.
""",
    source="Flax documentation of its errors; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("apply(params", 'apply({"params": params}'), _BAD.replace('["params"]', "")),
)
