"""NNX750: comparisons with nan, which nothing is equal to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, foreign
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Ref, Value

_NANS = frozenset({"jax.numpy.nan", "numpy.nan", "math.nan", "numpy.NaN", "numpy.NAN"})
_EQUALITIES = ("equal", "not_equal")


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if b"nan" in module.source.data.lower()}
    for scope, node in each(context, ast.Compare) if modules else ():
        if scope.module not in modules:
            continue
        sides = (node.left, *node.comparators)
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, ast.Eq | ast.NotEq) and (_nan(context, left, scope) or _nan(context, right, scope)):
                yield _found(scope, node, isinstance(op, ast.NotEq))
                break
    for event, name in foreign(context, *_EQUALITIES):
        if name.startswith(("jax.numpy.", "numpy.")) and any(
            _nan(context, a, event.scope) for a in event.node.args[:2]
        ):
            yield _found(event.scope, event.node, name.endswith(".not_equal"))


def _found(scope: Scope, node: ast.AST, different: bool) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"nan is equal to nothing, itself included: this is {different} everywhere",
        "~jnp.isnan(x) asks for it" if different else "jnp.isnan(x) asks for it",
    )


def _nan(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the number nan."""
    if isinstance(node, ast.Attribute | ast.Name):
        if last_word(node).lower() != "nan":
            return False
        value = scope.module.values.get(node)
        found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
        if isinstance(found, Ref):
            return found.name in _NANS
        return _of_text(context, found, scope)
    return isinstance(node, ast.Call) and _of_text(context, scope.module.values.get(node), scope)


def _of_text(context: Context, value: Value | None, scope: Scope) -> bool:
    """Say whether a value is ``float("nan")``."""
    if not isinstance(value, Call) or len(value.args) != 1 or not isinstance(value.args[0], Const):
        return False
    text = value.args[0].value
    return (
        isinstance(text, str)
        and text.strip().lower() == "nan"
        and context.flow.calls.callee_name(context.flow.here(value, scope)) == "builtins.float"
    )


RULE = lint_rule(
    "NNX750",
    "equal-to-nan",
    "a comparison with nan by == or !=",
    why="""\
`x == jnp.nan` is False for every x, nan included, and `x != jnp.nan` is True: a check for broken losses never fires and
a mask of missing values stays empty. `jnp.isnan` tells.
""",
    source="IEEE 754; Stack Overflow on jnp.where(x == jnp.nan, …); measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def cleaned(x):
    return jnp.where(x == jnp.nan, 0.0, x)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def cleaned(x):
    return jnp.where(jnp.isnan(x), 0.0, x)
""",
    ),
)
