"""NNX894: an optimizer that is made anew for every step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.epochs import over_epochs
from codemods.nnx.lint.keys import varies
from codemods.nnx.lint.places import callers_of, foreign, given_to, in_test, passed, receiver, unchanged
from codemods.nnx.lint.syntax import innermost_loop, inside
from codemods.nnx.nodes import every
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Free, Param, Value

_OPTIMIZERS = frozenset({"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"})
_PART = pattern(r"(^|_)(epoch|step|batch|iteration)($|_)", re.I)
_DEEP = 3  # functions that hand an optimizer on
_STATELESS = frozenset({"optax.sgd", "optax.scale", "optax.identity", "optax.set_to_zero"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer"):
        if name not in _OPTIMIZERS or _model(event) is None or event.value.starred or in_test(event.scope):
            continue
        if (_in_attribute if event.loops else _in_method)(context, event) and _remembers(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a new optimizer for every step: what it remembers of the steps before is lost",
                "make it once, before the loop",
            )
            continue
        for site, model in _itself(event) or _through_helper(context, event):
            if _again(context, site, model) and _remembers(context, event):
                part = "epoch" if any(u.loops != site.loops for u in _updates(context, site)) else "step"
                yield finding(
                    RULE.code,
                    site.scope,
                    site.node,
                    f"a new optimizer for every {part}: what it remembers of the steps before is lost",
                    "make it once, before the loop, and pass it on",
                )
            elif _every_epoch(context, site, model) and _remembers(context, event):
                yield finding(
                    RULE.code,
                    site.scope,
                    site.node,
                    "a new optimizer for every epoch: what it remembers is lost, and steps are compiled again",
                    "make it once, before the loop; a schedule of optax changes the rate",
                )


def _in_attribute(context: Context, event: CallEvent) -> bool:
    """Say whether every round of a loop binds an attribute of a model's trainer anew, with steps of it in between."""
    statement, function = event.statement, event.scope.function
    loop = event.loops[-1] if event.loops else None
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or not isinstance(loop, ast.For):
        return False
    target, model = statement.targets[0], _model(event)
    me = function.self_param if function is not None else None
    if not isinstance(target, ast.Attribute) or not isinstance(model, Attr) or model.base is not me or me is None:
        return False
    if event.scope.module.values.get(target.value) is not me or context.bodies.sometimes(event.node, event.scope, loop):
        return False
    if _stored(model.name, loop):
        return False  # another model in every round
    steps = [c for c in context.bodies.calls.get(event.scope, ()) if c.loops[: len(event.loops)] == event.loops]
    return any(len(c.loops) == len(event.loops) and _once(context, c, me, target.attr) for c in steps) and not any(
        len(c.loops) > len(event.loops) for c in steps
    )


def _in_method(context: Context, event: CallEvent) -> bool:
    """Say whether a method binds an attribute of its object anew in every epoch, of one model, and takes its steps."""
    statement, function = event.statement, event.scope.function
    model = _model(event)
    me = function.self_param if function is not None else None
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or function is None or me is None:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Attribute) or not isinstance(model, Attr) or model.base is not me:
        return False
    if event.scope.module.values.get(target.value) is not me or context.bodies.paths(event.scope).get(statement):
        return False
    if _stored(model.name, function.node) or function.name == "__init__" or not _an_epoch(context, event):
        return False
    own = ast.unparse(target)
    steps = any(
        call.loops
        and (
            any(ast.unparse(given) == own for given in call.node.args)
            or ast.unparse(call.node.func) == f"{own}.update"
            or _once(context, call, me, target.attr)
        )
        for call in context.bodies.calls.get(event.scope, ())
    )
    return steps and _called_in_loop(context, event, model)


def _once(context: Context, event: CallEvent, me: Param, name: str) -> bool:
    """Say whether a call takes one step by the optimizer in an attribute: itself, or a method that it calls."""
    callee = event.value.callee
    if not isinstance(callee, Attr):
        return False
    if (
        callee.name == "update"
        and isinstance(callee.base, Attr)
        and callee.base.base is me
        and callee.base.name == name
    ):
        return True
    if callee.base is not me:
        return False
    found = context.flow.calls.callables(context.flow.here(callee, event.scope))
    if len(found) != 1:
        return False
    inner = found[0].function
    updates = [
        c
        for c in context.bodies.calls.get(inner.scope, ())
        if isinstance(func := c.node.func, ast.Attribute)
        and func.attr == "update"
        and ast.unparse(func.value) == f"self.{name}"
    ]
    return bool(updates) and not any(c.loops for c in updates)


