"""NNX570: a convolution that is called causal and gets padding on both sides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, in_test, literal
from codemods.nnx.lint.syntax import argument, constant, keyword, names_in
from codemods.nnx.patterns import pattern

_CAUSAL = pattern(r"(^|_)causal|^Causal|[a-z]Causal|^TCN|WaveNet|^wavenet", 0)
_NOT_CAUSAL = pattern(r"non_?causal|not_?causal|acausal|is_causal|if_causal", re.I)
_FUNCTIONS = {"jax.lax.conv_general_dilated": 3, "jax.lax.conv": 3, "jax.lax.conv_with_general_padding": 3,
              "jax.numpy.convolve": 2}  # fmt: skip
_LAYERS = frozenset({"flax.nnx.Conv", "flax.linen.Conv"})
# what may keep the future out in another way
_MASKS = pattern(r"mask|tril|triu|flip|shift|roll|zeroed|future", re.I)


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"ausal") for module in context.asked.modules):
        return
    for event, name in foreign(context, "conv_general_dilated", "conv", "conv_with_general_padding", "Conv"):
        padding = _padding(event, name)
        scope = event.scope
        if padding is None or not scope.module.source.mentions(b"ausal") or in_test(scope):
            continue
        called = _called(scope)
        if not called or not _of_times(event, name) or not _both_sides(context, padding, scope) or _cut(context, scope):
            continue
        yield finding(
            RULE.code,
            scope,
            padding,
            f"`{called}` pads both sides: its output at each time sees inputs of later times",
            "pad the beginning alone, by dilation * (kernel_size - 1)"
            + (', or give padding="CAUSAL"' if name in _LAYERS else ""),
        )


def _padding(event: CallEvent, name: str) -> ast.expr | None:
    """Return what a convolution is padded by."""
    if name in _LAYERS:
        return keyword(event.node, "padding")
    return argument(event.node, _FUNCTIONS[name], "padding") if name in _FUNCTIONS else None


def _of_times(event: CallEvent, name: str) -> bool:
    """Say whether a convolution goes along one axis, and takes more than one time at once, as far as is written."""
    if name in _LAYERS:
        size = constant(argument(event.node, 2 if name == "flax.nnx.Conv" else 1, "kernel_size"))
        return size != 1 and (not isinstance(size, tuple | list) or (len(size) == 1 and size[0] != 1))
    axes = keyword(event.node, "dimension_numbers")
    texts = [n.value for n in ast.walk(axes) if isinstance(n, ast.Constant)] if axes is not None else []
    return all(not isinstance(text, str) or len(text) == 3 for text in texts)


def _called(scope: Scope) -> str:
    """Return the name of a function or class around a body that says it is causal; empty if none does."""
    inner: Scope | None = scope
    while inner is not None and inner.function is not None:
        owner = inner.function.owner
        for name in (inner.function.name, owner.name if owner is not None else ""):
            if _NOT_CAUSAL.search(name):
                return ""
            if _CAUSAL.search(name):
                return name
        inner = inner.parent
    return ""


def _both_sides(context: Context, padding: ast.expr, scope: Scope) -> bool:
    """Say whether a padding adds as much behind a sequence as before it: ``"SAME"``, ``[(p, p)]``."""
    given = padding
    if isinstance(given, ast.Name):
        given = bound_once(context, scope, given) or given
    if literal(context, given, scope) == "SAME":
        return True
    if not isinstance(given, ast.List | ast.Tuple) or len(given.elts) != 1:
        return False
    pair = given.elts[0]
    if not isinstance(pair, ast.Tuple | ast.List) or len(pair.elts) != 2:
        return False
    before, behind = pair.elts
    return ast.unparse(before) == ast.unparse(behind) and constant(before) != 0


def _cut(context: Context, scope: Scope) -> bool:
    """Say whether the future may be kept out otherwise: the end is cut off, or the kernel is masked."""
    owner = scope.function.owner if scope.function is not None else None
    bodies = [method.scope for method in owner.methods.values()] if owner is not None else [scope]
    for body in bodies:
        for node in context.bodies.nodes(body):
            if isinstance(node, ast.Slice) and node.upper is not None:
                return True
            if isinstance(node, ast.Call) and "slice" in ast.unparse(node.func):
                return True
            if isinstance(node, ast.If | ast.IfExp) and any("causal" in one for one in names_in(node.test)):
                return True
            words = [node.id] if isinstance(node, ast.Name) else [node.attr] if isinstance(node, ast.Attribute) else []
            if any(map(_MASKS.search, words)):
                return True
    return False


_BAD = """\
import jax


def causal_conv(x, kernel):
    pad = kernel.shape[0] // 2
    return jax.lax.conv_general_dilated(
        x, kernel, (1,), [(pad, pad)], dimension_numbers=("NWC", "WIO", "NWC")
    )
"""

RULE = lint_rule(
    "NNX570",
    "causal-padding",
    "a convolution that is called causal and gets padding on both sides",
    why="""\
With `"SAME"`, or as much padding behind the sequence as before it, the output at a time is made of inputs up to half a
kernel later. A model that learns to tell the next element then reads it off. All of the padding belongs before the
beginning.
""",
    source="van den Oord and others, WaveNet, section 2.1; measured: outputs that change with later inputs",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("kernel.shape[0] // 2", "kernel.shape[0] - 1").replace("(pad, pad)", "(pad, 0)"),),
)
