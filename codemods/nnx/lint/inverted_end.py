"""Targets of temporal differences that are multiplied by the end of an episode, not by its going on; part of NNX932."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.arithmetic import complement
from codemods.nnx.lint.discounts import is_discount
from codemods.nnx.lint.syntax import constant, entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Item, Param

_END = pattern(r"^(batch_|b_)?(dones?|terminals?|terminated|terminations?)(_batch)?$", re.I)
_REWARD = pattern(r"^(batch_|b_)?(r|rs|rew|rews|rewards?)(_batch)?$", re.I)
_CASTS = frozenset({"astype", "float32", "asarray", "float"})


def inverted_end(context: Context, node: ast.BinOp, scope: Scope) -> str:
    """Return the flag of ends that the value of the next state is multiplied by; empty if there is none.

    Args:
        context: the analysis.
        node: a sum.
        scope: the body that it stands in.
    """
    if any(isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add) for side in (node.left, node.right)):
        return ""
    for reward, later in ((node.left, node.right), (node.right, node.left)):
        if not _REWARD.search(entry_word(reward)):
            continue
        factors = [_bare(one) for one in operands(later, ast.Mult)]
        ends = [one for one in factors if _END.search(entry_word(one))]
        if len(factors) > 2 and len(ends) == 1 and sum(map(is_discount, factors)) == 1:
            return ast.unparse(ends[0]) if _as_given(context, ends[0], scope) else ""
    return ""


def _bare(node: ast.expr) -> ast.expr:
    """Return a flag without its conversion to numbers."""
    while isinstance(node, ast.Call):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _CASTS:
            inner = func.value if func.attr == "astype" else node.args[0] if node.args else None
        else:
            inner = node.args[0] if isinstance(func, ast.Name) and func.id in _CASTS and node.args else None
        if inner is None:
            break
        node = inner
    return node


def _as_given(context: Context, end: ast.expr, scope: Scope) -> bool:
    """Say whether a flag is what an environment gives, and nothing in the project turns one of its name round."""
    if isinstance(end, ast.Name):
        value = scope.module.values.get(end)
        while isinstance(value, Item):
            value = value.base
        if not isinstance(value, Param):
            return False
    word, name = entry_word(end), scope.function.name if scope.function is not None else ""
    for module in context.project.modules:
        if not module.source.mentions(word.encode()):
            continue
        for one in module.source.of_type(ast.keyword, ast.Dict, ast.Assign, ast.Call):
            if any(_turned(given) for given in _given_to(one, word, name)):
                return False
    return True


def _given_to(node: ast.AST, word: str, name: str) -> list[ast.expr]:
    """Return what a node puts under the name of a flag; of a call of the function all that it is given."""
    if isinstance(node, ast.keyword):
        return [node.value] if node.arg == word else []
    if isinstance(node, ast.Dict):
        return [v for k, v in zip(node.keys, node.values, strict=True) if k is not None and constant(k) == word]
    if isinstance(node, ast.Assign):
        return [node.value] if any(entry_word(target) == word for target in node.targets) else []
    return [*node.args] if isinstance(node, ast.Call) and last_word(node.func) == name else []


def _turned(node: ast.expr) -> bool:
    """Say whether an expression turns an end round, as ``1 - done`` and ``not done`` do."""
    node = _bare(node)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not | ast.Invert)
    if isinstance(node, ast.BinOp):
        return complement(node) is not None
    return isinstance(node, ast.IfExp) or (
        isinstance(node, ast.Call) and last_word(node.func) in {"logical_not", "where", "not_equal"}
    )