def _itself(event: CallEvent) -> list[tuple[CallEvent, Value]]:
    """Return the call that makes an optimizer, with its model, if that has a name there."""
    model = _model(event)
    return [(event, model)] if model is not None and _target(event) else []


def _model(event: CallEvent) -> Value | None:
    """Return the model that a call makes an optimizer for."""
    return event.value.argument(0, "model")


def _target(event: CallEvent) -> str:
    """Return the name that the result of a call gets; empty if it gets none."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _through_helper(context: Context, event: CallEvent) -> list[tuple[CallEvent, Value]]:
    """Return the calls of a function that makes and returns an optimizer of the model that it is given."""
    function, model = event.scope.function, _model(event)
    if function is None or function.returns != [event.value]:
        return []
    if isinstance(model, Attr) and model.base is function.self_param:
        return [
            (caller, Attr(caller.value.callee.base, model.name))
            for caller in callers_of(context, function)
            if isinstance(caller.value.callee, Attr) and _target(caller) and not in_test(caller.scope)
        ]
    if not isinstance(model, Param):
        return []
    if model.function is not function or model is function.self_param:
        return []
    found = []
    for caller in callers_of(context, function):
        given = None if caller.value.starred else passed(caller, model)
        if given is not None and _target(caller) and not in_test(caller.scope):
            found.append((caller, given))
    return found


def _again(context: Context, event: CallEvent, model: Value) -> bool:
    """Say whether a call makes an optimizer in every step, of one model."""
    updates = _updates(context, event)
    if not updates or _kept(event, _target(event), updates):
        return False
    inner = event.loops[-1] if event.loops else None
    if inner is not None:
        if any(_loops(context, u, event.value) for u in updates):
            return False  # a function that trains from beginning to end
        return all(u.loops and u.loops[-1] is inner for u in updates) and _from_outside(model, inner)
    if any(u.loops or _loops(context, u, event.value) for u in updates) and not _an_epoch(context, event):
        return False  # a function that trains from beginning to end
    return _called_in_loop(context, event, model)


def _every_epoch(context: Context, event: CallEvent, model: Value) -> bool:
    """Say whether every round of a loop over epochs makes an optimizer of one model, which takes its steps therein."""
    loop = event.loops[-1] if event.loops else None
    if loop is None or not over_epochs(loop):
        return False
    if context.bodies.sometimes(event.node, event.scope, loop) or not _from_outside(unchanged(model), loop):
        return False
    updates = _updates(context, event)
    several = any(
        u.loops[: len(event.loops)] == event.loops
        and (len(u.loops) > len(event.loops) or _loops(context, u, event.value))
        for u in updates
    )
    return several and not _kept(event, _target(event), updates)


def _an_epoch(context: Context, event: CallEvent) -> bool:
    """Say whether a function calls itself a part of the training: an epoch, or a step of several updates; or all that
    call it do so once in every epoch."""
    function = event.scope.function
    if function is None:
        return False
    if _PART.search(function.name) is not None:
        return True
    callers = [c for c in callers_of(context, function) if not in_test(c.scope)]
    return bool(callers) and all(over_epochs(innermost_loop(c)) for c in callers)


def _updates(context: Context, event: CallEvent) -> list[CallEvent]:
    """Return the updates by an optimizer in the scope where it is made, or by functions that it is given to there."""
    return [
        other
        for other in context.bodies.calls.get(event.scope, ())
        if _is_update(other, event.value) or (other is not event and _steps(context, other, event.value))
    ]


def _is_update(event: CallEvent, optimizer: Value) -> bool:
    callee = event.value.callee
    return isinstance(callee, Attr) and callee.name == "update" and unchanged(callee.base) is optimizer


def _steps(context: Context, event: CallEvent, optimizer: Value, depth: int = 0) -> list[CallEvent]:
    """Return the updates in the functions that a call gives an optimizer to, if they do nothing else with it.

    A call that hands it on to such a function counts as an update.
    """
    values = list(event.value.given)
    given = next((one for one in values if unchanged(one) is optimizer), None)
    found: list[CallEvent] = []
    for param in given_to(context, event, given) if given is not None and depth < _DEEP else ():
        own: set[ast.AST] = set()
        for call in context.bodies.calls.get(param.function.scope, ()):
            if _is_update(call, param) or _steps(context, call, param, depth + 1):
                found.append(call)
                own |= {receiver(call), *call.node.args, *(k.value for k in call.node.keywords)}
        if any(
            isinstance(node, ast.Name) and node.id == param.name and isinstance(node.ctx, ast.Load) and node not in own
            for node in ast.walk(param.function.node)
        ):
            return []
    return found


def _loops(context: Context, event: CallEvent, optimizer: Value) -> bool:
    """Say whether a function that a call gives an optimizer to updates it in a loop."""
    return any(call.loops for call in _steps(context, event, optimizer))


def _kept(event: CallEvent, name: str, updates: list[CallEvent]) -> bool:
    """Say whether anything but its updates happens to an optimizer, and looks at its count of steps."""
    nodes = every(event.scope.node)
    reads = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    if not reads:
        return False
    own: set[ast.AST] = {receiver(update) for update in updates}
    own |= {given for update in updates for given in (*update.node.args, *(k.value for k in update.node.keywords))}
    own |= {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr == "step"}
    for inner in nodes:
        if isinstance(inner, ast.FunctionDef | ast.Lambda) and inner is not event.scope.node:
            if any(arg.arg == name for arg in (*inner.args.args, *inner.args.kwonlyargs)):
                own.update(every(inner))  # it has one of its own
    return any(node not in own for node in reads)


def _remembers(context: Context, event: CallEvent) -> bool:
    """Say whether the transformation keeps a state from step to step."""
    given = event.value.argument(1, "tx")
    if given is None:
        return False
    made = context.flow.resolve(context.flow.here(given, event.scope))
    if isinstance(made.value, Call):
        return _keeps_state(context, made)
    # made once and handed on, or kept by the object: not another one in every round, as for the stages of a training
    if isinstance(given, Param) and not _one_for_all_rounds(context, given):
        return False
    found = context.sources.originals(made) if isinstance(given, Param | Attr) else ()
    return bool(found) and all(_keeps_state(context, one) for one in found)


def _one_for_all_rounds(context: Context, param: Param) -> bool:
    """Say whether every call of a function in a loop gives a parameter the same value in all rounds."""
    for caller in callers_of(context, param.function):
        given, loop = passed(caller, param), innermost_loop(caller)
        if given is None or (loop is not None and varies(unchanged(given), loop)):
            return False
    return True


def _keeps_state(context: Context, made: Bound) -> bool:
    name = context.flow.calls.callee_name(made)
    if not name.startswith("optax.") or not isinstance(made.value, Call):
        return False
    if name in _STATELESS:
        momentum = made.value.argument(1, "momentum")
        return momentum is not None and not (isinstance(momentum, Const) and not momentum.value)
    return True


def _from_outside(model: Value, loop: ast.AST) -> bool:
    """Say whether the same model is given in every round."""
    if isinstance(model, Attr):
        return isinstance(model.base, Param | Free) and not _stored(model.name, loop)
    return not varies(model, loop)


def _stored(name: str, loop: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Store) for n in ast.walk(loop))


def _called_in_loop(context: Context, event: CallEvent, model: Value) -> bool:
    """Say whether the function around is called in a loop, each time for the same model."""
    function = event.scope.function
    if function is None:
        return False
    callers = [c for c in callers_of(context, function) if not in_test(c.scope)]
    for caller in callers:
        loop = innermost_loop(caller)
        if loop is None:
            return False
        given: Value | None = model
        if isinstance(model, Param):
            if model is function.self_param or model.function is not function:
                return False
            given = passed(caller, model)
        elif isinstance(model, Attr) and model.base is function.self_param:
            receiver = caller.value.callee.base if isinstance(caller.value.callee, Attr) else None
            given = Attr(receiver, model.name) if isinstance(receiver, Param | Free) else receiver
        elif not isinstance(model, Free):
            return False
        if given is None or not inside(caller.node, loop):
            return False
        if not isinstance(given, Free) and not _from_outside(given, loop):
            return False
    return bool(callers)


RULE = lint_rule(
    "NNX894",
    "optimizer-per-step",
    "an optimizer is made anew for every step",
    why="""\
Adam, momentum and schedules remember the steps before: their state is in the optimizer. One that is made in the step
starts from zero each time, so that Adam becomes the sign of the gradients and a schedule never leaves its first rate.
""",
    source="measured on Flax 0.10.7 and 0.12.8: the count of steps stays at one",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx


def train_step(model, x, y):
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)


def train(batches):
    model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
    for x, y in batches:
        train_step(model, x, y)
""",
    ),
    clean=(
        """\
import optax
from flax import nnx


def train_one(model, batches):
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    for x, y in batches:
        grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        optimizer.update(model, grads)


def train(folds):
    for batches in folds:
        train_one(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), batches)
""",
    ),
)
