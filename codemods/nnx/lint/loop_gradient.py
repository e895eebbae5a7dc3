"""NNX872: the gradient of a loop of unknown length."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, shown
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word

_REVERSE = GRADIENTS - {"jax.jacfwd"}
# what says that the loop has a derivative of its own, or none
_HANDLED = frozenset({"custom_vjp", "custom_jvp", "stop_gradient", "custom_root", "custom_linear_solve"})


def _check(context: Context) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for event, name in foreign(context, "grad", "value_and_grad", "jacrev"):
        if name not in _REVERSE or not event.value.args or in_test(event.scope):
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        numbers = keyword(event.node, "argnums")
        place = 0 if numbers is None else constant(numbers)
        for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope)):
            function = callee.function
            params = list(function.params)
            if callee.args or callee.receiver is not None or not isinstance(place, int) or place >= len(params):
                continue
            loop = _loop(context, function, params[place])
            if loop is not None and loop not in seen:
                seen.add(loop)
                yield finding(
                    RULE.code,
                    function.scope,
                    loop,
                    f"{shown(function)} is differentiated, and while_loop has no gradient",
                    "use fori_loop with known bounds, or scan",
                )


def _loop(context: Context, function: FunctionFacts, param: str) -> ast.Call | None:
    """Return a loop whose carry depends on a parameter and whose result the function returns at once."""
    if function.decorators or any(last_word(n) in _HANDLED for n in ast.walk(function.node)):
        return None
    for event in context.bodies.calls.get(function.scope, ()):
        name = context.flow.calls.name(event)
        if name != "jax.lax.while_loop" or event.value.starred or len(event.node.args) < 3:
            continue
        if event.value in function.returns and any(_mentions(a, param) for a in event.node.args[1:]):
            return event.node
    return None


def _mentions(node: ast.expr, name: str) -> bool:
    """Say whether an expression reads a variable as an array, not for its shape."""
    if isinstance(node, ast.Lambda) and name in {a.arg for a in node.args.args}:
        return False
    static = {
        n.value for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr in {"shape", "dtype", "ndim", "size"}
    }
    return any(isinstance(n, ast.Name) and n.id == name and n not in static for n in ast.walk(node))


RULE = lint_rule(
    "NNX872",
    "gradient-of-while-loop",
    "the gradient of a function that returns the result of while_loop",
    why="""\
Reverse-mode differentiation has to keep what every round computed, and how many rounds `while_loop` makes is not known
while compiling: a ValueError. `fori_loop` with bounds that are Python numbers and `scan` have gradients; `jax.jvp` and
`jax.jacfwd` work with `while_loop` too.
""",
    source="jax issues 83, 2956 and 4106; measured: ValueError on Flax 0.10.7 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def grown(x):
    return jax.lax.while_loop(lambda v: v < 10, lambda v: v * x, x)


slope = jax.grad(grown)(2.0)
""",
    ),
    clean=(
        """\
import jax


def grown(x):
    return jax.lax.fori_loop(0, 3, lambda i, v: v * x, x)


slope = jax.grad(grown)(2.0)
forward = jax.jacfwd(lambda x: jax.lax.while_loop(lambda v: v < 10, lambda v: v * x, x))(2.0)
""",
    ),
)
