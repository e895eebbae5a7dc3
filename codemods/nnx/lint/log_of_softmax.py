"""NNX765: the logarithm of probabilities that may be zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.beside_loss import beside_loss
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.values import Call, Item, Value

_HOMES = ("jax.nn.", "flax.nnx.")
_BETTER = {"softmax": "log_softmax", "sigmoid": "log_sigmoid"}
_BOUNDED = frozenset({"tanh", "clip", "cos", "sin", "sigmoid"})  # logits that lie close together
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    for event, word in context.shared(logarithms):
        if event.node in context.shared(differentiated):
            continue  # NNX988 says so
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"the {word} of a logit far below the others is zero, and its logarithm minus infinity",
            f"jax.nn.{better(word)} computes it without that",
        )


def better(word: str) -> str:
    """Return the function of jax.nn that gives the logarithm of what another one gives."""
    return _BETTER[word]


def logarithms(context: Context) -> list[tuple[CallEvent, str]]:
    """Return the logarithms of probabilities that a softmax or sigmoid gives, with its name."""
    found: list[tuple[CallEvent, str]] = []
    for event, name in foreign(context, "log"):
        if name != "jax.numpy.log" or len(event.value.args) != 1 or in_test(event.scope):
            continue
        word = _made_by(context, context.flow.here(event.value.args[0], event.scope), 0)
        if word:
            found.append((event, word))
    return found


def _made_by(context: Context, bound: Bound, depth: int) -> str:
    """Return the name of the function that gives probabilities; empty for other values."""
    value = bound.value
    while isinstance(value, Item):
        value = value.base
    bound = context.flow.with_value(bound, value)
    if depth > _DEPTH or not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(bound)
    if name.startswith(_HOMES) and last(name) in _BETTER:
        return "" if _bounded(context, bound, value) else last(name)
    if name == "jax.numpy.take_along_axis" and value.args:
        return _made_by(context, context.flow.with_value(bound, value.args[0]), depth + 1)
    if name:
        return ""
    given = {_made_by(context, one, depth + 1) for one in _returned(context, bound, value)}
    return given.pop() if len(given) == 1 else ""


def _returned(context: Context, bound: Bound, value: Call) -> Iterator[Bound]:
    """Yield what the functions of the project that a call reaches return, or the module of the project it calls."""
    flow = context.flow
    invoked = flow.calls.invoked(bound)
    for callee, frame in invoked:
        if not callee.gradient and not callee.function.generator:
            yield from (Bound(one, frame) for one in callee.function.returns)
    for layer in () if invoked else context.sources.originals(flow.with_value(bound, value.callee)):
        cls = flow.classes.class_of(layer)
        method = flow.classes.method(cls, "__call__") if cls is not None else None
        if method is not None:
            yield from (flow.here(one, method.scope) for one in method.returns)


def _bounded(context: Context, bound: Bound, value: Call) -> bool:
    given: Value | None = value.args[0] if value.args else None
    inner = context.flow.with_value(bound, given) if isinstance(given, Call) else None
    return inner is not None and last(context.flow.calls.callee_name(inner)) in _BOUNDED


def differentiated(context: Context) -> frozenset[ast.AST]:
    """Return the calls of such logarithms that go into what is differentiated."""
    places: dict[FunctionFacts, list[CallEvent]] = {}
    for event, _ in context.shared(logarithms):
        if event.scope.function is not None:
            places.setdefault(event.scope.function, []).append(event)
    if not places:
        return frozenset()
    return frozenset(
        event.node
        for function, names in Reach(context, places).functions()
        for event in places.get(function, ())
        if mentions(event.node.args[0], names) and not beside_loss(context, function, event.node)
    )


RULE = lint_rule(
    "NNX765",
    "log-of-softmax",
    "the logarithm of a softmax or sigmoid",
    why="""\
In float32 the softmax of a logit some 100 below the largest is zero. Its logarithm is -inf, and the gradient nan, which
the optimizer writes into all weights. `jax.nn.log_softmax` and `log_sigmoid` stay finite.
""",
    source="jax discussions on losses that become nan; measured on JAX 0.6.2 and 0.10.2: inf",
    default=False,  # right for as long as no logit lies far below the others
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def nll(logits, label):
    return -jnp.log(jax.nn.softmax(logits))[label]
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def nll(logits, label):
    return -jax.nn.log_softmax(logits)[label]
""",
    ),
)
