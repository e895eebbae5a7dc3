"""Tokens that `jax.lax.scan` goes through one by one, and gives something for each; a part of NNX990."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.places import functions_called, written
from codemods.nnx.lint.syntax import argument, keyword, names_in
from codemods.nnx.nodes import last_word

_METHODS = frozenset({"astype", "swapaxes", "transpose"})
_FUNCTIONS = frozenset({"asarray", "array", "moveaxis", "one_hot", "swapaxes", "transpose"})
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)


def scanned_tokens(context: Context, call: ast.Call, tokens: ast.expr, scope: Scope) -> list[ast.AST]:
    """Return the functions that go through tokens and give for each what depends on this very token; empty for others.

    Args:
        context: the analysis.
        call: a call of the project's function that is given the tokens, or of ``jax.lax.scan``.
        tokens: the tokens, as they are written beside the call.
        scope: the body around both.
    """
    event = next((one for one in context.bodies.calls.get(scope, ()) if one.node is call), None)
    if event is None or event.value.starred:
        return []
    if context.flow.calls.name(event) == "jax.lax.scan":
        return _by_scan(context, call, ast.unparse(_untransposed(tokens)), scope)
    functions = functions_called(context, event)
    name = _param(functions[0], call, tokens) if len(functions) == 1 else ""
    if not name:
        return []
    home = functions[0].scope
    scans = [one for one in context.bodies.calls.get(home, ()) if context.flow.calls.name(one) == "jax.lax.scan"]
    found = _by_scan(context, scans[0].node, name, home) if len(scans) == 1 else []
    return [functions[0].node, *found] if found else []


def _param(function: FunctionFacts, call: ast.Call, tokens: ast.expr) -> str:
    """Return the parameter for which a call gives the tokens, of a function that never binds it again."""
    params = list(function.params)
    if function.self_param is not None:
        params = params[1:]
    given = ast.unparse(tokens)
    names = [name for name, one in zip(params, call.args, strict=False) if ast.unparse(one) == given]
    names += [one.arg for one in call.keywords if one.arg and ast.unparse(one.value) == given]
    if len(names) != 1:
        return ""
    stored = (n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == names[0])
    return "" if any(isinstance(n.ctx, ast.Store) for n in stored) else names[0]


def _by_scan(context: Context, call: ast.Call, tokens: str, scope: Scope) -> list[ast.AST]:
    """Return the body of a scan over tokens that gives for each what depends on it."""
    given = argument(call, 2, "xs")
    if given is None or keyword(call, "reverse") is not None or not call.args:
        return []
    event = next((one for one in context.bodies.calls.get(scope, ()) if one.node is call), None)
    parts = given.elts if isinstance(given, ast.Tuple) else [given]
    if event is None or not any(_in_place(context, one, tokens, scope, 0) for one in parts):
        return []
    bodies = context.flow.calls.callables(
        context.flow.follow(context.flow.here(event.value, scope), event.value.args[0])
    )
    if len(bodies) != 1 or not isinstance(bodies[0].function.node, ast.FunctionDef) or len(parts) != 1:
        return []
    return [bodies[0].function.node] if _gives_of_each(bodies[0].function.node) else []


def _untransposed(node: ast.expr) -> ast.expr:
    """Return tokens whose axes are exchanged: ``tokens.T``."""
    while isinstance(node, ast.Attribute) and node.attr == "T":
        node = node.value
    return node


def _in_place(context: Context, node: ast.expr, tokens: str, scope: Scope, depth: int) -> bool:
    """Say whether an expression has tokens at the places that they have, or an entry of a table for each."""
    node = _untransposed(node)
    if ast.unparse(node) == tokens:
        return True
    if depth > 4:
        return False
    made = written(context, node, scope)
    if made is not node:
        return _in_place(context, made, tokens, scope, depth + 1)
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, ast.Tuple) and _in_place(context, node.slice, tokens, scope, depth + 1)
    if not isinstance(node, ast.Call):
        return False
    word = last_word(node.func)
    if word == "take" and len(node.args) > 1:
        return _in_place(context, node.args[1], tokens, scope, depth + 1)
    if word in _FUNCTIONS and node.args and _in_place(context, node.args[0], tokens, scope, depth + 1):
        return True
    if word not in _METHODS or not isinstance(node.func, ast.Attribute):
        return False
    return _in_place(context, node.func.value, tokens, scope, depth + 1)


def _gives_of_each(node: ast.FunctionDef) -> bool:
    """Say whether the second result of a body depends on its second argument."""
    params = [*node.args.posonlyargs, *node.args.args]
    if len(params) < 2 or not all(isinstance(one, _SIMPLE) for one in node.body):
        return False
    seen = {params[-1].arg}
    for statement in node.body:
        if isinstance(statement, ast.Return):
            given = statement.value.elts if isinstance(statement.value, ast.Tuple) else []
            return len(given) == 2 and bool(names_in(given[1]) & seen)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = {name for target in targets for name in names_in(target)}
            seen = seen | names if names_in(statement.value) & seen else seen - names
    return False
