"""NNX574: methods of SciPy's minimize that JAX's does not have, and arguments that are no tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import error_wanted, foreign, in_test
from codemods.nnx.lint.syntax import argument
from codemods.nnx.values import Call, Const, Param, Sequence

_NAME = "jax.scipy.optimize.minimize"
_KNOWN = frozenset({"bfgs", "l-bfgs-experimental-do-not-rely-on-this"})
_ARRAYS = ("jax.numpy.", "jax.random.", "numpy.")


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "minimize"):
        if name != _NAME or event.value.starred or in_test(event.scope) or error_wanted(context, event):
            continue
        method = _method(context, event)
        if method:
            yield finding(
                RULE.code,
                event.scope,
                argument(event.node, 3, "method") or event.node,
                f"`minimize` of JAX has no method {method!r}: it knows BFGS alone",
                'take method="BFGS", or scipy.optimize.minimize with the gradient of JAX for jac=',
            )
        given = argument(event.node, 2, "args")
        if given is not None and _array(context, event):
            yield finding(
                RULE.code,
                event.scope,
                given,
                "`minimize` of JAX takes a tuple for `args`, and this is none",
                "make it a tuple: args=(data,)",
            )


def _method(context: Context, event: CallEvent) -> str:
    """Return the method that a call names on every way to get there, if JAX does not have it; empty otherwise."""
    value = event.value.argument(3, "method")
    node = argument(event.node, 3, "method")
    if value is None or node is None or _asked_before(context, event, node):
        return ""
    names: set[str] = set()
    for found in context.sources.originals(context.flow.here(value, event.scope)):
        one = found.value
        if isinstance(one, Param):  # nobody calls the function yet
            one = one.function.defaults.get(one.name, one)
        if not isinstance(one, Const) or not isinstance(one.value, str):
            return ""
        names.add(one.value)
    wrong = sorted(name for name in names if name.lower() not in _KNOWN)
    return wrong[0] if len(wrong) == len(names) and wrong else ""


def _asked_before(context: Context, event: CallEvent, node: ast.expr) -> bool:
    """Say whether a call stands under a condition on the method that it gets."""
    text = ast.dump(node)
    return any(
        isinstance(block, ast.If) and any(ast.dump(one) == text for one in ast.walk(block.test))
        for block, _ in context.bodies.paths(event.scope).get(event.node, ())
    )


def _array(context: Context, event: CallEvent) -> bool:
    """Say whether the arguments for the objective are an array or a list for certain."""
    value = event.value.argument(2, "args")
    if value is None:
        return False
    sources = context.sources.originals(context.flow.here(value, event.scope))
    return bool(sources) and all(
        (isinstance(one.value, Sequence) and isinstance(one.value.node, ast.List))
        or (
            isinstance(one.value, Call)
            and context.flow.calls.callee_name(one).startswith(_ARRAYS)
            and last(context.flow.calls.callee_name(one)) in _MAKING
        )
        for one in sources
    )


_MAKING = frozenset(
    {"array", "asarray", "zeros", "ones", "full", "linspace", "arange", "normal", "uniform", "eye", "stack",
     "concatenate"}
)  # fmt: skip

_BAD = """\
import jax.numpy as jnp
from jax.scipy.optimize import minimize


def fit(x, method="L-BFGS-B"):
    return minimize(lambda w: jnp.sum((w - x) ** 2), jnp.zeros(2), method=method)


print(fit(jnp.ones(2)))
"""

RULE = lint_rule(
    "NNX574",
    "method-of-minimize",
    "a method of SciPy's minimize that JAX's does not have",
    why="""\
`jax.scipy.optimize.minimize` knows the method BFGS alone: `L-BFGS-B`, `Nelder-Mead`, `CG` and the others of SciPy raise
a ValueError. Its `args` must be a tuple, where SciPy makes one of a single array.
""",
    source="JAX documentation of scipy.optimize.minimize; measured on JAX 0.6.2, 0.7.2 and 0.10.2: errors",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("L-BFGS-B", "BFGS"),),
)
