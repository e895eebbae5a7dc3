"""Uses of compiled functions other than calls, which take what an earlier call has traced; part of NNX807."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import written
from codemods.nnx.nodes import last_word

_METHODS = frozenset({"lower", "trace", "eval_shape"})
_FUNCTIONS = frozenset({"jax.export.export", "jax.experimental.export.export", "jax.make_jaxpr"})
_WORDS = (b"export", b"make_jaxpr", b".lower(", b".trace(", b".eval_shape(")


def looked_into(context: Context, scope: Scope, names: set[str], calls: list[ast.Call]) -> list[ast.Call]:
    """Return the places that export, lower or trace a compiled function for arguments that it was called with before.

    What is traced for other shapes is traced anew, with what its variables hold then.

    Args:
        context: the analysis.
        scope: the body.
        names: the names of the function.
        calls: its calls in the body.
    """
    source = scope.module.source
    if not calls or not any(map(source.mentions, _WORDS)):
        return []
    events = context.bodies.calls.get(scope, ())
    known = {event.node for event in events if context.flow.calls.name(event) in _FUNCTIONS}
    found: list[ast.Call] = []
    for event in events:
        func = event.node.func
        held: ast.expr | None = None
        if isinstance(func, ast.Attribute) and func.attr in _METHODS:
            held = func.value
        elif isinstance(func, ast.Call) and func in known and func.args:
            held = func.args[0]
        if isinstance(held, ast.Name) and held.id in names and not event.value.starred:
            before = (call for call in calls if call.lineno < event.node.lineno)
            if any(_alike(context, event.node, call, scope) for call in before):
                found.append(event.node)
    return found


def _alike(context: Context, use: ast.Call, call: ast.Call, scope: Scope) -> bool:
    """Say whether a use names the same arguments as a call, or their shapes."""
    if use.keywords or call.keywords or len(use.args) != len(call.args) or not use.args:
        return False
    return all(_same(context, one, other, scope) for one, other in zip(use.args, call.args, strict=True))


def _same(context: Context, one: ast.expr, other: ast.expr, scope: Scope) -> bool:
    if ast.dump(one) == ast.dump(other):
        return True
    one = written(context, one, scope)
    if not isinstance(one, ast.Call) or last_word(one.func) != "ShapeDtypeStruct" or not one.args:
        return False
    shape = one.args[0]
    if isinstance(shape, ast.Attribute) and shape.attr == "shape":
        return ast.dump(shape.value) == ast.dump(other)
    made = written(context, other, scope)
    if not isinstance(shape, ast.Tuple):
        return False
    one_axis = shape.elts[0] if len(shape.elts) == 1 else None
    if one_axis is not None and isinstance(made, ast.Call) and last_word(made.func) in {"ones", "zeros", "arange"}:
        return len(made.args) == 1 and ast.dump(made.args[0]) == ast.dump(one_axis)
    return any(ast.dump(n) == ast.dump(shape) for n in ast.walk(made))
