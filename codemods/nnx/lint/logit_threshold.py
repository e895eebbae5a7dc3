"""NNX661: logits that are compared with one half, which is a bound of probabilities."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Value

_LOSS = "sigmoid_binary_cross_entropy"
_SIGNS = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
# of a class that may give probabilities as well
_SQUASHING = pattern(r"sigmoid|expit|prob", re.I)
# what gives the same numbers in another shape or type
_SHAPING = frozenset({"squeeze", "reshape", "ravel", "flatten", "astype", "asarray", "array", "stop_gradient"})


def _check(context: Context) -> Iterator[Finding]:
    logits: list[Value] = []
    classes: set[ClassFacts] = set()
    for event, name in foreign(context, _LOSS, everywhere=True):
        node = argument(event.node, 0, "logits")
        value = _plain(node, event.scope) if node is not None and name.startswith("optax.") else None
        if value is not None:
            logits.append(value)
            classes |= _class_of(context, value, event.scope)
    if not logits:
        return
    classes = {cls for cls in classes if not _SQUASHING.search(cls.scope.module.source.text(cls.scope.node))}
    for scope, node in each(context, ast.Compare):
        given = _compared(node)
        value = _plain(given, scope) if given is not None and not in_test(scope) else None
        if value is None or scope.module not in context.asked:
            continue
        if any(value is one for one in logits) or _handed_out(context, value, scope, logits):
            loss = f"{_LOSS} takes it"
        elif classes & _class_of(context, value, scope):
            loss = f"{_LOSS} takes what this model gives"
        else:
            continue
        yield finding(
            RULE.code,
            scope,
            node,
            f"a logit is compared with one half, which is the bound for probabilities: {loss}",
            "compare with 0, or take the sigmoid first",
        )


def _compared(node: ast.Compare) -> ast.expr | None:
    """Return what is compared with one half, or what is rounded and then compared with labels."""
    if len(node.ops) != 1:
        return None
    sides = (node.left, node.comparators[0])
    for one, other in (sides, sides[::-1]):
        if isinstance(node.ops[0], _SIGNS) and constant(other) == 0.5:
            return one
        if isinstance(node.ops[0], ast.Eq) and isinstance(one, ast.Call) and last_word(one.func) == "round":
            return one.args[0] if len(one.args) == 1 and not one.keywords else None
    return None


def _plain(node: ast.expr, scope: Scope) -> Value | None:
    """Return the value of an expression without what only changes its shape or type."""
    while True:
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            node = node.value
        elif isinstance(node, ast.Call) and last_word(node.func) in _SHAPING:
            inner = array_of(node)
            if inner is None:
                return None
            node = inner
        else:
            break
    value = scope.module.values.get(node)
    while isinstance(value, Call) and value.node is not node and last_word(value.node.func) in _SHAPING:
        return _plain(value.node, scope)
    return value if isinstance(value, Call | Item) else None


def _class_of(context: Context, value: Value, scope: Scope) -> set[ClassFacts]:
    """Return the class of the one module of the project whose call gives a value."""
    if not isinstance(value, Call) or isinstance(value.callee, Attr):
        return set()
    made = context.sources.originals(context.flow.here(value.callee, scope))
    found = {context.flow.classes.class_of(one) for one in made}
    cls = found.pop() if len(found) == 1 else None
    return {cls} if cls is not None and "flax.nnx.Module" in context.flow.classes.mro(cls)[1] else set()


def _handed_out(context: Context, value: Value, scope: Scope, logits: list[Value]) -> bool:
    """Say whether a value is what a loss gives beside itself: ``(loss, logits), grads = grad_fn(model)``."""
    inner = value.base if isinstance(value, Item) and _is(value.index, 1) else None
    call = inner.base if isinstance(inner, Item) and _is(inner.index, 0) else None
    if not isinstance(call, Call):
        return False
    made = context.flow.resolve(context.flow.here(call.callee, scope))
    name = context.flow.calls.callee_name(made)
    if not isinstance(made.value, Call) or not name.endswith(".value_and_grad") or not made.value.args:
        return False
    losses = context.flow.calls.callables(context.flow.with_value(made, made.value.args[0]))
    return bool(losses) and all(_gives(one.function, logits) for one in losses)


def _is(index: Value, number: int) -> bool:
    return isinstance(index, Const) and index.value == number


def _gives(function: FunctionFacts, logits: list[Value]) -> bool:
    """Say whether the second of two results of a function is what the loss takes."""
    given = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return)]
    pair = given[0] if len(given) == 1 else None
    if not isinstance(pair, ast.Tuple) or len(pair.elts) != 2:
        return False
    value = _plain(pair.elts[1], function.scope)
    return value is not None and any(value is one for one in logits)


_BAD = """\
import optax
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc = nnx.Linear(4, 1, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)[:, 0]


def loss_fn(model: Classifier, x, labels):
    return optax.sigmoid_binary_cross_entropy(model(x), labels).mean()


def accuracy(model: Classifier, x, labels):
    return ((model(x) > 0.5) == labels).mean()
"""

RULE = lint_rule(
    "NNX661",
    "logit-threshold",
    "logits that are compared with one half, which is a bound of probabilities",
    why="""\
A probability of one half is a logit of 0. Compared with 0.5, a logit counts as positive only from a probability of
0.62 on, so that accuracy, recall and what is predicted are worse than what the model has learnt. Rounded logits are no
labels either.
""",
    source="PyTorch forum, on the accuracy of BCEWithLogitsLoss; measured: other predictions between 0 and 0.5",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("> 0.5", "> 0"),),
)
