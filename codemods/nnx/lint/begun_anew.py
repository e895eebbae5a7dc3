"""NNX926: an average or a sum over a loop that every round begins anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, is_metric
from codemods.nnx.lint.syntax import inside, names_in, operands, taken_apart
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_ADDING = frozenset({"append", "extend", "update"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, loop in each(context, ast.For):
        if in_test(scope):
            continue
        added = _added(loop)
        for number, statement in enumerate(loop.body):
            for name, metric in _begun(context, statement, scope, added):
                if any(isinstance(n, ast.Break) for n in ast.walk(loop)):
                    continue
                adding = [one for one in loop.body[number + 1 :] if _adds(context, one, name, scope, loop, metric)]
                if not adding or not _read_behind(context, scope, loop, name):
                    continue
                reads = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
                parts = (statement, *adding)
                if all(any(inside(read, part) for part in parts) for read in reads):
                    yield finding(
                        RULE.code,
                        scope,
                        statement,
                        f"every round begins `{name}` anew: behind the loop it holds the last round alone",
                        "put this before the loop",
                        related=[(adding[0], "what is added in each round")],
                    )
                    break


def _added(loop: ast.For) -> set[str]:
    """Return the names of what the statements of a loop may add to: by a method, or in a function that they call."""
    calls = [one.value for one in loop.body
             if isinstance(one, ast.Expr | ast.Assign) and isinstance(one.value, ast.Call)]  # fmt: skip
    found = {one.id for call in calls for one in call.args if isinstance(one, ast.Name)}
    return found.union(*(names_in(call.func) for call in calls))


def _begun(context: Context, statement: ast.stmt, scope: Scope, added: set[str]) -> Iterator[tuple[str, bool]]:
    """Yield the names of what a statement begins, an empty list, nought or a metric, and whether it is a metric.

    Args:
        context: the analysis.
        statement: a statement of a loop.
        scope: its scope.
        added: the names of what the loop adds to, of which alone is asked whether they are metrics.
    """
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        metric = func.value if isinstance(func, ast.Attribute) and func.attr == "reset" else None
        if isinstance(metric, ast.Name) and metric.id in added:
            value = scope.module.values.get(metric)
            if value is not None and is_metric(context, value, scope):
                yield metric.id, True
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    made = statement.value
    for one, given in taken_apart(statement.targets[0], made):
        if not isinstance(one, ast.Name):
            continue
        if _empty(given) or (isinstance(given, ast.Dict) and given.values and all(map(_empty, given.values))):
            yield one.id, False
        elif given is made and one.id in added:
            call = scope.module.values.get(made)
            if isinstance(call, Call) and is_metric(context, call, scope):
                yield one.id, True


def _empty(node: ast.expr) -> bool:
    """Say whether an expression is an empty list or nought."""
    if isinstance(node, ast.List):
        return not node.elts
    return isinstance(node, ast.Constant) and type(node.value) in {int, float} and node.value == 0


def _adds(context: Context, statement: ast.stmt, name: str, scope: Scope, loop: ast.For, metric: bool) -> bool:
    """Say whether a statement adds what a round has to something, and does nothing else with it."""
    if isinstance(statement, ast.AugAssign):
        return (
            not metric
            and isinstance(statement.op, ast.Add)
            and _entry_of(statement.target, name)
            and name not in names_in(statement.value)
        )
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) and not metric:
        return _sums(statement, name)
    if not isinstance(statement, ast.Expr | ast.Assign) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    given = [*call.args, *(k.value for k in call.keywords)]
    if isinstance(call.func, ast.Attribute) and _entry_of(call.func.value, name):
        if call.func.attr not in _ADDING or any(name in names_in(one) for one in given):
            return False
        return not metric or _of_round(loop, given)
    if not metric or not _of_round(loop, given):
        return False
    places = [i for i, one in enumerate(call.args) if isinstance(one, ast.Name) and one.id == name]
    return len(places) == 1 and _updates(context, call, places[0], scope)


def _sums(statement: ast.Assign, name: str) -> bool:
    """Say whether a statement is ``total = total + part``."""
    if len(statement.targets) != 1 or not _entry_of(statement.targets[0], name):
        return False
    target = ast.unparse(statement.targets[0])
    texts = [ast.unparse(one) == target for one in operands(statement.value, ast.Add)]
    reads = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement.value))
    return len(texts) > 1 and sum(texts) == 1 and reads == 1


def _entry_of(node: ast.expr, name: str) -> bool:
    """Say whether an expression is a variable, or an entry of it under a constant name."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _of_round(loop: ast.For, given: list[ast.expr]) -> bool:
    """Say whether arguments are what a loop goes over, and not the number of an epoch."""
    if isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) in {"range", "trange"}:
        return False
    own = set(names_in(loop.target))
    for statement in loop.body:
        if isinstance(statement, ast.Assign) and own & names_in(statement.value):
            own |= {name for target in statement.targets for name in names_in(target)}
    return any(own & names_in(one) for one in given)


def _updates(context: Context, call: ast.Call, place: int, scope: Scope) -> bool:
    """Say whether a function of the project updates the metric that a call gives it, and does not read it."""
    value = scope.module.values.get(call)
    if not isinstance(value, Call):
        return False
    functions = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, scope))]
    if len(functions) != 1 or place >= len(functions[0].params):
        return False
    function = functions[0]
    shift = int(function.owner is not None and function.binding == "instance")
    if place + shift >= len(function.params):
        return False
    own = list(function.params)[place + shift]
    uses = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == own]
    updates = [n.func.value for n in ast.walk(function.node) if isinstance(n, ast.Call)
               if isinstance(n.func, ast.Attribute) and n.func.attr == "update"]  # fmt: skip
    return bool(uses) and all(use in updates for use in uses)


def _read_behind(context: Context, scope: Scope, loop: ast.For, name: str) -> bool:
    """Say whether a variable is read behind a loop before it gets another value, and not in another round around it."""
    end = loop.end_lineno or loop.lineno
    uses = sorted((n for n in context.bodies.names(scope).get(name, ()) if n.lineno > end), key=_place)
    return bool(uses) and isinstance(uses[0].ctx, ast.Load)


def _place(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset


_BAD = """\
from flax import nnx


def evaluate(model, batches):
    for x, y in batches:
        accuracy = nnx.metrics.Accuracy()
        accuracy.update(logits=model(x), labels=y)
    return accuracy.compute()
"""
_SUM = """\
import jax.numpy as jnp


def evaluate(model, batches):
    for x, y in batches:
        losses = []
        losses.append(jnp.mean((model(x) - y) ** 2))
    return sum(losses) / len(losses)
"""

RULE = lint_rule(
    "NNX926",
    "begun-in-every-round",
    "an average or a sum over a loop that every round begins anew",
    why="""\
What is read behind the loop is that of its last batch alone: an evaluation over thousands of examples rests on a few of
them, and its number jumps from epoch to epoch.
""",
    source="measured on Flax 0.12.8: the count of the metric is that of one batch",
    severity="warning",
    check=_check,
    bad=(_BAD, _SUM),
    clean=(
        """\
from flax import nnx


def evaluate(model, batches):
    accuracy = nnx.metrics.Accuracy()
    for x, y in batches:
        accuracy.update(logits=model(x), labels=y)
    return accuracy.compute()
""",
        """\
def train(step, epochs, batches):
    for epoch in range(epochs):
        losses = []
        for batch in batches:
            losses.append(step(batch))
    return losses
""",
    ),
)
