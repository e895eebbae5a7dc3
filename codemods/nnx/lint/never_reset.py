"""NNX892: metrics that run on from one epoch into the next."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.fed_once import fed_once
from codemods.nnx.lint.keys import varies
from codemods.nnx.lint.metrics_mixed import mixed_metrics, read_metrics
from codemods.nnx.lint.origins import made_by_calls
from codemods.nnx.lint.places import (
    callers_of,
    foreign,
    in_test,
    kinds_of,
    passed,
    position,
    received,
    receiver,
    scopes,
    unchanged,
    written,
)
from codemods.nnx.lint.syntax import argument, innermost_loop, inside, keyword, names_in, outermost_loop
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Free, Param, Value

_METRIC = pattern(r"metric|accuracy|avg|average|meter|loss", re.I)
_CALLERS = 20


def _check(context: Context) -> Iterator[Finding]:
    yield from _sums(context)
    if not any(
        name.startswith("flax.nnx.metrics.") or name == "flax.nnx.MultiMetric"
        for _, name in foreign(context, "MultiMetric", "Average", "Accuracy", "Welford", everywhere=True)
    ):
        return
    told: set[CallEvent] = set()
    for event in _never_reset(context):
        told.add(event)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "the averages go over all rounds before as well: nothing ever resets the metric",
            f"call {ast.unparse(receiver(event))}.reset() after it",
        )
    for event, last in mixed_metrics(context):
        if event not in told:
            one, other = ("evaluation", "training") if last == "test" else ("training", "evaluation")
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the averages of {one} go over the batches of {other} as well: nothing resets the metric between them",
                f"call {ast.unparse(receiver(event))}.reset() before {one}",
            )


def _never_reset(context: Context) -> Iterator[CallEvent]:
    """Yield the calls that read a metric which is never reset, in every epoch."""
    reset = _reset(context)
    if reset is None:
        return
    for event, metric in read_metrics(context):
        if reset and not _others(context, event, metric, reset):
            continue
        if _goes_on(context, event, metric):
            yield event


_STEPS = frozenset({"apply_gradients", "update"})


def _sums(context: Context) -> Iterator[Finding]:
    """Yield the updates in every nth round by a sum of gradients that goes on after them."""
    for event in context.bodies.named("update", "apply_gradients"):
        loop = innermost_loop(event)
        grads = keyword(event.node, "grads")
        given = event.node.args[:2] if len(event.node.args) >= 2 else [] if grads is None else [grads]
        if loop is not None and given and event.scope.module in context.asked:
            yield from _sums_of(context, event, loop, given)
    for scope in scopes(context):
        for event in context.bodies.calls.get(scope, ()) if scope.module.source.mentions(b"update") else ():
            loop = innermost_loop(event)
            if loop is not None and event.node.args and last_word(event.node.func) not in _STEPS:
                yield from _sums_of(context, event, loop, event.node.args)


def _sums_of(context: Context, event: CallEvent, loop: ast.For | ast.While, given: list[ast.expr]) -> Iterator[Finding]:
    """Yield a call in every nth round of a loop whose gradients are a sum that goes on."""
    blocks = [b for b, arm in context.bodies.paths(event.scope).get(event.node, ()) if isinstance(b, ast.If)]
    every = next((b for b in blocks if inside(b, loop) and _modulo(b.test)), None)
    if every is None or in_test(event.scope):
        return
    known = context.shared(_known_sums)
    if loop not in known:
        known[loop] = [*_sums_in(loop)]
    sums = [(node, name) for node, name in known[loop] if not inside(node, every)]
    if not sums:
        return
    read = [ast.unparse(n) for one in given for n in ast.walk(written(context, one, event.scope)) if _place(n)]
    for _, name in sums:
        if name in read and not _set_back(loop, name):
            if last_word(event.node.func) not in _STEPS and not _applied(context, event, name):
                continue
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the sum `{name}` goes on after the update: its gradients are applied again and again",
                f"set `{name}` back to zeros behind the update",
            )


def _known_sums(context: Context) -> dict[ast.AST, list[tuple[ast.Assign, str]]]:
    """Return where the sums in loops are kept, which are looked at for every call in them."""
    return {}


def _sums_in(loop: ast.For | ast.While) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the assignments in a loop that add to a tree, with what holds that."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and _place(node.targets[0]) and isinstance(node.value, ast.Call | ast.IfExp):
            name = ast.unparse(node.targets[0])
            if _adds(node.value, name):
                yield node, name


def _place(node: ast.AST) -> bool:
    """Say whether an expression is a variable or an attribute."""
    return isinstance(node, ast.Name | ast.Attribute)


def _modulo(test: ast.expr) -> bool:
    return any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) for node in ast.walk(test))


def _adds(value: ast.expr, name: str) -> bool:
    """Say whether an expression adds something to a tree, at the latest when there is one."""
    if isinstance(value, ast.IfExp):
        arms = (value.body, value.orelse) if _asks_none(value.test, name) else ()
        return any(_adds(arm, name) for arm in arms)
    if not isinstance(value, ast.Call) or not any(ast.unparse(argument) == name for argument in value.args):
        return False
    word = last_word(value.func)
    added = any("add" in ast.unparse(argument) or "+" in ast.unparse(argument) for argument in value.args[:1])
    return (word in {"add", "tree_add"} and "tree" in ast.unparse(value.func)) or (
        word in {"map", "tree_map"} and added
    )


def _asks_none(test: ast.expr, name: str) -> bool:
    """Say whether a condition asks whether there is a sum already."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Is | ast.IsNot)
        and (ast.unparse(test.left) == name and ast.unparse(test.comparators[0]) == "None")
    )


