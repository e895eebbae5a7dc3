"""NNX869: probabilities where a loss takes logits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Part
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.distributions import probabilities
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import each, foreign, resolved, written
from codemods.nnx.lint.syntax import argument, entry_word
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Choice, Const, Function, Item, Param, Ref, Sequence, Unknown, Value

_SOFTMAX, _SIGMOID = frozenset({"softmax"}), frozenset({"sigmoid", "softmax", "expit"})
_LOSSES = {
    "softmax_cross_entropy": _SOFTMAX,
    "softmax_cross_entropy_with_integer_labels": _SOFTMAX,
    "safe_softmax_cross_entropy": _SOFTMAX,
    "ctc_loss": _SOFTMAX,
    "categorical": _SOFTMAX,
    "sigmoid_binary_cross_entropy": _SIGMOID,
    "sigmoid_focal_loss": _SIGMOID,
}
_LOGARITHMS = frozenset({"log_softmax", "log_sigmoid"})
_HOMES = ("jax.nn.", "flax.nnx.", "jax.scipy.special.")
# what does not turn probabilities into something else
_SHAPING = frozenset({"squeeze", "reshape", "ravel", "flatten", "astype", "transpose", "swapaxes", "clip"})
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, *_LOSSES):
        if not name.startswith("optax.") and name != "jax.random.categorical":
            continue
        place = int(not name.startswith("optax."))  # behind the key
        given = event.value.argument(place, "logits")
        if given is None:
            continue
        found = squashed(context, context.flow.here(given, event.scope), event.scope, _LOSSES[last(name)], 0)
        if not found and place:
            found = _scaled(context, argument(event.node, place, "logits"), event.scope)
        if found:
            node = event.node.args[place] if len(event.node.args) > place else event.node
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{last(name)}` takes logits, and gets what `{found}` made of them",
                "give it the logits; use the probabilities for predictions only",
            )
        elif place and probabilities(context, context.flow.here(given, event.scope)):
            node = argument(event.node, place, "logits") or event.node
            yield finding(RULE.code, event.scope, node, _TOLD, _logarithm(node))
    for event, name in foreign(context, "log_softmax"):
        given = event.value.argument(0, "x") if name.startswith(_HOMES) else None
        if given is not None and squashed(context, context.flow.here(given, event.scope), event.scope, _SOFTMAX, 0):
            node = argument(event.node, 0, "x") or event.node
            message = "`log_softmax` takes logits, and gets what `softmax` made of them"
            yield finding(RULE.code, event.scope, node, message, "give it the logits, or take jnp.log of these")
    yield from _mapped(context)
    yield from _logits_for_chances(context)
    for event, name in foreign(context, "choice"):
        given = event.value.argument(4, "p") if name == "jax.random.choice" else None
        found = ""
        if given is not None:
            found = squashed(context, context.flow.here(given, event.scope), event.scope, _LOGARITHMS, 0)
        if found:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`choice` takes probabilities as `p`, and gets the logarithms that `{found}` made",
                "give it jax.nn.softmax(logits), or draw by jax.random.categorical(key, logits)",
            )


def _scaled(context: Context, node: ast.expr | None, scope: Scope) -> str:
    """Return what made the probabilities that are divided by a temperature: ``softmax(logits) / temperature``."""
    made = written(context, node, scope) if node is not None else None
    if not isinstance(made, ast.BinOp) or not isinstance(made.op, ast.Div):
        return ""
    if _TEMPERATURE.fullmatch(entry_word(made.right).lower()) is None:
        return ""
    found = scope.module.values.get(made.left)
    return squashed(context, context.flow.here(found, scope), scope, _SOFTMAX, 0) if found is not None else ""


_TEMPERATURE = pattern(r"(\w+_)?(temperature|temp|tau|t)")
_TOLD = "`categorical` takes logits, and gets probabilities that sum to one"


def _mapped(context: Context) -> Iterator[Finding]:
    """Yield the calls of a mapped ``jax.random.categorical`` that are given probabilities."""
    if not any(
        m.source.mentions(b"categorical)") or m.source.mentions(b"categorical,") for m in context.project.modules
    ):
        return
    for scope, node in each(context, ast.Call):
        func = node.func
        value = scope.module.values.get(node)
        if not isinstance(func, ast.Call) or last_word(func.func) != "vmap" or not func.args or len(node.args) != 2:
            continue
        if last_word(func.args[0]) != "categorical" or not isinstance(value, Call) or value.starred:
            continue
        drawing = resolved(context, func.args[0], scope)
        if drawing is None or getattr(drawing.value, "name", "") != "jax.random.categorical":
            continue
        if probabilities(context, context.flow.here(value.args[1], scope)):
            yield finding(RULE.code, scope, node.args[1], _TOLD, _logarithm(node.args[1]))


def _logarithm(node: ast.expr) -> str:
    """Return what to give instead of probabilities."""
    if isinstance(node, ast.Call) and last_word(node.func) == "exp" and len(node.args) == 1:
        return f"give it their logarithms: {ast.unparse(node.args[0])}"
    return f"give it their logarithms: jnp.log({ast.unparse(node)})"


def _logits_for_chances(context: Context) -> Iterator[Finding]:
    """Yield the calls of ``jax.random.bernoulli`` and ``choice`` that are given what is called logits."""
    for event, name in foreign(context, "bernoulli", "choice"):
        place = {"jax.random.bernoulli": 1, "jax.random.choice": 4}.get(name, 0)
        node = argument(event.node, place, "p") if place else None
        given = event.value.argument(place, "p")
        if node is None or given is None or not _called_logits(node):
            continue
        bound = context.flow.here(given, event.scope)
        if last(name) == "choice" and squashed(context, bound, event.scope, _LOGARITHMS, 0):
            continue
        if not all(_linear(context, source) for source in context.sources.originals(bound)):
            continue
        made = "sigmoid" if last(name) == "bernoulli" else "softmax"
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"`{last(name)}` takes probabilities, and gets logits",
            f"give it jax.nn.{made}({ast.unparse(node)})",
        )


def _called_logits(node: ast.expr) -> bool:
    return entry_word(node).lower().endswith("logits")


def _linear(context: Context, source: Bound) -> bool:
    """Say whether nothing is known of a value, or that it is a sum, a product or what a layer gives."""
    value = source.value
    if isinstance(value, Param):
        return not value.function.defaults.get(value.name)
    if isinstance(value, Unknown):
        return isinstance(value.node, ast.BinOp) and isinstance(value.node.op, ast.Add | ast.Sub | ast.MatMult)
    name = context.flow.calls.callee_name(source) if isinstance(value, Call) else ""
    return name in {"jax.numpy.dot", "jax.numpy.matmul", "jax.numpy.array", "jax.numpy.log", "jax.random.normal"}


def squashed(context: Context, bound: Bound, scope: Scope, words: frozenset[str], depth: int) -> str:
    """Return the function that made probabilities of logits on every way that is known; empty if there is none.

    Args:
        context: the analysis.
        bound: what may be probabilities.
        scope: the body that it is used in.
        words: the last parts of the names of such functions.
        depth: how many calls were gone into.
    """
    if depth > _DEPTH:
        return ""
    flow = context.flow
    if isinstance(bound.value, Item) and isinstance(bound.value.base, Sequence):  # of several names at once
        bound = flow.resolve(bound)
    value = bound.value
    place: Value | None = None
    while True:
        if isinstance(value, Item | Attr) and not isinstance(value, Ref):
            place = value.index if isinstance(value, Item) else None
            value = value.base
        elif isinstance(value, Unknown) and isinstance(value.node, ast.Subscript):
            inner = scope.module.values.get(value.node.value)
            if inner is None:
                return ""
            value = inner
        elif isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name in _SHAPING:
            name = flow.calls.callee_name(flow.with_value(bound, value))
            value = value.args[0] if name and value.args else value.callee.base
        else:
            break
    bound = flow.with_value(bound, value)
    if isinstance(value, Choice | Param):
        sources = [_copied(s) for s in context.sources.of(bound) if s.value is not value]
        found = [squashed(context, s, _scope(s, scope), words, depth + 1) for s in sources]
        return found[0] if found and all(found) else ""
    if not isinstance(value, Call):
        inner_bound = flow.resolve(bound)
        if inner_bound.value is value or not isinstance(inner_bound.value, Call):
            return ""
        return squashed(context, inner_bound, _scope(inner_bound, scope), words, depth + 1)
    name = flow.calls.callee_name(bound)
    if name == "jax.lax.stop_gradient" and value.args:
        return squashed(context, flow.with_value(bound, value.args[0]), scope, words, depth + 1)
    if name:
        return last(name) if name.startswith(_HOMES) and last(name) in words else ""
    results = [_picked(one, flow.resolve(one), place) for one in _results(context, bound, value)]
    found = [squashed(context, r, _scope(r, scope), words, depth + 1) for r in results]
    if found:
        return found[0] if all(found) else ""
    return _sequential(context, bound, value, words)


def _picked(written: Bound, result: Bound, place: Value | None) -> Bound:
    """Return the result that is taken of several: the first of ``return logits, state``."""
    if isinstance(result.value, Sequence) and isinstance(place, Const) and isinstance(place.value, int):
        items = result.value.items
        if -len(items) <= place.value < len(items):
            return Bound(items[place.value], result.frame)
    return written


def _results(context: Context, bound: Bound, value: Call) -> list[Bound]:
    """Return what a call of the project's functions, or of its models, gives."""
    flow = context.flow
    results = [
        Bound(r, frame)
        for callee, frame in flow.calls.invoked(bound)
        if not callee.gradient
        for r in callee.function.returns
    ]
    if results:
        return results
    transformed = _of_haiku(context, bound, value)
    if transformed:
        return transformed
    for owner in applied_modules(context, bound) or context.sources.originals(flow.with_value(bound, value.callee)):
        if isinstance(owner.value, Function):  # kept in an attribute, or handed in
            results += [flow.here(r, owner.value.facts.scope) for r in owner.value.facts.returns]
            continue
        cls = flow.classes.class_of(owner)
        method = flow.classes.method(cls, "__call__") if cls is not None else None
        if method is None:
            return []
        results += [flow.here(r, method.scope) for r in method.returns]
    return results


