"""NNX698: a loss that is the logarithm of the likelihood of the labels, without the minus."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import array_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import in_test, resolved, shown, written
from codemods.nnx.lint.policy_losses import turned_by_callers
from codemods.nnx.lint.syntax import entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_LOSS = pattern(r"(^|_)(loss|nll|cross_entropy|xent|criterion)(_|$)")
_TURNED = pattern(r"neg|minus|objective|likelihood|log_?prob|elbo|policy|actor")
_ASCENT = pattern(rb"ascen[dt]|maximi[sz]|lambda \w+: ?-\w|negative\(|scale\((lr|learning|\d)", re.I)
_NAMED = pattern(r"(\w+_)?(one_?hot|labels?|targets?)(_\w+)?|y|ys|y_\w+|\w+_y")
_MASK = pattern(r"(^|_)(masks?|valid|padding|nonpad|weights?)(_|$)")
_REDUCING = frozenset({"mean", "sum"})
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    words = (b"log_softmax", *(word.encode() for word in sorted(_DENSITIES)))
    modules = [module for module in context.asked.modules if any(map(module.source.mentions, words))]
    graded = {root.function for root in context.traced.gradients} if modules else set()
    graded |= _of_haiku(context) if modules else set()
    for module in modules:
        if module.source.matches(_ASCENT):
            continue
        for function in module.functions:
            name = function.name.lower()
            if function not in graded or not _LOSS.search(name) or _TURNED.search(name) or in_test(function.scope):
                continue
            value = _returned(context, function)
            density = value is not None and _density(context, function.scope, value)
            if value is None or not (density or _likelihood(context, function.scope, value)):
                continue
            if not turned_by_callers(context, function) and not _added(context, function):
                yield finding(
                    RULE.code,
                    function.scope,
                    value,
                    f"a step that makes {shown(function)} smaller makes the "
                    f"{'data' if density else 'right labels'} less likely",
                    "return its negative: -jnp.mean(...)",
                )


def _of_haiku(context: Context) -> set[FunctionFacts]:
    """Return the functions that Haiku transforms, and whose ``apply`` is differentiated."""
    found: set[FunctionFacts] = set()
    for event in context.bodies.named("grad", "value_and_grad"):
        given = event.node.args[0] if event.node.args else None
        if not isinstance(given, ast.Attribute) or given.attr != "apply" or not isinstance(given.value, ast.Name):
            continue
        for function in event.scope.module.functions:
            decorators = getattr(function.node, "decorator_list", ())
            if function.name == given.value.id and any(last_word(one) in _TRANSFORMS for one in decorators):
                found.add(function)
    return found


_TRANSFORMS = frozenset({"transform", "transform_with_state", "without_apply_rng"})


def _returned(context: Context, function: FunctionFacts) -> ast.expr | None:
    """Return the one loss that a function gives, first if it gives others beside it."""
    returned = [n.value for n in context.bodies.nodes(function.scope) if isinstance(n, ast.Return)]
    value = returned[0] if len(returned) == 1 else None
    while isinstance(value, ast.Tuple) and value.elts:
        value = value.elts[0]
    return value


def _added(context: Context, function: FunctionFacts) -> bool:
    """Say whether gradients are added to parameters where the gradient of a function is taken."""
    for root in context.traced.gradients:
        if root.function is function and any(
            isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add) and "grad" in ast.unparse(n)
            for n in context.bodies.nodes(root.scope)
        ):
            return True
    return False


def _likelihood(context: Context, scope: Scope, node: ast.expr, depth: int = 0) -> bool:
    """Say whether an expression is a mean or sum of the log-probabilities of labels, with no sign."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if made is None or depth > _DEPTH:
        return False
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div):
        return _likelihood(context, scope, made.left, depth + 1)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
        factors = operands(made, ast.Mult)
        rest = [one for one in factors if not _MASK.search(entry_word(one).lower())]
        return len(rest) == 1 < len(factors) and _likelihood(context, scope, rest[0], depth + 1)
    if not isinstance(made, ast.Call) or last_word(made.func) not in _REDUCING:
        return False
    given = array_of(made)
    inner = made_by(context, given, scope) if isinstance(given, ast.Name) else given
    return inner is not None and (_likelihood(context, scope, inner, depth + 1) or _picked(context, scope, inner))


