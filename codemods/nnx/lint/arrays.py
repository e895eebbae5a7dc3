"""What can be told of an array from the text: its type of numbers, and how many axes it has."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.frames import Bound, Frame, Indexed, Round
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.names import ARRAY_METHODS, OF_TREES, last
from codemods.nnx.lint.operands import gives_array, overloading
from codemods.nnx.lint.results import STAGED_RESULTS
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.traced import function_of, root_param
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Class,
    Comprehension,
    Const,
    Each,
    Free,
    Function,
    Item,
    Loop,
    Mapping,
    Param,
    Ref,
    Sequence,
    Unknown,
    Value,
)

BOOL, INT, FLOAT = 0, 1, 2
_FILLED = frozenset({"zeros", "ones", "full", "empty"})
_FLOATING = frozenset(
    {"exp", "log", "sqrt", "sin", "cos", "tanh", "mean", "std", "var", "log1p", "expm1", "reciprocal", "true_divide",
     "divide", "sigmoid", "softmax", "relu6", "softplus", "log_softmax"}
)  # fmt: skip
_SAMPLERS = frozenset({"normal", "uniform", "truncated_normal", "gumbel", "exponential", "beta", "gamma", "laplace"})
# samplers of NumPy, with the position of the size
_DRAWN_BY_NUMPY: dict[str, tuple[int | None, int]] = {
    "normal": (FLOAT, 2), "uniform": (FLOAT, 2), "standard_normal": (FLOAT, 0), "random": (FLOAT, 0),
    "integers": (INT, 2), "randint": (INT, 2), "exponential": (FLOAT, 1), "choice": (None, 1),
    "random_sample": (FLOAT, 0), "binomial": (INT, 2), "poisson": (INT, 1),
}  # fmt: skip
_SHAPED_BY_NUMPY = frozenset({"rand", "randn"})  # these take the sizes one by one
_REDUCING = frozenset(
    {"sum", "mean", "max", "min", "prod", "std", "var", "median", "nanmean", "nansum", "nanmax", "nanmin"}
)
#: Losses of optax with as many axes as what they compare.
ELEMENTWISE_LOSSES = frozenset({"squared_error", "l2_loss", "huber_loss", "log_cosh", "sigmoid_binary_cross_entropy"})
_OVER_CLASSES = frozenset({"softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"})
# functions of several arrays that are broadcast against each other
_TOGETHER = frozenset({"where", "maximum", "minimum", "power", "add", "subtract", "multiply", "logaddexp", "hypot"})
_ACTIVATIONS = frozenset({"relu", "gelu", "silu", "swish", "elu", "leaky_relu", "selu", "log_sigmoid"})
_WRITING = frozenset({"set", "add", "multiply", "mul", "divide", "power", "subtract", "min", "max"})
_SHAPING = frozenset({"reshape", "ravel", "flatten", "transpose", "squeeze"})
_COUNTING = frozenset({"argmax", "argmin", "count_nonzero"})
_SORTING = frozenset({"argsort", "argpartition"})
# functions that give truth values, of as many axes as their arguments have together
PREDICATES = frozenset(
    {"isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_not", "logical_xor", "isclose", "equal",
     "greater", "less", "greater_equal", "less_equal", "not_equal", "isneginf", "isposinf", "signbit"}
)  # fmt: skip
_DTYPES = {"float32": FLOAT, "float16": FLOAT, "bfloat16": FLOAT, "float64": FLOAT, "float": FLOAT, "float_": FLOAT,
           "int32": INT, "int64": INT, "int8": INT, "uint8": INT, "uint32": INT, "int16": INT, "int": INT,
           "bool": BOOL, "bool_": BOOL}  # fmt: skip
_NAMED = frozenset(f"{home}.{word}" for home in ("jax.numpy", "numpy", "math") for word in ("pi", "e", "inf", "nan"))
_COUNTED = {"builtins.len": INT, "builtins.int": INT, "builtins.float": FLOAT}  # numbers of Python
_SPACES = frozenset({"jax.numpy", "jax.numpy.linalg", "jax.nn", "jax.random", "jax.lax"})
# what gives arrays in any place, though no traced ones of constants or of a key
_ALWAYS = frozenset(
    [f"jax.numpy.{word}" for word in ("eye", "arange", "linspace", "asarray", "transpose", "reshape", "swapaxes",
                                      "moveaxis", "take_along_axis", "bincount", "argwhere", "flatnonzero", "identity",
                                      "tri", "astype", "permute_dims", "union1d", "setdiff1d", "intersect1d")]
    + [f"jax.random.{word}" for word in ("randint", "ball", "multinomial", "multivariate_normal", "orthogonal", "t",
                                         "triangular", "generalized_normal")]
)  # fmt: skip
#: Functions that give tuples of arrays.
_TUPLES = frozenset({"divmod", "eig", "eigh", "frexp", "histogram", "lstsq", "lu", "modf", "polar", "qr", "schur"}
                    | {"slogdet", "svd", "top_k", "sort_key_val", "rng_bit_generator", "histogram2d", "histogramdd"}
                    | {"unravel_index", "broadcast_arrays", "ix_", "unstack", "hsplit", "vsplit", "dsplit"}
                    | {"polydiv"})  # fmt: skip
_SEVERAL = frozenset({"split", "array_split", "meshgrid", "scan", "while_loop", "fori_loop", "cond", "switch", "map"}
                     | {"gradient"})  # fmt: skip
_ENDS = frozenset({"start", "stop", "step"})  # of arange, given by name
_DEPTH = 20
_LIKENED = 5  # through how many arrays that others are made like one is followed
_INNER = 6  # how many values a call counts as that is gone into


@dataclass(frozen=True)
class Array:
    """An array as far as it is known.

    Attributes:
        number: whether it holds truth values, integers or floats; None if that is not known.
        axes: how many axes it has; None if that is not known.
        weak: whether its type gives way to another's, as that of a Python number does.
    """

    number: int | None = None
    axes: int | None = None
    weak: bool = False


UNKNOWN = Array()
_PENDING = Array(-1)  # what depends on itself and so says nothing


class Arrays:
    """Tells of values what arrays they are, given those of some parameters."""

    def __init__(self, context: Context, given: dict[Value, Array]) -> None:
        self._context = context
        self._given = given
        self._asked: set[Value] = set()
        # the answers of this question, each with what was still asked when it was given: where values depend on each
        # other in many ways, as the state of a loop does, every way would be gone again and again
        self._answers: dict[tuple[Value, Scope], tuple[Array, set[Value]]] = {}
        self._awaited: list[set[Value]] = []
        self._likened = 0  # how many arrays are asked about because others are made like them
        self._shaped = False  # whether only axes are asked for, of which one that is a number anywhere has none

    def axes(self, value: Value, scope: Scope) -> int:
        """Return how many axes a value of a scope has; none if that is not known."""
        self._shaped = True
        try:
            return self.of(value, scope).axes or 0
        finally:
            self._shaped = False

    def written(self, node: ast.expr, scope: Scope) -> Array:
        """Return what is known of an expression of a scope."""
        return self._part(node, scope, 0)

    def of(self, value: Value, scope: Scope, depth: int = 0) -> Array:
        """Return what is known of a value of a scope."""
        if value in self._given:
            return self._given[value]
        if isinstance(value, Const):  # 1 and 1.0 are equal, and would have one answer
            return _literal(value.value)
        if not depth and not self._asked:
            self._answers.clear()
        key = (value, scope)
        known = self._answers.get(key)
        if known is None:
            if depth > _DEPTH:
                return UNKNOWN
            self._awaited.append(set())
            try:
                answer = self._of(value, scope, depth)
            finally:
                awaited = self._awaited.pop()
            known = self._answers[key] = answer, awaited & self._asked
        if self._awaited:
            self._awaited[-1] |= known[1]
        return known[0]

    def _settled(self, value: Value) -> None:
        """Forget the answers that were given while a value was asked about."""
        self._asked.discard(value)
        for key in [key for key, (_, awaited) in self._answers.items() if value in awaited]:
            del self._answers[key]

    def _pending(self, value: Value) -> Array:
        if self._awaited:
            self._awaited[-1].add(value)
        return _PENDING

    def _of(self, value: Value, scope: Scope, depth: int) -> Array:
        if isinstance(value, Loop):
            return self._looped(value, scope, depth + 1)
        if isinstance(value, Unknown):
            return self._node(value.node, scope, depth + 1)
        if isinstance(value, Call):
            return self._call(value, scope, depth + 1)
        if isinstance(value, Attr) and value.name in {"T", "real"}:
            return self.of(value.base, scope, depth + 1)
        if isinstance(value, Item):
            if _size(value):
                return Array(INT, 0, weak=True)
            stacked = self._stacked(value, scope, depth + 1)
            if stacked is not None:
                return stacked
            part = _indexed(self.of(value.base, scope, depth + 1), value.index)
            if part is not UNKNOWN:
                return part
            picked = self._picked(value, scope, depth)
            if picked is not UNKNOWN:
                return picked
        found = self._context.flow.resolve(self._context.flow.here(value, scope))
        if self._whole_of_part(value, found.value):
            return UNKNOWN
        return self._found(found, value, depth)

    def _whole_of_part(self, value: Value, found: Value) -> bool:
        """Say whether a value resolves to what callers give for a parameter of a function that gets parts of that."""
        if isinstance(value, Free) and len(bound := value.scope.bindings.get(value.name, [])) == 1:
            value = bound[0]
        param = root_param(value)
        if param is None or param.function not in self._context.shared(batched):
            return False
        return root_param(found) is not param

    def _stacked(self, value: Value, scope: Scope, depth: int) -> Array | None:
        """Return what a part of the result of a scan is; None for other values."""
        way: list[int] = []
        while isinstance(value, Item | Indexed):
            index = value.index if isinstance(value, Item) else value.index.value
            if not isinstance(index, Const) or type(index.value) is not int or index.value < 0:
                return None
            way.insert(0, index.value)
            value = value.base
        if not isinstance(value, Call) or not way or depth > _DEPTH:
            return None
        if self._context.flow.calls.callee_name(self._context.flow.here(value, scope)) != "jax.lax.scan":
            return None
        return self._scanned(value, way, scope, depth)

    def _stacked_bound(self, bound: Bound, depth: int) -> Array | None:
        """Return what a part of the result of a scan is in an activation; None for other values."""
        call = bound.value
        while isinstance(call, Item | Indexed):
            call = call.base
        if not isinstance(call, Call):
            return None
        frame = bound.frame
        scope = frame.function.scope if frame is not None else self._context.bodies.home(call.node)
        found = self._stacked(bound.value, scope, depth) if scope is not None else None
        return UNKNOWN if found is not None and frame is not None and gathered(self._context, frame) else found

    def _scanned(self, scan: Call, way: list[int], scope: Scope, depth: int) -> Array:
        """Return what ``jax.lax.scan`` gives: a carry shaped as the first one, or what its rounds give, stacked.

        Args:
            scan: the call.
            way: the places that lead to the array in the pair that it gives: 0 for the carry, 1 and 2 for the third
                of the outputs.
            scope: the scope of the call.
            depth: how many values this one was followed from.
        """
        init, rows = scan.argument(1, "init"), scan.argument(2, "xs")
        if depth > _DEPTH or scan.starred or init is None:
            return UNKNOWN
        first: dict[tuple[int, ...], Value] = {(): init} | {
            (i,): one for i, one in enumerate(init.items if isinstance(init, Sequence) else ())
        }
        if way[0] == 0:
            begun = first.get(tuple(way[1:]))
            return UNKNOWN if begun is None else Array(None, self.of(begun, scope, depth).axes)
        flow = self._context.flow
        body = scan.argument(0, "f")
        bodies = [] if body is None else flow.calls.callables(flow.here(body, scope))
        if len(bodies) != 1 or bodies[0].gradient or bodies[0].args or len(bodies[0].function.returns) != 1:
            return UNKNOWN
        function = bodies[0].function
        params = list(function.params.values())[1 if bodies[0].receiver is not None else 0 :]
        out: Value | None = function.returns[0]
        for place in way:
            out = out.items[place] if isinstance(out, Sequence) and place < len(out.items) else None
        if len(params) != 2 or out is None:
            return UNKNOWN
        given: dict[Value, Array] = {}
        for param, whole, part in ((params[0], init, 0), (params[1], rows, 1)):
            items = whole.items if isinstance(whole, Sequence) else ()
            for key, one in [(param, whole), *((Item(param, Const(i)), item) for i, item in enumerate(items))]:
                axes = None if one is None or isinstance(one, Sequence) else self.of(one, scope, depth).axes
                given[key] = UNKNOWN if axes is None or axes < part else Array(None, axes - part)
        inner = Arrays(self._context, given).of(out, function.scope, depth)
        return UNKNOWN if inner.axes is None else Array(inner.number, inner.axes + 1)

    def _picked(self, value: Item, scope: Scope, depth: int) -> Array:
        """Return what ``x[rows]``, ``x[rows, columns]`` or ``x[rows, 0]`` is with arrays of indices."""
        index = value.index
        if isinstance(index, Sequence) and not isinstance(index.node, ast.Tuple):
            return UNKNOWN
        whole = self.of(value.base, scope, depth + 1)
        if not whole.axes:
            return UNKNOWN
        left, axes = whole.axes, 0  # the axes behind those that are indexed, and those that the indices give
        for part in index.items if isinstance(index, Sequence) else (index,):
            if isinstance(part, Const) and type(part.value) is int:
                left -= 1
            elif not (isinstance(part, Unknown) and isinstance(part.node, ast.Slice)):
                known = self.of(part, scope, depth + 1)
                if known.axes is None or (known.number != INT and not _counting(part)):
                    return UNKNOWN  # a mask selects
                left, axes = left - 1, max(axes, known.axes)
        return Array(whole.number, left + axes) if left >= 0 else UNKNOWN

    def _part_of(self, whole: Array, index: Bound, depth: int) -> Array:
        """Return what ``x[i]`` is, also with one array of indices."""
        part = _indexed(whole, index.value)
        if part is not UNKNOWN or not whole.axes or isinstance(index.value, Sequence) or depth > _DEPTH:
            return part
        picked = self.of_bound(index, depth + 1)
        known = picked.axes is not None and (picked.number == INT or _counting(index.value))
        return Array(whole.number, whole.axes - 1 + picked.axes) if known and picked.axes is not None else UNKNOWN

    def _looped(self, value: Loop, scope: Scope, depth: int) -> Array:
        """Return what a variable is in all rounds of a loop, if that is the same."""
        if value in self._asked:
            return self._pending(value)
        self._asked.add(value)
        try:
            ways = [value.before, *([] if value.again is None else [value.again])]
            return same_kind(self.of(way, scope, depth) for way in ways)
        finally:
            self._settled(value)

    def _found(self, found: Bound, value: Value, depth: int) -> Array:
        inner = found.value
        if isinstance(inner, Ref):
            return _literal(1.0) if inner.name in _NAMED else UNKNOWN
        if isinstance(inner, Param):
            return self._argument(found, depth)
        if isinstance(inner, Attr | Indexed):
            if isinstance(inner, Indexed) and _size(inner):
                return Array(INT, 0, weak=True)
            whole_of = inner.base
            while isinstance(whole_of, Attr | Indexed | Item):
                whole_of = whole_of.base
            if isinstance(whole_of, Param) and whole_of.function in self._context.shared(batched):
                return UNKNOWN  # a part of what is in there
            if isinstance(inner, Indexed):
                if isinstance(inner.base, Mapping) and isinstance(inner.index.value, Const):
                    return UNKNOWN  # a key that is not in there, as of a method that subclasses override
                stacked = self._stacked_bound(found, depth + 1)
                if stacked is not None:
                    return stacked
                whole = self._found(Bound(inner.base, found.frame), inner, depth + 1)
                if whole.axes is not None or self._array(Bound(inner.base, found.frame)):
                    return self._part_of(whole, inner.index, depth)  # whatever was put into parts of it
            return self._agreed(found, depth)
        if inner is value:
            return UNKNOWN
        if isinstance(inner, Round | Each):
            whole = self._found(Bound(inner.base, found.frame), inner, depth + 1)
            return replace(whole, axes=whole.axes - 1, weak=False) if whole.axes else UNKNOWN
        return self.of_bound(found, depth + 1)

    def _array(self, found: Bound) -> bool:
        """Say whether a value may be what a function of NumPy or JAX makes, of however many axes."""
        callee = self._context.flow.calls.callee_name
        for one in self._context.sources.originals(found):
            if isinstance(one.value, Call) and callee(one).startswith(("numpy.", "jax.")):
                return True
            if isinstance(one.value, Unknown) and isinstance(one.value.node, ast.BinOp):
                for side in (one.value.node.left, one.value.node.right):  # of `np.ones_like(x) * -1`
                    home = self._context.bodies.home(side) if isinstance(side, ast.Call) else None
                    made = home.module.values.get(side) if home is not None else None
                    if made is not None and home is not None:
                        if callee(self._context.flow.here(made, home)).startswith(("numpy.", "jax.")):
                            return True
        return False

    def _argument(self, found: Bound, depth: int) -> Array:
        """Return what all calls of a function give for a parameter, if they agree."""
        param = found.value
        assert isinstance(param, Param)
        default = param.function.defaults.get(param.name)
        if default is not None and _left_out(self._context, param):
            return _literal(default.value) if isinstance(default, Const) else UNKNOWN
        if param.function in self._context.shared(batched):
            return UNKNOWN
        return self._agreed(found, depth)

    def _agreed(self, found: Bound, depth: int) -> Array:
        """Return what all sources of a parameter, field or entry are, if they agree."""
        if found.value not in self._asked and not self._useful(found, shaped=self._shaped and not depth):
            return UNKNOWN
        every = self._context.sources.originals(found)
        # an array is what it was made as, whatever is put into parts of it
        listed = any(isinstance(one.value, Sequence) for one in every)
        given = [one for one in every if listed or not isinstance(one.value, Changed)]
        if not given or any(one.value is found.value for one in given):
            return UNKNOWN
        if found.value in self._asked:
            return self._pending(found.value)
        self._asked.add(found.value)
        try:
            return same_kind(self.of_bound(one, depth + 1) for one in given)
        finally:
            self._settled(found.value)

    def _useful(self, found: Bound, shaped: bool) -> bool:
        """Say whether something may be told of what a value comes from.

        Args:
            found: the value.
            shaped: whether a number is of no use.
        """
        serves = _may_have_axes if shaped else _may_be_told
        return self._context.sources.all_of(found, serves) is not None

    def of_bound(self, bound: Bound, depth: int = 0) -> Array:
        """Return what is known of a value in an activation."""
        frame = bound.frame
        value = bound.value
        if frame is not None and not isinstance(value, Indexed):
            inside = self.of(value, frame.function.scope, depth)
            return inside if inside is UNKNOWN or not gathered(self._context, frame) else Array(inside.number)
        if isinstance(value, Const):
            return _literal(value.value)
        if isinstance(value, Indexed):
            if _size(value):
                return Array(INT, 0, weak=True)
            stacked = self._stacked_bound(bound, depth + 1)
            if stacked is not None:
                return stacked
            return self._part_of(self.of_bound(Bound(value.base, frame), depth + 1), value.index, depth)
        if isinstance(value, Round | Each) and depth < _DEPTH:
            whole = self.of_bound(Bound(value.base, frame), depth + 1)
            return replace(whole, axes=whole.axes - 1, weak=False) if whole.axes else UNKNOWN
        made = value
        while isinstance(made, Item):
            made = made.base
        if isinstance(made, Call | Unknown | Sequence):
            scope = self._context.bodies.home(made.node)
            if scope is None and isinstance(made, Unknown):
                scope = self._context.bodies.module_scope(made.node)
            if scope is not None:
                return self.of(value, scope, depth)
        return UNKNOWN

    def _node(self, node: ast.AST, scope: Scope, depth: int) -> Array:
        if isinstance(node, ast.Constant):
            return _literal(node.value)
        if isinstance(node, ast.BinOp):
            return self._operation(node, scope, depth)
        if isinstance(node, ast.AugAssign):
            return UNKNOWN
        if isinstance(node, ast.UnaryOp):
            inner = self._part(node.operand, scope, depth)
            return Array(BOOL, 0) if isinstance(node.op, ast.Not) else inner
        if isinstance(node, ast.Compare):
            return Array(BOOL, _highest([self._part(n, scope, depth).axes for n in (node.left, *node.comparators)]))
        return UNKNOWN

    def _part(self, node: ast.expr, scope: Scope, depth: int) -> Array:
        value = scope.module.values.get(node)
        if value is None or (isinstance(value, Unknown) and value.node is node):
            return self._node(node, scope, depth) if depth < _DEPTH else UNKNOWN
        return self.of(value, scope, depth)

    def _operation(self, node: ast.BinOp, scope: Scope, depth: int) -> Array:
        left, right = self._part(node.left, scope, depth + 1), self._part(node.right, scope, depth + 1)
        if UNKNOWN in (left, right) and self._context.shared(overloading):
            return UNKNOWN
        for one, other in ((left, right), (right, left)):
            if one == _PENDING and (other == _PENDING or (other.weak and other.axes == 0)):
                return _PENDING
        axes = _highest([left.axes, right.axes])
        if isinstance(node.op, ast.MatMult):
            axes = _product(left.axes, right.axes)
        weak = left.weak and right.weak
        if isinstance(node.op, ast.Div):
            known = left.number is not None or right.number is not None
            return Array(FLOAT if known else None, axes, weak)  # whatever the other one is, no integers come out
        if FLOAT in (left.number, right.number) and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return Array(FLOAT, axes, weak)
        if left.number is None or right.number is None:
            return Array(None, axes)
        number = max(left.number, right.number)
        if number == BOOL and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.Mult | ast.Add):
            return Array(None, axes)
        return Array(number, axes, weak)

    def _call(self, value: Call, scope: Scope, depth: int) -> Array:
        flow = self._context.flow
        name = flow.calls.callee_name(flow.here(value, scope))
        home, _, word = name.rpartition(".")
        if name in _COUNTED:
            return Array(_COUNTED[name], 0, weak=True)
        if not name and isinstance(value.callee, Attr):
            return self._method(value, value.callee, scope, depth)
        if home in {"jax.random", "numpy.random"}:
            drawn = self._random(home, word, value, scope, depth)
            return drawn if drawn is not None else self._result(value, scope, depth)
        if name in {"jax.lax.stop_gradient", "jax.device_put", "jax.block_until_ready"} and value.args:
            return replace(self.of(value.args[0], scope, depth), weak=False)
        if home == "optax":
            return self._loss(word, value, scope, depth)
        if word == "norm" and home in {"jax.numpy.linalg", "numpy.linalg"} and value.args:
            whole = self.of(value.args[0], scope, depth)
            return Array(FLOAT, _left(whole.axes, (), value) if len(value.args) == 1 else None)
        if word == "einsum" and home in {"jax.numpy", "numpy"}:
            return Array(axes=_letters(value))
        if home not in {"jax.numpy", "jax.nn", "numpy"}:
            return self._result(value, scope, depth)
        made = self._new(word, value, scope, depth)
        return made if made is not None else self._of_first(word, value, scope, depth)

    def _random(self, home: str, word: str, value: Call, scope: Scope, depth: int) -> Array | None:
        """Return what a function of ``jax.random`` or ``numpy.random`` draws; None if it is not known."""
        if word == "permutation" and value.args:
            alone = len(value.args) == 1 + (home == "jax.random")  # else along an axis
            return self._mixed(value.args[-1], scope, depth) if alone else UNKNOWN
        if home == "numpy.random":
            if word in _SHAPED_BY_NUMPY:
                return UNKNOWN if value.starred else Array(FLOAT, len(value.args))
            return self._drawn(word, value, scope) if word in _DRAWN_BY_NUMPY else None
        if word in _SAMPLERS:
            return Array(FLOAT, self._shape(value.argument(1, "shape"), scope, 0))
        if word == "randint":
            return Array(INT, self._shape(value.argument(1, "shape"), scope, None))
        if word == "bernoulli":
            shape = value.argument(2, "shape")
            return Array(BOOL, self._shape(shape, scope, None) if shape is not None else None)
        if word == "categorical" and len(value.args) == 2 and not value.keywords:
            logits = self.of(value.args[1], scope, depth).axes
            return Array(INT, logits - 1 if logits else None)
        return None

    def _new(self, word: str, value: Call, scope: Scope, depth: int) -> Array | None:
        """Return what a function of arrays makes of numbers, shapes or other arrays; None if it does otherwise."""
        if word in _DTYPES:
            inner = self.of(value.args[0], scope, depth) if value.args else Array(axes=0)
            return Array(_DTYPES[word], inner.axes)
        if word in _FILLED:
            place = 2 if word == "full" else 1
            return Array(self._dtype(value.argument(place, "dtype"), scope, None if word == "full" else FLOAT),
                         self._shape(value.argument(0, "shape"), scope, None))  # fmt: skip
        if word == "arange":
            ends = [*value.args[:3], *(one for name, one in value.keywords if name in _ENDS)]
            number = None if value.starred else _highest([self.of(end, scope, depth).number for end in ends])
            return Array(self._dtype(value.argument(3, "dtype"), scope, number), 1)
        if word == "linspace":
            if value.argument(4, "retstep") is not None:
                return UNKNOWN  # with the step beside
            return Array(self._dtype(value.argument(5, "dtype"), scope, FLOAT), 1)
        if word in {"eye", "identity"}:
            return Array(self._dtype(value.argument(3 if word == "eye" else 1, "dtype"), scope, FLOAT), 2)
        if word in {"array", "asarray"}:
            return self._made(value, scope, depth)
        if word in {"stack", "concatenate"}:
            return self._joining(word, value, scope, depth)
        return None

    def _of_first(self, word: str, value: Call, scope: Scope, depth: int) -> Array:
        """Return what a function of arrays gives for its first argument, and others beside it."""
        first = self.of(value.args[0], scope, depth) if value.args else UNKNOWN
        if word == "expand_dims" and first.axes is not None and len(value.args) + len(value.keywords) == 2:
            added = constant(value.node.args[1] if len(value.args) == 2 else value.node.keywords[0].value)
            return Array(first.number, first.axes + 1 if type(added) is int else None)
        if word == "broadcast_to":
            return Array(first.number, self._shape(value.argument(1, "shape"), scope, None))
        if word in _REDUCING | _COUNTING:
            number = self._dtype(value.argument(2, "dtype"), scope, _reduced(word, first.number))
            return Array(number, _left(first.axes, value.args[1:], value))
        if word in _SORTING:
            return Array(INT, first.axes or None)
        if word in {"cumsum", "cumprod"}:
            along = len(value.args) > 1 or value.keyword("axis") is not None
            number = self._dtype(value.argument(2, "dtype"), scope, first.number if first.number != BOOL else INT)
            return Array(number, first.axes if along else 1)
        if word == "bincount" and len(value.args) == 1 and value.keyword("weights") is None:
            return Array(INT, 1)
        if word == "searchsorted" and len(value.args) > 1:
            return Array(INT, self.of(value.args[1], scope, depth).axes)
        if word in _FLOATING:
            return Array(FLOAT, first.axes)
        if word in PREDICATES:
            return Array(BOOL, _highest([self.of(argument, scope, depth).axes for argument in value.args]))
        if word in _TOGETHER:
            parts = [self.of(argument, scope, depth) for argument in value.args]
            one = FLOAT if any(p.number == FLOAT for p in parts[-2:]) else None
            return Array(one, _highest([p.axes for p in parts])) if not value.keywords else UNKNOWN
        if word == "take_along_axis" and len(value.args) > 1 and len(value.args) + len(value.keywords) == 3:
            return Array(first.number, self.of(value.args[1], scope, depth).axes)  # as many as the indices have
        if word == "tile" and len(value.args) == 2:
            times = self._shape(value.args[1], scope, None)
            return Array(first.number, None if None in (first.axes, times) else max(first.axes or 0, times or 0))
        if word == "squeeze":
            return Array(first.number, _squeezed(first.axes, value.args[1:], value))
        if word in {"dot", "matmul"} and len(value.args) == 2:
            other = self.of(value.args[1], scope, depth)
            return Array(None, _product(first.axes, other.axes) if word == "matmul" or other.axes in {1, 2} else None)
        if word == "one_hot" and first.axes is not None and not value.keywords:
            return Array(FLOAT, first.axes + 1)
        if word in _ACTIVATIONS:
            return Array(FLOAT if first.number == FLOAT else None, first.axes)
        if word == "ravel":
            return Array(first.number, 1)
        if word == "reshape" and len(value.args) == 2 and not value.keywords:
            return Array(first.number, self._reshaped(value.args[1], value.node.args[1], scope))
        if word in {"floor", "ceil", "trunc", "rint"} and first.number == FLOAT:
            return replace(first, weak=False)
        alike = {"abs", "square", "negative", "zeros_like", "ones_like", "copy", "sort", "flip", "roll", "nan_to_num"}
        if word in alike and value.keyword("dtype") is None:
            shape = value.argument(2, "shape") if word.endswith("_like") else None
            if shape is not None:
                return Array(first.number, self._shape(shape, scope, None))
            return replace(first, weak=False)
        return UNKNOWN

    def _loss(self, word: str, value: Call, scope: Scope, depth: int) -> Array:
        """Return what a loss of optax gives, or the norm of a tree."""
        if word == "global_norm":
            return Array(FLOAT, 0)
        if word not in ELEMENTWISE_LOSSES and word not in _OVER_CLASSES:
            return UNKNOWN
        given = dict(value.keywords)
        named = [given[name] for name in COMPARED if name in given]
        axes = [self.of(argument, scope, depth).axes for argument in [*value.args, *named][:2]]
        first = axes[0] if axes else None
        if word in _OVER_CLASSES:
            return Array(FLOAT, first - 1 if first else None)
        return Array(FLOAT, _highest(axes))

    def _made(self, value: Call, scope: Scope, depth: int) -> Array:
        if not value.args:
            return UNKNOWN
        given = value.argument(1, "dtype")
        inner = _repeated(value.args[0], scope)
        if isinstance(inner, Sequence):
            parts = self._items(inner, scope, depth)
            number = _highest([p.number for p in parts])
            axes = parts[0].axes + 1 if parts and parts[0].axes is not None else None
            return Array(self._dtype(given, scope, number), axes)
        one = self.of(inner, scope, depth)
        return Array(self._dtype(given, scope, one.number), one.axes, one.weak and given is None)

    def _items(self, written: Sequence, scope: Scope, depth: int) -> list[Array]:
        """Return what the items of a list are of which an array is made; nothing of one that is spread out."""
        if any(isinstance(element, ast.Starred) for element in getattr(written.node, "elts", ())):
            return []
        found = []
        for item in written.items:
            if isinstance(item, Sequence) and isinstance(item.node, ast.List | ast.Tuple) and depth < _DEPTH:
                parts = self._items(item, scope, depth + 1)
                axes = parts[0].axes + 1 if parts and parts[0].axes is not None else None
                found.append(Array(_highest([p.number for p in parts]), axes))
            else:
                found.append(self.of(item, scope, depth))
        return found

    def _joining(self, word: str, value: Call, scope: Scope, depth: int) -> Array:
        """Return what several arrays are together, in an axis of their own or along one that they have."""
        if value.starred or not value.args or not isinstance(value.args[0], Sequence):
            return UNKNOWN
        parts = self._items(value.args[0], scope, depth)
        axes = {part.axes for part in parts}
        number = None if value.keyword("dtype") is not None else _highest([part.number for part in parts])
        if len(axes) != 1 or None in axes:
            return Array(number)
        (one,) = (n for n in axes if n is not None)
        return Array(number, one + int(word == "stack") if one or word == "stack" else None)

    def _method(self, value: Call, callee: Attr, scope: Scope, depth: int) -> Array:
        place = callee.base
        if (
            callee.name in _WRITING
            and isinstance(place, Item)
            and isinstance(place.base, Attr)
            and place.base.name == "at"
        ):
            return replace(self.of(place.base.base, scope, depth), weak=False)
        if callee.name == "permutation" and len(value.args) == 1 and self._generator(callee.base, scope):
            return self._mixed(value.args[0], scope, depth)
        if callee.name in _DRAWN_BY_NUMPY and self._generator(callee.base, scope):
            return self._drawn(callee.name, value, scope)
        if callee.name in _SHAPED_BY_NUMPY and self._generator(callee.base, scope):
            return UNKNOWN if value.starred else Array(FLOAT, len(value.args))
        base = self.of(callee.base, scope, depth)
        if callee.name in _REDUCING | _COUNTING and base != UNKNOWN:
            number = self._dtype(value.argument(1, "dtype"), scope, _reduced(callee.name, base.number))
            return Array(number, _left(base.axes, value.args, value))
        if callee.name in _SORTING and base.axes:
            return Array(INT, base.axes)
        if callee.name in _SHAPING:
            axes = len(value.args) if callee.name == "reshape" and len(value.args) > 1 else None
            if callee.name == "reshape" and len(value.args) == 1 and not value.starred:
                axes = self._reshaped(value.args[0], value.node.args[0], scope)
            if callee.name == "squeeze":
                axes = _squeezed(base.axes, value.args, value)
            return Array(base.number, 1 if callee.name in {"ravel", "flatten"} else axes)
        if callee.name == "astype" and value.args:
            return Array(self._dtype(value.args[0], scope, None), base.axes)
        return self._result(value, scope, depth)

    def _generator(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is a generator of NumPy."""
        made = self._context.sources.originals(self._context.flow.here(value, scope))
        names = {self._context.flow.calls.callee_name(one) if isinstance(one.value, Call) else "" for one in made}
        return bool(names) and names <= {"numpy.random.default_rng", "numpy.random.RandomState"}

    def _drawn(self, word: str, value: Call, scope: Scope) -> Array:
        """Return what a sampler of NumPy gives."""
        number, place = _DRAWN_BY_NUMPY[word]
        size = value.argument(place, "size")
        if value.starred or (size is None and (value.args or value.keywords)):
            return UNKNOWN  # as many as the parameters have
        return Array(number, self._shape(size, scope, 0))

    def _mixed(self, given: Value, scope: Scope, depth: int) -> Array:
        """Return what a permutation of numbers up to one is, or of an array."""
        known = self.of(given, scope, depth)
        return replace(known, weak=False) if known.axes else Array(INT, 1) if known.axes == 0 else UNKNOWN

    def _result(self, value: Call, scope: Scope, depth: int) -> Array:
        made = self._context.flow.follow(self._context.flow.here(value, scope), value.callee)
        if isinstance(made.value, Call) and len(made.value.args) == 1 and not made.value.keywords and value.args:
            if self._context.flow.calls.callee_name(made) == "jax.grad":  # shaped as what it is taken with respect to
                return replace(self.of(value.args[0], scope, depth), weak=False)
        found = self._context.flow.resolve(self._context.flow.here(value, scope))
        known = self.of_bound(found, depth) if found.value is not value else UNKNOWN
        return self._by_arguments(value, scope, depth) if known == UNKNOWN else known

    def _by_arguments(self, value: Call, scope: Scope, depth: int) -> Array:
        """Return what a function of the project gives for what this call gives it, whatever others give it."""
        flow = self._context.flow
        held = flow.resolve(flow.here(value.callee, scope))
        if value.starred or depth > _DEPTH - _INNER or not isinstance(held.value, Function):
            return UNKNOWN
        function = held.value.facts
        if len(function.returns) != 1 or function.generator or function.decorators or function.vararg is not None:
            return UNKNOWN
        names = list(function.params)[: function.positional]
        given = {**dict(zip(names, value.args, strict=False)), **{name: one for name, one in value.keywords if name}}
        known: dict[Value, Array] = {
            function.params[name]: kind
            for name, one in given.items()
            if name in function.params and (kind := self.of(one, scope, depth + 1)) != UNKNOWN
        }
        if not known:
            return UNKNOWN
        # what is asked here may depend on itself through the call: deeper than it would be, so that it ends
        return Arrays(self._context, known).of(function.returns[0], function.scope, depth + _INNER)

    def _reshaped(self, shape: Value, node: ast.expr, scope: Scope) -> int | None:
        """Return how many axes a shape has, also that of all elements in one."""
        return 1 if type(constant(node)) is int else self._shape(shape, scope, None)

    def _dtype(self, value: Value | None, scope: Scope, default: int | None) -> int | None:
        if value is None:
            return default
        if isinstance(value, Attr) and value.name == "dtype":
            return self._beside(value.base, scope).number
        found = self._context.flow.resolve(self._context.flow.here(value, scope)).value
        name = getattr(found, "name", "") if not isinstance(found, Const) else found.value
        return _DTYPES.get(str(name).rpartition(".")[2])

    def _shape(self, value: Value | None, scope: Scope, default: int | None) -> int | None:
        if value is None:
            return default
        if isinstance(value, Attr) and value.name == "shape":
            return self._beside(value.base, scope).axes
        found = self._context.flow.resolve(self._context.flow.here(value, scope)).value
        if isinstance(found, Sequence) and isinstance(found.node, ast.Tuple | ast.List):
            return None if any(isinstance(e, ast.Starred) for e in found.node.elts) else len(found.items)
        if isinstance(found, Const):
            return 1 if isinstance(found.value, int) else None
        number = self._beside(value, scope)
        return 1 if number.number == INT and number.axes == 0 else None

    def _beside(self, value: Value, scope: Scope) -> Array:
        """Return what is known of another array that one is made like: a question anew, but one that ends."""
        if self._likened > _LIKENED:
            return UNKNOWN
        self._likened += 1
        try:
            return self.of(value, scope, 1)
        finally:
            self._likened -= 1


