"""Which layers code means that asks for them by name, by type, or in a walk over a model."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.values import Call, Const, Ref

_CONSTRUCTORS = frozenset({"__init__", "setup", "__post_init__"})


def got_by_name(context: Context, base: Bound) -> list[Bound] | None:
    """Return what ``getattr(model, name)`` may give, if the model's class and all names are known.

    Args:
        context: the analysis.
        base: the value.

    Returns:
        What the constructors store under the names; under all names that one gets a layer where the name is computed.
        None if the value is no such call, or something is not known.
    """
    value = base.value
    if not isinstance(value, Call) or len(value.args) != 2 or value.starred:
        return None
    if context.flow.calls.callee_name(base) != "builtins.getattr":
        return None
    owners = {
        context.flow.classes.class_of(one)
        for one in context.sources.originals(context.flow.with_value(base, value.args[0]))
    }
    words = [one.value for one in context.sources.originals(context.flow.with_value(base, value.args[1]))]
    names = [word.value for word in words if isinstance(word, Const) and isinstance(word.value, str)]
    found: list[Bound] = []
    for cls in owners:
        if cls is None or "flax.nnx.Module" not in context.flow.classes.mro(cls)[1]:
            return None
        if names and len(names) == len(words):
            for name in names:
                stores = _stored(context, cls, name)
                if not stores:
                    return None
                found += stores
        else:
            found += [one for name in _fields(context, cls) for one in _stored(context, cls, name)]
    return found or None


def _fields(context: Context, cls: ClassFacts) -> list[str]:
    return sorted({name for parent in context.flow.classes.mro(cls)[0] for name in parent.stores})


def _stored(context: Context, cls: ClassFacts, name: str) -> list[Bound]:
    return [
        context.flow.resolve(Bound(value, context.flow.open_frame(method.scope)))
        for parent in context.flow.classes.mro(cls)[0]
        for method, value in parent.stores.get(name, ())
        if method.name in _CONSTRUCTORS
    ]


def asked_types(context: Context, node: ast.expr, at: ast.AST, scope: Scope) -> set[str]:
    """Return the library's classes one of which a variable is an instance of, as a condition around a place says.

    Args:
        context: the analysis.
        node: the variable.
        at: the place.
        scope: the body that they stand in.
    """
    if not isinstance(node, ast.Name):
        return set()
    for block, arm in context.bodies.paths(scope).get(at, ()):
        if not isinstance(block, ast.If) or arm != "body":
            continue
        tests = block.test.values if isinstance(block.test, ast.BoolOp) else [block.test]
        if isinstance(block.test, ast.BoolOp) and isinstance(block.test.op, ast.Or):
            continue
        for test in tests:
            if not isinstance(test, ast.Call) or len(test.args) != 2 or not isinstance(test.func, ast.Name):
                continue
            asked = test.args[0]
            if test.func.id != "isinstance" or not isinstance(asked, ast.Name) or asked.id != node.id:
                continue
            kinds = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
            values = [scope.module.values.get(kind) for kind in kinds]
            names = [context.flow.resolve(context.flow.here(v, scope)).value for v in values if v is not None]
            if names and len(names) == len(kinds) and all(isinstance(one, Ref) for one in names):
                return {one.name for one in names if isinstance(one, Ref)}
    return set()