def _copied(source: Bound) -> Bound:
    """Return what a compiled or mapped function is given, of which its parameter is a copy or a slice."""
    for _ in range(_DEPTH):
        if not isinstance(source.value, Part):
            break
        source = source.value.of
    return source


def _of_haiku(context: Context, bound: Bound, value: Call) -> list[Bound]:
    """Return what a function gives that Haiku transformed, and whose ``apply`` is called."""
    flow = context.flow
    if not isinstance(value.callee, Attr) or value.callee.name != "apply":
        return []
    made = flow.follow(bound, value.callee.base)
    while isinstance(made.value, Call) and made.value.args:
        name = flow.calls.callee_name(made)
        inner = flow.follow(made, made.value.args[0])
        if name == "haiku.transform":
            functions = [one.function for one in flow.calls.callables(inner)]
            return [flow.here(r, one.scope) for one in functions for r in one.returns]
        if name != "haiku.without_apply_rng":
            return []
        made = inner
    return []


def _sequential(context: Context, bound: Bound, value: Call, words: frozenset[str]) -> str:
    """Return the last layer of an ``nnx.Sequential`` that is called, if it makes probabilities."""
    flow = context.flow
    for owner in context.sources.originals(flow.with_value(bound, value.callee)):
        if (
            not isinstance(owner.value, Call)
            or flow.calls.callee_name(owner) != "flax.nnx.Sequential"
            or owner.value.starred
        ):
            return ""
        layer = flow.follow(owner, owner.value.args[-1]).value if owner.value.args else None
        if isinstance(layer, Ref) and layer.name.startswith(_HOMES) and last(layer.name) in words:
            return last(layer.name)
    return ""


