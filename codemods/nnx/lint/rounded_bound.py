"""NNX944: a bound so near to one that float32 takes it for one, before the logarithm of what is left."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arithmetic import complement
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Value

_NEAREST = 2.0**-25  # one minus this is one in float32
_LOGS = frozenset({"log", "log2", "log10"})
_OF_ONE = frozenset({"arctanh", "atanh", "logit", "erfinv", "erf_inv", "ndtri"})  # infinite at one
_HOMES = ("jax.numpy.", "jax.lax.", "jax.scipy.special.")
_DOUBLE = pattern(rb"x64|float64")
_SMALL = pattern(rb"\de-0*(?:[89]|[1-9]\d)\b|\.0000000|finfo", re.I)


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(module.source.matches(_SMALL) for module in modules):
        return
    if any(module.source.matches(_DOUBLE) for module in modules):
        return
    told: set[ast.AST] = set()
    for scope, node in _infinite(context):
        for clip, value in _clips(context, node, scope):
            if clip.node in told or in_test(scope):
                continue
            home = context.bodies.home(clip.node) or context.bodies.module_scope(clip.node)
            if home is None or home.module not in context.asked:
                continue
            told.add(clip.node)
            yield finding(
                RULE.code,
                home,
                clip.node,
                f"the upper bound is {value!r}, which is 1 in float32: what follows is infinite there",
                "take a bound that float32 can tell from 1, as 1 - 1e-6",
            )


def _infinite(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield the expressions that must not be one, since a logarithm or a quotient would be infinite."""
    words = (*_LOGS, "log1p", *_OF_ONE, "xlogy", "xlog1py")
    for event, name in foreign(context, *words, everywhere=True):
        word = last(name)
        given = event.node.args[1 if word.startswith("xlog") else 0 :][:1]
        if not name.startswith(_HOMES) or not given:
            continue
        node = written(context, given[0], event.scope)
        if word in _OF_ONE:
            yield event.scope, node
        elif word in {"log1p", "xlog1py"}:
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
                yield event.scope, node.operand
        else:
            yield from ((event.scope, one) for one in _rests(node, context, event.scope))


def _rests(node: ast.expr, context: Context, scope: Scope) -> Iterator[ast.expr]:
    """Yield the ``p`` of ``1 - p``, also where it divides."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        node = written(context, node.right, scope)
    rest = complement(node)
    if rest is not None:
        yield _root(written(context, rest, scope))


def _root(node: ast.expr) -> ast.expr:
    """Return ``p`` of ``p ** 2``, which is one where that is; other expressions themselves."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return node.left
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right):
        return node.left
    return node.args[0] if isinstance(node, ast.Call) and last_word(node.func) == "square" and node.args else node


def _clips(context: Context, node: ast.expr, scope: Scope) -> Iterator[tuple[Call, float]]:
    """Yield the calls that a value is clipped by to a bound that is one in float32, if all ways lead through such."""
    found: list[tuple[Call, float]] = []
    for source in context.sources.originals(at(context, node, scope)):
        value = source.value
        upper = _upper(context, source, value) if isinstance(value, Call) and not value.starred else None
        if upper is None or not isinstance(value, Call):
            return
        found.append((value, upper))
    yield from found


def _upper(context: Context, source: Bound, call: Call) -> float | None:
    """Return the upper bound of a call that clips, if float32 takes it for one."""
    name = context.flow.calls.callee_name(source)
    clipped: Value | None = call.args[0] if call.args else None
    given: list[Value | None] = []
    if name == "jax.numpy.clip":
        given = [call.argument(2, "max") or call.keyword("a_max")]
    elif name == "jax.lax.clamp":
        given, clipped = [call.argument(2, "max")], call.argument(1, "x")
    elif name in {"jax.numpy.minimum", "jax.lax.min"}:
        given = list(call.args)
    elif not name and isinstance(call.callee, Attr) and call.callee.name == "clip":
        clipped = call.callee.base
        if not _of_jax(context, source, clipped, call.node):
            return None
        given = [call.argument(1, "max") or call.keyword("a_max")]
    if not given or _below_one(context, source, clipped):
        return None
    scope = source.frame.function.scope if source.frame is not None else context.bodies.home(call.node)
    scope = scope or context.bodies.module_scope(call.node)
    for one in given:
        known = numbers(context, one, scope) if one is not None and scope is not None else frozenset()
        if known and all(1 - _NEAREST <= number < 1 for number in known):
            return float(max(known))
    return None


def _of_jax(context: Context, source: Bound, value: Value, node: ast.AST) -> bool:
    """Say whether an array is one of JAX, as the parameters of functions that are compiled or differentiated are."""
    function = source.frame.function if source.frame is not None else None
    if function is not None and function in context.traced.known:
        return True
    scope = function.scope if function is not None else context.bodies.home(node) or context.bodies.module_scope(node)
    return scope is not None and made_by_jax(context, value, scope)


def _below_one(context: Context, source: Bound, clipped: Value | None) -> bool:
    """Say whether numbers are random ones of [0, 1), the largest of which is less than one in float32."""
    if clipped is None:
        return True
    found = context.sources.originals(context.flow.with_value(source, clipped))
    return any(context.flow.calls.callee_name(one) == "jax.random.uniform" for one in found)


_BAD = """\
import jax
import jax.numpy as jnp

EPS = 1e-8


def cross_entropy(logits, y):
    p = jnp.clip(jax.nn.sigmoid(logits), EPS, 1 - EPS)
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
"""

RULE = lint_rule(
    "NNX944",
    "rounded-bound",
    "a bound that float32 takes for one before the logarithm of the rest",
    why="""\
The largest number of float32 below one is 1 - 6e-8. `1 - 1e-8` is rounded to one, so clipping to it changes nothing,
and `log(1 - p)` is -inf where a sigmoid is saturated: the loss is infinite, its gradients nan. Choose 1e-6 or 1e-7, or
compute the loss from logits. Projects that speak of 64 bits are left alone.
""",
    source="Keras issue 377; measured: -inf with logits of 20",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("1e-8", "1e-6"), _BAD.replace("jnp.log(1 - p)", "jnp.log(1 - p + EPS)")),
)
