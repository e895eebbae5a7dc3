"""NNX680: weights of PyTorch that become kernels as they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.multiplied_weights import multiplied_weights
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.torch_weights import TORCH, TURNED_ALREADY, key_text, taken, turns

_LAYERS = frozenset({"flax.nnx.Linear", "flax.nnx.Conv"})


def _check(context: Context) -> Iterator[Finding]:
    modules = {
        one
        for one in context.asked.modules
        if one.source.mentions(b"kernel") and one.source.mentions(b"weight") and one.source.matches(TORCH)
    }
    places: dict[Scope, list[ast.Assign]] = {}
    for scope, node in each(context, ast.Assign) if modules else ():
        if scope.module in modules and len(node.targets) == 1 and _kernel(node.targets[0]) and not in_test(scope):
            places.setdefault(scope, []).append(node)
    for scope, factor, key in multiplied_weights(context):
        yield finding(
            RULE.code,
            scope,
            factor,
            f"`{key}` is (out, in) as all weights of PyTorch are, and stands on the right of `@` as it is",
            "turn it around: .T where it is taken",
        )
    for scope, stores in places.items():
        turned = {base: store for store in stores if (base := _turned(store.value)) is not None}
        again = [node for node in context.bodies.nodes(scope) if turns(node) and _of_kernels(node)]
        for store in stores:
            weight = taken(store.value)
            if weight is None or again or TURNED_ALREADY.search(weight[1].lower()):
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
        key = key_text(target.slice)
        if key:
            return key.endswith("kernel")
        target = target.value
    if isinstance(target, ast.Attribute) and target.attr in {"value", "raw_value"}:
        target = target.value
    return isinstance(target, ast.Attribute) and target.attr == "kernel"


def _of_kernels(node: ast.AST) -> bool:
    """Say whether what is turned around is a kernel already, so that others may be turned in that way."""
    words = (n.attr if isinstance(n, ast.Attribute) else constant(n) for n in ast.walk(node)
             if isinstance(n, ast.Attribute | ast.Constant))  # fmt: skip
    return any(isinstance(word, str) and word.endswith("kernel") for word in words)


def _turned(node: ast.expr) -> str | None:
    """Return of what a weight is taken that an expression turns around."""
    if not any(turns(one) for one in ast.walk(node)):
        return None
    for one in ast.walk(node):
        weight = taken(one) if isinstance(one, ast.Subscript | ast.Attribute) else None
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
