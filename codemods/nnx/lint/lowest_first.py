"""NNX582: the first of an ascending order, as argsort and eigh give, taken for the best."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.lowest_eigen import lowest_eigen
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_ORDERS = frozenset({"jax.numpy.argsort", "numpy.argsort"})
# what is better the larger it is
_LIKELY = pattern(
    r"(^|_)(logits?|probs?|probabilit(y|ies)|log_?probs?|logps?|similarit(y|ies)|cos(ine)?_sims?|confidences?|"
    r"likelihoods?|posteriors?)(_|$)"
)
_SCORES = pattern(r"(^|_)scores?(_|$)")
_TOP = pattern(r"(^|_)(top_?k?\d*|best|highest|largest|beams?|most)(_|$)")
_BEAMS = pattern(r"(^|_)(highest|largest|beams?)(_|$)")
_ACCURACY = pattern(r"(^|_)top_?(k|n|\d+)(_|$)(.*(acc|correct|hits?|recall|error|match))?|hits?_at|recall_at")
_LOW = pattern(
    r"bottom|worst|lowest|least|smallest|unlikel|hard|uncertain|last|remov|drop|mask|discard|exclu|prun|cut|bad"
)


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "argsort"):
        if name not in _ORDERS or not event.node.args or event.value.starred or in_test(event.scope):
            continue
        if any(one.arg not in {"axis", "kind", "stable"} for one in event.node.keywords):
            continue
        sorted_by = event.node.args[0]
        word = last_word(sorted_by).lower()
        scored = _SCORES.search(word) is not None
        if not (scored or _LIKELY.search(word)) or _turned(context, sorted_by, event.scope):
            continue
        taken = next(_firsts(context, event), None)
        if taken is not None and _as_best(context, taken, event, scored):
            yield finding(
                RULE.code,
                event.scope,
                taken,
                f"argsort goes from the smallest to the largest: these are the least of `{ast.unparse(sorted_by)}`",
                "take jax.lax.top_k(x, k)[1], or jnp.argsort(x, descending=True)",
            )
    for scope, node, message, help in lowest_eigen(context):
        yield finding(RULE.code, scope, node, message, help)


def _turned(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a variable is the negative or the complement of something, which is better the smaller it is."""
    made = made_by(context, node, scope)
    if isinstance(made, ast.UnaryOp):
        return True
    return isinstance(made, ast.BinOp) and isinstance(made.op, ast.Sub) and constant(made.left) is not None


def _firsts(context: Context, event: CallEvent) -> Iterator[ast.Subscript]:
    """Yield what takes the first of an order: ``argsort(x)[:k]``, also of a variable for the order."""
    for node in context.bodies.nodes(event.scope):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        whole = made_by(context, node.value, event.scope) if isinstance(node.value, ast.Name) else node.value
        if whole is event.node and _first(elements(node.slice)[-1]):
            yield node


def _first(index: ast.expr) -> bool:
    if isinstance(index, ast.Slice):
        begins = index.lower is None or constant(index.lower) == 0
        return begins and index.step is None and index.upper is not None and not isinstance(index.upper, ast.UnaryOp)
    return constant(index) == 0 and type(constant(index)) is int


def _as_best(context: Context, taken: ast.Subscript, event: CallEvent, scored: bool) -> bool:
    """Say whether what is taken is called the best: by its name, that of the function, or of how many there are."""
    words = names_in(taken.slice)
    outer = around(context, event.scope).get(taken)
    if isinstance(outer, ast.Assign):
        words |= {last_word(one) for target in outer.targets for one in elements(target)}
    if isinstance(outer, ast.Subscript) and last_word(outer.value) == "at":
        return False  # perhaps what is left out
    function = event.scope.function
    returned = isinstance(outer, ast.Return) or (isinstance(outer, ast.Tuple) and not isinstance(outer.ctx, ast.Store))
    if function is not None and _ACCURACY.search(function.name.lower()):
        returned = True  # a measure of how often the right one is among the best
    called = {word.lower() for word in (words | {function.name} if function is not None and returned else words)}
    if any(_LOW.search(word) for word in called):
        return False
    return any((_BEAMS if scored else _TOP).search(word) for word in called)


RULE = lint_rule(
    "NNX582",
    "lowest-first",
    "the first of argsort, or of the ascending eigenvalues, taken for the best",
    why="""\
`jnp.argsort` gives the place of the smallest first. `jnp.argsort(logits)[:5]` are the five least likely classes, and a
beam search that keeps `jnp.argsort(scores)[:beams]` keeps the worst. `jax.lax.top_k` gives the largest, and
`descending=True` an order from the largest on.

`jnp.linalg.eigh` gives its eigenvalues from the smallest on, with the vectors in the same order: the principal
components of a covariance are its last columns, `vectors[:, ::-1][:, :k]`. `svd` begins with the largest.
""",
    source="Stack Overflow, on the top k of an array; measured on JAX 0.6.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def top_classes(logits, k):
    return jnp.argsort(logits, axis=-1)[..., :k]
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def top_classes(logits, k):
    return jnp.argsort(-logits, axis=-1)[..., :k]
""",
        """\
import jax.numpy as jnp


def top_classes(logits, k):
    return jnp.argsort(logits, axis=-1)[..., ::-1][..., :k]
""",
    ),
)
