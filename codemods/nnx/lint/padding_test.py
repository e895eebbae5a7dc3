"""Comparisons that tell padding from what counts: ``tokens == pad_id``, ``jnp.arange(n) < lengths[:, None]``."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.origins import constant_key
from codemods.nnx.lint.places import written
from codemods.nnx.lint.syntax import constant, new_axis
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# names of the number that fills sequences up
_PAD = pattern(r"(^|_)pad(ding)?(_?(token|idx?|index|value|symbol|token_id))?$|^<?\[?pad\]?>?$", re.I)
# names of sequences of tokens, where a literal 0 is padding
_TOKENS = pattern(r"(^|_)(tokens?|token_ids|input_ids|src|tgt|source|target|words|sentences?)(_(ids?|in|seq))?$", re.I)
# names of how many positions of each sequence count, and of lengths that are something else
_LENGTHS = pattern(r"(^|_)(lengths|lens|seqlens|seq_?lens?|x_?len|lengths?)$", re.I)
_OTHER_LENGTHS = pattern(r"pad|prefix|prompt|start|left|cache|skip|past|context|offset|max|total", re.I)
_SAME = frozenset({"reshape", "expand_dims", "astype", "asarray", "array", "squeeze"})
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


def compared_padding(context: Context, left: ast.expr, op: ast.cmpop, right: ast.expr, scope: Scope) -> bool | None:
    """Say whether a comparison is true for padding (True), or for all but padding (False); None if it tells neither.

    Args:
        context: the analysis.
        left: what is compared.
        op: how.
        right: with what.
        scope: the body that it stands in.
    """
    if isinstance(op, ast.Eq | ast.NotEq):
        named = _is_pad(right) or (_is_pad(left) and not isinstance(right, ast.Constant))  # `pad == 0` asks a mask
        if named or (_zero(right) and _TOKENS.search(_name(left))):
            return isinstance(op, ast.Eq)
        return None
    kind = type(op)
    if kind not in _MIRRORED:
        return None
    if kind is ast.Gt and _zero(right) and _TOKENS.search(_name(left)):
        return False
    if _counts(context, right, scope):
        left, right, kind = right, left, _MIRRORED[kind]
    if _counts(context, left, scope) and _lengths(right):
        return kind in {ast.Gt, ast.GtE}
    return None


def is_lengths(node: ast.expr) -> bool:
    """Say whether an expression is how many positions of each sequence count, by its name."""
    word = _name(node)
    return bool(_LENGTHS.search(word)) and not _OTHER_LENGTHS.search(word)


def _is_pad(node: ast.expr) -> bool:
    """Say whether an expression is the number of padding by its name: ``PAD``, ``special["pad"]``, ``t.pad_id()``."""
    if isinstance(node, ast.Call):
        texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return bool(_PAD.search(last_word(node.func))) or any(map(_PAD.search, texts))
    return bool(_PAD.search(_name(node)))


def _zero(node: ast.expr) -> bool:
    number = constant(node)
    return type(number) is int and number == 0


def _name(node: ast.expr) -> str:
    """Return the name of an array, or of that of which an expression takes a part; empty if it has none."""
    while True:
        if isinstance(node, ast.Subscript):
            key = constant_key(node)
            if key is not None:
                return key
            node = node.value
        elif isinstance(node, ast.Call) and last_word(node.func) in _SAME:
            inner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if isinstance(inner, ast.Name) and inner.id in {"jnp", "np", "numpy", "jax"}:
                inner = None
            if inner is None and not node.args:
                return ""
            node = inner if inner is not None else node.args[0]
        else:
            return last_word(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _counts(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the positions 0, 1, 2 and so on."""
    for _ in range(4):
        node = written(context, node, scope)
        while isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Call) and last_word(node.func) == "arange":
            return len(node.args) == 1
        if not isinstance(node, ast.Name):
            return False
    return False


def _lengths(node: ast.expr) -> bool:
    """Say whether an expression is the lengths of a batch: several by their name, or with an axis for positions."""
    word = _name(node)
    spread = isinstance(node, ast.Subscript) and any(new_axis(n) for n in ast.walk(node.slice))
    return is_lengths(node) and (spread or word.lower().endswith("s"))
