"""The layers of Flax that keep a random stream: which one, and where they take it from."""

from __future__ import annotations

from typing import NamedTuple

from codemods.nnx.facts import ClassFacts
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.values import Call, Const, Ref, Star, Value

# positional parameters of the constructors in Flax 0.10
SIGNATURES: dict[str, tuple[str, ...]] = {
    "flax.nnx.Dropout": ("rate", "broadcast_dims", "deterministic", "rng_collection", "rngs"),
    "flax.nnx.MultiHeadAttention": ("num_heads", "in_features", "qkv_features", "out_features", "in_kv_features"),
    "flax.nnx.RNN": (
        "cell", "time_major", "return_carry", "reverse", "keep_order", "unroll", "rngs", "state_axes", "broadcast_rngs",
    ),
    "flax.nnx.Bidirectional": ("forward_rnn", "backward_rnn"),
}  # fmt: skip

# how many arguments of a constructor that took more in 0.10 may be positional since 0.11
POSITIONAL = {"flax.nnx.Dropout": 1, "flax.nnx.RNN": 1}

CELLS = frozenset(
    f"flax.nnx.{name}" for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell", "SimpleCell", "ConvLSTMCell")
)

_STREAMS = {
    "flax.nnx.Dropout": "dropout",
    "flax.nnx.MultiHeadAttention": "dropout",
    "flax.nnx.RNN": "carry",
    "flax.nnx.Bidirectional": "carry",
}


class Constructor(NamedTuple):
    """A call that makes an object of a class of Flax, its options possibly bound before by ``functools.partial``.

    Attributes:
        name: full name of the class.
        arguments: the arguments by parameter name.
        starred: whether some are unpacked, so that not all are known.
    """

    name: str
    arguments: dict[str, Bound]
    starred: bool


class Layer(NamedTuple):
    """A layer that forks a stream when it is made (0.11) or keeps the Rngs it got (0.10).

    Attributes:
        name: full name of its class.
        stream: name of the stream that it draws from; None if that is no literal.
        rngs: the Rngs that it got; None for one that makes a stream of its own.
    """

    name: str
    stream: str | None
    rngs: Bound | None


def constructor(flow: Flow, made: Bound) -> Constructor | None:
    """Return how a call makes an object of a class in :data:`SIGNATURES`; None if it makes none."""
    value = made.value
    if not isinstance(value, Call):
        return None
    callee = flow.follow(made, value.callee)
    args: list[tuple[Bound, Value]] = [(made, a) for a in value.args]
    keywords = [(k, made, v) for k, v in value.keywords]
    inner = callee.value
    if isinstance(inner, Call) and inner.args and flow.calls.callee_name(callee) == "functools.partial":
        args = [(callee, a) for a in inner.args[1:]] + args
        keywords = [(k, callee, v) for k, v in inner.keywords] + keywords
        inner = flow.follow(callee, inner.args[0]).value
    if not isinstance(inner, Ref) or inner.name not in SIGNATURES:
        return None
    return _constructor(flow, inner.name, args, keywords)


def _constructor(
    flow: Flow, name: str, args: list[tuple[Bound, Value]], keywords: list[tuple[str | None, Bound, Value]]
) -> Constructor:
    arguments: dict[str, Bound] = {}
    starred = any(isinstance(a, Star) for _, a in args) or any(k is None for k, _, _ in keywords)
    for parameter, (place, argument) in zip(SIGNATURES[name], args, strict=False):
        if isinstance(argument, Star):
            break
        arguments[parameter] = flow.with_value(place, argument)
    for key, place, argument in keywords:
        if key is not None:
            arguments[key] = flow.with_value(place, argument)
    return Constructor(name, arguments, starred)


def layer(flow: Flow, made: Bound) -> Layer | None:
    """Return the stream-keeping layer that a call makes; None if it makes none or one without a stream."""
    found = constructor(flow, made)
    return _layer(flow, found) if found is not None else None


def inherited(flow: Flow, cls: ClassFacts) -> str | None:
    """Return the stream-keeping class of Flax that a project's class is derived from."""
    return next((name for name in flow.classes.mro(cls)[1] if name in _STREAMS), None)


def _layer(flow: Flow, made: Constructor) -> Layer | None:
    rngs = made.arguments.get("rngs")
    given = flow.resolve(rngs).value if rngs is not None else None
    if made.name == "flax.nnx.MultiHeadAttention":
        rate = made.arguments.get("dropout_rate")
        keep = made.arguments.get("keep_rngs")
        if (rate is None and not made.starred) or (rate is not None and _constant(flow, rate) in (0, 0.0)):
            return None
        if keep is not None and _constant(flow, keep) is False:
            return None
    if made.name == "flax.nnx.Dropout" and (rngs is None or given == Const(None)) and not made.starred:
        return None
    if given == Const(False):
        return None
    private = rngs is None or isinstance(given, Const)
    return Layer(made.name, _stream(flow, made), None if private else rngs)


def _stream(flow: Flow, made: Constructor) -> str | None:
    collection = made.arguments.get("rng_collection")
    if made.name != "flax.nnx.Dropout" or collection is None:
        return _STREAMS[made.name]
    name = _constant(flow, collection)
    return name if isinstance(name, str) else None


def _constant(flow: Flow, bound: Bound) -> object:
    value = flow.resolve(bound).value
    return value.value if isinstance(value, Const) else value