def _repeated(value: Value, scope: Scope) -> Value:
    """Return the list that ``[0] * n`` repeats; other values as they are."""
    node = value.node if isinstance(value, Unknown) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return value
    sides = (side for side in (node.left, node.right) if isinstance(side, ast.List))
    listed = (scope.module.values.get(side) for side in sides)
    return next((one for one in listed if isinstance(one, Sequence) and one.items), value)


def _may_be_told(value: Value) -> bool:
    """Say whether something is known of values that stand there so; if not, neither of what may be one of them."""
    if isinstance(value, Const):
        return _literal(value.value) is not UNKNOWN
    return not isinstance(value, Ref | Class | Function | Mapping | Comprehension)


def _may_have_axes(value: Value) -> bool:
    return not isinstance(value, Const) and _may_be_told(value)


def batched(context: Context) -> set[FunctionFacts]:
    """Return the functions whose arguments are parts of what they are called with, such as those under ``vmap``."""
    found = {root.function for root in context.traced.roots if last(root.transform) in _PARTS}
    if not found:
        return found
    before = -1
    while before != len(found):
        before = len(found)
        for function, tracing in context.traced.known.items():
            around = [
                function_of(function.scope.parent),
                *(site.caller.function for site in tracing.sites if site.caller),
                *(function_of(root.scope) for root in tracing.roots),
                *(function_of(scope) for _, _, scope in tracing.mapped),
            ]
            if function not in found and any(one in found for one in around):
                found.add(function)
    return found