def _scope(bound: Bound, default: Scope) -> Scope:
    """Return the scope that a value was written in."""
    of: Value = bound.value
    if isinstance(of, Part):
        return _scope(of.of, default)
    return bound.frame.function.scope if bound.frame is not None else default


RULE = lint_rule(
    "NNX869",
    "probabilities-as-logits",
    "a cross-entropy that takes logits gets the output of softmax or sigmoid",
    why="""\
`optax.softmax_cross_entropy` and its relatives apply softmax (or sigmoid) themselves. Given probabilities they apply it
twice: the loss cannot come near zero, gradients are small, and training is slow and ends worse, without an error.
`jax.random.categorical` takes logits too, and draws nearly evenly if it gets probabilities; `bernoulli` and `choice`
take probabilities, and no logits.
""",
    source="NVIDIA/DeepLearningExamples issue 468, with TensorFlow; measured: another loss, which cannot reach zero",
    check=_check,
    bad=(
        """\
import optax
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return nnx.softmax(self.out(x))


def loss_fn(model: Classifier, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), labels).mean()
""",
    ),
    clean=(
        """\
import jax
import optax
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.out(x)


def loss_fn(model: Classifier, x, labels):
    logits = model(x)
    predictions = jax.nn.softmax(logits)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), predictions
""",
    ),
)
