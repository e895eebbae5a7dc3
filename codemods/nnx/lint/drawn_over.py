"""Draws of a helper that go into fields alone which are replaced at once; part of NNX830."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.lint.keys import Use
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Class

_REPLACING = frozenset({"replace", "_replace"})


def drawn_over(context: Context, use: Use) -> bool:
    """Say whether other values take the place of all that a helper draws: ``replace(make(key), nodes=nodes)``.

    Args:
        context: the analysis.
        use: the call of the helper, with its key.
    """
    call = use.event.node
    replaced: set[str | None] = set()
    for node in ast.walk(use.event.statement) if use.helper else ():
        if isinstance(node, ast.Call) and last_word(node.func) in _REPLACING:
            held = node.func.value if isinstance(node.func, ast.Attribute) else None
            if held is call or (node.args and node.args[0] is call):
                replaced = {word.arg for word in node.keywords}
    if not replaced or None in replaced:
        return False
    invoked = context.flow.calls.invoked(context.flow.here(use.event.value, use.event.scope))
    if len(invoked) != 1 or invoked[0][0].args or use.node not in call.args:
        return False
    function = invoked[0][0].function
    place = call.args.index(use.node) + int(function.binding in {"instance", "class"})
    params = list(function.params)
    drawn = _drawn(context, function, params[place]) if place < len(params) else None
    return drawn <= replaced if drawn else False


def _drawn(context: Context, function: FunctionFacts, key: str) -> set[str | None] | None:
    """Return the fields of the object that a function makes into which its key goes; None if that is not known."""
    made = function.returns[0] if len(function.returns) == 1 else None
    if not isinstance(made, Call) or made.starred or not isinstance(function.node, ast.FunctionDef):
        return None
    callee = context.flow.resolve(context.flow.here(made.callee, function.scope)).value
    if not isinstance(callee, Class) or "__init__" in callee.facts.methods:
        return None
    fields = list(callee.facts.fields)
    if len(made.node.args) > len(fields):
        return None
    names, before = {key}, 0
    while before != len(names):
        before = len(names)
        for node in context.bodies.nodes(function.scope):
            if isinstance(node, ast.Assign | ast.AugAssign) and names_in(node.value) & names:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {name for target in targets for name in names_in(target)}
    given: list[tuple[str | None, ast.expr]] = [*zip(fields, made.node.args, strict=False)]
    given += [(word.arg, word.value) for word in made.node.keywords]
    return {field for field, node in given if names_in(node) & names}
