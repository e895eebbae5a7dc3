"""Weights of PyTorch that are multiplied from the right as they are; part of NNX680."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.torch_weights import TORCH, TURNED_ALREADY, taken, turns
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call

_NAMED = pattern(r"(^|[._])(state_dict|torch_\w+|pytorch_\w+)(\(\))?$")
_LOADING = frozenset({"torch.load", "safetensors.torch.load_file", "safetensors.numpy.load_file",
                      "safetensors.flax.load_file"})  # fmt: skip


def multiplied_weights(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield such weights with their names: those to whose product the bias of the same layer is added."""
    modules = {
        one
        for one in context.asked.modules
        if one.source.mentions(b"weight") and one.source.mentions(b"bias") and one.source.matches(TORCH)
    }
    sums = [
        (scope, node)
        for scope, node in (each(context, ast.BinOp) if modules else ())
        if scope.module in modules and isinstance(node.op, ast.Add) and not in_test(scope)
    ]
    for scope, node in sums:
        for product, bias in ((node.left, node.right), (node.right, node.left)):
            factor = _right(product)
            pair = _pair(context, factor, bias, scope) if factor is not None else None
            if pair is not None:
                yield scope, node, pair
    for scope, shown in each(context, ast.Dict) if sums else ():
        if scope.module in modules and not in_test(scope):
            yield from _entries(context, scope, shown, [n for home, n in sums if home.module is scope.module])


def _right(node: ast.expr) -> ast.expr | None:
    """Return what something is multiplied by from the right, as a matrix."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.right
    if isinstance(node, ast.Call) and last_word(node.func) in {"dot", "matmul"} and len(node.args) == 2:
        return node.args[1]
    return None


def _pair(context: Context, weight: ast.expr, bias: ast.expr, scope: Scope) -> str | None:
    """Return the name of a weight of PyTorch that is taken as it is beside the bias of the same layer."""
    one = taken(written(context, weight, scope))
    other = taken(written(context, bias, scope), "bias")
    if one is None or other is None or one[0] != other[0] or TURNED_ALREADY.search(one[1].lower()):
        return None
    if one[1].removesuffix("weight") != other[1].removesuffix("bias"):
        return None
    if any(turns(n) for n in context.bodies.nodes(scope)) or not _of_torch(context, weight, scope):
        return None
    return one[1]


def _of_torch(context: Context, weight: ast.expr, scope: Scope) -> bool:
    """Say whether a weight is an entry of a dict that PyTorch made, by where it comes from or by its name."""
    made = written(context, weight, scope)
    inner = next((n for n in ast.walk(made) if isinstance(n, ast.Subscript)), None)
    if inner is None:
        return False
    if _NAMED.search(ast.unparse(inner.value).lower()):
        return True
    value = scope.module.values.get(inner.value)
    sources = context.sources.originals(context.flow.here(value, scope)) if value is not None else ()
    return bool(sources) and all(
        isinstance(one.value, Call)
        and (
            context.flow.calls.callee_name(one) in _LOADING
            or (isinstance(one.value.callee, Attr) and one.value.callee.name == "state_dict")
        )
        for one in sources
    )


def _entries(
    context: Context, scope: Scope, shown: ast.Dict, sums: list[ast.BinOp]
) -> Iterator[tuple[Scope, ast.expr, str]]:  # fmt: skip
    """Yield the weights in a dict, ``{"kernel": weight, "bias": bias}``, of which a sum of the module is made."""
    entries = [(constant(key), value) for key, value in zip(shown.keys, shown.values, strict=True) if key is not None]
    for name, weight in entries:
        for other, bias in entries:
            if name == other or not isinstance(name, str) or not isinstance(other, str):
                continue
            found = _pair(context, weight, bias, scope)
            if found is not None and any(_uses(one, name, other) for one in sums):
                yield scope, weight, found


def _uses(node: ast.BinOp, name: str, other: str) -> bool:
    """Say whether a sum is ``x @ layer[name] + layer[other]``."""
    for product, bias in ((node.left, node.right), (node.right, node.left)):
        factor = _right(product)
        if isinstance(factor, ast.Subscript) and isinstance(bias, ast.Subscript):
            if constant(factor.slice) == name and constant(bias.slice) == other:
                return ast.dump(factor.value) == ast.dump(bias.value)
    return False