def _set_back(loop: ast.AST, name: str) -> bool:
    """Say whether a loop gives a sum another value than with something added, but where there is none."""
    first = {node for block in ast.walk(loop) if isinstance(block, ast.If) and _asks_none(block.test, name)
             for part in (*block.body, *block.orelse) for node in ast.walk(part)}  # fmt: skip
    for node in ast.walk(loop):
        if _place(node) and isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) and ast.unparse(node) == name:
            outer = next((n for n in ast.walk(loop) if isinstance(n, ast.Assign) and n.targets == [node]), None)
            if outer is None or not (outer in first or _adds(outer.value, name)):
                return True
    return False


def _applied(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether a function of the project updates an optimizer with what a call gives it under a name."""
    for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        function = callee.function
        names = list(function.params)[received(function) :]
        taken = {inner for inner, node in zip(names, event.node.args, strict=False) if name in ast.unparse(node)}
        for other in context.bodies.calls.get(function.scope, ()):
            if last_word(other.node.func) == "update" and len(other.node.args) > 1:
                if taken & names_in(written(context, other.node.args[1], other.scope)):
                    return True
    return False


def _resets(context: Context, event: CallEvent) -> bool:
    """Say whether a call may reset a metric."""
    callee = event.value.callee
    if not isinstance(callee, Attr):
        return True
    kinds = kinds_of(context, callee.base, event.scope)
    return Kind.METRIC in kinds or (not kinds and _METRIC.search(last_word(receiver(event))) is not None)


def _reset(context: Context) -> set[Value] | None:
    """Return the calls that make the metrics which are reset; None if something else may be."""
    found: set[Value] = set()
    for event in context.bodies.named("reset"):
        if _resets(context, event):
            callee = event.value.callee
            made = _makers(context, event, callee.base) if isinstance(callee, Attr) else None
            if made is None:
                return None
            found |= made
    return found


def _makers(context: Context, event: CallEvent, metric: Value) -> set[Value] | None:
    """Return the calls that make what may be a metric; None if they are not all known."""
    sources = {source.value for source in made_by_calls(context, context.flow.here(metric, event.scope))}
    return sources or None


def _others(context: Context, event: CallEvent, metric: Value, reset: set[Value]) -> bool:
    """Say whether a metric is none of those that are reset."""
    made = _makers(context, event, metric)
    return made is not None and not made & reset


def _goes_on(context: Context, event: CallEvent, metric: Value) -> bool:
    """Say whether a metric from outside of a loop is read in each round, behind the loop that updates it."""
    outer = outermost_loop(event)
    if outer is not None:
        made = context.flow.resolve(context.flow.here(metric, event.scope)).value
        if isinstance(made, Call) and context.bodies.home(made.node) is event.scope and inside(made.node, outer):
            return False
        if _rebound(receiver(event), outer) or len(event.loops) != 1:
            return False
        return _fed(context, event.scope, event, outer) or fed_once(context, event, outer)
    function = event.scope.function
    if function is None or not _given(metric):
        return False
    if not _fed(context, event.scope, event, None):
        return _logged(context, metric) if isinstance(metric, Param) else _recorded(context, event, metric)
    return any(
        caller.loops and isinstance(caller.loops[-1], ast.For | ast.While) and not _fresh(caller, metric)
        for caller in callers_of(context, function)[:_CALLERS]
        if not in_test(caller.scope)
    )


def _logged(context: Context, metric: Param) -> bool:
    """Say whether a function that only reads a metric is called behind the loop that updates it, in every epoch."""
    function = metric.function
    place = position(metric)
    for caller in callers_of(context, function)[:_CALLERS]:
        if in_test(caller.scope) or caller.value.starred or len(caller.loops) != 1:
            continue
        given = argument(caller.node, place, metric.name)
        if isinstance(given, ast.Name | ast.Attribute) and not _fresh(caller, metric):
            if not _rebound(given, caller.loops[0]) and _fed(context, caller.scope, caller, caller.loops[0], given):
                return True
    return False


def _recorded(context: Context, event: CallEvent, metric: Value) -> bool:
    """Say whether a method that only reads a metric of its object is called behind the loop that updates that metric,
    in every epoch."""
    function = event.scope.function
    if function is None or not isinstance(metric, Attr) or metric.base is not function.self_param:
        return False
    if len(context.flow.fields.stores().get(metric.name, ())) != 1:
        return False  # which may be a new one in every epoch
    for caller in callers_of(context, function)[:_CALLERS]:
        func = caller.node.func
        if in_test(caller.scope) or len(caller.loops) != 1 or not isinstance(func, ast.Attribute):
            continue
        held, loop = func.value, caller.loops[0]
        if not isinstance(held, ast.Name | ast.Attribute) or not isinstance(loop, ast.For | ast.While):
            continue
        given = ast.Attribute(held, metric.name, ast.Load())
        if _rebound(held, loop) or _rebound(given, loop):
            continue
        if _fed(context, caller.scope, caller, loop, given) or _told(context, caller, loop, metric.name):
            return True
    return False


def _told(context: Context, caller: CallEvent, outer: ast.AST, name: str) -> bool:
    """Say whether a loop before a call, within the outer one, runs a method of the same object that updates its
    metric."""
    text = ast.unparse(receiver(caller))
    for other in context.bodies.calls.get(caller.scope, ()):
        func = other.node.func
        if not isinstance(func, ast.Attribute) or ast.unparse(func.value) != text or outer not in other.loops:
            continue
        if len(other.loops) < 2 or other.node.lineno >= caller.node.lineno:
            continue
        for callee, _ in context.flow.calls.invoked(context.flow.here(other.value, other.scope)):
            own = f"self.{name}.update"
            if any(ast.unparse(e.node.func) == own for e in context.bodies.calls.get(callee.function.scope, ())):
                return True
    return False


def _given(metric: Value) -> bool:
    """Say whether a metric comes from outside of the function: as an argument, a global or an attribute."""
    return isinstance(metric, Param | Free) or (isinstance(metric, Attr) and isinstance(metric.base, Param | Free))


def _rebound(metric: ast.expr, loop: ast.AST) -> bool:
    """Say whether a loop binds a name, or stores an attribute, of a metric."""
    word = last_word(metric)
    return any(
        isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and last_word(node) == word
        for node in ast.walk(loop)
    )


def _fresh(caller: CallEvent, metric: Value) -> bool:
    """Say whether the caller's loop makes the metric, or what holds it, in every round."""
    if not isinstance(metric, Param):
        func = caller.node.func
        held = isinstance(metric, Attr) and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
        value = caller.scope.module.values.get(func.value) if held and isinstance(func, ast.Attribute) else None
        return value is not None and varies(value, caller.loops[-1]) and not isinstance(value, Param | Free)
    given = passed(caller, metric)
    return given is None or (not isinstance(given, Attr) and varies(unchanged(given), caller.loops[-1]))


def _fed(
    context: Context, scope: Scope, event: CallEvent, outer: ast.AST | None, metric: ast.expr | None = None
) -> bool:
    """Say whether a loop before the result is read, within the outer one, hands on the metric or updates it."""
    text = ast.unparse(receiver(event) if metric is None else metric)
    root = text.partition(".")[0]
    for other in context.bodies.calls.get(scope, ()):
        inner = [one for one in other.loops if isinstance(one, ast.For | ast.While) and one is not outer]
        if (outer is not None and outer not in other.loops) or other.node.lineno >= event.node.lineno:
            continue
        func = other.node.func
        if not inner:
            if outer is not None and _loops(context, other, text):
                return True
            continue
        if isinstance(func, ast.Attribute) and func.attr == "update" and ast.unparse(func.value) == text:
            return True
        if any(ast.unparse(node) == text for node in other.node.args if isinstance(node, ast.Name | ast.Attribute)):
            return True
        if root == "self" and isinstance(func, ast.Attribute) and ast.unparse(func.value) == "self":
            return True
    return False


def _loops(context: Context, event: CallEvent, text: str) -> bool:
    """Say whether a function that is called updates a metric in a loop, or hands it on there."""
    callees = context.flow.calls.callables(context.flow.here(event.value.callee, event.scope))
    if len(callees) != 1 or event.value.starred:
        return False
    function = callees[0].function
    inner = text if text.startswith("self.") and ast.unparse(event.node.func).startswith("self.") else ""
    names = list(function.params)[received(function) :]
    for name, node in [*zip(names, event.node.args, strict=False), *((k.arg, k.value) for k in event.node.keywords)]:
        if name and isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) == text:
            inner = name
    return bool(inner) and any(
        any(isinstance(loop, ast.For | ast.While) for loop in other.loops)
        and (
            (
                isinstance(func := other.node.func, ast.Attribute)
                and func.attr == "update"
                and ast.unparse(func.value) == inner
            )
            or any(ast.unparse(node) == inner for node in other.node.args if isinstance(node, ast.Name | ast.Attribute))
        )
        for other in context.bodies.calls.get(function.scope, ())
    )


RULE = lint_rule(
    "NNX892",
    "metric-never-reset",
    "a metric is read after every epoch and never reset, or not between training and evaluation",
    why="""\
A metric sums up until `reset()` is called. Without it the numbers of an epoch are averages over all epochs so far: the
curves are too smooth and too late, and evaluation mixes with training.
""",
    source="measured on Flax 0.10.7 and 0.12.8: the count goes on over the epochs",
    check=_check,
    bad=(
        """\
from flax import nnx

metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))


def train(losses):
    for epoch in range(10):
        for loss in losses:
            metrics.update(loss=loss)
        print(metrics.compute())
""",
    ),
    clean=(
        """\
from flax import nnx

metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))


def train(losses):
    for epoch in range(10):
        for loss in losses:
            metrics.update(loss=loss)
        print(metrics.compute())
        metrics.reset()
""",
        """\
from flax import nnx


def train(losses):
    for epoch in range(10):
        metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
        for loss in losses:
            metrics.update(loss=loss)
        print(metrics.compute())
""",
    ),
)
