"""NNX638: encodings of positions whose frequencies rise to 10,000 instead of falling."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import constant, inside
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_BASE = pattern(rb"10_?000|1e4", needs=(b"10000", b"10_000", b"1e4"))
_WAVES = pattern(rb"(sin|cos)\(", needs=(b"sin(", b"cos("))
_PRODUCTS = frozenset({"outer", "einsum", "multiply"})


def _check(context: Context) -> Iterator[Finding]:
    asked = context.asked.modules
    modules = {module for module in asked if module.source.matches(_BASE) and module.source.matches(_WAVES)}
    for scope, node in each(context, ast.Call, ast.BinOp) if modules else ():
        if scope.module not in modules or scope.function is None or in_test(scope):
            continue
        if _rises(context, node, scope) and _multiplies(context, node, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                "the frequencies rise from 1 to 10,000: neighbouring positions get numbers that look drawn",
                "turn the sign of the exponent, or divide the positions by them",
            )


def _rises(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is ``exp(arange(...) * log(10000) / d)`` or ``10000 ** (arange(...) / d)``."""
    if isinstance(node, ast.Call):
        if last_word(node.func) != "exp" or len(node.args) != 1:
            return False
        exponent = node.args[0]
        logs = [n for n in ast.walk(exponent) if isinstance(n, ast.Call) and last_word(n.func) == "log" and n.args]
        if len(logs) != 1 or constant(logs[0].args[0]) != _GREATEST:
            return False
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and constant(node.left) == _GREATEST:
        exponent = node.right
    else:
        return False
    names = [written(context, n, scope) for n in ast.walk(exponent) if isinstance(n, ast.Name)]
    parts = [part for one in (exponent, *names) for part in ast.walk(one)]
    counted = any(isinstance(n, ast.Call) and last_word(n.func) in {"arange", "linspace"} for n in parts)
    return counted and not any(isinstance(n, ast.USub | ast.Sub) for n in parts)


def _multiplies(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether something is multiplied by the frequencies alone, and the product goes into a sine."""
    above = around(context, scope)
    parent = above.get(node)
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Mult) and _in_wave(context, parent, scope)
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return False
    uses = context.bodies.reads(scope, parent.targets[0].id)
    places = []
    for name in uses:
        inner: ast.AST = name
        while isinstance(above.get(inner), ast.Subscript | ast.Slice | ast.Tuple):
            inner = above[inner]
        place = above.get(inner)
        product = isinstance(place, ast.BinOp) and isinstance(place.op, ast.Mult)
        product |= isinstance(place, ast.Call) and last_word(place.func) in _PRODUCTS
        if not product or not isinstance(place, ast.expr):
            return False
        places.append(place)
    return bool(places) and all(_in_wave(context, place, scope) for place in places)


def _in_wave(context: Context, product: ast.expr, scope: Scope) -> bool:
    """Say whether the sine or cosine of a product is taken, also under a name."""
    for event in context.bodies.named("sin", "cos"):
        if event.scope is scope and event.node.args:
            given = event.node.args[0]
            if inside(product, given) or inside(product, written(context, given, scope)):
                return True
    return False


_GREATEST = 10_000
_BAD = """\
import jax.numpy as jnp


def encoding(length, width):
    positions = jnp.arange(length)[:, None]
    frequencies = jnp.exp(jnp.arange(0, width, 2) * (jnp.log(10000.0) / width))
    angles = positions * frequencies
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
"""

RULE = lint_rule(
    "NNX638",
    "rising-frequencies",
    "encodings of positions whose frequencies rise to 10,000 instead of falling",
    why="""\
The wavelengths of sinusoidal encodings grow from 2 pi to 10,000 times that, so the frequencies fall: positions are
divided by `10000 ** (2 * i / d)`. Multiplied by it, all but the first few columns turn several times between
neighbours, and float32 loses the angle.
""",
    source="Vaswani and others, 2017, section 3.5; measured: neighbours no more alike than others",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("exp(jnp.arange", "exp(-jnp.arange"), _BAD.replace("positions * freq", "positions / freq")),
)
