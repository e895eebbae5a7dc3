"""NNX874: an argument of another kind than the function takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind, names_of
from codemods.nnx.lint.arrays import FLOAT, Arrays, made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.exchanged import exchanged
from codemods.nnx.lint.graph_for_state import graphs_for_states
from codemods.nnx.lint.keys import DRAWING
from codemods.nnx.lint.layer_arguments import misgiven, refused
from codemods.nnx.lint.made_of import misplaced
from codemods.nnx.lint.mapped_key import mapped_keys
from codemods.nnx.lint.names import KEY_MAKERS, last
from codemods.nnx.lint.number_for_key import number_for_key
from codemods.nnx.lint.origins import originals_that
from codemods.nnx.lint.pair_update import pair_updates
from codemods.nnx.lint.places import foreign, kinds_of
from codemods.nnx.lint.sampler_arguments import misplaced_bounds
from codemods.nnx.lint.split_as_key import split_keys
from codemods.nnx.lint.streams_wanted import no_streams
from codemods.nnx.lint.where_exchanged import where_exchanged
from codemods.nnx.may.may import Made
from codemods.nnx.values import Attr, Call, Changed, Comprehension, Const, Item, Loop, Param, Sequence, Value

_STREAMS = frozenset({Kind.RNGS, Kind.STREAM})
_STREAM_MAKERS = names_of(Kind.RNGS) | names_of(Kind.STREAM) | {"fork"}
_INITIALIZERS = ("flax.nnx.initializers.", "jax.nn.initializers.")
_FLOATS = frozenset({"time.time", "time.perf_counter", "time.monotonic", "random.random", "builtins.float"})
_PLAIN_INITIALIZERS = frozenset({"zeros", "ones"})  # these are functions themselves


def _check(context: Context) -> Iterator[Finding]:
    for event, message, help in where_exchanged(context):
        yield finding(RULE.code, event.scope, event.node, message, help)
    for event, name in foreign(context, "merge"):
        if name == "flax.nnx.merge" and not event.value.starred and not _guarded(context, event):
            yield from _merged(context, event)
    for event, name in foreign(context, "update"):
        if name == "flax.nnx.update" and not event.value.starred and not _guarded(context, event):
            yield from _updated(context, event)
    for event, name in foreign(context, *DRAWING, "fold_in"):
        if name.startswith("jax.random.") and not event.value.starred and not _guarded(context, event):
            yield from _drawn(context, event, last(name))
    for event, name in foreign(context, "key", "PRNGKey"):
        if name in KEY_MAKERS and len(event.value.args) == 1 and not event.value.starred:
            yield from _seeded(context, event)
    for event, name in foreign(context, "Sequential"):
        if name == "flax.nnx.Sequential" and len(event.value.args) == 1 and not event.value.starred:
            yield from _stacked(context, event)
    for event, name in foreign(context, "clip_by_global_norm", "clip", "clip_by_block_rms"):
        if name.startswith("optax.") and len(event.value.args) == 2 and not _guarded(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{name}` makes a transformation of a number, and takes no gradients",
                "put it before the optimizer: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))",
            )
    yield from _initialised(context)
    yield from _weighted(context)
    for event, node, message, help in (
        *refused(context),
        *misplaced(context),
        *misgiven(context),
        *split_keys(context),
        *no_streams(context),
        *exchanged(context),
        *number_for_key(context),
        *mapped_keys(context),
        *pair_updates(context),
        *misplaced_bounds(context),
        *graphs_for_states(context),
    ):
        yield finding(RULE.code, event.scope, node, message, help)


def _guarded(context: Context, event: CallEvent) -> bool:
    """Say whether an error is expected of a call, or a condition asks for the type of what it gets."""
    return context.bodies.guarded(event.node, event.scope) or context.bodies.untraced(event.node, event.scope)


def _merged(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the states in the place of a graph definition, and the other way round."""
    for position, (node, value) in enumerate(zip(event.node.args, event.value.args, strict=True)):
        kind = context.kinds.only(context.flow.here(value, event.scope))
        wrong = {Kind.STATE, Kind.MODULE} if position == 0 else {Kind.GRAPHDEF, Kind.MODULE}
        if kind in wrong:
            what = "a model" if kind is Kind.MODULE else "a state" if position == 0 else "a graph definition"
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"this is {what}: nnx.merge takes the graph definition first and the states behind it, "
                "as nnx.split gives them",
                "write nnx.merge(graphdef, state)",
            )
            return


