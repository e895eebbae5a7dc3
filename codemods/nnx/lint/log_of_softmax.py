"""NNX765: the logarithm of probabilities that may be zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.around import around
from codemods.nnx.lint.beside_loss import beside_loss
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, bare, binary, is_number, one_source, operand
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Item, Unknown, Value

_HOMES = ("jax.nn.", "flax.nnx.")
_BETTER = {"softmax": "log_softmax", "sigmoid": "log_sigmoid"}
_REST = "1 - sigmoid"  # what is left of 1
_BOUNDED = frozenset({"tanh", "clip", "cos", "sin", "sigmoid"})  # logits that lie close together
# written out as logits these are meant to be all the same; under a name they may be an example
_EQUAL = frozenset({"zeros", "ones", "full", "zeros_like", "ones_like", "full_like"})
# where the exponentials stay small: the greatest logit is taken out first, or the logits are of unit vectors
_CLOSE = pattern(r"max|normali|l2_?norm|linalg|cos|simil|temp|tau|stop_gradient")
_BETWEEN = frozenset({"clip", "tanh", "minimum", "sigmoid", "sin", "cos", "soft_sign"})
_EXP = frozenset({"jax.numpy.exp", "jax.lax.exp"})
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    for event, word in context.shared(logarithms):
        if event.node in context.shared(differentiated):
            continue  # NNX988 says so
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"{vanishing(word)}, and its logarithm minus infinity",
            f"{better(word)} computes it without that",
        )


def better(word: str) -> str:
    """Return what gives the logarithm of what a function of jax.nn gives."""
    return "jax.nn.log_sigmoid(-x)" if word == _REST else f"jax.nn.{_BETTER[word]}"


def vanishing(word: str) -> str:
    """Return where the probability is zero that a function gives."""
    if word == _REST:
        return "the sigmoid of a great logit is 1, and what is left of 1 zero"
    return f"the {word} of a logit far below the others is zero"


def logarithms(context: Context) -> list[tuple[CallEvent, str]]:
    """Return the logarithms of probabilities that a softmax or sigmoid gives, with its name."""
    found: list[tuple[CallEvent, str]] = []
    for event, name in foreign(context, "log"):
        if name != "jax.numpy.log" or len(event.value.args) != 1 or in_test(event.scope):
            continue
        given = context.flow.here(event.value.args[0], event.scope)
        word = _made_by(context, given, 0) or _left_of_one(context, given)
        if word:
            found.append((event, word))
    told = {event.statement for event, word in found if word != _REST}
    return [(event, word) for event, word in found if word != _REST or event.statement not in told]


def _left_of_one(context: Context, bound: Bound) -> str:
    """Return what ``1 - sigmoid(x)`` is called; empty for other values."""
    node = binary(bound, ast.Sub)
    if node is None or not is_number(context, operand(context, bound, node.left), 1):
        return ""
    taken = one_source(context, operand(context, bound, node.right))
    return _REST if taken is not None and _made_by(context, taken, 0) == "sigmoid" else ""


def _made_by(context: Context, bound: Bound, depth: int) -> str:
    """Return the name of the function that gives probabilities; empty for other values."""
    value = bound.value
    while isinstance(value, Item):
        value = value.base
    bound = context.flow.with_value(bound, value)
    if depth > _DEPTH or not isinstance(value, Call):
        return "" if depth > _DEPTH else _by_hand(context, bound)
    name = context.flow.calls.callee_name(bound)
    if name.startswith(_HOMES) and last(name) in _BETTER:
        return "" if _bounded(context, bound, value) else last(name)
    if name == "jax.numpy.take_along_axis" and value.args:
        return _made_by(context, context.flow.with_value(bound, value.args[0]), depth + 1)
    if name:
        return ""
    given = {_made_by(context, one, depth + 1) for one in _returned(context, bound, value)}
    return given.pop() if len(given) == 1 else ""


def _by_hand(context: Context, bound: Bound) -> str:
    """Return which function ``e / e.sum()`` with ``e = jnp.exp(x)`` or ``1 / (1 + jnp.exp(-x))`` is."""
    node = binary(bound, ast.Div)
    if node is None:
        return ""
    if is_number(context, operand(context, bound, node.left), 1):
        below = one_source(context, operand(context, bound, node.right))
        more = binary(below, ast.Add) if below is not None else None
        if below is None or more is None:
            return ""
        sides = [operand(context, below, side) for side in (more.left, more.right)]
        for one, other in (sides, sides[::-1]):
            if is_number(context, one, 1) and _exponent(context, other) is not None:
                return "sigmoid"
        return ""
    above, below = (one_source(context, operand(context, bound, side)) for side in (node.left, node.right))
    parts = _summed(context, below) if below is not None else None
    if above is None or parts is None or _exponent(context, above) is None:
        return ""
    return "softmax" if above == parts or _exponent(context, above) == _exponent(context, parts) else ""


def _exponent(context: Context, bound: Bound) -> Bound | None:
    """Return x in ``jnp.exp(x)``, wherever that is computed."""
    found = one_source(context, bound)
    if found is None or not isinstance(found.value, Call) or len(found.value.args) != 1:
        return None
    if context.flow.calls.callee_name(found) not in _EXP:
        return None
    return one_source(context, context.flow.with_value(found, found.value.args[0]))


def _summed(context: Context, bound: Bound) -> Bound | None:
    """Return x in ``jnp.sum(x, axis=-1)`` or ``x.sum(-1)``."""
    value = bound.value
    if not isinstance(value, Call):
        return None
    name = context.flow.calls.callee_name(bound)
    if name == "jax.numpy.sum" and value.args:
        return one_source(context, context.flow.with_value(bound, value.args[0]))
    if not name and isinstance(value.callee, Attr) and value.callee.name == "sum":
        return one_source(context, context.flow.with_value(bound, value.callee.base))
    return None


def normalizers(context: Context) -> list[CallEvent]:
    """Return the logarithms of sums of exponentials that are subtracted from what the exponentials are of."""
    found: list[CallEvent] = []
    for event, name in foreign(context, "log"):
        if name != "jax.numpy.log" or len(event.value.args) != 1 or in_test(event.scope):
            continue
        total = one_source(context, context.flow.here(event.value.args[0], event.scope))
        parts = _summed(context, total) if total is not None else None
        logits = _exponent(context, parts) if parts is not None else None
        difference = around(context, event.scope).get(event.node)
        if logits is None or not isinstance(difference, ast.BinOp) or not isinstance(difference.op, ast.Sub):
            continue
        other = difference.left if difference.right is event.node else difference.right
        while isinstance(other, ast.Subscript):  # of one of the classes
            other = other.value
        if bare(context, at(context, other, event.scope)) == logits and not _close(event.scope, logits):
            found.append(event)
    return found


def _close(scope: Scope, logits: Bound) -> bool:
    """Say whether logits lie close together: the greatest is taken out, or they are cosines, divided by a number."""
    node = logits.value.node if isinstance(logits.value, Call | Unknown) else None
    if any(isinstance(one, ast.Call) and last_word(one.func) in _BETWEEN for one in _factors(node)):
        return True
    home = logits.frame.function.node if logits.frame is not None else None
    here = scope.function.node if scope.function is not None else None
    return any(_CLOSE.search(ast.unparse(one)) for one in (home, here) if one is not None)


def _factors(node: ast.AST | None) -> Iterator[ast.expr]:
    """Yield the parts of ``scale * jnp.tanh(x)`` and ``jnp.tanh(x) / scale``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        yield from (node.left, node.right)
    elif isinstance(node, ast.expr):
        yield node


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
    """Say whether logits come out of a function that bounds them, or are all the same."""
    given: Value | None = value.args[0] if value.args else None
    inner = context.flow.with_value(bound, given) if isinstance(given, Call) else None
    written = bool(value.node.args) and isinstance(value.node.args[0], ast.Call)
    words = _BOUNDED | _EQUAL if written else _BOUNDED
    return inner is not None and last(context.flow.calls.callee_name(inner)) in words


def differentiated(context: Context) -> frozenset[ast.AST]:
    """Return the calls of such logarithms that go into what is differentiated."""
    places: dict[FunctionFacts, list[CallEvent]] = {}
    for event, _ in context.shared(logarithms):
        if event.scope.function is not None:
            places.setdefault(event.scope.function, []).append(event)
    for event in context.shared(normalizers):
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