_PARTS = frozenset({"vmap", "pmap", "shard_map", "map", "associative_scan"})


def gathered(context: Context, frame: Frame) -> bool:
    """Say whether an activation is one of many whose results get an axis for them, as those under ``vmap``."""
    around: Frame | None = frame
    mapping = context.shared(_mapping)
    while around is not None:
        if isinstance(around.site, Call):
            if around.function in mapping:
                return True
            callee = Bound(around.site.callee, around.caller)
            for layer in layers(context, callee):
                assert isinstance(layer.value, Call)
                if last(context.flow.calls.wrapper_name(layer, layer.value)) in _GATHERING:
                    return True
        around = around.caller
    return False


def _mapping(context: Context) -> set[FunctionFacts]:
    """Return the functions that a decorator maps."""
    return {root.function for root in context.traced.roots if root.decorator and last(root.transform) in _GATHERING}


_GATHERING = frozenset({"vmap", "pmap", "shard_map", "scan"})


def _counting(value: Value) -> bool:
    """Say whether a value is what a call of ``arange`` gives."""
    return isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name == "arange"


def _letters(value: Call) -> int | None:
    """Return how many axes the result of ``einsum`` has, by the letters behind its arrow."""
    words = value.args[0] if value.args else None
    if not isinstance(words, Const) or not isinstance(words.value, str) or "." in words.value:
        return None
    _, arrow, result = words.value.partition("->")
    return len(result.replace(" ", "")) if arrow else None


