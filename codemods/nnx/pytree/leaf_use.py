"""What a mapped function does with the leaves it gets."""

from __future__ import annotations

import ast

from codemods.nnx.facts import FunctionFacts
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.values import Param, Ref, Value

_ARRAY_ATTRIBUTES = {"shape", "ndim", "dtype", "astype", "at", "size", "nbytes"}
_ARRAY_HOMES = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "numpy.", "jax.device_put", "jax.device_get")
_ARRAYS = {"jax.Array", "jax.numpy.ndarray", "numpy.ndarray"}
_ASKS = {"isinstance", "hasattr", "callable", "type", "getattr", "issubclass"}


def wants_arrays(flow: Flow, function: Bound, with_path: bool = False) -> bool:
    """Say whether a function cannot have been meant for NNX objects: it does arithmetic on its argument.

    Args:
        flow: the value flow of the project.
        function: the function that a tree function calls with leaves.
        with_path: whether the leaf is its second argument, behind the path.
    """
    resolved = flow.resolve(function)
    if isinstance(resolved.value, Ref):
        return resolved.value.name.startswith(_ARRAY_HOMES)
    callees = flow.calls.callables(resolved)
    return bool(callees) and all(_arithmetic(flow, c.function, len(c.args) + with_path) for c in callees)


def changes_arrays_alone(flow: Flow, function: Bound) -> bool:
    """Say whether a function gives everything back but arrays: ``f(x) if isinstance(x, jax.Array) else x``.

    Of a whole module such a function has been given no array before Flax 0.11: it was meant for what is in it.

    Args:
        flow: the value flow of the project.
        function: the function that a tree function calls with leaves.
    """
    callees = flow.calls.callables(flow.resolve(function))
    return bool(callees) and all(_of_arrays(flow, callee.function, len(callee.args)) for callee in callees)


def _of_arrays(flow: Flow, function: FunctionFacts, position: int) -> bool:
    node, names = function.node, list(function.params)
    body = node.body if isinstance(node, ast.Lambda) else None
    if not isinstance(body, ast.IfExp) or position >= len(names):
        return False
    values, leaf = function.scope.module.values, function.params[names[position]]
    test = body.test
    if not isinstance(test, ast.Call) or not isinstance(test.func, ast.Name) or test.func.id != "isinstance":
        return False
    if len(test.args) != 2 or not _is(values.get(test.args[0]), leaf) or not _is(values.get(body.orelse), leaf):
        return False
    kinds = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    asked = [flow.resolve(flow.here(value, function.scope)).value for kind in kinds if (value := values.get(kind))]
    return len(asked) == len(kinds) and all(isinstance(one, Ref) and one.name in _ARRAYS for one in asked)


def _arithmetic(flow: Flow, function: FunctionFacts, position: int) -> bool:
    names = list(function.params)
    if position >= len(names):
        return False
    leaf = function.params[names[position]]
    values = function.scope.module.values
    found = False
    for node in ast.walk(function.node):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in _ASKS:
                if any(_is(values.get(a), leaf) for a in node.args):
                    return False
            elif any(_is(values.get(a), leaf) for a in node.args):
                callee = values.get(node.func)
                name = flow.resolve(flow.here(callee, function.scope)).value if callee is not None else None
                found = found or (isinstance(name, Ref) and name.name.startswith(_ARRAY_HOMES))
        elif isinstance(node, ast.BinOp):
            found = found or _is(values.get(node.left), leaf) or _is(values.get(node.right), leaf)
        elif isinstance(node, ast.UnaryOp):
            found = found or (isinstance(node.op, ast.USub) and _is(values.get(node.operand), leaf))
        elif isinstance(node, ast.Attribute):
            found = found or (node.attr in _ARRAY_ATTRIBUTES and _is(values.get(node.value), leaf))
    return found


def _is(value: Value | None, leaf: Param) -> bool:
    return value is leaf
