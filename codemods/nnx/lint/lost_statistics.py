"""NNX785: new statistics of a Linen model that no state gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lost_averages import lost_averages
from codemods.nnx.lint.places import foreign, in_test, name_of_part, target_of
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.lint.traced import function_of
from codemods.nnx.nodes import last_word

_STEPS = frozenset({"apply_gradients", "apply_updates"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in lost_averages(context):
        yield finding(
            RULE.code,
            scope,
            node,
            "the new running averages are left out here, and kept nowhere: evaluation gets those of the beginning",
            "give them back beside the parameters, and take them into the next step",
        )
    for module in context.project.modules:
        if not module.source.mentions(b"batch_stats") or not module.source.mentions(b"mutable"):
            continue
        found = [_lost(context, event) for event in _mutating(module) if not in_test(event.scope)]
        if found and all(found):  # where one is stored, others are left out on purpose
            for one in found:
                assert one is not None
                scope, node = one
                if scope.module not in context.asked:
                    continue
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    "nothing reads the new `batch_stats` that the model gives here: the state keeps the old ones",
                    'store them: state.apply_gradients(grads=grads, batch_stats=updates["batch_stats"])',
                )


def _mutating(module: ModuleFacts) -> Iterator[CallEvent]:
    """Yield the calls that give new statistics beside the output of a model of Linen."""
    for event in module.calls:
        if last_word(event.node.func) in {"apply", "apply_fn"}:
            names = constant(keyword(event.node, "mutable"))
            if names == "batch_stats" or (isinstance(names, list | tuple) and "batch_stats" in names):
                yield event


def _lost(context: Context, event: CallEvent) -> tuple[Scope, ast.AST] | None:
    """Return where the statistics are lost that a call gives; None if they are not, or that is not known."""
    target = target_of(event)
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or not isinstance(target.elts[1], ast.Name):
        return None
    name, function = target.elts[1].id, event.scope.function
    if function is None or isinstance(function.node, ast.Lambda) or name.startswith("_"):
        return None
    loads = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == name and _read(n)]
    if not loads:
        outer = function_of(event.scope.parent)  # that differentiates the loss
        stepping = _steps(function) or (outer is not None and _steps(outer)) or _differentiated(context, function)
        return (event.scope, target.elts[1]) if stepping else None
    loads = _under_name(context, event.scope, loads)
    returned = [n.value for n in context.bodies.nodes(event.scope) if isinstance(n, ast.Return)]
    place = _place(returned[0], loads[0]) if len(returned) == len(loads) == 1 and returned[0] is not None else None
    return _dropped(context, function, place) if place is not None else None


def _under_name(context: Context, scope: Scope, loads: list[ast.Name]) -> list[ast.Name]:
    """Return where the variable is read that gets the statistics, ``stats = updates["batch_stats"]``, if that is the
    only use of what the model gives; else the reads of that."""
    for node in context.bodies.nodes(scope) if len(loads) == 1 else ():
        if isinstance(node, ast.Assign) and _place(node.value, loads[0]) == () and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                inside = ast.walk(scope.node)
                return [n for n in inside if isinstance(n, ast.Name) and n.id == target.id and _read(n)]
    return loads


def _read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _place(whole: ast.expr, part: ast.Name) -> tuple[int, ...] | None:
    """Return where a variable stands in tuples within each other."""
    entry = isinstance(whole, ast.Subscript) and constant(whole.slice) == "batch_stats" and whole.value is part
    if whole is part or entry:
        return ()
    for number, one in enumerate(whole.elts if isinstance(whole, ast.Tuple) else []):
        inner = _place(one, part)
        if inner is not None:
            return (number, *inner)
    return None


def _dropped(context: Context, loss: FunctionFacts, place: tuple[int, ...]) -> tuple[Scope, ast.AST] | None:
    """Return the variable of a step that gets the statistics which its loss returns, and that nothing reads."""
    if len(place) < 1 or place[0] != 1:
        return None
    for event in _gradients(context, loss):
        if constant(keyword(event.node, "has_aux")) is not True:
            continue
        calls = _calls(context, event)
        outer = calls[0].scope.function if len(calls) == 1 else None
        target = _taken(calls[0], place, last_word(event.node.func)) if outer is not None else None
        if outer is None or target is None or not _steps(outer):
            return None
        inner = {n for n in ast.walk(loss.node) if isinstance(n, ast.Name)}
        reads = (n for n in ast.walk(outer.node) if isinstance(n, ast.Name) and n.id == target.id and _read(n))
        return None if any(n not in inner for n in reads) else (calls[0].scope, target)
    return None


def _gradients(context: Context, loss: FunctionFacts) -> Iterator[CallEvent]:
    """Yield the calls that make the gradient of a loss."""
    for event, name in foreign(context, "value_and_grad", "grad", everywhere=True):
        here = context.flow.here(event.value.args[0], event.scope) if event.value.args else None
        if name in GRADIENTS and here is not None:
            if [one.function for one in context.flow.calls.callables(here)] == [loss]:
                yield event


def _differentiated(context: Context, loss: FunctionFacts) -> bool:
    """Say whether a loss is differentiated, and every function that does so trains."""
    functions = [event.scope.function for event in _gradients(context, loss)]
    return bool(functions) and all(one is not None and _steps(one) for one in functions)


def _calls(context: Context, made: CallEvent) -> list[CallEvent]:
    """Return the calls of the function of gradients that a call makes."""
    flow = context.flow
    direct = [one for one in context.bodies.calls.get(made.scope, ()) if one.node.func is made.node]
    named = (one for one in made.scope.module.calls if isinstance(one.node.func, ast.Name))
    return direct or [
        one for one in named if flow.follow(flow.here(one.value, one.scope), one.value.callee).value is made.value
    ]


def _taken(event: CallEvent, place: tuple[int, ...], word: str) -> ast.Name | None:
    """Return the variable that gets a part of what the loss returns, or the whole that it is in."""
    way = [0, *place] if word == "value_and_grad" else [1, *place[1:]]
    return name_of_part(event, way)


def _steps(function: FunctionFacts) -> bool:
    """Say whether a function trains: it makes new parameters of gradients."""
    return any(isinstance(n, ast.Call) and last_word(n.func) in _STEPS for n in ast.walk(function.node))


RULE = lint_rule(
    "NNX785",
    "lost-statistics",
    "a training step in which the new batch_stats, or running averages written by hand, are left out",
    why="""\
With `mutable=["batch_stats"]` a model of Linen gives its new running statistics beside its output; it keeps nothing
itself. A step that does not put them into its state trains on, since the batch's own statistics are used there, and
evaluates with those of the beginning. So it is with a function that returns `0.9 * state["mean"] + 0.1 * x.mean(0)`
beside its result, where nothing in the project takes that.
""",
    source="Flax guide to batch normalization; measured: another loss in evaluation, without an error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        variables = {"params": params, "batch_stats": state.batch_stats}
        predicted, updates = state.apply_fn(variables, x, train=True, mutable=["batch_stats"])
        return jnp.mean((predicted - y) ** 2), updates

    (loss, updates), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads), loss
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        variables = {"params": params, "batch_stats": state.batch_stats}
        predicted, updates = state.apply_fn(variables, x, train=True, mutable=["batch_stats"])
        return jnp.mean((predicted - y) ** 2), updates

    (loss, updates), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=grads, batch_stats=updates["batch_stats"]), loss
""",
    ),
)
