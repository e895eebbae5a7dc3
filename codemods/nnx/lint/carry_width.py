"""First carries in half precision that a round makes wider, and those that it makes narrower; part of NNX865."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.exact_types import ExactTypes
from codemods.nnx.lint.loop_bodies import Body
from codemods.nnx.lint.made_records import changed_fields, record_fields
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Mapping, Param, Sequence, Star, Unknown, Value

_HALF = frozenset({"bfloat16", "float16"})
_WHOLE = frozenset({"float32", "float64", "float", "float_"})
# what makes float32 without a type, with how many positional arguments it has no type
_MAKING = {"jax.numpy.zeros": 1, "jax.numpy.ones": 1, "jax.numpy.empty": 1, "jax.numpy.eye": 1, "jax.numpy.linspace": 3,
           "jax.random.normal": 2, "jax.random.uniform": 2, "jax.random.truncated_normal": 4, "jax.random.gumbel": 2,
           "jax.random.orthogonal": 3, "jax.random.laplace": 2, "jax.random.exponential": 2,
           "numpy.zeros": 1, "numpy.ones": 1, "numpy.eye": 1, "numpy.linspace": 3}  # fmt: skip
_SCALARS = frozenset({"jax.numpy.float32", "numpy.float32", "jax.numpy.float64", "numpy.float64"})
_KEEPING = frozenset(
    {"tanh", "exp", "log", "sqrt", "sin", "cos", "abs", "square", "negative", "sum", "mean", "max", "min", "reshape",
     "ravel", "flatten", "transpose", "squeeze", "expand_dims", "swapaxes", "relu", "sigmoid", "softplus", "silu",
     "gelu", "swish", "softmax", "log_softmax", "elu", "log1p", "expm1", "copy", "cumsum", "flip", "roll", "clip"}
)  # fmt: skip
_JOINING = frozenset({"dot", "matmul", "einsum", "maximum", "minimum", "add", "subtract", "multiply", "divide", "where",
                      "concatenate", "stack", "hstack", "vstack", "outer", "tensordot", "power"})  # fmt: skip
_LAYERS = frozenset(
    f"flax.nnx.{name}" for name in ("Linear", "LinearGeneral", "Einsum", "Conv", "LayerNorm", "RMSNorm")
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow)
_DEPTH = 20


def other_width(context: Context, body: Body, init: Bound, value: Value) -> str:
    """Return how wide the numbers of a carry are before and after a round, if that is known to differ.

    Args:
        context: the analysis.
        body: the body of the loop.
        init: the first carry.
        value: what the body returns for it.
    """
    if not context.shared(_of_half) or context.shared(_casting):
        return ""
    scope = body.function.scope
    types, wide = ExactTypes(context), _Wide(context, *_slices(body))
    for before, after, where in _parts(context, init, value, scope):
        kind = types.bound(before)
        if kind in _HALF and wide.of(after, scope):
            return f"{kind} before, float32 after{where}"
        if (kind == "float32" or wide.bound(before)) and (left := types.of(after, scope)) in _HALF:
            return f"float32 before, {left} after{where}"
    return ""


def _slices(body: Body) -> tuple[Param, Value, Scope] | tuple[()]:
    """Return the parameter of the body of a scan that gets slices of arrays, and these; nothing for another loop."""
    if last(body.loop) != "scan" or body.free is None or len(body.free) != 2 or body.event.value.starred:
        return ()
    arrays = body.event.value.argument(2, "xs")
    if body.loop != "jax.lax.scan" or arrays is None:
        return ()
    return body.function.params[body.free[1]], arrays, body.event.scope


def _of_half(context: Context) -> bool:
    return any(module.source.mentions(b"float16") for module in context.project.modules)


def _casting(context: Context) -> bool:
    """Say whether whole trees may be cast to another type, which is not seen in what their leaves were made as."""
    if any(module.source.matches(_CAST) for module in context.project.modules):
        return True
    for event in context.bodies.named(*(last(name) for name in TREE_MAPS)):
        given = event.value.argument(0, "f")
        called = context.flow.calls.callables(context.flow.here(given, event.scope)) if given is not None else []
        texts = [one.function.scope.module.source.text(one.function.node) for one in called]
        if given is not None and _TYPES.search(" ".join([ast.unparse(event.node), *texts])):
            return True
    return False


_CAST = pattern(rb"(?<!broad)cast(?!ing)|half_precision|mixed_precision|\bjmp\b")
_TYPES = pattern("astype|dtype|asarray|array|float|half|convert|quant")


def _parts(context: Context, init: Bound, value: Value, scope: Scope) -> Iterator[tuple[Bound, Value, str]]:
    """Yield the parts of a first carry with those of a result, and the words for where they stand."""
    before = init.value
    if isinstance(before, Sequence) and isinstance(value, Sequence):
        if len(before.items) == len(value.items):
            for place, (one, two) in enumerate(zip(before.items, value.items, strict=True)):
                yield context.flow.follow(init, one), two, f" (part {place + 1})"
    elif isinstance(before, Mapping) and isinstance(value, Mapping):
        entries = {key.value: item for key, item in value.items if isinstance(key, Const)}
        for key, item in before.items:
            if isinstance(key, Const) and key.value in entries:
                yield context.flow.follow(init, item), entries[key.value], f" (entry {key.value!r})"
    elif isinstance(before, Call) and (fields := record_fields(context, init)):
        held = changed_fields(context, init, value, scope)
        for place, name in enumerate(fields):
            if name in held and (first := before.argument(place, name)) is not None:
                yield context.flow.follow(init, first), held[name], f" (field `{name}`)"
    elif not isinstance(before, Sequence | Mapping) and not isinstance(value, Sequence | Mapping):
        yield init, value, ""


class _Wide:
    """Tells whether arrays certainly hold numbers of float32 at least, which give way to no other floats."""

    def __init__(
        self, context: Context, sliced: Param | None = None, arrays: Value | None = None, scope: Scope | None = None
    ) -> None:
        self._context = context
        self._asked: set[Value] = set()
        self._sliced = sliced
        self._arrays = arrays
        self._outside = scope

    def of(self, value: Value | None, scope: Scope, depth: int = 0) -> bool:
        """Say so of a value of a scope."""
        if value is None or depth > _DEPTH or value in self._asked:
            return False
        if isinstance(value, Unknown):
            return self._node(value.node, scope, depth)
        if isinstance(value, Param | Item | Attr) and (whole := self._whole(value)) is not None:
            return self.of(*whole, depth + 1)
        if isinstance(value, Call):
            name = self._context.flow.calls.callee_name(self._context.flow.here(value, scope))
            found = self._call(value, name, scope, depth)
            if found or name:
                return found
        if isinstance(value, Attr) and value.name == "T":
            return self.of(value.base, scope, depth + 1)
        self._asked.add(value)
        try:
            sources = list(self._context.sources.originals(self._context.flow.here(value, scope)))
            return bool(sources) and all(one.value is not value and self.bound(one, depth + 1) for one in sources)
        finally:
            self._asked.discard(value)

    def _whole(self, value: Value) -> tuple[Value, Scope] | None:
        """Return the array whose slice a part of a parameter is, with its scope; None if it is no slice, or unknown."""
        if self._outside is None or self._arrays is None:
            return None
        if value is self._sliced:
            return self._arrays, self._outside
        around = self._whole(value.base) if isinstance(value, Item | Attr) else None
        if around is None:
            return None
        found = self._context.flow.resolve(self._context.flow.here(*around))
        made, key = found.value, value.index if isinstance(value, Item) else Const(getattr(value, "name", ""))
        home = around[1] if made is around[0] else found.frame.function.scope if found.frame is not None else None
        if home is None or not isinstance(key, Const) or (isinstance(value, Attr) and not isinstance(made, Call)):
            return None
        part: Value | None = None
        if isinstance(made, Sequence):
            starred = any(isinstance(one, Star) for one in made.items)
            place = key.value if type(key.value) is int and not starred else len(made.items)
            part = made.items[place] if -len(made.items) <= place < len(made.items) else None
        elif isinstance(made, Mapping):
            part = next((one for k, one in made.items if isinstance(k, Const) and k.value == key.value), None)
        elif isinstance(made, Call):
            fields: list[object] = [*record_fields(self._context, found)]
            field = fields.index(key.value) if key.value in fields else key.value
            if type(field) is int and 0 <= field < len(fields):
                part = made.argument(field, str(fields[field]))
        return (part, home) if part is not None else None

    def bound(self, bound: Bound, depth: int = 0) -> bool:
        """Say so of a value in an activation."""
        value = bound.value
        if isinstance(value, Indexed | Round):
            inner = self._context.flow.with_value(bound, value.base)
            return isinstance(inner.value, Call | Unknown) and self.bound(inner, depth + 1)
        if not isinstance(value, Call | Unknown):
            return False
        home = bound.frame.function.scope if bound.frame is not None else self._context.bodies.home(value.node)
        if home is None and isinstance(value, Unknown):
            home = self._context.bodies.module_scope(value.node)
        return home is not None and self.of(value, home, depth + 1)

    def _node(self, node: ast.AST, scope: Scope, depth: int) -> bool:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._part(node.operand, scope, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            return self._part(node.left, scope, depth) or self._part(node.right, scope, depth)
        return False

    def _part(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        value = scope.module.values.get(node)
        if value is None or (isinstance(value, Unknown) and value.node is node):
            return depth <= _DEPTH and self._node(node, scope, depth + 1)
        return self.of(value, scope, depth + 1)

    def _call(self, value: Call, name: str, scope: Scope, depth: int) -> bool:
        given = value.keyword("dtype") or value.keyword("preferred_element_type")
        if value.starred:
            return False
        if isinstance(value.callee, Call):
            return self._initialized(value, value.callee, given, scope)
        if not name:
            return self._method(value, scope, depth)
        if name in _SCALARS:
            return bool(value.args)
        if name in _MAKING:
            if given is None and len(value.args) == _MAKING[name] + 1 and not name.endswith(("linspace", "eye")):
                given = value.args[-1]
            return self._named(given, scope) if given is not None else len(value.args) <= _MAKING[name]
        if name == "jax.numpy.array":
            return self._named(given, scope) if given is not None else _literal(value) and len(value.args) == 1
        home, _, word = name.rpartition(".")
        if given is not None or home not in {"jax.numpy", "jax.nn", "flax.nnx"}:
            return False
        if word in _KEEPING:
            return bool(value.args) and self.of(value.args[0], scope, depth + 1)
        if word in _JOINING:
            args = value.args[1:] if word in {"where", "einsum"} else value.args
            parts = [one for arg in args for one in (arg.items if isinstance(arg, Sequence) else (arg,))]
            return any(self.of(one, scope, depth + 1) for one in parts)
        return False

    def _initialized(self, value: Call, maker: Call, given: Value | None, scope: Scope) -> bool:
        """Say so of what an initializer of JAX gives."""
        name = self._context.flow.calls.callee_name(self._context.flow.here(maker, scope))
        if not name.startswith(("jax.nn.initializers.", "flax.nnx.initializers.")):
            return False
        if name.endswith((".constant", ".zeros", ".ones")) or maker.keyword("dtype") is not None or len(maker.args) > 1:
            return False
        return self._named(given, scope) if given is not None else len(value.args) == 2

    def _method(self, value: Call, scope: Scope, depth: int) -> bool:
        callee = value.callee
        if isinstance(callee, Attr):
            if callee.name == "astype":
                return bool(value.args) and self._named(value.args[0], scope)
            if callee.name in _KEEPING and value.keyword("dtype") is None and self.of(callee.base, scope, depth + 1):
                return True
        sources = list(self._context.sources.originals(self._context.flow.here(callee, scope)))
        return bool(sources) and all(self._layer(one) for one in sources)

    def _layer(self, made: Bound) -> bool:
        """Say whether a layer computes with its Params of float32."""
        value = made.value
        return (
            isinstance(value, Call)
            and self._context.flow.calls.callee_name(made) in _LAYERS
            and not {"dtype", "param_dtype", "promote_dtype"} & {name for name, _ in value.keywords}
            and not any(name is None for name, _ in value.keywords)
            and len(value.args) <= 2
        )

    def _named(self, value: Value, scope: Scope) -> bool:
        found = self._context.flow.resolve(self._context.flow.here(value, scope)).value
        name = found.value if isinstance(found, Const) else getattr(found, "name", "")
        return last(str(name)) in _WHOLE


def _literal(value: Call) -> bool:
    """Say whether an array is made of floats that are written there."""
    node = value.node.args[0] if value.node.args else None
    return node is not None and any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in _numbers(node))


def _numbers(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.List | ast.Tuple):
        for one in node.elts:
            yield from _numbers(one)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    else:
        yield node
