"""NNX516: parameters of a schedule-free optimizer that are evaluated as they are trained."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Item, Value

_FREE = ("schedule_free", "schedule_free_sgd", "schedule_free_adamw")
_HOME = "optax.contrib."
# what wraps a transformation and changes nothing about the parameters that it is for
_AROUND = frozenset({"chain", "named_chain", "MultiSteps", "apply_if_finite", "masked", "with_extra_args_support",
                     "inject_hyperparams"})  # fmt: skip
# where a project says one of these, it may know the average
_ELSEWHERE = pattern(
    rb"eval_params|\.z\b|[\"']z[\"']|ScheduleFreeState|averaged", needs=(b"z", b"eval_", b"free", b"averaged")
)
_EVALUATES = pattern(r"(^|_)(eval\w*|valid\w*|test|predict|prediction|infer|inference|accuracy)(_|$)", re.I)
_HELD_OUT = pattern(r"(^|_)(test|val|valid|validation|eval|heldout|holdout)(_|\d*$)", re.I)
_NO_DATA = pattern(r"step|every|freq|interval|loader_len|epoch|key|rng")
_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(module.source.mentions(b"schedule_free") for module in modules):
        return
    if any(module.source.matches(_ELSEWHERE) for module in modules):
        return
    if not any(name.startswith(_HOME) for _, name in foreign(context, *_FREE, everywhere=True)):
        return
    optimizers = context.shared(_optimizers)
    for event in _evaluations(context):
        if any(_trained(context, event, one, optimizers) for one in _given(event)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "these parameters are where the gradients are taken; the ones to evaluate are an average of them",
                "evaluate optax.contrib.schedule_free_eval_params(opt_state, params)",
            )


def _evaluations(context: Context) -> Iterator[CallEvent]:
    """Yield the calls that evaluate, by the name of what is called or of the data that it gets."""
    for module in context.asked.modules:
        for scope in (module.scope, *(function.scope for function in module.functions)):
            if in_test(scope):
                continue
            for event in context.bodies.calls.get(scope, ()):
                if context.flow.calls.name(event).startswith(("jax.", "optax.", "flax.")):
                    continue
                if not isinstance(event.node.func, ast.Name | ast.Attribute):
                    continue
                if _EVALUATES.search(last_word(event.node.func)) or _of_held_out(event) or _in_evaluation(event):
                    yield event


def _of_held_out(event: CallEvent) -> bool:
    """Say whether a call gets data that are held out: ``loss(params, x_test)``."""
    words = [last_word(one) for one in event.node.args if isinstance(one, ast.Name | ast.Attribute)]
    return any(_HELD_OUT.search(word) and not _NO_DATA.search(word.lower()) for word in words)


def _in_evaluation(event: CallEvent) -> bool:
    """Say whether a method that evaluates calls a function with an attribute of its object."""
    function = event.scope.function
    if function is None or function.self_param is None or not _EVALUATES.search(function.name):
        return False
    return any(isinstance(one, Attr) and one.base is function.self_param for one in event.value.given)


def _given(event: CallEvent) -> list[Value]:
    """Return what a call is given, of states of a training their parameters."""
    found: list[Value] = []
    for value in event.value.given:
        root = value
        while isinstance(root, Attr):
            root = root.base
        found += [value] if root is value else [value, root]
    return found


def _trained(context: Context, event: CallEvent, value: Value, optimizers: list[tuple[CallEvent, bool]]) -> bool:
    """Say whether a value is what updates of a schedule-free optimizer gave, and nothing else went on with it."""
    sources = context.sources.originals(context.flow.here(value, event.scope))
    updated = [one for one in sources if isinstance(one.value, Call)]
    for one in updated:
        assert isinstance(one.value, Call)
        name = context.flow.calls.callee_name(one)
        if name == "optax.apply_updates" and len(one.value.args) > 1:
            return _by_free(context, context.flow.with_value(one, one.value.args[1]))
        if not name and last_word(one.value.node.func) == "apply_gradients":
            made = [free for event_, free in optimizers if last_word(event_.node.func) == "create"]
            return bool(made) and all(made)
    return _by_object(context, event, sources, optimizers)


def _by_free(context: Context, updates: Bound) -> bool:
    """Say whether updates come from a schedule-free optimizer, on all ways."""
    found = context.flow.resolve(updates)
    value = found.value
    while isinstance(value, Item | Indexed | Attr):
        value = value.base
    if not isinstance(value, Call) or not isinstance(value.callee, Attr) or value.callee.name != "update":
        return False
    return _is_free(context, context.flow.with_value(found, value.callee.base), 0)


def _is_free(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a transformation is a schedule-free one, also within others."""
    sources = context.sources.originals(bound) if depth <= _DEPTH else ()
    return bool(sources) and all(_made_free(context, one, depth) for one in sources)


