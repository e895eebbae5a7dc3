"""NNX905: waiting for the device at every training step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import compiled_roots, in_test, is_metric, jit_of
from codemods.nnx.lint.rounds import rounds_at_most
from codemods.nnx.lint.syntax import innermost_loop, inside, names_in
from codemods.nnx.lint.traced import Root
from codemods.nnx.lint.unread import given_names
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Item, Value

_PLAIN = ("float", "int", "print", "info", "device_get", "set_postfix", "set_description", "asarray", "array")
_FEW = 100  # rounds that are over before anybody notices
_WAITING = ("item", "tolist", *_PLAIN)
# who writes this means to wait
_ASKED = "block_until_ready"


def _check(context: Context) -> Iterator[Finding]:
    steps = {root.node: root for root in compiled_roots(context) if _trains(context, root.function)}
    if not steps:
        return
    reads = [event for event in context.bodies.named(_ASKED, *_WAITING) if not in_test(event.scope)]
    # all results of a step are ready at the same time: who asked for one waits for none of the others
    waited: set[tuple[ast.AST, ast.AST]] = set()
    seen: set[ast.stmt] = set()
    for event in sorted(reads, key=lambda one: (one.node.end_lineno or 0, one.node.end_col_offset or 0)):
        loop = innermost_loop(event)
        if loop is None or enclosing_function(event.scope) in context.traced:
            continue
        if context.bodies.sometimes(event.node, event.scope, loop):
            continue
        rounds = rounds_at_most(context, event.scope, event.loops)
        if rounds is not None and rounds <= _FEW:
            continue
        made = (_step_of(context, value, event.scope, steps, loop) for value in _read(context, event))
        new = {(loop, step) for step in made if step is not None} - waited
        waited |= new
        if new and event.statement not in seen and _word(event) != _ASKED:
            if any(_displayed(context, event.scope, step, loop) for loop, step in new):
                continue
            if _word(event) in _TO_HOST and _goes_on(context, event, loop):
                continue
            if _of_epochs(context, event.scope, loop) or _shows_all(context, event, steps, loop):
                continue
            seen.add(event.statement)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the loop waits for the result of every step, and the device for the loop",
                "read the value every N steps, or collect the arrays and read them after the loop",
            )


def _word(event: CallEvent) -> str:
    func = event.node.func
    return last_word(func)


_TO_HOST = frozenset({"asarray", "array", "device_get"})


def _goes_on(context: Context, event: CallEvent, loop: ast.AST) -> bool:
    """Say whether the host goes on with what it reads: the next round hands it to a function that is not compiled, as
    one that adds particles, before the next step."""
    names = given_names(event.statement, event.node)
    return any(
        one.node.lineno < event.statement.lineno
        and inside(one.node, loop)
        and any(isinstance(given, ast.Name) and given.id in names for given in one.node.args)
        and not context.flow.calls.name(one).startswith("jax.")
        and not jit_of(context, one)
        for one in (context.bodies.calls.get(event.scope, ()) if names else ())
    )


_DISPLAYING = ("display", "imshow", "imsave", "imwrite", "pause")


def _displayed(context: Context, scope: Scope, step: ast.AST, loop: ast.AST) -> bool:
    """Say whether every round draws a picture of what a step gives, for which it waits in any case."""
    calls = context.bodies.calls.get(scope, ())
    made = next((given_names(event.statement, step) for event in calls if event.node is step), frozenset())
    return any(
        last_word(event.node.func) in _DISPLAYING
        and inside(event.node, loop)
        and made & {name for given in event.node.args for name in names_in(given)}
        and not context.bodies.sometimes(event.node, scope, loop)
        for event in calls
    )


_EPOCHS = pattern(r"epoch")
_SHOWN = 3  # results of a step that one call prints, which is to be seen


def _of_epochs(context: Context, scope: Scope, loop: ast.AST) -> bool:
    """Say whether a round of a loop is a whole epoch: it runs a loop of its own, or calls a function of that name."""
    if not isinstance(loop, ast.For) or not any(_EPOCHS.search(name.lower()) for name in names_in(loop.target)):
        return False
    if any(isinstance(n, ast.For | ast.While) and n is not loop for n in ast.walk(loop)):
        return True
    calls = (event for event in context.bodies.calls.get(scope, ()) if inside(event.node, loop))
    return any(_EPOCHS.search(last_word(event.node.func).lower()) for event in calls)


def _shows_all(context: Context, event: CallEvent, steps: dict[ast.AST, Root], loop: ast.AST) -> bool:
    """Say whether a call prints several results of a step, each round: who does that wants to see them."""
    if _word(event) not in {"print", "info"}:
        return False
    calls = context.bodies.calls.get(event.scope, ())
    names = {
        name
        for one in calls
        if _step_of(context, one.value, event.scope, steps, loop) is not None
        for name in given_names(one.statement, one.node)
    }
    parts = [part for one in event.node.args for part in ast.walk(one) if isinstance(part, ast.Name)]
    return len({part.id for part in parts} & names) >= _SHOWN


def _trains(context: Context, function: FunctionFacts) -> bool:
    """Say whether a function computes gradients."""
    for event in context.bodies.calls.get(function.scope, ()):
        word = event.node.func
        name = last_word(word)
        if name in {"grad", "value_and_grad"}:
            if context.flow.calls.name(event) in GRADIENTS:
                return True
    return False


def _read(context: Context, event: CallEvent) -> Iterator[Value]:
    """Yield the values that a call has to wait for."""
    func, values, word = event.node.func, event.scope.module.values, _word(event)
    if word == _ASKED:
        asked = event.node.args or ([func.value] if isinstance(func, ast.Attribute) else [])
        nodes = [n for one in asked for n in elements(one, lists=True)]
    elif word in {"item", "tolist"} and isinstance(func, ast.Attribute):
        nodes = [func.value]
    elif word in {"asarray", "array"}:
        name = context.flow.calls.name(event)
        nodes = event.node.args[:1] if name.startswith("numpy.") else []
    elif word in _PLAIN:
        nodes = [*event.node.args, *(k.value for k in event.node.keywords)]
    else:
        return
    for node in nodes:
        parts = (
            [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
            if isinstance(node, ast.JoinedStr)
            else [node]
        )
        for part in parts:
            value = values.get(part)
            if value is not None:
                yield value


def _step_of(context: Context, value: Value, scope: Scope, steps: dict[ast.AST, Root], loop: ast.AST) -> ast.AST | None:
    """Return the call of a training step in the same loop that makes a value."""
    if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "compute":
        return _metrics_of(context, value.callee.base, scope, steps, loop)
    while isinstance(value, Item | Attr):
        value = value.base
    if not isinstance(value, Call) or not inside(value.node, loop):
        return None
    inner = [n for n in ast.walk(loop) if isinstance(n, ast.For | ast.While) and n is not loop]
    if any(inside(value.node, one) for one in inner):
        return None
    callee = context.flow.follow(context.flow.here(value, scope), value.callee).value
    if isinstance(callee, Call) and (callee.node in steps or callee.node.func in steps):
        return value.node
    return None


def _metrics_of(
    context: Context, metrics: Value, scope: Scope, steps: dict[ast.AST, Root], loop: ast.AST
) -> ast.AST | None:
    """Return the call of a training step in the same loop that gets metrics."""
    if not is_metric(context, metrics, scope):
        return None
    for event in context.bodies.calls.get(scope, ()):
        if inside(event.node, loop) and metrics in event.value.given:
            found = _step_of(context, event.value, scope, steps, loop)
            if found is not None:
                return found
    return None


RULE = lint_rule(
    "NNX905",
    "sync-in-loop",
    "float(), .item() or print of a step's result in every round",
    why="""\
JAX runs ahead of Python: a compiled step returns before it is computed. Reading the loss waits for it, so that the
next step is sent off late. Measured on a CPU it costs 4 to 54 %; on accelerators the gap is the larger, the faster
the step.
""",
    source="performance guide of Flax NNX, on asynchronous dispatch; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
from flax import nnx


@nnx.jit
def step(model, x):
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(model)
    return loss


def train(model, data):
    for x in data:
        loss = step(model, x)
        print(float(loss))
""",
    ),
    clean=(
        """\
from flax import nnx


@nnx.jit
def step(model, x):
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(model)
    return loss


def train(model, data):
    losses = []
    for number, x in enumerate(data):
        loss = step(model, x)
        losses.append(loss)
        if number % 100 == 0:
            print(float(loss))
    print(float(loss))
""",
    ),
)
