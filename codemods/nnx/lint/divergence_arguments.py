"""NNX922: probabilities where a loss takes their logarithms, or the other way round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.double_softmax import squashed
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, formula_of, in_test, passed, position, shown
from codemods.nnx.lint.syntax import argument, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_PROBABILITIES = frozenset({"softmax", "sigmoid"})
_LOGARITHMS = frozenset({"log_softmax", "log_sigmoid"})
# the arguments of losses, with what they must not be made by
_LOSSES = {
    "kl_divergence": (("log_predictions", _PROBABILITIES), ("targets", _LOGARITHMS)),
    "convex_kl_divergence": (("log_predictions", _PROBABILITIES), ("targets", _LOGARITHMS)),
    "kl_divergence_with_log_targets": (("log_predictions", _PROBABILITIES), ("log_targets", _PROBABILITIES)),
    "softmax_cross_entropy": (("", frozenset[str]()), ("labels", _LOGARITHMS)),
    "safe_softmax_cross_entropy": (("", frozenset[str]()), ("labels", _LOGARITHMS)),
    "kl_div": (("p", _LOGARITHMS), ("q", _LOGARITHMS)),
    "rel_entr": (("x", _LOGARITHMS), ("y", _LOGARITHMS)),
}
_OF_SCIPY = frozenset({"kl_div", "rel_entr"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _of_functions(context)
    for event, name in foreign(context, *_LOSSES):
        word = last(name)
        home = "jax.scipy." if word in _OF_SCIPY else "optax."
        if not name.startswith(home) or event.value.starred or in_test(event.scope):
            continue
        for place, (argument_name, wrong) in enumerate(_LOSSES[word]):
            given = event.value.argument(place, argument_name)
            node = argument(event.node, place, argument_name)
            if given is None or node is None or not wrong:
                continue
            found = squashed(context, context.flow.here(given, event.scope), event.scope, wrong, 0)
            if found:
                logarithms = wrong is _PROBABILITIES
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{argument_name}` of `{word}` are {_KINDS[logarithms]}, and it gets the {_KINDS[not logarithms]}"
                    f" of `{found}`",
                    "give it jax.nn.log_softmax of the logits"
                    if logarithms
                    else "give it jax.nn.softmax of the logits",
                )


def _of_functions(context: Context) -> Iterator[Finding]:
    """Yield what the functions of the project that compute a divergence are given, of the other kind."""
    for function in context.asked.functions():
        if not _DIVERGENCE.search(function.name):
            continue
        formula = formula_of(context, function)
        logarithms, named = _compared(formula) if formula is not None else (False, ())
        names = [name for name in named if name in function.params]
        for event in context.flow.sites.callers(function) if names else ():
            for name in names if not event.value.starred and not in_test(event.scope) else ():
                param = function.params[name]
                given, node = passed(event, param), argument(event.node, position(param), name)
                wrong = _PROBABILITIES if logarithms else _LOGARITHMS
                if given is None or node is None:
                    continue
                found = squashed(context, context.flow.here(given, event.scope), event.scope, wrong, 0)
                if found:
                    yield finding(
                        RULE.code,
                        event.scope,
                        node,
                        f"`{name}` of {shown(function)} are {_KINDS[logarithms]}, and it gets the "
                        f"{_KINDS[not logarithms]} of `{found}`",
                        f"give it jax.nn.{'log_softmax' if logarithms else 'softmax'} of the logits",
                    )


_DIVERGENCE = pattern(r"(^|_)(kl|kld|divergence|kl_div\w*|js|jsd)(_|$)", re.I)


def _compared(formula: ast.expr) -> tuple[bool, tuple[str, ...]]:
    """Return whether a divergence is computed of logarithms, ``sum(exp(p) * (p - q))``, and the names of both."""
    while isinstance(formula, ast.Call) and last_word(formula.func) in {"sum", "mean"}:
        inner = formula.args[0] if formula.args else None
        if isinstance(formula.func, ast.Attribute) and not isinstance(formula.func.value, ast.Name):
            inner = formula.func.value
        if inner is None:
            return False, ()
        formula = inner
    factors = operands(formula, ast.Mult)
    for weight, difference in (factors, factors[::-1]) if len(factors) == 2 else ():
        if not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
            continue
        sides = [_logarithm(one) for one in (difference.left, difference.right)]
        if isinstance(weight, ast.Name) and None not in sides and weight.id == sides[0]:
            return False, tuple(one for one in sides if one is not None)
        plain = [one.id for one in (difference.left, difference.right) if isinstance(one, ast.Name)]
        if isinstance(weight, ast.Call) and last_word(weight.func) == "exp" and len(plain) == 2:
            if [ast.unparse(one) for one in weight.args] == plain[:1]:
                return True, tuple(plain)
    return False, ()


def _logarithm(node: ast.expr) -> str | None:
    """Return p in ``jnp.log(p)``."""
    if isinstance(node, ast.Call) and last_word(node.func) == "log" and len(node.args) == 1:
        return node.args[0].id if isinstance(node.args[0], ast.Name) else None
    return None


_KINDS = {True: "log-probabilities", False: "probabilities"}

_BAD = """\
import jax
import optax


def distill(student_logits, teacher_logits):
    predictions = jax.nn.softmax(student_logits / 2.0)
    targets = jax.nn.softmax(teacher_logits / 2.0)
    return optax.kl_divergence(predictions, targets).mean()
"""

RULE = lint_rule(
    "NNX922",
    "divergence-of-wrong-kind",
    "a divergence or cross-entropy gets probabilities where it takes their logarithms, or the other way round",
    why="""\
`optax.kl_divergence(log_predictions, targets)` takes logarithms first and probabilities second, as PyTorch's `kl_div`
does. Given two times probabilities it is no divergence: it falls below zero, and its minimum is not where the two are
equal. Logarithms as targets give NaN or nothing, since they are negative.
""",
    source="optax documentation of kl_divergence; measured on optax 0.2.8: a negative loss",
    severity="error",
    check=_check,
    bad=(
        _BAD,
        """\
import jax
import optax


def distill(student_logits, teacher_logits):
    log_p = jax.nn.log_softmax(student_logits)
    log_q = jax.nn.log_softmax(teacher_logits)
    return optax.kl_divergence(log_p, log_q).mean()
""",
    ),
    clean=(
        _BAD.replace("predictions = jax.nn.softmax", "predictions = jax.nn.log_softmax"),
        """\
import jax
import optax


def distill(student_logits, teacher_logits):
    log_p = jax.nn.log_softmax(student_logits)
    log_q = jax.nn.log_softmax(teacher_logits)
    return optax.losses.kl_divergence_with_log_targets(log_p, log_q).mean()
""",
    ),
)
