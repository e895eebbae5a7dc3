"""NNX783: a key that all devices have in common draws what each needs for its own part of a batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Frame, Indexed, Part, Round
from codemods.nnx.lint.applied import calls_of, layers, option, skipped
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.drawn_alike import joined_axis
from codemods.nnx.lint.formula import operand
from codemods.nnx.lint.names import BATCHING, KEY_MAKERS, last
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.shards import Axes, specs
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Loop, Param, Sequence, Unknown, Value

# where samplers take the shape of what they draw; that of categorical is that of its logits
_SHAPES = {"normal": 1, "uniform": 1, "bernoulli": 2, "randint": 1, "gumbel": 1, "laplace": 1, "exponential": 1,
           "rademacher": 1, "truncated_normal": 3}  # fmt: skip
_DRAWING = frozenset(_SHAPES) | {"categorical", "choice", "permutation", "multivariate_normal", "ball", "cauchy",
                                 "gamma", "beta", "dirichlet", "poisson"}  # fmt: skip
# functions that leave the first axis of an array as it is
_ELEMENTWISE = frozenset(
    {"tanh", "exp", "log", "sin", "cos", "sqrt", "abs", "where", "maximum", "minimum", "clip", "asarray", "relu",
     "gelu", "silu", "swish", "sigmoid", "softplus", "elu", "leaky_relu", "softmax", "log_softmax", "zeros_like",
     "ones_like", "square", "add", "subtract", "multiply", "divide", "nan_to_num"}
)  # fmt: skip
_BY_ROWS = frozenset({"dot", "matmul"})
_HOMES = ("jax.numpy.", "jax.nn.", "jax.lax.", "flax.nnx.")
_MAPS = frozenset({"shard_map", "pmap"})
_NAMELESS = ""  # the axis of a pmap that names none
# what each device gets a copy of, by its name or by what makes it
_COPIED = pattern(r"param|state|model|weight|variable|replicat|broadcast|^w\d*$|^(opt|net|theta)")
_LOOPS = frozenset({"jax.lax.scan", "jax.lax.fori_loop"})
_DEPTH = 12
_CALLS = 4


def _check(context: Context) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for root in context.traced.roots:
        if last(root.transform) not in _MAPS or root.options is None or root.scope.module not in context.asked:
            continue
        if in_test(root.scope):
            continue
        known = specs(context, root) if last(root.transform) == "shard_map" else _of_pmap(context, root)
        axis = next((one[0] for spec in known.values() if spec for one in spec[:1] if one), None)
        draws = _Draws(context, root, known)
        if axis is not None:
            found = [(event, axis, "for its part of the batch, since all have") for event in draws.of_all()]
        else:
            found = [
                (event, over, "as the others, and what they make of it is joined: all have")
                for event, over in draws.joined()
            ]
        for event, over, why in found:
            if event.node in seen or event.scope.module not in context.asked:
                continue
            seen.add(event.node)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"every device draws the same {why} the same key",
                f'give each a key of its own: jax.random.fold_in(key, jax.lax.axis_index("{over}"))'
                if over != _NAMELESS
                else "give each a key of its own: jax.random.split(key, n), with 0 for it in in_axes",
            )


def _of_pmap(context: Context, root: Root) -> dict[Param, tuple[Axes, ...]]:
    """Return the parameters of a function under ``pmap`` that are spread over the devices, and those they all have.

    What each device has a copy of, as of a state, is mapped too, and its noise is to be the same for all.
    """
    if root.partial or not root.unmapped or root.function.vararg:
        return {}
    name = constant(option(root, "axis_name", 0))
    axis = name if isinstance(name, str) else _NAMELESS
    params = list(root.function.params.values())[skipped(root) :]
    known: dict[Param, tuple[Axes, ...]] = {one: () for one in params if one.name in root.unmapped}
    events = list(calls_of(context, root))
    for place, param in enumerate(params):
        if param.name in root.static or _COPIED.search(param.name):
            continue
        given = [(event.value.argument(place, param.name), event) for event in events]
        if not any(value is not None and _copies(context, value, event) for value, event in given):
            known[param] = ((axis,),)
    return known


def _copies(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether an argument may be what every device gets a copy of."""
    return any(
        _COPIED.search(context.flow.calls.callee_name(source)) is not None
        for source in context.sources.originals(context.flow.here(value, event.scope))
        if isinstance(source.value, Call)
    )


class _Draw(NamedTuple):
    """A call of ``jax.random``.

    Attributes:
        event: the call.
        call: the call in its activation.
        word: the last word of what is called.
        top: the call in the function that is mapped, itself or by which it runs.
    """

    event: CallEvent
    call: Bound
    word: str
    top: ast.AST


