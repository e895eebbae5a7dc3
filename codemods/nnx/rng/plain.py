"""Values that hold no random stream: arrays, numbers, results of layers."""

from __future__ import annotations

import ast

from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.patterns import pattern
from codemods.nnx.rng.chains import chain
from codemods.nnx.values import Attr, Call, Const, Function, Item, Param, Ref, Sequence, Unknown

_ARRAYS = pattern(r"(^|\.)(Array|ndarray|ArrayLike|int|float|bool|str|Shaped|Float|Int|Bool|Num|ShapeDtypeStruct)$")


class Plain:
    """Tells plain data from objects."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow

    def data(self, source: Bound, depth: int = 0) -> bool:
        """Say whether a value is an array, a number or the like, which holds no stream."""
        value = source.value
        if depth > 8:
            return False
        if isinstance(value, Const | Function):
            return True
        if isinstance(value, Unknown):
            return isinstance(value.node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.JoinedStr)
        if isinstance(value, Param):
            return self._annotated_data(value)
        if isinstance(value, Sequence):
            return all(self.data(self.flow.follow(source, item), depth + 1) for item in value.items)
        if isinstance(value, Indexed | Item | Round | Attr):
            if isinstance(value, Attr) and value.name in {"value", "shape", "dtype"}:
                return True
            return self.data(self.flow.follow(source, value.base), depth + 1)
        if isinstance(value, Call):
            return self._data_call(source, value, depth)
        return False

    def _data_call(self, source: Bound, value: Call, depth: int) -> bool:
        callee = self.flow.follow(source, value.callee)
        inner = callee.value
        if isinstance(inner, Ref):
            name, _, last = inner.name.rpartition(".")
            if name == "flax.nnx":
                return last.islower() and last not in {"merge", "clone", "bridge", "split", "state"}
            return inner.name.startswith(("jax.", "numpy.", "optax.", "math.", "time.", "os.", "builtins."))
        if isinstance(inner, Attr):
            return self.data(self.flow.follow(callee, inner.base), depth + 1)
        name = self.flow.calls.callee_name(callee)
        if name.startswith("flax.nnx.") and name.rpartition(".")[2][:1].isupper():
            return True  # the result of calling a layer
        steps, _ = chain(self.flow, callee)
        return bool(steps) and steps[0].name.endswith("grad")

    def _annotated_data(self, param: Param) -> bool:
        node = param.function.annotations.get(param.name)
        outer = param.function.scope.parent
        if node is None or outer is None:
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return bool(_ARRAYS.search(node.value))
        names = [b.value.name for b in self.flow.classes.named(node, outer) if isinstance(b.value, Ref)]
        return bool(names) and all(_ARRAYS.search(name) for name in names)