def _made_free(context: Context, source: Bound, depth: int) -> bool:
    value = source.value
    if not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(source)
    if name.startswith(_HOME) and last(name) in _FREE:
        return True
    if name.startswith("optax.") and last(name) in _AROUND:
        return any(_is_free(context, context.flow.with_value(source, one), depth + 1) for one in value.given)
    if not name and isinstance(value.callee, Call):  # optax.inject_hyperparams(f)(...)
        made = context.flow.follow(source, value.callee)
        if isinstance(made.value, Call) and context.flow.calls.callee_name(made) == "optax.inject_hyperparams":
            text = ast.unparse(made.value.node.args[0]) if made.value.node.args else ""
            return text.rpartition(".")[2] in _FREE
    if not name and isinstance(value.callee, Attr) and value.callee.name == "gradient_transformation":
        return _is_free(context, context.flow.with_value(source, value.callee.base), depth + 1)
    return False


def _optimizers(context: Context) -> list[tuple[CallEvent, bool]]:
    """Return where optimizers of NNX and states of a training are made, each with whether it is schedule-free."""
    found: list[tuple[CallEvent, bool]] = []
    for event in context.bodies.named("create", "Optimizer", "ModelAndOptimizer"):
        word = last_word(event.node.func)
        if word == "create":
            tx = event.value.keyword("tx")
        else:
            tx = event.value.argument(1, "tx") if context.flow.calls.name(event) in _OPTIMIZERS else None
        if tx is not None:
            found.append((event, _is_free(context, context.flow.here(tx, event.scope), 0)))
    return found


def _by_object(
    context: Context, event: CallEvent, sources: Iterable[Bound], optimizers: list[tuple[CallEvent, bool]]
) -> bool:
    """Say whether a model is evaluated that an optimizer of NNX, which is schedule-free, has updated before."""
    own = {one.value for one in context.sources.originals(context.flow.here(event.value, event.scope))} - {event.value}
    models = {one.value for one in sources if isinstance(one.value, Call)} - own
    for made, free in optimizers:
        given = made.value.argument(0, "model")
        if not free or last_word(made.node.func) == "create" or given is None:
            continue
        model = {one.value for one in context.sources.originals(context.flow.here(given, made.scope))}
        if model and model <= models and _updated_before(context, event, made):
            return True
    return False


def _updated_before(context: Context, event: CallEvent, made: CallEvent) -> bool:
    """Say whether a call before, or in the same loop, is given an optimizer, or is a method of it."""
    for other in context.bodies.calls.get(event.scope, ()):
        if (
            other is event
            or other is made
            or not (other.node.lineno < event.node.lineno or {*other.loops} & {*event.loops})
        ):
            continue
        callee = other.value.callee
        values = [*other.value.given, *([callee.base] if isinstance(callee, Attr) else [])]
        for value in values:
            found = context.sources.originals(context.flow.here(value, other.scope))
            if any(one.value is made.value for one in found):
                return True
    return False


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from optax import contrib


def loss(params, x):
    return jnp.mean((params - x) ** 2)


def train(params, rows):
    tx = contrib.schedule_free_sgd(learning_rate=0.3)
    state = tx.init(params)
    for row in rows:
        updates, state = tx.update(jax.grad(loss)(params, row), state, params)
        params = optax.apply_updates(params, updates)
    return params, state


def evaluate(params, x):
    return float(loss(params, x))


rows = jax.random.normal(jax.random.key(0), (50, 3)) + 1.0
params, state = train(jnp.zeros(3), rows)
print(evaluate(params, rows.mean(0)))
"""

RULE = lint_rule(
    "NNX516",
    "evaluated-where-trained",
    "the parameters of a schedule-free optimizer evaluated as they are trained",
    why="""\
A schedule-free optimizer takes its gradients at one point and averages another: what `optax.apply_updates` gives is the
first, and the loss there is worse than that of the average, which alone makes up for the missing schedule. Evaluate,
save and use what `optax.contrib.schedule_free_eval_params(opt_state, params)` gives, and go on training with `params`.
""",
    source="optax documentation of optax.contrib.schedule_free; facebookresearch/schedule_free#15",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("evaluate(params, rows", "evaluate(contrib.schedule_free_eval_params(state, params), rows"),),
)
