"""NNX680: weights of PyTorch that become kernels as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_TORCH = pattern(rb"torch|state_dict|safetensors", needs=(b"torch", b"state_dict", b"safetensors"))
# layers of others that keep their weights as Flax does, as Conv1D of GPT-2, and what is stored for Flax
_TURNED_ALREADY = pattern(r"c_attn|c_proj|c_fc|conv1d|kernel|scale|norm|emb|ln_|\bln\b|bn")
_LAYERS = frozenset({"flax.nnx.Linear", "flax.nnx.Conv"})
_SAME = frozenset({"asarray", "array", "Param", "float32", "device_put", "copy"})
_METHODS = frozenset({"numpy", "detach", "cpu", "astype", "float", "clone", "contiguous", "copy", "to", "double"})
_TURNING = frozenset({"transpose", "permute", "swapaxes", "moveaxis", "t", "rearrange", "einsum", "permute_dims"})


def _check(context: Context) -> Iterator[Finding]:
    modules = {
        one
        for one in context.asked.modules
        if one.source.mentions(b"kernel") and one.source.mentions(b"weight") and one.source.matches(_TORCH)
    }
    places: dict[Scope, list[ast.Assign]] = {}
    for scope, node in each(context, ast.Assign) if modules else ():
        if scope.module in modules and len(node.targets) == 1 and _kernel(node.targets[0]) and not in_test(scope):
            places.setdefault(scope, []).append(node)
    for scope, stores in places.items():
        turned = {base: store for store in stores if (base := _turned(store.value)) is not None}
        again = [node for node in context.bodies.nodes(scope) if _turns(node) and _of_kernels(node)]
        for store in stores:
            weight = _weight(store.value)
            if weight is None or again or _TURNED_ALREADY.search(weight[1].lower()):
                continue
            other = turned.get(weight[0])
            if other is None and not (weight[0] and _of_layer(context, store.targets[0], scope)):
                continue
            yield finding(
                RULE.code,
                scope,
                store,
                f"`{weight[1]}` is (out, in) as all weights of PyTorch are, and a kernel of Flax is (in, out)",
                "turn it around: .T for a linear layer, .transpose(2, 3, 1, 0) for a convolution over images",
                related=[(other, "turned around here")] if other is not None else [],
            )


def _kernel(target: ast.expr) -> bool:
    """Say whether something is stored as a kernel: of a layer, or under a key that ends in ``kernel``."""
    if isinstance(target, ast.Subscript):
        key = _text(target.slice)
        if key:
            return key.endswith("kernel")
        target = target.value
    if isinstance(target, ast.Attribute) and target.attr in {"value", "raw_value"}:
        target = target.value
    return isinstance(target, ast.Attribute) and target.attr == "kernel"


def _text(key: ast.expr) -> str:
    """Return the end of a key that is a text, also one that is put together."""
    if isinstance(key, ast.Tuple) and key.elts:
        key = key.elts[-1]
    if isinstance(key, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in key.values)
    if isinstance(key, ast.BinOp) and isinstance(key.op, ast.Add):
        key = key.right
    found = constant(key)
    return found if isinstance(found, str) else ""


def _weight(node: ast.expr) -> tuple[str, str] | None:
    """Return of what a weight of PyTorch is taken, and its name, if an expression is one as it is."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not _of_library(node.func):
            node = node.func.value
        elif last_word(node.func) in _SAME and node.args:
            node = node.args[0]
        else:
            return None
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == "weight":
        root = root_of(node)
        return (root.id, ast.unparse(node)) if isinstance(root, ast.Name) else None
    if isinstance(node, ast.Subscript):
        key = _text(node.slice)
        if key == "weight" or key.endswith(".weight"):
            return ast.unparse(node.value), key
    return None


def _of_library(node: ast.Attribute) -> bool:
    """Say whether a method is a function of a library: ``np.copy(...)``, ``torch.clone(...)``."""
    return isinstance(node.value, ast.Name) and node.value.id in {"np", "jnp", "numpy", "torch"}


def _turns(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}) or (
        isinstance(node, ast.Call) and last_word(node.func) in _TURNING
    )


def _of_kernels(node: ast.AST) -> bool:
    """Say whether what is turned around is a kernel already, so that others may be turned in that way."""
    words = (n.attr if isinstance(n, ast.Attribute) else constant(n) for n in ast.walk(node)
             if isinstance(n, ast.Attribute | ast.Constant))  # fmt: skip
    return any(isinstance(word, str) and word.endswith("kernel") for word in words)


def _turned(node: ast.expr) -> str | None:
    """Return of what a weight is taken that an expression turns around."""
    if not any(_turns(one) for one in ast.walk(node)):
        return None
    for one in ast.walk(node):
        weight = _weight(one) if isinstance(one, ast.Subscript | ast.Attribute) else None
        if weight is not None:
            return weight[0]
    return None


def _of_layer(context: Context, target: ast.expr, scope: Scope) -> bool:
    """Say whether a kernel is that of a layer of NNX for certain."""
    while isinstance(target, ast.Subscript) or (isinstance(target, ast.Attribute) and target.attr != "kernel"):
        target = target.value
    layer = scope.module.values.get(target.value) if isinstance(target, ast.Attribute) else None
    return layer is not None and owner_class(context, layer, scope) in _LAYERS


_BAD = """\
import jax.numpy as jnp


def convert(state_dict):
    params = {}
    params["fc1.kernel"] = jnp.asarray(state_dict["fc1.weight"]).T
    params["fc1.bias"] = jnp.asarray(state_dict["fc1.bias"])
    params["fc2.kernel"] = jnp.asarray(state_dict["fc2.weight"])
    params["fc2.bias"] = jnp.asarray(state_dict["fc2.bias"])
    return params
"""

RULE = lint_rule(
    "NNX680",
    "kernel-not-turned",
    "a weight of PyTorch that becomes a kernel as it is",
    why="""\
PyTorch keeps the weights of a linear layer as (out, in) and those of a convolution as (out, in, height, width); kernels
of Flax are (in, out) and (height, width, in, out). A weight that is copied as it is fails where the two sizes differ,
and computes something else, without an error, where they are the same. The rule speaks where others of the same source
are turned around, or the kernel is one of a layer in sight.
""",
    source="Flax guide on weights of PyTorch; measured: with square layers the results differ without an error",
    check=_check,
    severity="error",
    bad=(_BAD,),
    clean=(_BAD.replace('"fc2.weight"])', '"fc2.weight"]).T'),),
)
