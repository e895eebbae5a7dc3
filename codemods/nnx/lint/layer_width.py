"""NNX722: a layer gets another number of features than it takes."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.image_sizes import ImageSizes, product
from codemods.nnx.lint.owners import made_once
from codemods.nnx.lint.sequence_width import SEQUENCE_LAYERS, context_width, sequence_widths
from codemods.nnx.lint.symbolic_width import unlike_widths
from codemods.nnx.values import Attr, Call, Changed, Const, Loop, Param, Sequence, Unknown, Value

# layers with the argument that is the length of the last axis of what they get, and that of what they give
_LAYERS = {
    "Linear": ("in_features", "out_features"),
    "Conv": ("in_features", "out_features"),
    "ConvTranspose": ("in_features", "out_features"),
    "BatchNorm": ("num_features", "num_features"),
    "LayerNorm": ("num_features", "num_features"),
    "RMSNorm": ("num_features", "num_features"),
    "GroupNorm": ("num_features", "num_features"),
    "Dropout": ("", ""),
    "Embed": ("", "features"),
}
_SECOND = frozenset({"out_features", "features"})  # these stand second, the others first
_KEEPING = frozenset(
    {"relu", "gelu", "silu", "swish", "tanh", "sigmoid", "leaky_relu", "elu", "softplus", "selu", "softmax", "relu6",
     "log_softmax", "celu", "hard_swish", "max_pool", "avg_pool", "min_pool", "hard_tanh", "hard_sigmoid", "mish"}
)  # fmt: skip
_FILLED = frozenset({"jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.empty", "jax.numpy.full", "numpy.zeros",
                     "numpy.ones", "numpy.full"})  # fmt: skip
_DRAWN = frozenset({"jax.random.normal", "jax.random.uniform", "jax.random.truncated_normal"})
_DEPTH = 14


def _check(context: Context) -> Iterator[Finding]:
    words = ("Linear(", "Conv(", "Norm(", "MultiHeadAttention(")
    if not any(name.encode() in m.source.data for m in context.asked.modules for name in words):
        return
    for event, takes, gets in unlike_widths(context):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{event.scope.module.source.text(event.node.func)}` takes `{takes}` features, and gets `{gets}`",
            "make it for as many as the layer before gives",
        )
    widths = context.shared(_Widths)
    for module in context.asked.modules:
        if not module.source.mentions(b"nnx"):
            continue
        for event in module.calls:
            if not isinstance(event.value.callee, Attr | Call | Param) or not event.value.args or event.value.starred:
                continue
            yield from _attended(context, widths, event)
            taken = widths.taken(event)
            given = widths.of(event.value.args[0], event.scope) if taken is not None else None
            if taken is None or given is None or given == taken or context.bodies.guarded(event.node, event.scope):
                continue
            text = module.source.text(event.node.func)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{text}` takes {taken} features, and gets {given} along the last axis",
                "make it for as many; images have their channels last: (batch, height, width, channels)",
            )


def _attended(context: Context, widths: _Widths, event: CallEvent) -> Iterator[Finding]:
    """Yield the attentions to something that has another number of features than they take of it."""
    made = widths.sequence(event.value.callee, event.scope) if len(event.value.args) > 1 else None
    taken = context_width(context, made) if made is not None else None
    given = widths.of(event.value.args[1], event.scope) if taken is not None else None
    if given is not None and given != taken and not context.bodies.guarded(event.node, event.scope):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{event.scope.module.source.text(event.node.func)}` attends to {taken} features, and gets {given}",
            "make it with in_kv_features=...",
        )


class _Widths:
    """The lengths of the last axes of arrays, as far as layers and literals tell them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._made: dict[tuple[Value, Scope], Bound | None] = {}
        self._asked: set[tuple[Value, Scope]] = set()
        shapes = {**dict.fromkeys(_FILLED, 0), **dict.fromkeys(_DRAWN, 1)}
        self._images = ImageSizes(context, self._layer, self._number, _KEEPING, shapes)
        self._known: dict[tuple[Value, Scope], int | None] = {}

    def taken(self, event: CallEvent) -> int | None:
        """Return how many features the layer takes that a call applies."""
        made = self._layer(event.value.callee, event.scope) or self._first(event.value.callee, event.scope)
        if made is None:
            layer = self.sequence(event.value.callee, event.scope)
            return sequence_widths(self._context, layer)[0] if layer is not None else None
        word = self._context.flow.calls.callee_name(made).removeprefix("flax.nnx.")
        name = _LAYERS[word][0]
        if word == "Conv" and not self._last(made):
            return None
        return self._number(made, name) if name else None

    def sequence(self, callee: Value, scope: Scope) -> Bound | None:
        """Return how the recurrent layer or attention is made that a value is, if it is one."""
        if not isinstance(callee, Attr | Call | Param):
            return None
        one = self._variable(callee, scope) or made_once(self._context, callee, scope)
        return one if one is not None and self._context.flow.calls.callee_name(one) in SEQUENCE_LAYERS else None

    def _variable(self, callee: Value, scope: Scope) -> Bound | None:
        """Return the call that makes what a variable holds, or a parameter wherever its function is called."""
        bound = self._context.flow.here(callee, scope)
        if isinstance(callee, Call):
            return bound
        made = list(self._context.sources.originals(bound)) if isinstance(callee, Param) else []
        return made[0] if len(made) == 1 and isinstance(made[0].value, Call) else None

    def _first(self, callee: Value, scope: Scope) -> Bound | None:
        """Return how the first layer of the one Sequential is made that a value may be."""
        flow = self._context.flow
        one = made_once(self._context, callee, scope)
        if one is None or not isinstance(one.value, Call) or flow.calls.callee_name(one) != "flax.nnx.Sequential":
            return None
        layer = flow.with_value(one, one.value.args[0]) if one.value.args and not one.value.starred else None
        if layer is None or not isinstance(layer.value, Call):
            return None
        return layer if flow.calls.callee_name(layer).removeprefix("flax.nnx.") in _LAYERS else None

    def _last(self, made: Bound) -> bool:
        """Say whether a convolution has one group."""
        assert isinstance(made.value, Call)
        return made.value.keyword("feature_group_count") is None

    def _layer(self, callee: Value, scope: Scope) -> Bound | None:
        """Return how the one layer of NNX that a value may be is made."""
        key = (callee, scope)
        if key not in self._made:
            flow = self._context.flow
            one = self._variable(callee, scope) or made_once(self._context, callee, scope)
            name = flow.calls.callee_name(one) if one is not None else ""
            known = name.startswith("flax.nnx.") and name.removeprefix("flax.nnx.") in _LAYERS
            axes = {"axis", "feature_axes", "reduction_axes"}
            if one is None or not known or any(k in axes for k, _ in getattr(one.value, "keywords", ())):
                one = None
            self._made[key] = one
        return self._made[key]

    def _number(self, made: Bound, name: str) -> int | None:
        """Return a constructor's argument if it is one number wherever the layer is made."""
        assert isinstance(made.value, Call)
        value = made.value.argument(1 if name in _SECOND else 0, name)
        if value is None:
            return None
        return product(self._context, self._context.flow.with_value(made, value))

    def of(self, value: Value, scope: Scope, depth: int = 0) -> int | None:
        """Return the length of the last axis of a value; None if it is not known."""
        key = (value, scope)
        if key in self._known:
            return self._known[key]
        if depth > _DEPTH or key in self._asked:
            return None
        self._asked.add(key)
        try:
            found = self._of(value, scope, depth)
        finally:
            self._asked.discard(key)
        if depth == 0:
            self._known[key] = found
        return found

    def _of(self, value: Value, scope: Scope, depth: int) -> int | None:
        if isinstance(value, Loop | Changed):
            return None
        if isinstance(value, Unknown):
            return self._last_length(value, scope, depth)
        if isinstance(value, Call):
            return self._call(value, scope, depth)
        context = self._context
        found = context.flow.resolve(context.flow.here(value, scope))
        if isinstance(found.value, Param):
            width = self._argument(found, depth)
            return width if width is not None else self._last_length(value, scope, depth)
        home = found.frame.function.scope if found.frame is not None else scope
        if found.value is not value and isinstance(found.value, Call):
            return self.of(found.value, home, depth + 1)
        return self._last_length(value, scope, depth)

    def _last_length(self, value: Value, scope: Scope, depth: int) -> int | None:
        """Return the length of the last axis of an array whose shape is written somewhere, as that of a batch."""
        shape = self._images.of(value, scope, depth)
        return shape[-1] if shape else None

    def _argument(self, found: Bound, depth: int) -> int | None:
        """Return what all calls of a function give for a parameter."""
        sources = list(self._context.sources.originals(found))
        widths = set()
        for source in sources:
            if source.value is found.value or not isinstance(source.value, Call):
                return None
            home = (
                source.frame.function.scope
                if source.frame is not None
                else self._context.bodies.home(source.value.node)
            )
            if home is None:
                return None
            widths.add(self.of(source.value, home, depth + 1))
        return widths.pop() if len(widths) == 1 else None

    def _call(self, value: Call, scope: Scope, depth: int) -> int | None:
        context = self._context
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        home, _, word = name.rpartition(".")
        if home in {"flax.nnx", "jax.nn"} and word in _KEEPING and value.args:
            return self.of(value.args[0], scope, depth + 1)
        if name in _FILLED or name in _DRAWN:
            return self._literal(value.argument(1 if name in _DRAWN else 0, "shape"), scope)
        made = self._layer(value.callee, scope) if isinstance(value.callee, Attr | Call | Param) else None
        layer = self.sequence(value.callee, scope) if made is None else None
        if layer is not None:
            plain = value.keyword("return_carry") is None and value.keyword("time_major") is None
            return sequence_widths(context, layer)[1] if plain else None
        if made is None:
            flat = self._images.flattened(value, scope)
            return flat if flat is not None else self._last_length(value, scope, depth)
        word = context.flow.calls.callee_name(made).removeprefix("flax.nnx.")
        given = _LAYERS[word][1]
        if given:
            return self._number(made, given)
        return self.of(value.args[0], scope, depth + 1) if value.args else None

    def _literal(self, shape: Value | None, scope: Scope) -> int | None:
        """Return the last number of a shape."""
        if shape is None:
            return None
        context = self._context
        found = context.flow.resolve(context.flow.here(shape, scope))
        if not isinstance(found.value, Sequence) or not found.value.items:
            return None
        last = context.flow.follow(found, found.value.items[-1]).value
        return last.value if isinstance(last, Const) and type(last.value) is int else None


