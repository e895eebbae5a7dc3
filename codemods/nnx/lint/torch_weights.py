"""Weights of PyTorch as they stand in its dicts and modules; for NNX680."""

from __future__ import annotations

import ast

from codemods.nnx.lint.syntax import constant, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

TORCH = pattern(rb"torch|state_dict|safetensors", needs=(b"torch", b"state_dict", b"safetensors"))
# layers of others that keep their weights as Flax does, as Conv1D of GPT-2, and what is stored for Flax
TURNED_ALREADY = pattern(r"c_attn|c_proj|c_fc|conv1d|kernel|scale|norm|emb|ln_|\bln\b|bn")
_SAME = frozenset({"asarray", "array", "Param", "float32", "device_put", "copy"})
_METHODS = frozenset({"numpy", "detach", "cpu", "astype", "float", "clone", "contiguous", "copy", "to", "double"})
_TURNING = frozenset({"transpose", "permute", "swapaxes", "moveaxis", "t", "rearrange", "einsum", "permute_dims"})


def key_text(key: ast.expr) -> str:
    """Return the end of a key that is a text, also one that is put together.

    Args:
        key: the key.
    """
    if isinstance(key, ast.Tuple) and key.elts:
        key = key.elts[-1]
    if isinstance(key, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in key.values)
    if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Add):
        key = key.right
    found = constant(key)
    return found if isinstance(found, str) else ""


def taken(node: ast.expr, word: str = "weight") -> tuple[str, str] | None:
    """Return of what a weight of PyTorch is taken, and its name, if an expression is one as it is.

    Args:
        node: the expression.
        word: what it is, a weight or a bias.
    """
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not _of_library(node.func):
            node = node.func.value
        elif last_word(node.func) in _SAME and node.args:
            node = node.args[0]
        else:
            return None
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == word:
        root = root_of(node)
        return (root.id, ast.unparse(node)) if isinstance(root, ast.Name) else None
    if isinstance(node, ast.Subscript):
        key = key_text(node.slice)
        if key == word or key.endswith(f".{word}"):
            return ast.unparse(node.value), key
    return None


def _of_library(node: ast.Attribute) -> bool:
    """Say whether a method is a function of a library: ``np.copy(...)``, ``torch.clone(...)``."""
    return isinstance(node.value, ast.Name) and node.value.id in {"np", "jnp", "numpy", "torch"}


def turns(node: ast.AST) -> bool:
    """Say whether an expression changes the order of axes.

    Args:
        node: the expression.
    """
    return (isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}) or (
        isinstance(node, ast.Call) and last_word(node.func) in _TURNING
    )