def _drawn(context: Context, event: CallEvent, word: str) -> Iterator[Finding]:
    """Yield the streams, shapes and numbers in the place of a key."""
    value = event.value.argument(0, "key")
    if value is None or not event.node.args:
        return
    node = event.node.args[0]
    if _stream(context, value, event):
        yield _key_wanted(event, node, f"`jax.random.{word}`")
        return
    resolved = context.flow.resolve(context.flow.here(value, event.scope)).value
    if isinstance(getattr(resolved, "node", None), ast.Tuple) or _shape(resolved):
        text = event.scope.module.source.text(node)
        message = f"`jax.random.{word}` takes a key first, and `{text}` is a shape"
        yield finding(RULE.code, event.scope, node, message, f"give it a key of its own: jax.random.{word}(key, ...)")
        return
    other = event.value.args[1] if len(event.value.args) > 1 else None
    if _number(context, value, event) and not (other is not None and _is_key(context, other, event)):
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"`jax.random.{word}` takes a key, and `{event.scope.module.source.text(node)}` is a number",
            f"make a key of it: jax.random.key({event.scope.module.source.text(node)})",
        )
        return
    if word == "fold_in" and other is not None and len(event.node.args) > 1:
        if originals_that(context, context.flow.here(other, event.scope), _is_text):
            text = event.scope.module.source.text(event.node.args[1])
            yield finding(
                RULE.code,
                event.scope,
                event.node.args[1],
                f"`jax.random.fold_in` takes an integer, and `{text}` is a text",
                "give its place in a list, or a number made of it: zlib.crc32(name.encode())",
            )
        return
    wrong = isinstance(value, Sequence | Const) and not (isinstance(value, Const) and isinstance(value.value, str))
    if word in _SHAPED and isinstance(value, Param):
        wrong = not _is_key(context, value, event)
    if wrong and other is not None and _is_key(context, other, event):
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"the key comes first: `jax.random.{word}(key, shape)`",
            "exchange the arguments",
        )


def _is_key(context: Context, value: Value, event: CallEvent) -> bool:
    return kinds_of(context, value, event.scope) == {Kind.KEY}


def _number(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a value is an integer on every way, as a seed is."""
    return bool(originals_that(context, context.flow.here(value, event.scope), _is_integer))


def _is_integer(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is int


def _is_text(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str)


# the samplers whose second argument is a shape
_SHAPED = frozenset(
    {"normal", "uniform", "gumbel", "exponential", "laplace", "cauchy", "logistic", "bits", "rademacher"}
)


def _seeded(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the seeds that are no integers."""
    found = context.flow.resolve(context.flow.here(event.value.args[0], event.scope))
    seed, node = found.value, event.node.args[0]
    clock = isinstance(seed, Call) and context.flow.calls.callee_name(found) in _FLOATS
    if (clock or (isinstance(seed, Const) and isinstance(seed.value, float | str))) and not _guarded(context, event):
        text = event.scope.module.source.text(node)
        what = "a text" if isinstance(getattr(seed, "value", None), str) else "a float"
        yield finding(
            RULE.code,
            event.scope,
            node,
            f"a seed is an integer, and `{text}` is {what}",
            f"convert it: int({text})" if clock else "write an integer",
        )


def _weighted(context: Context) -> Iterator[Finding]:
    """Yield the probabilities that ``jax.random.choice`` gets for `replace`, which stands before them."""
    for event, name in foreign(context, "choice"):
        if name != "jax.random.choice" or event.value.starred or len(event.value.args) != 4 or _guarded(context, event):
            continue
        node, value = event.node.args[3], event.value.args[3]
        array = Arrays(context, {}).of(value, event.scope)
        if array.axes or array.number == FLOAT or made_by_jax(context, value, event.scope):
            text = event.scope.module.source.text(node)
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"the fourth argument of `jax.random.choice` is `replace`, and `{text}` is an array",
                f"give the probabilities by name: p={text}",
            )


def _shape(value: Value) -> bool:
    return isinstance(value, Attr) and value.name == "shape"


