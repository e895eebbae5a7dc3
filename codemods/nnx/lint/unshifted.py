"""NNX990: a causal model that learns to repeat the token it sees."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, resolved, written
from codemods.nnx.lint.syntax import argument

_CAUSAL = re.compile(rb"causal|\btril\b|autoregressive", re.I)
# where the model or its caller moves the tokens, hides some of them, or encodes the whole
_MOVED = re.compile(
    rb"shift|\broll\(|prepend|\bmlm\b|masked_lm|bert|copy_?task|copying|reconstruct|auto_?encod|vq|latent|start_token"
    rb"|\bsos\b|\[:, *:-1\]|\[:-1\]|\[:, *1:\]|\bpad\(",
    re.I,
)


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "softmax_cross_entropy_with_integer_labels"):
        logits, labels = argument(event.node, 0, "logits"), argument(event.node, 1, "labels")
        if not name.startswith("optax.") or logits is None or not isinstance(labels, ast.Name) or in_test(event.scope):
            continue
        made = written(context, logits, event.scope)
        if not isinstance(made, ast.Call):
            continue
        given = next((one for one in made.args if isinstance(one, ast.Name) and one.id == labels.id), None)
        if given is None:
            continue
        one, other = resolved(context, given, event.scope), resolved(context, labels, event.scope)
        if one is None or other is None or one.value != other.value:
            continue
        homes = {event.scope.module, *_homes(context, made, event.scope.module)}
        texts = [home.source.data for home in homes]
        if any(map(_CAUSAL.search, texts)) and not any(map(_MOVED.search, texts)):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the model sees each token of `{labels.id}` that it learns to predict",
                f"predict the next one: logits[:, :-1] and {labels.id}[:, 1:]",
                related=[(made, "given here")],
            )


def _homes(context: Context, call: ast.Call, module: ModuleFacts) -> Iterator[ModuleFacts]:
    """Yield the modules of what a call runs."""
    for one in module.calls:
        if one.node is call:
            for callee, _ in context.flow.calls.invoked(context.flow.here(one.value, one.scope)):
                yield callee.function.scope.module


_BAD = """\
import jax
import jax.numpy as jnp
import optax


def apply(params, tokens):
    hidden = params["embed"][tokens]
    scores = jnp.einsum("bqd,bkd->bqk", hidden @ params["q"], hidden @ params["k"])
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e9), axis=-1)
    return (weights @ hidden) @ params["out"]


def lm_loss(params, tokens):
    logits = apply(params, tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()
"""

RULE = lint_rule(
    "NNX990",
    "unshifted-targets",
    "a causal model whose targets are its very input",
    why="""\
A causal model sees, at each place, the token of that place and those before. A loss that compares its prediction with
this very token teaches it to copy: the loss falls to zero, and what it writes repeats the last token. The targets have
to be one place ahead.
""",
    source="Radford et al. 2018, equation 1; measured: the loss falls to 0, and generated text repeats the prompt",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("(logits, tokens).mean", "(logits[:, :-1], tokens[:, 1:]).mean"),),
)
