"""Expressions that do nothing but compute a value, and functions that say that they return one."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# methods of arrays that only compute
_COMPUTING = frozenset({"mean", "sum", "max", "min", "prod", "std", "var", "astype", "reshape", "squeeze", "item"})
_SPACES = ("jnp.", "jax.numpy.", "jax.nn.", "jax.lax.", "optax.", "nnx.")
# of these spaces what is called for its effect
_EFFECTS = frozenset(
    {"update", "reseed", "display", "train", "eval", "print", "callback", "pop", "scan", "cond", "save", "savez",
     "savez_compressed", "savetxt", "set_printoptions", "copyto", "fill_diagonal"}
)  # fmt: skip
_LASTING = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
_STATEMENTS = (ast.With, ast.Global, ast.Nonlocal, ast.Try, ast.Delete, ast.Assert, *_LASTING)
_HOMES = ("jax.numpy.", "jax.nn.", "jax.scipy.", "optax.")
_METHODS = _COMPUTING | {"transpose", "ravel", "flatten", "dot", "swapaxes", "conj", "any", "all", "argmax", "argmin"}
_BUILTINS = frozenset({"len", "range", "int", "float", "bool", "abs", "tuple", "zip", "enumerate", "isinstance"})
_DEPTH = 3
_NOTHING = pattern(r"None|Never|NoReturn|Optional|Union|Any|Iterator|Generator|object")
_RETURNS = pattern(r"(?m)^\s*(?::returns?:|Returns?\s*:)[ \t]*(?:\n\s*)?(?!-|None|Nothing|nothing)\S")
_UNDERLINED = pattern(r"(?m)^\s*Returns?\s*\n\s*-{3,}\s*\n\s*(?!None|Nothing|nothing)\S")


def pure(node: ast.expr) -> bool:
    """Say whether an expression is written like one that only computes, which makes no sense as a statement.

    Args:
        node: an expression.
    """
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(isinstance(one, ast.Constant) or _part(one) for one in node.elts)
    if isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp | ast.Name):
        return not _lasting(node)
    if isinstance(node, ast.Subscript):  # `ref[...]` reads a reference of Pallas, which has an effect
        return isinstance(node.value, ast.Name | ast.Subscript) and not _lasting(node) and not _of_all(node.slice)
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in _COMPUTING:
        return True
    text = ast.unparse(node.func)
    return text.startswith(_SPACES) and last_word(node.func) not in _EFFECTS


def arithmetic(node: ast.expr) -> bool:
    """Say whether an expression is one of arithmetic, or a call of a function of arrays.

    Args:
        node: an expression that only computes.
    """
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[0] in {"jnp", "jax.numpy", "jax.nn"}
    return isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp)


def _part(node: ast.expr) -> bool:
    """Say whether a part of a tuple only computes, or is looked up."""
    if isinstance(node, ast.Attribute | ast.IfExp | ast.ListComp | ast.List | ast.Dict):
        return not _lasting(node)
    return pure(node)


def _lasting(node: ast.expr) -> bool:
    return any(isinstance(n, _LASTING) for n in ast.walk(node))


def _of_all(index: ast.expr) -> bool:
    return (isinstance(index, ast.Constant) and index.value is ...) or (isinstance(index, ast.Tuple) and not index.elts)


def own_values(function: FunctionFacts, node: ast.expr) -> bool:
    """Say whether an expression reads something that the function around it has computed or was given.

    Args:
        function: the function.
        node: an expression in it.
    """
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return bool(names & {*function.params, *function.scope.bindings})


def promises(function: FunctionFacts) -> bool:
    """Say whether a function is annotated with what it returns, or its docstring tells of that.

    Args:
        function: a function of the project.
    """
    node = function.node
    if isinstance(node, ast.Lambda):
        return False
    if node.returns is not None:
        text = ast.unparse(node.returns).strip("'\"")
        outer = text.partition("[")[0] if not isinstance(node.returns, ast.BinOp) else text
        return not _NOTHING.search(outer)
    said = ast.get_docstring(node, clean=False) or ""
    return "eturn" in said and bool(_RETURNS.search(said) or _UNDERLINED.search(said))


def only_computes(context: Context, node: ast.Call, scope: Scope) -> bool:
    """Say whether a call is one of a function of arrays, or of a function of the project that only computes a value.

    Args:
        context: the analysis.
        node: the call.
        scope: where it stands.
    """
    return _computes(context, node, scope, 0)


def _computes(context: Context, node: ast.Call, scope: Scope, depth: int) -> bool:
    if last_word(node.func) in _EFFECTS:
        return False
    value = scope.module.values.get(node)
    if value is None:
        return False
    here = context.flow.here(value, scope)
    name = context.flow.calls.callee_name(here)
    if name:
        return name.startswith((*_HOMES, "jax.lax."))
    callees = {callee.function for callee, _ in context.flow.calls.invoked(here)}
    return len(callees) == 1 and depth < _DEPTH and _gives(context, callees.pop(), depth + 1)


def _gives(context: Context, function: FunctionFacts, depth: int) -> bool:
    """Say whether all that a function does is to compute what it returns."""
    if isinstance(function.node, ast.Lambda) or function.generator or not function.returns:
        return False
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            return False
        if isinstance(node, _STATEMENTS):
            return False
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            return False
        if isinstance(node, ast.Call) and not _plain(context, node, function.scope, depth):
            return False
    return isinstance(function.node.body[-1], ast.Return)


def _plain(context: Context, node: ast.Call, scope: Scope, depth: int) -> bool:
    if isinstance(node.func, ast.Name) and node.func.id in _BUILTINS:
        return True
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        return True
    return _computes(context, node, scope, depth)
