"""NNX860: training that goes on in evaluation mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import callers_of, functions_called, in_test, kinds_of, passed
from codemods.nnx.lint.syntax import constant, innermost_loop, inside
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Param, Value

_DEPTH = 4
_MODES = (b"Dropout", b"BatchNorm", b"deterministic", b"use_running_average")


def _check(context: Context) -> Iterator[Finding]:
    if not any(word in module.source.data for module in context.project.modules for word in _MODES):
        return
    for event in context.bodies.named("eval", "set_attributes"):
        callee = event.value.callee
        if event.used or not _evaluates(event) or not isinstance(callee, Attr) or in_test(event.scope):
            continue
        kinds = kinds_of(context, callee.base, event.scope)
        if Kind.MODULE not in kinds and (kinds or not _is_model(event.node.func)):
            continue
        for place, model in _places(context, event, callee.base, 0):
            loop = innermost_loop(place)
            if loop is not None and _stuck(context, place, loop, model):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "training goes on in evaluation mode: nothing in the loop calls train() again",
                    "call train() before each epoch, or evaluate a view: nnx.view(model, deterministic=True)",
                )
                break


def _evaluates(event: CallEvent) -> bool:
    """Say whether a call is ``model.eval()``, or ``set_attributes`` with what that sets."""
    if last_word(event.node.func) == "eval":
        return not event.node.args and not event.node.keywords
    flags = [constant(k.value) for k in event.node.keywords if k.arg in {"deterministic", "use_running_average"}]
    return bool(flags) and not event.node.args and all(flag is True for flag in flags)


def _is_model(node: ast.expr) -> bool:
    base = node.value if isinstance(node, ast.Attribute) else node
    word = last_word(base)
    return word in {"model", "net", "network"}


def _places(context: Context, event: CallEvent, model: Value, depth: int) -> Iterator[tuple[CallEvent, str]]:
    """Yield the call and those of the functions around it, with the text of the model there."""
    text = _text(event, model)
    if event.loops:
        yield event, text
    function = event.scope.function
    if function is None or depth > 2 or event.loops:
        return
    for caller in callers_of(context, function)[:20]:
        if in_test(caller.scope):
            continue
        given: Value | None = None
        if isinstance(model, Param) and model is not function.self_param:
            given = passed(caller, model)
            if given is None:
                continue
        elif isinstance(model, Attr) and isinstance(model.base, Param) and model.base is function.self_param:
            receiver = caller.value.callee.base if isinstance(caller.value.callee, Attr) else None
            if receiver is None:
                continue
            given = Attr(receiver, model.name)
        elif caller.loops and caller.scope.module is event.scope.module and _of_module(function, text):
            yield caller, text
        if given is not None:
            yield from _places(context, caller, given, depth + 1)


def _of_module(function: FunctionFacts | None, name: str) -> bool:
    """Say whether a name in a function is a variable of its module."""
    home = function.scope.module.scope if function is not None else None
    if function is None or home is None or not name.isidentifier() or name not in home.bindings:
        return False
    while function is not None:
        own = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        if name in function.params or name in own:
            return False
        function = function.scope.parent.function if function.scope.parent is not None else None
    return True


def _text(event: CallEvent, value: Value) -> str:
    if isinstance(value, Attr):
        return f"{_text(event, value.base)}.{value.name}"
    if isinstance(value, Param):
        return value.name
    return next((name for name, one in event.env.items() if one is value), getattr(value, "name", ""))


def _stuck(context: Context, place: CallEvent, loop: ast.AST, model: str) -> bool:
    """Say whether a loop trains the same model and does not set its mode back."""
    calls = [e for e in context.bodies.calls.get(place.scope, ()) if inside(e.node, loop)]
    stored = (n for n in ast.walk(loop) if isinstance(n, ast.Name | ast.Attribute) and isinstance(n.ctx, ast.Store))
    if any(ast.unparse(n) == model for n in stored):
        return False
    trains = False
    for event in calls:
        word = _word(event)
        if event is place and word == "set_attributes":
            continue
        if word in {"train", "set_attributes", "set_mode", "clone", "view"}:
            return False
        reached = list(reach(context, event, 0, set()))
        words = {_word(e) for function in reached for e in context.bodies.calls.get(function.scope, ())}
        if words & {"train", "set_attributes", "set_mode", "view"}:
            return False
        if event is place or not (
            _same(event, model) or any(_trained_in(context, one, place, model) for one in reached)
        ):
            continue
        trains = trains or bool({*words, word, _inner(event)} & {"grad", "value_and_grad"})
    return trains


def _same(event: CallEvent, model: str) -> bool:
    """Say whether a call works on a model: it gets it, or is a method of the object that holds it."""
    root = model.rpartition(".")[0]
    nodes = [*event.node.args, *(k.value for k in event.node.keywords)]
    if any(ast.unparse(node) == model for node in nodes if isinstance(node, ast.Name | ast.Attribute)):
        return True
    func = event.node.func
    return bool(root) and isinstance(func, ast.Attribute) and ast.unparse(func.value) == root


def _trained_in(context: Context, function: FunctionFacts, place: CallEvent, model: str) -> bool:
    """Say whether a function of the same module gives the model, a variable of it, to what it calls."""
    if function.scope.module is not place.scope.module:
        return False
    calls = context.bodies.calls.get(function.scope, ())
    given = (n for e in calls for n in (*e.node.args, *(k.value for k in e.node.keywords)))
    return any(isinstance(n, ast.Name) and n.id == model for n in given) and _of_module(function, model)


def _inner(event: CallEvent) -> str:
    """Return the transform in ``grad(f)(model)``."""
    func = event.node.func.func if isinstance(event.node.func, ast.Call) else None
    return last_word(func)


def _word(event: CallEvent) -> str:
    func = event.node.func
    return last_word(func)


def reach(context: Context, event: CallEvent, depth: int, seen: set[FunctionFacts]) -> Iterator[FunctionFacts]:
    """Yield the project's functions that a call reaches.

    Args:
        context: the analysis.
        event: the call.
        depth: how many calls lead to it.
        seen: functions that were yielded before.
    """
    if depth > _DEPTH:
        return
    for function in functions_called(context, event):
        if function in seen:
            continue
        seen.add(function)
        yield function
        for inner in context.bodies.calls.get(function.scope, ()):
            yield from reach(context, inner, depth + 1, seen)


RULE = lint_rule(
    "NNX860",
    "stuck-in-evaluation",
    "a training loop evaluates with `model.eval()` and never calls `model.train()` again",
    why="""\
`model.eval()` holds until `model.train()` is called. In a loop of epochs only the first one trains with dropout and
updates batch statistics; all later ones train in evaluation mode, without an error.
""",
    source="measured on Flax 0.10.7 and 0.12.8: the batch statistics stay as they were after the first epoch",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx


@nnx.jit
def train_step(model, optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)


def fit(batches, x):
    model = nnx.BatchNorm(4, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    for batch in batches:
        train_step(model, optimizer, batch)
        model.eval()
        print(model(x))
""",
    ),
    clean=(
        """\
import optax
from flax import nnx


@nnx.jit
def train_step(model, optimizer, x):
    grads = nnx.grad(lambda m: m(x).mean())(model)
    optimizer.update(model, grads)


def fit(batches, x):
    model = nnx.BatchNorm(4, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    for index, batch in enumerate(batches):
        model.train()
        train_step(model, optimizer, batch)
        if index % 2 == 0:
            model.eval()
            print(model(x))
""",
    ),
)