def _size(value: Item | Indexed) -> bool:
    """Say whether a value is the size of an array along one axis, as ``n`` in ``n, d = x.shape`` is."""
    index = value.index if isinstance(value, Item) else value.index.value
    if isinstance(index, Unknown) and isinstance(index.node, ast.UnaryOp):  # x.shape[-1]
        number = type(constant(index.node)) is int
    else:
        number = isinstance(index, Const) and type(index.value) is int
    return number and isinstance(value.base, Attr) and value.base.name == "shape"


def _indexed(whole: Array, index: Value) -> Array:
    """Return what ``x[0]`` or ``x[..., None]`` is."""
    change = 0
    if isinstance(index, Sequence) and isinstance(index.node, ast.List):
        return Array(whole.number, whole.axes)  # the elements of a list, in an axis of their own
    for part in index.items if isinstance(index, Sequence) else (index,):
        if isinstance(part, Const) and (part.value is None or part.value is Ellipsis):
            change += part.value is None
        elif isinstance(part, Const) and type(part.value) is int:
            change -= 1
        elif not (isinstance(part, Unknown) and isinstance(part.node, ast.Slice)):
            return UNKNOWN
    if whole.axes is None:
        return UNKNOWN if whole.number is None else Array(whole.number)
    if whole.axes + change < 0:
        return UNKNOWN
    return replace(whole, axes=whole.axes + change, weak=False)


