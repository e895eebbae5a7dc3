"""NNX687: the root of a variance that is a mean of squares less the square of the mean, which may be below zero."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arithmetic import squared
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Unknown

_ROOTS = frozenset({"sqrt", "rsqrt", "log"})


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if any(one.source.mentions(b"enable_x64") or one.source.mentions(b"float64") for one in modules):
        return  # where there are digits enough
    told: set[ast.AST] = set()
    for event, name in foreign(context, *_ROOTS):
        if not name.startswith(("jax.numpy.", "jax.lax.")) or last(name) not in _ROOTS or in_test(event.scope):
            continue
        for scope, node, of in _differences(context, event):
            if node in told or _known(scope):
                continue
            told.add(node)
            same = scope.module is event.scope.module and event.node.lineno != node.lineno
            yield finding(
                RULE.code,
                scope,
                node,
                f"two numbers of the size of `{of}` squared, whose difference is their rounding where the mean is "
                "large: it may be below zero, and its root NaN",
                f"take the mean of the squared distances, as jnp.var does: jnp.mean(({of} - mean) ** 2)",
                related=[(event.node, "the root of it")] if same else [],
            )


_UNSTABLE = pattern(r"\b(less|not|un)[ -]*(numerically[ -]*)?stable|less accurate|loss of precision|catastrophic", re.I)


def _known(scope: Scope) -> bool:
    """Say whether the text of a function says that it gives up digits: "fast but less numerically stable"."""
    node = scope.function.node if scope.function is not None else None
    text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
    return text is not None and _UNSTABLE.search(text) is not None


def _differences(context: Context, event: CallEvent) -> list[tuple[Scope, ast.expr, str]]:
    """Return the differences that a root is taken of on all ways, each with what is squared in it."""
    operand = event.node.args[0] if event.node.args else None
    if operand is None:
        return []
    operand = written(context, operand, event.scope)
    while isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Add) and _small(operand.right):
        operand = written(context, operand.left, event.scope)
    if isinstance(operand, ast.BinOp):
        of = _variance(context, operand, event.scope)
        return [(event.scope, operand, of)] if of else []
    value = event.scope.module.values.get(operand)
    if value is None:
        return []
    found: list[tuple[Scope, ast.expr, str]] = []
    for source in context.sources.originals(context.flow.here(value, event.scope)):
        made = _made(context, source)
        of = _variance(context, made[1], made[0]) if made is not None else ""
        if made is None or not of:
            return []
        found.append((*made, of))
    return found


def _made(context: Context, source: Bound) -> tuple[Scope, ast.BinOp] | None:
    """Return the operation that a value comes from, with its scope."""
    node = source.value.node if isinstance(source.value, Unknown) else None
    if not isinstance(node, ast.BinOp):
        return None
    scope = source.frame.function.scope if source.frame is not None else context.bodies.module_scope(node)
    return (scope, node) if scope is not None and scope.module in context.asked else None


def _small(node: ast.expr) -> bool:
    """Say whether something is a small number that is added."""
    number = constant(node)
    return isinstance(number, float) or "eps" in last_word(node).lower()


def _variance(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return what is squared in ``jnp.mean(x**2) - jnp.mean(x) ** 2``; empty for other differences."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return ""
    squares = _mean(context, node.left, scope)
    mean = squared(written(context, node.right, scope))
    plain = _mean(context, mean, scope) if mean is not None else None
    x = squared(written(context, squares[0], scope)) if squares is not None else None
    if squares is None or plain is None or x is None:
        return ""
    return ast.unparse(x) if ast.dump(x) == ast.dump(plain[0]) and squares[1] == plain[1] else ""


def _mean(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.expr, str] | None:
    """Return what a mean is taken of, and how; None for what is no mean of an array of JAX."""
    call = written(context, node, scope)
    if not isinstance(call, ast.Call) or last_word(call.func) != "mean":
        return None
    value = scope.module.values.get(call)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if value is not None else ""
    options = [ast.unparse(one) for one in (*call.args[1:], *(word.value for word in call.keywords))]
    if name == "jax.numpy.mean" and call.args:
        return call.args[0], " ".join(options)
    return None


_BAD = """\
import jax.numpy as jnp


def standardise(x):
    mean = jnp.mean(x, axis=0)
    var = jnp.mean(x**2, axis=0) - mean**2
    return (x - mean) / jnp.sqrt(var + 1e-6)
"""

RULE = lint_rule(
    "NNX687",
    "cancelled-variance",
    "the root of a variance that is the mean of squares less the square of the mean",
    why="""\
float32 has seven digits. Of readings about 1000 with a spread of 0.1 both the mean of the squares and the square of the
mean are 1000000 and something, and their difference is rounding: often zero, and below zero as often, where the root is
NaN. `jnp.var` takes the mean first and then the squared distances. Where one pass is wanted, as in layers for
normalization, `jnp.maximum(0, ...)` at least keeps the root a number, and the rule is silent.
""",
    source="objax issue 182, equinox pull request 314; measured: NaN",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("jnp.mean(x**2, axis=0) - mean**2", "jnp.mean((x - mean) ** 2, axis=0)"),
        _BAD.replace("jnp.mean(x**2, axis=0) - mean**2", "jnp.maximum(0, jnp.mean(x**2, axis=0) - mean**2)"),
    ),
)