RULE = lint_rule(
    "NNX722",
    "layer-width",
    "a layer gets another number of features than it takes",
    why="""\
A layer of NNX makes its weights for the number of features that it is told, along the last axis of what it gets. Where
the layer before gives another number, or an image comes with its channels first, as PyTorch has them, the call raises
a TypeError.
""",
    source="Flax guide from PyTorch; measured on Flax 0.10.7 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.up = nnx.Linear(8, 64, rngs=rngs)
        self.down = nnx.Linear(32, 2, rngs=rngs)

    def __call__(self, x):
        return self.down(nnx.relu(self.up(x)))
""",
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.conv = nnx.Conv(3, 8, kernel_size=(3, 3), rngs=rngs)

    def __call__(self, x):
        return self.conv(x)


print(Net(nnx.Rngs(0))(jnp.ones((1, 3, 32, 32))).shape)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.up = nnx.Linear(8, 64, rngs=rngs)
        self.norm = nnx.LayerNorm(64, rngs=rngs)
        self.down = nnx.Linear(32, 2, rngs=rngs)

    def __call__(self, x):
        halves = jnp.split(self.norm(nnx.relu(self.up(x))), 2, axis=-1)
        return self.down(halves[0])


print(Net(nnx.Rngs(0))(jnp.ones((1, 8))).shape)
""",
    ),
)
