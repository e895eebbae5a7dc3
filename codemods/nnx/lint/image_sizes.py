"""The lengths of the axes of arrays that go through convolutions and pools, up to where they are flattened."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Sequence, Unknown, Value

Shape = tuple[int | None, ...]

_POOLS = frozenset({"max_pool", "avg_pool", "min_pool"})
_DEPTH = 24
_SHAPE_FIRST = frozenset({"random", "random_sample", "standard_normal"})
_SAMPLERS = _SHAPE_FIRST | {"normal", "uniform", "integers", "randint"}
_SAME = frozenset({"jax.numpy.asarray", "jax.numpy.array", "numpy.asarray", "numpy.array", "jax.device_put"})
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Mult: lambda one, two: one * two,
    ast.Add: lambda one, two: one + two,
    ast.Sub: lambda one, two: one - two,
    ast.FloorDiv: lambda one, two: one // two if two else 0,
    ast.Pow: lambda one, two: one**two if 0 <= two < 8 else 0,
}


class ImageSizes:
    """Follows the shapes of arrays.

    Args:
        context: the analysis.
        layer: gives how the layer of NNX is made that a value is, if it is one layer.
        number: gives an argument of a layer's constructor by its name if it is one number wherever it is made.
        keeping: functions of NNX and ``jax.nn`` that give arrays of the shape that they get.
        made: functions that make an array, with the position of its shape.
    """

    def __init__(
        self,
        context: Context,
        layer: Callable[[Value, Scope], Bound | None],
        number: Callable[[Bound, str], int | None],
        keeping: frozenset[str],
        made: dict[str, int],
    ) -> None:
        self._context = context
        self._layer = layer
        self._number = number
        self._keeping = keeping - _POOLS
        self._made = made

    def flattened(self, call: Call, scope: Scope) -> int | None:
        """Return the length of the last axis of what a call makes by putting all axes but the first into one."""
        target = self._target(call, scope)
        if target is None or len(target[1]) != 2:
            return None
        whole, (first, last) = target
        if not isinstance(last, Unknown) or not isinstance(last.node, ast.expr) or constant(last.node) != -1:
            return None
        if not isinstance(first, Item) or first.index != Const(0):
            return None
        if not isinstance(first.base, Attr) or first.base.name != "shape":
            return None
        shape = self.of(whole, scope, 0)
        batch = shape if first.base.base is whole else self.of(first.base.base, scope, 0)
        if shape is None or batch is None or len(shape) < 3 or len(batch) != len(shape):
            return None
        known = [one for one in shape[1:] if one is not None]
        return math.prod(known) if len(known) == len(shape) - 1 else None

    def _target(self, call: Call, scope: Scope) -> tuple[Value, tuple[Value, ...]] | None:
        """Return what a call gives another shape, and the parts of that shape."""
        if call.starred or call.keywords:
            return None
        if isinstance(call.callee, Attr) and call.callee.name == "reshape" and len(call.args) == 2:
            if self._name(call, scope) == "jax.numpy.reshape":
                given = call.args[1]
                return (call.args[0], given.items) if isinstance(given, Sequence) else None
            return call.callee.base, call.args
        if isinstance(call.callee, Attr) and call.callee.name == "reshape" and len(call.args) == 1:
            return (call.callee.base, call.args[0].items) if isinstance(call.args[0], Sequence) else None
        return None

    def _name(self, call: Call, scope: Scope) -> str:
        return self._context.flow.calls.callee_name(self._context.flow.here(call, scope))

    def of(self, value: Value, scope: Scope, depth: int) -> Shape | None:
        """Return the lengths of all axes, None for those that are not known; None if not even their number is."""
        if depth > _DEPTH:
            return None
        if isinstance(value, Call):
            return self._call(value, scope, depth + 1)
        if isinstance(value, Unknown):
            node = value.node
            return self._together(value, node, scope, depth + 1) if isinstance(node, ast.BinOp) else None
        context = self._context
        found = context.flow.resolve(context.flow.here(value, scope))
        if isinstance(found.value, Param):
            return self._argument(found, depth + 1)
        if found.value is not value and isinstance(found.value, Call | Unknown):
            return self.of(found.value, found.frame.function.scope if found.frame is not None else scope, depth + 1)
        if isinstance(value, Item) and _sliced(value.index):
            return _some(self.of(value.base, scope, depth + 1))
        return self._part(found, depth + 1) if isinstance(found.value, Attr | Item | Indexed) else None

    def _part(self, found: Bound, depth: int) -> Shape | None:
        """Return the shape of an attribute, an entry of a batch, or some of the examples."""
        value = found.value
        if depth > _DEPTH:
            return None
        whole = value
        while isinstance(whole, Attr | Indexed | Item):
            whole = whole.base
        if isinstance(whole, Param) and whole.function in self._context.shared(batched):
            return None  # a part of what is in there
        if isinstance(value, Indexed) and _sliced(value.index.value):
            return _some(self._of_bound(Bound(value.base, found.frame), depth + 1))
        return self._agreed(found, self._context.sources.originals(found), depth + 1)

    def _agreed(self, found: Bound, sources: Iterable[Bound], depth: int) -> Shape | None:
        """Return the shape that all values have that one may be, but for the number of examples."""
        shapes: set[Shape] = set()
        for source in sources:
            shape = self._of_bound(source, depth) if source.value is not found.value else None
            if shape is None:
                return None
            shapes.add((None, *shape[1:]))
        return shapes.pop() if len(shapes) == 1 else None

    def _of_bound(self, bound: Bound, depth: int) -> Shape | None:
        """Return the shape of a value in an activation."""
        value = bound.value
        if isinstance(value, Indexed):
            return self._part(bound, depth + 1)
        home = self._home(bound)
        return self.of(value, home, depth + 1) if home is not None else None

    def _home(self, source: Bound) -> Scope | None:
        """Return the body that a value is made in."""
        if source.frame is not None:
            return source.frame.function.scope
        value = source.value
        while isinstance(value, Item | Attr):
            value = value.base
        node = getattr(value, "node", None)
        if isinstance(value, Param):
            return value.function.scope
        if isinstance(node, ast.Call):
            return self._context.bodies.home(node)
        return self._context.bodies.module_scope(node) if isinstance(node, ast.expr) else None

    def _argument(self, found: Bound, depth: int) -> Shape | None:
        assert isinstance(found.value, Param)
        if found.value.function in self._context.shared(batched) or self._context.shared(_scans):
            return None  # a part of what is in there
        sources = self._context.sources.originals(found)
        if all(source.value is found.value for source in sources):
            return self._called(found.value, depth)
        return self._agreed(found, sources, depth)

    def _called(self, param: Param, depth: int) -> Shape | None:
        """Return what the calls give to modules that are arguments themselves, as far as it is known."""
        function, names = param.function, list(param.function.params)
        if function.owner is None or function.name != "__call__" or names[1:2] != [param.name]:
            return None
        shapes: set[Shape] = set()
        for event in self._context.project.calls():
            if not isinstance(event.node.func, ast.Name) or len(event.node.args) != 1 or event.value.starred:
                continue
            if not isinstance(event.value.callee, Param | Free):
                continue
            if not self._of_class(self._context.flow.here(event.value.callee, event.scope), function.owner):
                continue
            if event.scope.function in self._context.shared(batched):
                return None
            shape = self.of(event.value.args[0], event.scope, depth)
            if shape is not None:
                shapes.add((None, *shape[1:]))
        return shapes.pop() if len(shapes) == 1 else None

    def _of_class(self, bound: Bound, owner: ClassFacts) -> bool:
        made = self._context.sources.originals(bound)
        return bool(made) and all(
            isinstance(one.value, Call) and self._context.flow.classes.class_of(one) is owner for one in made
        )

    def _together(self, value: Unknown, node: ast.BinOp, scope: Scope, depth: int) -> Shape | None:
        """Return the shape of arithmetic with an array, if the other side gives it no further axes."""
        values = scope.module.values
        axes = Arrays(self._context, {}).of(value, scope).axes
        for side in (node.left, node.right):
            one = values.get(side)
            shape = self.of(one, scope, depth) if one is not None and one is not value else None
            if shape is not None and axes == len(shape) and not isinstance(node.op, ast.MatMult):
                return tuple(None if length == 1 else length for length in shape)
        return None

    def _call(self, value: Call, scope: Scope, depth: int) -> Shape | None:
        if value.starred:
            return None
        name = self._name(value, scope)
        home, _, word = name.rpartition(".")
        if name in self._made:
            return self._literal(value.argument(self._made[name], "shape"), scope)
        if home in {"flax.nnx", "jax.nn"} and value.args:
            if word in self._keeping:
                return self.of(value.args[0], scope, depth)
            if home == "flax.nnx" and word in _POOLS:
                return self._windowed(value, "window_shape", 1, "VALID", self.of(value.args[0], scope, depth), None)
        drawn = self._drawn(value, name, scope)
        if drawn is not None:
            return drawn
        if name in _SAME and value.args:
            return self.of(value.args[0], scope, depth)
        if not name and isinstance(value.callee, Attr) and value.callee.name in {"astype", "copy"}:
            return self.of(value.callee.base, scope, depth)
        if isinstance(value.callee, Attr) and value.callee.name == "reshape" and not value.keywords:
            given = value.args[int(name in {"jax.numpy.reshape", "numpy.reshape"}) :]
            parts = given[0].items if len(given) == 1 and isinstance(given[0], Sequence) else given
            lengths = tuple(one.value if isinstance(one, Const) and type(one.value) is int else None for one in parts)
            return lengths if len(lengths) > 1 else None
        applied = isinstance(value.callee, Attr | Call | Param) and value.args
        made = self._layer(value.callee, scope) if applied else None
        if made is None:
            result = self._context.flow.resolve(self._context.flow.here(value, scope))
            return self._of_bound(result, depth) if result.value is not value else None
        if not isinstance(made.value, Call) or made.value.starred or value.keywords:
            return None
        shape = self.of(value.args[0], scope, depth)
        layer = self._context.flow.calls.callee_name(made).removeprefix("flax.nnx.")
        if layer == "Conv":
            features = self._number(made, "out_features")
            return self._windowed(made.value, "kernel_size", 2, "SAME", shape, features)
        if layer in {"BatchNorm", "LayerNorm", "RMSNorm", "GroupNorm", "Dropout"}:
            return shape
        return None

    def _drawn(self, value: Call, name: str, scope: Scope) -> Shape | None:
        """Return the shape of what NumPy draws, or a stream of NNX."""
        word = name.rpartition(".")[2]
        if name in {"numpy.random.rand", "numpy.random.randn"} and not value.keywords:
            return tuple(one.value if isinstance(one, Const) and type(one.value) is int else None for one in value.args)
        if not name and isinstance(value.callee, Attr):
            word = value.callee.name
        elif not name.startswith("numpy.random."):
            return None
        size = value.keyword("size") if word in _SAMPLERS else None
        if size is None and word in _SHAPE_FIRST and value.args and isinstance(value.args[0], Sequence):
            size = value.args[0]
        return self._literal(size, scope) if size is not None else None

    def _windowed(
        self, call: Call, name: str, place: int, padding: str, shape: Shape | None, features: int | None
    ) -> Shape | None:
        """Return the shape that windows over the middle axes give, as a convolution or a pool has them."""
        words = {word for word, _ in call.keywords}
        options = {name, "strides", "padding"}
        allowed = options | {"in_features", "out_features", "rngs", "use_bias", "dtype", "param_dtype", "kernel_init",
                             "bias_init", "inputs", "precision"}  # fmt: skip
        if shape is None or not words <= allowed or len(call.args) > place + 3:
            return None
        window = _numbers(call, place, name)
        strided = argument(call.node, place + 1, "strides")
        strides = (1,) * len(window or ()) if strided is None else _numbers(call, place + 1, "strides")
        padded = argument(call.node, place + 2, "padding")
        filled = padding if padded is None else constant(padded)
        if window is None or strides is None or filled not in {"SAME", "VALID"} or len(shape) != len(window) + 2:
            return None
        if len(strides) == 1:
            strides = strides * len(window)
        if len(strides) != len(window) or min(*strides, *window) < 1:
            return None
        middle = [
            None if one is None else -(-one // step) if filled == "SAME" else max(0, (one - size) // step + 1)
            for one, size, step in zip(shape[1:-1], window, strides, strict=True)
        ]
        return (shape[0], *middle, features if name == "kernel_size" else shape[-1])

    def _literal(self, given: Value | None, scope: Scope) -> Shape | None:
        if given is None:
            return None
        flow = self._context.flow
        found = flow.resolve(flow.here(given, scope))
        if not isinstance(found.value, Sequence):
            return None
        lengths = [flow.follow(found, item).value for item in found.value.items]
        if not all(isinstance(one, Const | Param | Unknown) for one in lengths):
            return None
        return tuple(one.value if isinstance(one, Const) and type(one.value) is int else None for one in lengths)


def _sliced(index: Value) -> bool:
    return isinstance(getattr(index, "node", None), ast.Slice)


def _some(shape: Shape | None) -> Shape | None:
    """Return the shape of some of the examples."""
    return (None, *shape[1:]) if shape else None


def _scans(context: Context) -> bool:
    """Say whether anything goes through arrays one part after the other."""
    return any(module.source.mentions(b"scan") for module in context.project.modules)


def product(context: Context, bound: Bound, depth: int = 0) -> int | None:
    """Return the number that arithmetic with constants and arguments gives, if it is the same on all ways.

    Args:
        context: the analysis.
        bound: the value.
        depth: how many values this one was followed from.
    """
    found = context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Const):
        return value.value if type(value.value) is int else None
    if depth > _DEPTH:
        return None
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        node = value.node
        home = context.bodies.module_scope(node)
        operation = _OPERATIONS.get(type(node.op))
        if home is None or operation is None:
            return None
        sides = [home.module.values.get(side) for side in (node.left, node.right)]
        one, two = (product(context, Bound(s, found.frame), depth + 1) if s is not None else None for s in sides)
        return operation(one, two) if one is not None and two is not None else None
    sources = context.sources.of(found)
    if any(one.value is value for one in sources):
        return None
    numbers = {product(context, one, depth + 1) for one in sources}
    return numbers.pop() if len(numbers) == 1 else None


def _numbers(call: Call, place: int, name: str) -> tuple[int, ...] | None:
    """Return the numbers that are written for an argument."""
    node = argument(call.node, place, name)
    written = constant(node) if node is not None else None
    numbers = (written,) if type(written) is int else written
    if not isinstance(numbers, tuple | list) or not numbers or any(type(one) is not int for one in numbers):
        return None
    return tuple(numbers)