def _density(context: Context, scope: Scope, node: ast.expr, depth: int = 0) -> bool:
    """Say whether an expression is a mean or sum of the logarithms of densities, with no sign, as
    ``d.log_prob(y).mean()``."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    if not isinstance(made, ast.Call) or last_word(made.func) not in _REDUCING or depth > _DEPTH:
        return False
    given = array_of(made)
    inner = made_by(context, given, scope) if isinstance(given, ast.Name) else given
    if isinstance(inner, ast.Call) and _names_density(inner.func):
        return bool(inner.args) and not _TURNED.search(ast.unparse(inner).lower().replace("log_prob", ""))
    return inner is not None and _density(context, scope, inner, depth + 1)


def _names_density(func: ast.expr) -> bool:
    """Say whether a function, or a method that has the name of one in its own, gives the logarithm of a density."""
    word = last_word(func)
    return word in _DENSITIES or (isinstance(func, ast.Attribute) and word.endswith("_log_prob"))


_DENSITIES = frozenset({"log_prob", "logpdf", "logpmf"})


def _picked(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression picks the log-probabilities of labels: by their numbers, or by one-hot rows."""
    whole = node
    while isinstance(whole, ast.Subscript) and not isinstance(whole.slice, ast.Tuple):
        whole = whole.value
    if isinstance(whole, ast.Call) and last_word(whole.func) == "take_along_axis":
        return (
            len(whole.args) > 1
            and _log_softmax(context, whole.args[0], scope)
            and _labels(context, whole.args[1], scope)
        )
    if isinstance(whole, ast.Subscript) and isinstance(whole.value, ast.Call | ast.Name):
        if isinstance(whole.value, ast.Call) and last_word(whole.value.func) == "take_along_axis":
            return _picked(context, scope, whole.value)
        parts = whole.slice.elts if isinstance(whole.slice, ast.Tuple) else []
        return len(parts) == 2 and _labels(context, parts[1], scope) and _log_softmax(context, whole.value, scope)
    factors = operands(node, ast.Mult)
    logs = [_log_softmax(context, one, scope) for one in factors]
    return len(factors) == 2 and sum(logs) == 1 and _labels(context, factors[logs.index(False)], scope)


def _log_softmax(context: Context, node: ast.expr, scope: Scope) -> bool:
    found = resolved(context, node, scope)
    name = context.flow.calls.callee_name(found) if found is not None and isinstance(found.value, Call) else ""
    return last(name) == "log_softmax"


def _labels(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is labels, one-hot or as numbers, by what makes them or by their name."""
    made = written(context, node, scope)
    while isinstance(made, ast.Subscript):  # labels[:, None], batch["label"]
        key = made.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            return bool(_NAMED.fullmatch(key.value.lower()))
        made = made.value
    if isinstance(made, ast.Call):
        return last_word(made.func) == "one_hot"
    return isinstance(made, ast.Name | ast.Attribute) and bool(_NAMED.fullmatch(last_word(made).lower()))


_BAD = """\
import jax
import jax.numpy as jnp


def loss_fn(w, x, labels):
    log_probs = jax.nn.log_softmax(x @ w)
    return jnp.mean(jnp.sum(jax.nn.one_hot(labels, 3) * log_probs, axis=-1))


w, x, labels = jnp.zeros((4, 3)), jnp.ones((2, 4)), jnp.array([0, 2])
for _ in range(10):
    w = w - 0.1 * jax.grad(loss_fn)(w, x, labels)
"""

RULE = lint_rule(
    "NNX698",
    "likelihood-sign",
    "a loss that falls as the right labels become less likely",
    why="""\
The mean of the log-probabilities of the labels, or of the data, rises as these become more likely. An optimizer goes
against the gradient of what it is given, so that the loss has to be the negative. The rule goes by the name of the
function, and is silent where a caller turns the sign, adds the gradient, or where the file speaks of ascent.
""",
    source="Goodfellow, Bengio and Courville, Deep Learning, section 6.2.1; measured: the accuracy falls to 0",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("return jnp", "return -jnp"),),
)