def _left_out(context: Context, param: Param) -> bool:
    """Say whether every call of a function leaves a parameter at its default."""
    entries = context.flow.sites.entries(param.function)
    default = param.function.defaults.get(param.name)
    return bool(entries) and all(
        (given := context.flow.argument(entry, param.name)) is not None and given.value is default for entry in entries
    )


def made_by_jax(context: Context, value: Value | None, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value is an array of JAX for certain: a function of jax.numpy made it, or arithmetic with one.

    Args:
        context: the analysis.
        value: the value; None for none.
        scope: the scope that it was written in.
        depth: how many values this one was followed from.
    """
    if value is None or depth > _DEPTH:
        return False
    if isinstance(value, Unknown):
        node = value.node
        if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
            return False
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return False
        parts = (
            [node.left, node.right] if isinstance(node, ast.BinOp)
            else [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, *node.comparators]
        )  # fmt: skip
        if isinstance(node, ast.Compare) and any(
            isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops
        ):
            return False
        values = [scope.module.values.get(part) for part in parts]
        return gives_array(context, values, scope, lambda one: made_by_jax(context, one, scope, depth + 1))
    if isinstance(value, Item):
        if made_by_jax(context, value.base, scope, depth + 1):
            return True
        if not isinstance(value.base, Call) or not isinstance(value.index, Const):
            return False  # else a part of what a function gives
        if last(context.flow.calls.callee_name(context.flow.here(value.base, scope))) in _TUPLES:
            return True
    if isinstance(value, Call):
        name = context.flow.calls.callee_name(context.flow.here(value, scope))
        if name:
            home, _, word = name.rpartition(".")
            if name in OF_TREES:
                return bool(value.args) and made_by_jax(context, value.args[0], scope, depth + 1)
            if (word == "where" and len(value.args) < 3) or (word.startswith("atleast_") and len(value.args) > 1):
                return False  # several of them
            known = name in STAGED_RESULTS or name in _ALWAYS or (home == "jax.numpy" and word in _FILLED)
            return home in _SPACES and known and word not in _SEVERAL | _TUPLES
        if isinstance(value.callee, Attr) and value.callee.name in ARRAY_METHODS - {
            "get",
            "copy",
            "view",
            "add",
            "set",
        }:
            return made_by_jax(context, value.callee.base, scope, depth + 1)
    found = context.flow.resolve(context.flow.here(value, scope))
    if found.value is value:
        return False
    inner = found.frame.function.scope if found.frame is not None else None
    if inner is None and isinstance(found.value, Call | Unknown):
        inner = context.bodies.home(found.value.node) or scope.module.scope
    return inner is not None and made_by_jax(context, found.value, inner, depth + 1)


def _left(axes: int | None, given: tuple[Value, ...], call: Call) -> int | None:
    """Return how many axes are left by a sum or the like; ``given`` are the arguments behind the array."""
    if not given and not call.keywords:
        return 0
    names = {name for name, _ in call.keywords}
    axis = given[0] if given else call.keyword("axis")
    if len(given) > 1 or axis is None or not names <= {"axis", "dtype"} or axes is None or call.starred:
        return None
    node = call.node.args[-1] if given else next(k.value for k in call.node.keywords if k.arg == "axis")
    numbers = constant(node)
    if numbers is None:
        return 0 if axis == Const(None) else None
    count = 1 if type(numbers) is int else len(numbers) if isinstance(numbers, tuple | list) else axes + 1
    return axes - count if count <= axes else None


def _squeezed(axes: int | None, given: tuple[Value, ...], call: Call) -> int | None:
    """Return how many axes are left where those that are told are dropped; ``given`` are the arguments behind the
    array."""
    if axes is None or call.starred or len(given) + len(call.keywords) != 1:
        return None
    numbers = constant(call.node.args[-1] if given else call.node.keywords[0].value)
    count = 1 if type(numbers) is int else len(numbers) if isinstance(numbers, tuple | list) else axes + 1
    return axes - count if count <= axes else None


def _highest(numbers: list[int | None]) -> int | None:
    """Return the type that several are promoted to, or the axes of arrays that are joined; None if one is not known."""
    known = [n for n in numbers if n is not None]
    return max(known) if known and len(known) == len(numbers) else None


def same_kind(kinds: Iterable[Array]) -> Array:
    """Return the kind that all have, and ask no more of them once two differ: each may have as many again.

    Args:
        kinds: what each source gives, found when it is asked for.
    """
    found = _PENDING
    for kind in kinds:
        if kind == UNKNOWN or (_PENDING not in (kind, found) and kind != found):
            return UNKNOWN
        found = found if kind == _PENDING else kind
    return UNKNOWN if found == _PENDING else found


def _literal(value: object) -> Array:
    if isinstance(value, bool):
        return Array(BOOL, 0)
    if isinstance(value, int):
        return Array(INT, 0, weak=True)
    return Array(FLOAT, 0, weak=True) if isinstance(value, float) else UNKNOWN


#: What a loss of optax compares, by keyword: the predictions first.
COMPARED = ("logits", "predictions", "labels", "targets")


def _product(left: int | None, right: int | None) -> int | None:
    """Return how many axes a matrix product has."""
    if not left or not right:
        return None
    return max(left, right, 2) - (left == 1) - (right == 1)


def _reduced(word: str, number: int | None) -> int | None:
    if word in _COUNTING:
        return INT
    if word in {"mean", "std", "var", "median", "nanmean"}:
        return FLOAT
    return INT if number == BOOL and word in {"sum", "prod"} else number
