"""Attributes under names that code puts together, as ``getattr(self, f"layer_{i}")`` takes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.values import Call, Const, Free, Param, Ref, Unknown, Value

_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[a-z]")
_FIELD = re.compile(r"\{[^{}]*\}")


def taken(context: Context, call: Bound) -> list[Bound]:
    """Return what the attributes of ``self`` hold of which a call of ``getattr`` may give one; none if not known."""
    value = call.value
    if not isinstance(value, Call) or len(value.args) < 2 or value.starred:
        return []
    target = value.args[0]
    if not isinstance(target, Param) or target is not target.function.self_param or target.function.owner is None:
        return []
    if context.flow.calls.callee_name(call) != "builtins.getattr":
        return []
    name = context.flow.with_value(call, value.args[1])
    shape = _shape(context, name) or "|".join(map(re.escape, _texts(context, name)))
    return list(_held(context, target.function.owner, re.compile(shape, re.DOTALL))) if shape else []


def _held(context: Context, owner: ClassFacts, shape: re.Pattern[str]) -> Iterator[Bound]:
    flow = context.flow
    classes = flow.classes.mro(owner)[0]
    for cls in classes:
        for word, stores in cls.stores.items():
            if shape.fullmatch(word):
                yield from (flow.here(stored, method.scope) for method, stored in stores)
    for event in context.bodies.named("setattr"):
        call = event.value
        if not isinstance(call.callee, Ref | Free) or len(call.args) != 3 or call.starred:
            continue
        target, name, stored = call.args
        if not isinstance(target, Param) or target is not target.function.self_param:
            continue
        if target.function.owner in classes and _matches(context, name, event.scope, shape):
            yield flow.here(stored, event.scope)


def _matches(context: Context, name: Value, scope: Scope, shape: re.Pattern[str]) -> bool:
    bound = context.flow.here(name, scope)
    if any(shape.fullmatch(text) for text in _texts(context, bound)):
        return True
    return _shape(context, bound) == shape.pattern


def _texts(context: Context, name: Bound) -> list[str]:
    """Return the texts that a value may be, if all are known."""
    found = [one.value for one in context.sources.of(name)]
    texts = [one.value for one in found if isinstance(one, Const) and isinstance(one.value, str)]
    return sorted(texts) if len(texts) == len(found) else []


def _shape(context: Context, name: Bound) -> str:
    """Return a pattern of the texts that an expression puts together; empty if it says nothing of them."""
    value = context.flow.resolve(name).value
    node = value.node if isinstance(value, Unknown | Call) else None
    parts = list(_parts(node)) if isinstance(node, ast.expr) else []
    if not any(part is not None and part.isidentifier() for part in parts):
        return ""
    return "".join(".*" if part is None else re.escape(part) for part in parts)


def _parts(node: ast.expr) -> Iterator[str | None]:
    """Yield the parts of a text, None for one that is not known."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        for part in node.values:
            yield from _parts(part)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _parts(node.left)
        yield from _parts(node.right)
    else:
        text, gap = _template(node)
        if gap is None:
            yield None
            return
        pieces = gap.split(text)
        for index, piece in enumerate(pieces):
            if index:
                yield None
            if piece:
                yield piece


def _template(node: ast.expr) -> tuple[str, re.Pattern[str] | None]:
    """Return the template that ``"layer_%d" % i`` or ``"layer_{}".format(i)`` fills, with what its gaps look like."""
    filled: ast.expr | None = None
    gap = _FIELD
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        filled, gap = node.left, _CONVERSION
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        filled = node.func.value
    if isinstance(filled, ast.Constant) and isinstance(filled.value, str):
        return filled.value, gap
    return "", None
