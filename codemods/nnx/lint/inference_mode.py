"""NNX815: evaluation that never says so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.forced_mode import forced_modes
from codemods.nnx.lint.half_mode import half_modes
from codemods.nnx.lint.lax_control_flow import draws
from codemods.nnx.lint.places import is_test, kinds_of
from codemods.nnx.lint.told_to_train import told_to_train
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Free, Param

_EVALUATES = pattern(
    r"(^|_)(eval|evaluate|evaluation|validate|validation|valid|val|pred|predict|prediction|predictions|infer|inference|"
    r"generate|accuracy)(_|$)|^test(_(step|epoch|loop|model|accuracy|loss|set|batch|one_epoch))?$"
)
_PREDICTS = pattern(r"(^|_)(pred|predict|prediction|predictions|infer|inference|generate)(_|$)")
_ON_PURPOSE = pattern(r"dropout|(^|_)mc(_|$)|monte|uncertain|bayes|stochastic|noise|train", re.I)
_SAMPLES = pattern(r"(^|_)(sampl\w*|draw\w*|posterior|ensemble)(_|$)")
_STREAMS = pattern(r"(^|_)(rngs?|keys?|noise|streams?)(_|$)")
_MODE = pattern(r"train|eval|infer|mode(?!l)|determin|test|dropout", re.I)

# where a project says one of these, it knows about modes
_MODES = (b".eval(", b"deterministic", b"use_running_average", b"set_attributes", b"set_mode", b".view(", b".train(")
_TRAINS = frozenset({"flax.nnx.grad", "flax.nnx.value_and_grad", "jax.grad", "jax.value_and_grad"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _unset(context)
    told = (*forced_modes(context), *half_modes(context, _EVALUATES, _ON_PURPOSE), *told_to_train(context))
    for event, message, help in told:
        yield finding(RULE.code, event.scope, event.node, message, help)
    if not any(m.source.mentions(b"Dropout") or m.source.mentions(b"BatchNorm") for m in context.project.modules):
        return
    if any(word in module.source.data for module in context.project.modules for word in _MODES[:-1]):
        return
    if not any(context.flow.calls.name(e) in _TRAINS for e in context.bodies.named("grad", "value_and_grad")):
        return
    found: dict[FunctionFacts, CallEvent] = {}
    for function in context.asked.functions():
        if not _EVALUATES.search(function.name) or _ON_PURPOSE.search(function.name) or is_test(function.scope.module):
            continue
        if _SAMPLES.search(function.name) and any(_STREAMS.search(name) for name in function.params):
            continue  # one of several results that dropout tells apart
        events = context.bodies.calls.get(function.scope, ())
        if any(context.flow.calls.name(event) in _TRAINS for event in events):
            continue
        for event in events:
            if _PREDICTS.search(function.name) and _sets_training(context, event):
                break
            if _runs(context, event, function) or _hands(context, event, function):
                found[function] = event
                break
    for function, event in found.items():
        if not any(call.scope.function in found for call in context.flow.sites.callers(function)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{function.name}` runs the model in training mode: nothing ever calls eval()",
                "call model.eval() before, and model.train() when training goes on",
            )


def _unset(context: Context) -> Iterator[Finding]:
    """Yield the modes that are named and not set, and the models that are taken from ``eval()``, which gives none."""
    for module in context.asked.modules:
        if not module.source.mentions(b".eval") and not module.source.mentions(b".train"):
            continue
        for scope in (module.scope, *(function.scope for function in module.functions)):
            for node in context.bodies.nodes(scope):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute):
                    base = module.values.get(node.value.value)
                    if node.value.attr in {"eval", "train"} and base is not None:
                        if Kind.MODULE in kinds_of(context, base, scope):
                            yield finding(
                                RULE.code,
                                scope,
                                node,
                                f"`{ast.unparse(node.value)}` is not called, and sets no mode",
                                f"write {ast.unparse(node.value)}()",
                            )


def _sets_training(context: Context, event: CallEvent) -> bool:
    """Say whether a call is ``model.train()``; of a function that predicts this wants draws of its dropout."""
    func, callee = event.node.func, event.value.callee
    return (
        isinstance(func, ast.Attribute)
        and func.attr == "train"
        and isinstance(callee, Attr)
        and Kind.MODULE in kinds_of(context, callee.base, event.scope)
    )


def _runs(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a call runs a model whose layers know modes, and does not say which."""
    callee = event.value.callee
    if not isinstance(callee, Param | Free | Attr) or event.node.keywords or event.value.starred:
        return False
    if not event.node.args or callee is function.self_param:
        return False
    if isinstance(callee, Attr) and not isinstance(callee.base, Param | Free):
        return False
    sources = list(context.sources.originals(context.flow.here(callee, event.scope)))
    return bool(sources) and all(
        draws(context, source)
        and (cls := context.flow.classes.class_of(source)) is not None
        and (call := context.flow.classes.method(cls, "__call__")) is not None
        and not any(_MODE.search(name) for name in call.params)
        for source in sources
    )


def _hands(context: Context, event: CallEvent, function: FunctionFacts, depth: int = 0) -> bool:
    """Say whether a call gives a model to a function that runs it, and that does not train."""
    given = list(event.value.given)
    if function in context.traced.differentiated:
        return False
    if not any(Kind.MODULE in kinds_of(context, one, event.scope) for one in given):
        return False
    for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        inner = callee.function
        if inner is function or _ON_PURPOSE.search(inner.name) or any(_MODE.search(name) for name in inner.params):
            continue
        calls = context.bodies.calls.get(inner.scope, ())
        if any(context.flow.calls.name(one) in _TRAINS for one in calls):
            continue
        if any(_runs(context, one, inner) for one in calls):
            return True
        if depth < _DEPTH and any(_hands(context, one, inner, depth + 1) for one in calls):
            return True
    return False


_DEPTH = 2

_BAD = """\
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.out(self.drop(x))


def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)


def evaluate(model, x, y):
    return ((model(x) - y) ** 2).mean()


def main(x, y):
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    train_step(model, optimizer, x, y)
    return evaluate(model, x, y)
"""

RULE = lint_rule(
    "NNX815",
    "inference-in-training-mode",
    "a function for evaluation runs a model with dropout or batch norm, and nothing ever sets evaluation mode",
    why="""\
Modules are made in training mode. Until `model.eval()` is called dropout stays active, so that every evaluation gives
other numbers, and batch statistics change with the data of the evaluation.
""",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8: two evaluations of the same data differ",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "    return ((model(x) - y) ** 2).mean()\n\n\ndef main",
            "    model.eval()\n    return ((model(x) - y) ** 2).mean()\n\n\ndef main",
        ),
    ),
)
