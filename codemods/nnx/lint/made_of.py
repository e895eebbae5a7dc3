"""What optimizers, Variables, chains and embeddings are given in the place of what they take; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind, class_kind
from codemods.nnx.lint.arrays import FLOAT, Arrays
from codemods.nnx.lint.chain_layers import may_hold
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Changed, Choice, Class, Const, Loop, Ref, Sequence, Star, Value

_VARIABLES = ("Param", "BatchStat", "Cache", "Intermediate", "Variable")
_INITIALIZERS = ("flax.nnx.initializers.", "jax.nn.initializers.")
# what optax calls to make a transformation, by the module and as optax spells it
_SCHEDULES = ("_schedule", "_decay")
_NO_MAKERS = frozenset({"apply_updates", "global_norm", "incremental_update", "GradientTransformation"})

_DEPTH = 20  # how often a list is filled
_Wrong = tuple[CallEvent, ast.expr, str, str]


def misplaced(context: Context) -> Iterator[_Wrong]:
    """Yield the arguments with what is wrong, and the way out."""
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer", *_VARIABLES, "Sequential", "chain"):
        if name in _SEQUENCES and not in_test(event.scope) and not context.bodies.guarded(event.node, event.scope):
            yield from _unfinished(context, event, name)
        if event.value.starred or in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        word = name.removeprefix("flax.nnx.")
        if word in {"Optimizer", "ModelAndOptimizer"}:
            yield from _optimizer(context, event)
        elif word in _VARIABLES:
            yield from _variable(context, event, word)
        elif word == "Sequential":
            yield from _chain(context, event)
        elif name == "optax.chain":
            yield from _transformations(context, event)
    yield from _indices(context)


def _resolved(context: Context, event: CallEvent, position: int, name: str) -> tuple[ast.expr, Bound] | None:
    """Return an argument as an expression and what it is."""
    value = event.value.argument(position, name)
    node = argument(event.node, position, name)
    if value is None or node is None:
        return None
    return node, context.flow.resolve(context.flow.here(value, event.scope))


def _optimizer(context: Context, event: CallEvent) -> Iterator[_Wrong]:
    first, second = _resolved(context, event, 0, "model"), _resolved(context, event, 1, "tx")
    if first is not None and context.flow.calls.callee_name(first[1]).startswith("optax."):
        yield event, first[0], "this is a transformation of optax: the model comes first", "write (model, tx, ...)"
        return
    if second is None:
        return
    node, made = second
    text = event.scope.module.source.text(node)
    if _maker(made):
        message = f"`{text}` makes a transformation when it is called, and is none itself"
        yield event, node, message, f"call it: {text}()"
    elif isinstance(made.value, Const) and isinstance(made.value.value, float):
        message = "a number is no transformation: the optimizer needs to know what to do with the rate"
        yield event, node, message, f"write optax.adam({text}) or the like"
    elif context.flow.calls.callee_name(made).startswith("optax.") and last(
        context.flow.calls.callee_name(made)
    ).endswith(_SCHEDULES):
        yield event, node, f"`{text}` is a schedule and no transformation", f"write optax.adam({text}) or the like"


def _maker(made: Bound) -> bool:
    """Say whether a value is a function of optax that makes transformations."""
    name = made.value.name if isinstance(made.value, Ref) else ""
    home, _, word = name.rpartition(".")
    return home == "optax" and word.islower() and word not in _NO_MAKERS


def _transformations(context: Context, event: CallEvent) -> Iterator[_Wrong]:
    for node, value in zip(event.node.args, event.value.args, strict=True):
        made = context.flow.resolve(context.flow.here(value, event.scope))
        text = event.scope.module.source.text(node)
        if _maker(made):
            message = f"`{text}` makes a transformation when it is called, and is none itself"
            yield event, node, message, f"call it: {text}()"
        elif _listed(made.value):
            message = "optax.chain takes its transformations one by one, and not in a list"
            yield event, node, message, f"unpack it: optax.chain(*{text})"


def _listed(value: Value, depth: int = 0) -> bool:
    """Say whether a value is a list or tuple, also one that is filled later."""
    if isinstance(value, Changed | Loop) and depth < _DEPTH:
        return _listed(value.before, depth + 1)
    if isinstance(value, Choice) and depth < _DEPTH:
        return all(_listed(one, depth + 1) for one in value.options)
    return isinstance(value, Sequence) and isinstance(value.node, ast.List | ast.Tuple)


def _variable(context: Context, event: CallEvent, word: str) -> Iterator[_Wrong]:
    """Yield a Variable that is made of an initializer or a shape instead of an array."""
    first = _resolved(context, event, 0, "value")
    if first is None:
        return
    node, made = first
    text = event.scope.module.source.text(node)
    if len(event.node.args) > 1:
        message = f"nnx.{word} takes the array alone, and makes none of a shape"
        yield event, event.node.args[1], message, f"write nnx.{word}(initializer(rngs.params(), shape))"
        return
    name = made.value.name if isinstance(made.value, Ref) else context.flow.calls.callee_name(made)
    if name.startswith(_INITIALIZERS) and not (isinstance(made.value, Call) and len(made.value.args) > 1):
        if not isinstance(made.value, Call) or last(name) not in {"zeros", "ones"}:
            message = f"`{text}` is an initializer, a function: nnx.{word} takes the array that it makes"
            yield event, node, message, f"write nnx.{word}(initializer(rngs.params(), shape))"


def _chain(context: Context, event: CallEvent) -> Iterator[_Wrong]:
    """Yield the classes of layers where layers are wanted."""
    for node, value in zip(event.node.args, event.value.args, strict=True):
        found = context.flow.resolve(context.flow.here(value, event.scope)).value
        if isinstance(found, Class):
            module = "flax.nnx.Module" in context.flow.classes.mro(found.facts)[1]
        else:
            module = isinstance(found, Ref) and class_kind(found.name) is Kind.MODULE
        if module:
            text = event.scope.module.source.text(node)
            yield event, node, f"`{text}` is the class of a layer, and no layer", f"make one: {text}(..., rngs=rngs)"


def _unfinished(context: Context, event: CallEvent, name: str) -> Iterator[_Wrong]:
    """Yield the functions in a chain of layers that want more than what the layer before gives."""
    for node, value in zip(event.node.args, event.value.args, strict=True):
        given = context.flow.here(value.value if isinstance(value, Star) else value, event.scope)
        several = isinstance(value, Star) or name == "flax.linen.Sequential"
        for one in may_hold(context, given) if several else (given,):
            found = context.flow.resolve(one).value
            wanted = _MORE.get(found.name) if isinstance(found, Ref) else None
            if wanted is not None and isinstance(found, Ref):
                word = last(found.name)
                message = f"the chain gives `{word}` its input alone, and it needs {wanted} as well: TypeError"
                yield event, node, message, f"write functools.partial({word}, {wanted}=...)"
                return


_SEQUENCES = frozenset({"flax.nnx.Sequential", "flax.linen.Sequential"})
# functions that need more than an array, and what
_MORE = {
    **{f"flax.{home}.{word}_pool": "window_shape" for home in ("nnx", "linen") for word in ("max", "avg", "min")},
    "jax.numpy.reshape": "shape",
    "jax.image.resize": "shape",
    "jax.nn.one_hot": "num_classes",
}


def _indices(context: Context) -> Iterator[_Wrong]:
    """Yield the floats that are looked up in an embedding."""
    words = set()
    for event, name in foreign(context, "Embed", everywhere=True):
        statement = event.statement
        if name == "flax.nnx.Embed" and isinstance(statement, ast.Assign) and statement.value is event.node:
            words |= {last_word(target) for target in statement.targets}
    for event in context.bodies.named(*sorted(words - {""})):
        if event.scope.module not in context.asked or len(event.value.args) != 1 or event.value.starred:
            continue
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        made = context.sources.originals(context.flow.here(event.value.callee, event.scope))
        if not made or any(context.flow.calls.callee_name(one) != "flax.nnx.Embed" for one in made):
            continue
        if Arrays(context, {}).of(event.value.args[0], event.scope).number == FLOAT:
            node = event.node.args[0]
            text = event.scope.module.source.text(node)
            yield event, node, f"nnx.Embed looks up integers, and `{text}` holds floats", f"write {text}.astype(int)"
