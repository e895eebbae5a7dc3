"""Whether parameters are kept in half precision, and where that is asked for."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.lint.exact_types import ExactTypes
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Comprehension,
    Const,
    Function,
    Item,
    Mapping,
    Ref,
    Sequence,
    Unknown,
)

_HALF = frozenset({"bfloat16", "float16"})
_FULL = frozenset({"float32", "float64"})
_DEPTH = 8
_SAME = frozenset(
    {"jax.device_put", "jax.lax.stop_gradient", "copy.deepcopy", "copy.copy", "flax.core.freeze", "flax.core.unfreeze",
     "jax.numpy.copy", "flax.nnx.state", "flax.nnx.clone", "flax.nnx.to_pure_dict", "builtins.dict",
     "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.unfreeze", "flax.nnx.split", "builtins.list"}
)  # fmt: skip
_INIT = frozenset({"init", "init_with_output"})

#: Where half precision is asked for.
Place = tuple[Scope, ast.AST]


class Kept:
    """Tells of parameters whether they are kept in half precision, and where that is asked for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._types = ExactTypes(context)
        self._classes: dict[ClassFacts, Place | None] = {}
        self._known: dict[tuple[Bound, int], Place | None] = {}

    def half(self, bound: Bound, depth: int = 0) -> Place | None:
        """Return where half precision is asked for; None if that is not so on all ways that are known."""
        if depth > _DEPTH:
            return None
        key = bound, depth
        if key not in self._known:
            self._known[key] = self._half(bound, depth)
        return self._known[key]

    def _half(self, bound: Bound, depth: int) -> Place | None:
        found: Place | None = None
        for source in self._context.sources.originals(bound):
            place = self._of(source, depth)
            if isinstance(place, bool):
                return None
            found = found or place
        return found

    def _of(self, source: Bound, depth: int) -> Place | bool | None:
        """Return the place, False for what is kept in another precision, None if nothing is known."""
        value, with_value = source.value, self._context.flow.with_value
        if isinstance(value, Item | Indexed | Round):
            return self.half(with_value(source, value.base), depth + 1)
        if isinstance(value, Attr):
            return self.half(with_value(source, value.base), depth + 1) if value.name == "params" else None
        if isinstance(value, Mapping | Sequence | Changed):
            parts = self._context.flow.containers.elements(source)
            return next((place for part in parts if (place := self.half(part, depth + 1))), None)
        if isinstance(value, Comprehension):
            return self.half(with_value(source, value.element), depth + 1)
        if isinstance(value, Call):
            return self._call(source, value, depth)
        return self._typed(source) if isinstance(value, Unknown) else None

    def _call(self, source: Bound, value: Call, depth: int) -> Place | bool | None:
        context = self._context
        name = context.flow.calls.callee_name(source)
        if name in TREE_MAPS and len(value.args) > 1:
            return self._mapped(source, value, depth)
        if name in _SAME and value.args:
            return self.half(context.flow.with_value(source, value.args[0]), depth + 1)
        if name.startswith(("flax.linen.", "flax.nnx.")):
            return self._layer(value, source)
        if name:
            return self._typed(source) if name.startswith("jax.") else None
        cls = context.flow.classes.class_of(source)
        if cls is not None:
            return self._class(cls, 0)
        callee = context.flow.follow(source, value.callee)
        if isinstance(callee.value, Call) and callee.value.args:  # jax.jit(model.init)(...)
            callee = context.flow.with_value(callee, callee.value.args[0])
        if isinstance(callee.value, Attr) and callee.value.name in _INIT:
            return self.half(context.flow.with_value(callee, callee.value.base), depth + 1)
        return self._typed(source)

    def _typed(self, source: Bound) -> Place | bool | None:
        """Return the place of an array whose type is known."""
        kind = self._types.bound(source)
        node = getattr(source.value, "node", None)
        if kind not in _HALF or not isinstance(node, ast.AST):
            return False if kind in _FULL else None
        return self._at(node)

    def _at(self, node: ast.AST) -> Place | None:
        home = self._context.bodies.home(node) or self._context.bodies.module_scope(node)
        return (home, node) if home is not None else None

    def _mapped(self, source: Bound, value: Call, depth: int) -> Place | bool | None:
        """Return the place of what ``jax.tree.map(f, params)`` gives."""
        mapped = self._context.flow.follow(source, value.args[0]).value
        cast = cast_to(mapped.facts) if isinstance(mapped, Function) else ""
        if cast in _FULL:
            return False
        if cast in _HALF:
            return self._at(value.node)
        inner = self.half(self._context.flow.with_value(source, value.args[1]), depth + 1)
        copied = isinstance(mapped, Ref) and last(mapped.name) in {"copy", "array", "asarray"}
        return (self._at(value.node) or inner) if inner is not None and copied else inner

    def _layer(self, value: Call, source: Bound) -> Place | bool | None:
        """Return the place of a layer of Flax that is told in what to keep its parameters."""
        given = value.keyword("param_dtype")
        if given is None:
            return None
        if self._is_half(self._context.flow.with_value(source, given)):
            return self._at(value.node)
        return False

    def _is_half(self, bound: Bound) -> bool:
        """Say whether a type is half precision, as the text says it."""
        found = self._context.sources.originals(bound)
        return bool(found) and all(
            (isinstance(one.value, Ref) and last(one.value.name) in _HALF)
            or (isinstance(one.value, Const) and one.value.value in _HALF)
            for one in found
        )

    def _class(self, cls: ClassFacts, depth: int) -> Place | None:
        """Return where a class makes layers or parameters of half precision."""
        if cls not in self._classes:
            self._classes[cls] = None
            self._classes[cls] = self._inside(cls, depth)
        return self._classes[cls]

    def _inside(self, cls: ClassFacts, depth: int) -> Place | None:
        values, flow = cls.scope.module.values, self._context.flow
        for node in ast.walk(cls.node):
            if not isinstance(node, ast.Call) or (home := self._context.bodies.home(node)) is None:
                continue
            asked = keyword(node, "param_dtype")
            given = values.get(asked) if asked is not None else None
            if given is not None and self._is_half(flow.here(given, home)):
                return home, asked if asked is not None else node
            call = values.get(node)
            if not isinstance(call, Call):
                continue
            bound = flow.here(call, home)
            name = flow.calls.callee_name(bound)
            if name == "flax.nnx.Param" and node.args and self._types.node(node.args[0], home) in _HALF:
                return home, node
            callee = flow.follow(bound, call.callee)
            if isinstance(callee.value, Call) and last(flow.calls.callee_name(callee)) == "partial":
                place = self._layer(callee.value, callee)
                if isinstance(place, tuple):
                    return place
            inner = flow.classes.class_of(bound) if asked is None and not name else None
            if inner is not None and inner is not cls and depth < _DEPTH and (found := self._class(inner, depth + 1)):
                return found
        return None


def cast_to(function: FunctionFacts) -> str:
    """Return to what type a function casts its argument: ``lambda p: p.astype(jnp.bfloat16)``."""
    found = {
        word
        for node in ast.walk(function.node)
        if isinstance(node, ast.Call) and last_word(node.func) in {"astype", "asarray", "array", "convert_element_type"}
        for one in (*node.args, *(k.value for k in node.keywords))
        if (word := str(constant(one) or last_word(one))) in _HALF | _FULL
    }
    return found.pop() if len(found) == 1 else ""
