"""States that are gone through as if they were lists of arrays; part of NNX720."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.names import ARRAY_ATTRIBUTES, ARRAY_METHODS
from codemods.nnx.lint.places import each, may_be_state
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Value

_ARITHMETIC = (ast.Pow, ast.Sub, ast.Div, ast.MatMult)
_SPACES = frozenset({"jnp", "np", "numpy"})
_TEXTS = frozenset({"split", "join", "format", "count", "index", "strip", "replace", "startswith", "endswith"})


def listed_states(context: Context) -> Iterator[tuple[Scope, ast.expr, str, str]]:
    """Yield the states that a loop takes for their leaves, with what is wrong and the way out."""
    for scope, node in each(context, ast.For, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp):
        if not scope.module.source.mentions(b"nnx"):
            continue
        over = _over(node)
        if over is None or not isinstance(over, ast.Name | ast.Attribute | ast.Call):
            continue
        value = scope.module.values.get(over)
        if value is None or not may_be_state(context, value):
            continue
        if context.kinds.only(context.flow.here(value, scope)) is not Kind.STATE:
            continue
        if any(_several(one.value) for one in context.sources.originals(context.flow.here(value, scope))):
            continue
        if not context.bodies.guarded(node, scope):
            text = scope.module.source.text(over)
            yield (
                scope,
                over,
                f"a state goes through its keys: `{text}` is like a dict, and no list of arrays",
                f"take its leaves: jax.tree.leaves({text})",
            )


def _several(value: Value) -> bool:
    """Say whether a call gives a state for each of several filters, or what else is no state as it is."""
    return isinstance(value, Call) and (len(value.args) > 2 or value.starred)


def _over(node: ast.AST) -> ast.expr | None:
    """Return what a loop goes through if it computes with the elements as with arrays."""
    body: list[ast.AST]
    if isinstance(node, ast.For):
        target, body, over = node.target, [*node.body], node.iter
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp) and len(node.generators) == 1:
        target, body, over = node.generators[0].target, [node.elt], node.generators[0].iter
    elif isinstance(node, ast.DictComp) and len(node.generators) == 1:
        target, body, over = node.generators[0].target, [node.value], node.generators[0].iter
    else:
        return None
    if isinstance(over, ast.Call) and last_word(over.func) != "state":
        return None
    if isinstance(target, ast.Tuple):
        return over if len(target.elts) == 2 else None
    if not isinstance(target, ast.Name):
        return None
    return over if any(_computes(inner, target.id) for one in body for inner in ast.walk(one)) else None


def _computes(node: ast.AST, name: str) -> bool:
    """Say whether a node uses a variable as an array, and no other text would do."""
    if isinstance(node, ast.Attribute):
        known = node.attr in ARRAY_ATTRIBUTES or node.attr in ARRAY_METHODS or node.attr == "value"
        return known and node.attr not in _TEXTS and _is(node.value, name)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, _ARITHMETIC) and (_is(node.left, name) or _is(node.right, name))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) >= 1:
        home: ast.expr = node.func
        while isinstance(home, ast.Attribute):
            home = home.value
        return isinstance(home, ast.Name) and home.id in _SPACES and _is(node.args[0], name)
    return False


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