def _stream(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a value is an nnx.Rngs, or a stream of one."""
    made = context.shared(_streams)
    if made.may_be(value) and context.kinds.only(context.flow.here(value, event.scope)) in _STREAMS:
        return True
    base = value.base if isinstance(value, Attr) else None
    return (
        base is not None and made.may_be(base) and context.kinds.only(context.flow.here(base, event.scope)) is Kind.RNGS
    )


def _streams(context: Context) -> Made:
    """Return what may be an nnx.Rngs, or a stream of one."""
    return context.flow.may.made_by(_STREAM_MAKERS)


def _key_wanted(event: CallEvent, node: ast.expr, taker: str) -> Finding:
    text = event.scope.module.source.text(node)
    return finding(
        RULE.code,
        event.scope,
        node,
        f"{taker} takes a key, and `{text}` is a stream of keys",
        f"take the next key of it: {text}()"
        if isinstance(node, ast.Attribute)
        else f"take a key of it: {text}.params()",
    )


def _stacked(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the lists of layers that nnx.Sequential takes one by one."""
    found = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value
    display = isinstance(found, Sequence) and isinstance(found.node, ast.List | ast.Tuple)
    if display or _list(context, context.flow.here(event.value.args[0], event.scope)):
        text = event.scope.module.source.text(event.node.args[0])
        yield finding(
            RULE.code,
            event.scope,
            event.node.args[0],
            "nnx.Sequential takes its layers one by one, and not in a list",
            f"unpack it: nnx.Sequential(*{text})",
        )


def _list(context: Context, bound: Bound, depth: int = 0) -> bool:
    """Say whether a value is a list of layers: made by a comprehension, filled later, or a part of one."""
    flow, value = context.flow, bound.value
    if depth > 6:
        return False
    if isinstance(value, Changed | Loop):
        return _list(context, flow.with_value(bound, value.before), depth + 1)
    if isinstance(value, Item | Indexed):
        return _sliced(value) and _list(context, flow.with_value(bound, value.base), depth + 1)
    if isinstance(value, Sequence):
        return isinstance(value.node, ast.List | ast.Tuple)
    if isinstance(value, Comprehension):
        return isinstance(value.loop, ast.AST)
    found = flow.resolve(bound)
    return found != bound and _list(context, found, depth + 1)


def _sliced(value: Item | Indexed) -> bool:
    index = value.index.value if isinstance(value.index, Bound) else value.index
    return isinstance(getattr(index, "node", None), ast.Slice)


def _updated(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the objects where nnx.update takes states."""
    for node, value in zip(event.node.args[1:], event.value.args[1:], strict=True):
        if context.kinds.only(context.flow.here(value, event.scope)) in {Kind.MODULE, Kind.OPTIMIZER}:
            yield finding(
                RULE.code,
                event.scope,
                node,
                "this is an object: nnx.update takes the object that changes first, and states behind it",
                f"write nnx.state({event.scope.module.source.text(node)}), or exchange the arguments",
            )
            return


def _initialised(context: Context) -> Iterator[Finding]:
    """Yield the streams that an initializer gets for a key, as in ``init(rngs, shape)``."""
    for module in context.asked.modules:
        if not module.source.mentions(b"initializers"):
            continue
        for event in module.calls:
            if len(event.value.args) < 2 or event.value.starred or not _initializer(context, event):
                continue
            if _stream(context, event.value.args[0], event):
                yield _key_wanted(event, event.node.args[0], "an initializer")
            elif isinstance(event.value.args[0], Sequence) and isinstance(event.node.args[0], ast.Tuple | ast.List):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "an initializer takes the key first, and gets the shape there",
                    "exchange the arguments: init(key, shape)",
                )


def _initializer(context: Context, event: CallEvent) -> bool:
    made: Value = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee).value
    name = context.flow.calls.name(event)
    if name.startswith(_INITIALIZERS):
        return last(name) in _PLAIN_INITIALIZERS
    if not isinstance(made, Call):
        return False
    found = context.flow.resolve(context.flow.here(event.value.callee, event.scope))
    maker = context.flow.calls.callee_name(found)
    return maker.startswith(_INITIALIZERS) and last(maker) not in _PLAIN_INITIALIZERS


RULE = lint_rule(
    "NNX874",
    "wrong-kind",
    "an argument of another kind than the function takes: the parts of nnx.merge, keys, the layers of nnx.Sequential",
    why="""\
`nnx.split` gives the graph definition first, and `nnx.merge` takes it first. Functions of `jax.random` and initializers
take a key as their first argument: `rngs.params()`, and neither `rngs` nor `rngs.params`; of what `jax.random.split`
gives they take one, `keys[0]`, or `jax.vmap` draws for all. Layers take an `nnx.Rngs`, and neither a key nor a seed.
`nnx.Sequential` takes its layers one by one, and layers, not their classes. `nnx.Optimizer` takes the model first, and
then what `optax.adam(...)` gives; `nnx.Param` takes an array, and neither a shape nor an initializer; `nnx.Embed` looks
up integers. All of these raise, often far from the cause.
""",
    source="flax documentation; measured on Flax 0.10.7 and 0.12.8: TypeError, ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


def copied(model):
    state, graphdef = nnx.split(model)
    return nnx.merge(graphdef, state)
""",
        """\
import jax
from flax import nnx


class Token(nnx.Module):
    def __init__(self, size: int, rngs: nnx.Rngs):
        self.token = nnx.Param(jax.random.normal(rngs.params, (1, size)))
""",
        """\
from flax import nnx


def build(rngs: nnx.Rngs):
    layers = [nnx.Linear(4, 8, rngs=rngs), nnx.relu, nnx.Linear(8, 2, rngs=rngs)]
    return nnx.Sequential(layers)
""",
        """\
import jax

keys = jax.random.split(jax.random.key(0))
x = jax.random.normal(keys, (3,))
""",
    ),
    clean=(
        """\
import jax

keys = jax.random.split(jax.random.key(0))
x = jax.random.normal(keys[0], (3,))
y = jax.vmap(jax.random.normal)(keys)
""",
        """\
import jax
from flax import nnx


class Token(nnx.Module):
    def __init__(self, size: int, rngs: nnx.Rngs):
        self.token = nnx.Param(jax.random.normal(rngs.params(), (1, size)))
        self.scale = nnx.Param(nnx.initializers.normal(0.1)(rngs.params(), (size,)))
        self.layers = nnx.Sequential(*[nnx.Linear(size, size, rngs=rngs) for _ in range(3)])


def copied(model):
    graphdef, state = nnx.split(model)
    return nnx.merge(graphdef, state)
""",
    ),
)
