"""What is an array of JAX for certain, through functions, loops and arguments."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed, Part
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.names import ARRAY_METHODS, BATCHING, COMPILING, JITS
from codemods.nnx.lint.operands import gives_array
from codemods.nnx.lint.status import Grade
from codemods.nnx.values import Attr, Call, Changed, Choice, Const, Item, Loop, Param, Unknown, Value

_DEPTH = 24
_PARTS = frozenset({"T", "mT", "real", "imag"})  # attributes of arrays that are arrays


def array_for_certain(context: Context, value: Value, bound: Bound) -> bool:
    """Say whether a value is an array of JAX on every way.

    Args:
        context: the analysis.
        value: the value.
        bound: any value of the same activation.
    """
    asked = _Certain(context)
    return asked.holds(context.flow.with_value(bound, value), 0) and asked.made


class _Certain:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._asked: set[Bound] = set()
        self.made = False  # whether something makes an array: a function that only calls itself tells nothing

    def holds(self, bound: Bound, depth: int) -> bool:
        """Say whether a value is an array of JAX; what is asked about already is one if the rest is."""
        if depth > _DEPTH:
            return False
        if bound in self._asked:
            return True
        self._asked.add(bound)
        try:
            return self._is(bound, depth + 1)
        finally:
            self._asked.discard(bound)

    def _is(self, bound: Bound, depth: int) -> bool:
        flow = self._context.flow
        value = bound.value
        if isinstance(value, Changed):
            return isinstance(value.node, ast.Subscript) and self.holds(flow.with_value(bound, value.before), depth)
        if isinstance(value, Loop):
            ways = [value.before, *([] if value.again is None else [value.again])]
            if value.again is None or not self._made(bound, value.before, depth):
                return False
            return all(self.holds(flow.with_value(bound, way), depth) for way in ways)
        if isinstance(value, Choice):
            return all(self.holds(flow.with_value(bound, way), depth) for way in value.options)
        if isinstance(value, Unknown):
            return self._operation(bound, value.node, depth)
        if isinstance(value, Item | Indexed):
            return (
                self.holds(flow.with_value(bound, value.base), depth)
                if self._one(value)
                else self._further(bound, depth)
            )
        if isinstance(value, Attr):
            if value.name in _PARTS:
                return self.holds(flow.with_value(bound, value.base), depth)
            return self._field(value, depth) or self._further(bound, depth)
        if isinstance(value, Call):
            return self._call(bound, value, depth)
        return self._further(bound, depth)

    def _made(self, bound: Bound, before: Value, depth: int) -> bool:
        """Say whether something makes what a loop begins with: nothing is known of a circle."""
        return self.holds(self._context.flow.with_value(bound, before), depth)

    @staticmethod
    def _one(value: Item | Indexed) -> bool:
        index = value.index.value if isinstance(value, Indexed) else value.index
        return not (isinstance(index, Const) and isinstance(index.value, str))

    def _further(self, bound: Bound, depth: int) -> bool:
        """Go on with what a value resolves to, or with what all calls give for a parameter."""
        flow = self._context.flow
        found = flow.resolve(bound)
        if isinstance(found.value, Part):
            return False
        if found != bound:
            return self.holds(found, depth)
        value = found.value
        if not isinstance(value, Param) or value is value.function.self_param or value.function in self._context.traced:
            return False
        if found.frame is None or found.frame.site is not None:
            return False
        given = [flow.argument(entry, value.name) for entry in flow.sites.entries(value.function)]
        return bool(given) and all(one is not None and self.holds(one, depth) for one in given)

    def _field(self, value: Attr, depth: int) -> bool:
        """Say whether an attribute of ``self`` is given arrays only, in all methods and from nowhere else."""
        base, flow = value.base, self._context.flow
        if not isinstance(base, Param) or base is not base.function.self_param or base.function.owner is None:
            return False
        owner = base.function.owner
        stores = [store for cls in flow.classes.mro(owner)[0] for store in cls.stores.get(value.name, ())]
        if not stores or flow.fields.stores_from_outside(owner, value.name):
            return False
        made = [stored for method, stored in stores if method.name == "__init__"]
        return bool(made) and all(self.holds(flow.here(stored, method.scope), depth) for method, stored in stores)

    def _operation(self, bound: Bound, node: ast.AST, depth: int) -> bool:
        """Say whether an operation has an array among its operands."""
        if isinstance(node, ast.BinOp):
            parts = [node.left, node.right]
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            parts = [node.operand]
        elif isinstance(node, ast.Compare) and not any(
            isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops
        ):
            parts = [node.left, *node.comparators]
        else:
            return False
        home = bound.frame.function.scope if bound.frame is not None else self._context.bodies.home(node)
        if home is None:
            return False
        values = [home.module.values.get(part) for part in parts]
        return gives_array(
            self._context,
            values,
            home,
            lambda one: one is not None and self.holds(self._context.flow.with_value(bound, one), depth),
        )

    def _call(self, bound: Bound, value: Call, depth: int) -> bool:
        context, flow = self._context, self._context.flow
        if flow.calls.callee_name(bound):
            home = bound.frame.function.scope if bound.frame is not None else context.bodies.home(value.node)
            new = home is not None and made_by_jax(context, value, home)
            self.made = self.made or new
            return new
        callee = value.callee
        if isinstance(callee, Attr):
            base = callee.base
            if callee.name in {"set", "add", "multiply", "mul", "divide", "power", "min", "max", "get", "apply"}:
                inner = base.base if isinstance(base, Item) else base
                if isinstance(inner, Attr) and inner.name == "at":
                    return self.holds(flow.with_value(bound, inner.base), depth)
            if callee.name in ARRAY_METHODS - {"get", "set", "add", "view"} and not flow.calls.invoked(bound):
                return self.holds(flow.with_value(bound, base), depth)
        made = flow.follow(bound, callee)
        if isinstance(made.value, Call) and flow.calls.callee_name(made) == "jax.grad" and value.args:
            numbers = made.value.keyword("argnums") or made.value.keyword("has_aux")
            if numbers is None and len(made.value.args) == 1:
                return self.holds(flow.with_value(bound, value.args[0]), depth)
        compiled = self._compiled(bound)
        self.made = self.made or bool(compiled)
        return compiled if compiled is not None else self._further(bound, depth)

    def _compiled(self, bound: Bound) -> bool | None:
        """Say whether a call runs compiled code that gives one array; None if it runs none."""
        context = self._context
        reached = context.flow.calls.invoked(bound)
        assert isinstance(bound.value, Call)
        for callee, _ in reached:
            tracing = context.traced.get(callee.function)
            if tracing is None:
                continue
            made = context.flow.follow(bound, bound.value.callee)
            wrapped = (
                isinstance(made.value, Call)
                and context.flow.calls.wrapper_name(made, made.value) in JITS | BATCHING | BATCHING
            )
            if callee.gradient or not (wrapped or any(r.decorator and r.transform in COMPILING for r in tracing.roots)):
                return False if callee.gradient else None
            returns = callee.function.returns
            scope = callee.function.scope
            return bool(returns) and all(
                bool(found := context.taint.statuses(one, scope)) and all(s.grade is Grade.ARRAY for s in found)
                for one in returns
            )
        return None
