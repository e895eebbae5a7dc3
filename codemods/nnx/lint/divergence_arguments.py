"""NNX922: probabilities where a loss takes their logarithms, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.double_softmax import squashed
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument

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