class _Draws:
    """Finds the draws of a function under ``shard_map`` that are the same on all devices and should not be."""

    def __init__(self, context: Context, root: Root, known: dict[Param, tuple[Axes, ...]]) -> None:
        self._context = context
        self._flow = context.flow
        self._root = root
        self._known = known

    def of_all(self) -> Iterator[CallEvent]:
        """Yield the draws of parts of the batch, also those of functions that are called."""
        for draw in self._every():
            if self._alike(draw.call, draw.event.value, draw.word):
                yield draw.event

    def joined(self) -> Iterator[tuple[CallEvent, str]]:
        """Yield the draws of a function that all devices run alike and that joins or averages what came of them, with
        the axis over which it does."""
        if last(self._root.transform) != "shard_map":
            return
        for words in (_DRAWING, frozenset({"split"})):  # where nothing is drawn, the keys
            found = False
            for draw in self._every():
                if draw.word not in words or draw.event.value.starred or not draw.event.value.args:
                    continue
                if self._common(self._at(draw.call, draw.event.value.args[0])):
                    axis = joined_axis(self._context, self._root, self._known, [draw.top])
                    if axis is not None:
                        found = True
                        yield draw.event, axis
            if found:
                return

    def _every(self) -> Iterator[_Draw]:
        """Yield the calls of ``jax.random``, also those of functions that are called."""
        yield from self._inside(self._root.function.scope, self._flow.open_frame(self._root.function.scope), 0, None)

    def _inside(self, scope: Scope, frame: Frame | None, depth: int, top: ast.AST | None) -> Iterator[_Draw]:
        for event in self._context.bodies.calls.get(scope, ()):
            call = Bound(event.value, frame)
            name = self._flow.calls.callee_name(call)
            if name.startswith("jax.random."):
                yield _Draw(event, call, last(name), top or event.node)
            elif depth < _CALLS and (name in _LOOPS or (not name and not self._mapped(call, event.value))):
                for callee, entered in self._flow.calls.invoked(call):
                    yield from self._inside(callee.function.scope, entered, depth + 1, top or event.node)

    def _mapped(self, call: Bound, value: Call) -> bool:
        """Say whether a call calls what ``vmap`` made of a function, which gets rows and a key for each."""
        calls = self._flow.calls
        behind = layers(self._context, self._flow.with_value(call, value.callee))
        return any(isinstance(one.value, Call) and calls.wrapper_name(one, one.value) in BATCHING for one in behind)

    def _alike(self, call: Bound, value: Call, word: str) -> bool:
        """Say whether a draw is of as many rows as a shard has, and its key that of all devices."""
        if not value.args or value.starred:
            return False
        if word == "categorical":
            of_rows = len(value.args) == 2 and not value.keywords and self._rows(self._at(call, value.args[1]))
        elif word == "split":
            number = value.argument(1, "num")
            of_rows = number is not None and self._count(self._at(call, number))
        else:
            shape = value.argument(_SHAPES[word], "shape") if word in _SHAPES else None
            of_rows = shape is not None and self._shape(self._at(call, shape))
        return of_rows and self._common(self._at(call, value.args[0]))

    def _at(self, bound: Bound, value: Value) -> Bound:
        found = self._flow.follow(bound, value)
        while isinstance(found.value, Part):
            found = self._flow.resolve(found.value.of)
        return found

    def _root_param(self, bound: Bound) -> Param | None:
        """Return the parameter of the function that a value is, or is a part of."""
        value = bound.value
        for _ in range(_DEPTH):
            if isinstance(value, Param):
                return value if value.function is self._root.function else None
            if isinstance(value, Attr):
                value = value.base
            elif isinstance(value, Item | Indexed):
                index = value.index.value if isinstance(value, Indexed) else value.index
                if not isinstance(index, Const):
                    return None
                value = value.base
            else:
                return None
        return None

    def _common(self, bound: Bound, depth: int = 0) -> bool:
        """Say whether a key, or a number, is the same on all devices."""
        value = bound.value
        if isinstance(value, Const):
            return value.value is not None  # a key that is left out: nothing is drawn then
        if depth > _DEPTH:
            return False
        param = self._root_param(bound)
        if param is not None:
            return param in self._known and not any(self._known[param])
        if isinstance(value, Unknown):
            return self._of_round(bound, depth)
        if isinstance(value, Round):  # for key in jax.random.split(key, n)
            return self._common(self._at(bound, value.base), depth + 1)
        if isinstance(value, Item | Indexed):
            index = value.index if isinstance(value, Indexed) else self._at(bound, value.index)
            return self._common(index, depth + 1) and self._common(self._at(bound, value.base), depth + 1)
        if not isinstance(value, Call) or not value.args or value.starred:
            return False
        name = self._flow.calls.callee_name(bound)
        if name in KEY_MAKERS or name == "jax.random.fold_in":
            given = value.given
            return all(self._common(self._at(bound, one), depth + 1) for one in given)
        return name == "jax.random.split" and self._common(self._at(bound, value.args[0]), depth + 1)

    def _of_round(self, bound: Bound, depth: int) -> bool:
        """Say whether a value stands for what each round of a loop gets of keys in common, or for its number."""
        node = bound.value.node if isinstance(bound.value, Unknown) else None
        scope = self._context.bodies.home(node) if isinstance(node, ast.Call) else None
        made = scope.module.values.get(node) if scope is not None and isinstance(node, ast.Call) else None
        if not isinstance(made, Call) or made.starred:
            return False
        loop = self._flow.with_value(bound, made)
        name = self._flow.calls.callee_name(loop)
        if name != "jax.lax.scan":
            return name == "jax.lax.fori_loop"
        rows = made.argument(2, "xs")
        return rows is not None and self._common(self._at(loop, rows), depth + 1)

    def _shape(self, bound: Bound) -> bool:
        """Say whether a shape begins with how many rows a shard has."""
        value = bound.value
        if isinstance(value, Attr) and value.name == "shape":
            return self._rows(self._at(bound, value.base))
        if isinstance(value, Sequence):
            return bool(value.items) and self._count(self._at(bound, value.items[0]))
        if isinstance(value, Item | Indexed):  # x.shape[:-1]
            index = value.index.value if isinstance(value, Indexed) else value.index
            node = index.node if isinstance(index, Unknown) else None
            if isinstance(node, ast.Slice) and node.lower is None and node.step is None:
                return self._shape(self._at(bound, value.base))
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp) and isinstance(value.node.op, ast.Add):
            return self._shape(self._at(bound, operand(self._context, bound, value.node.left).value))
        return False

    def _count(self, bound: Bound) -> bool:
        """Say whether a number is how many rows a shard has."""
        value = bound.value
        if isinstance(value, Item | Indexed):
            index = value.index.value if isinstance(value, Indexed) else value.index
            base = self._at(bound, value.base)
            if isinstance(index, Const) and index.value == 0 and isinstance(base.value, Attr):
                return base.value.name == "shape" and self._rows(self._at(base, base.value.base))
            return False
        if isinstance(value, Call) and self._flow.calls.callee_name(bound) == "builtins.len" and value.args:
            return self._rows(self._at(bound, value.args[0]))
        return False

    def _rows(self, bound: Bound, depth: int = 0) -> bool:
        """Say whether the first axis of an array is that of a parameter over which it is sharded."""
        if depth > _DEPTH:
            return False
        param = self._root_param(bound)
        value = bound.value
        if param is not None:
            indexed = isinstance(value, Item | Indexed) and not self._entry(value)
            spec = self._known.get(param, ())
            return bool(spec and spec[0]) and not indexed
        if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
            left, right = (
                self._at(bound, operand(self._context, bound, side).value)
                for side in (value.node.left, value.node.right)
            )
            if isinstance(value.node.op, ast.MatMult):
                return self._rows(left, depth + 1)
            return self._rows(left, depth + 1) or self._rows(right, depth + 1)
        if isinstance(value, Loop):  # what it was before the first round
            return self._rows(self._at(bound, value.before), depth + 1)
        if not isinstance(value, Call):
            return False
        name = self._flow.calls.callee_name(bound)
        if name.startswith(_HOMES):
            if last(name) in _ELEMENTWISE:
                return any(self._rows(self._at(bound, one), depth + 1) for one in value.args)
            return last(name) in _BY_ROWS and bool(value.args) and self._rows(self._at(bound, value.args[0]), depth + 1)
        if not name and isinstance(value.callee, Attr) and value.callee.name in {"astype", "clip"}:
            return self._rows(self._at(bound, value.callee.base), depth + 1)
        return False

    def _entry(self, value: Item | Indexed) -> bool:
        """Say whether a part of a parameter is an entry of a dict, which the spec says the same of."""
        index = value.index.value if isinstance(value, Indexed) else value.index
        return isinstance(index, Const) and isinstance(index.value, str)


RULE = lint_rule(
    "NNX783",
    "key-of-all-shards",
    "all devices draw the same for their parts of a batch, with a key that they have in common",
    why="""\
Under `jax.shard_map` every device runs the function with its own part of the batch, and an argument with the spec `P()`
is the same for all. Dropout or noise drawn with such a key is the same on every device: the batch has as many different
masks as one device has examples. So it is under `jax.pmap` with None for the key in `in_axes`. Where every argument has
the spec `P()`, all devices compute the same: a mean over them, or a result joined of their parts, is of one draw only.
`jax.random.fold_in(key, jax.lax.axis_index(...))` gives each device its own.
""",
    source="jax documentation of shard_map; measured on JAX 0.10.2: one mask over four devices",
    check=_check,
    bad=(
        """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
def dropped(x, key):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)
""",
    ),
    clean=(
        """\
from functools import partial

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.sharding.Mesh(jax.devices(), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
def dropped(x, key):
    key = jax.random.fold_in(key, jax.lax.axis_index("data"))
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)
""",
    ),
)
