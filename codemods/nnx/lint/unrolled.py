"""NNX909: long Python loops in traced code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, resolved, traced_bodies
from codemods.nnx.lint.traced import Tracing
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const

# who calls a function that shows what is lost by it
_NAMED = pattern(r"(^|_)(slow|unroll|unrolled)(_|$)")
LONG = 64  # rounds; measured compile times become noticeable there


def _check(context: Context) -> Iterator[Finding]:
    for function, tracing in traced_bodies(context):
        if _looked_at(context, tracing) or _measured(function) or _NAMED.search(function.name):
            continue
        for node in context.bodies.nodes(function.scope):
            if isinstance(node, ast.For):
                count = rounds(context, node, function.scope)
                if count >= LONG and _computes(context, node, function.scope) and not _for_nothing(node):
                    yield finding(
                        RULE.code,
                        function.scope,
                        node.iter,
                        f"the loop is unrolled: its body is compiled {count} times",
                        "use jax.lax.fori_loop or jax.lax.scan (nnx.scan for functions of NNX objects)",
                    )


def _looked_at(context: Context, tracing: Tracing) -> bool:
    """Say whether what is compiled is only lowered, as where its code or the time to compile it is looked at."""
    lowered = {
        node.value
        for root in tracing.roots
        for node in root.scope.module.source.of_type(ast.Attribute)
        if node.attr == "lower"
    }
    roots = [root for root in tracing.roots if root.transform == "jax.jit"]
    return (
        bool(roots)
        and len(roots) == len(tracing.roots)
        and all(root.node in lowered and not context.traced.calls_of(root) for root in roots)
    )


def _measured(function: FunctionFacts) -> bool:
    """Say whether a function stands in a test of speed."""
    scope: Scope | None = function.scope
    names = []
    while scope is not None:
        names.append(scope.function.name if scope.function is not None else "")
        scope = scope.parent
    return in_test(function.scope) and any(_SPEED.search(name) for name in names)


_SPEED = pattern(r"(^|_)(perf|performance|bench(mark)?|speed|compile_time)(_|$)")


def rounds(context: Context, node: ast.For, scope: Scope) -> int:
    """Return how often a loop over a range of known length runs; 0 if that is not known."""
    made = resolved(context, node.iter, scope)
    if made is None or not isinstance(made.value, Call) or context.flow.calls.callee_name(made) != "builtins.range":
        return 0
    numbers = [context.flow.follow(made, argument).value for argument in made.value.args]
    values = [n.value for n in numbers if isinstance(n, Const) and isinstance(n.value, int)]
    if len(values) != len(numbers) or not values or (len(values) > 2 and values[2] == 0):
        return 0
    return len(range(*values))


def _computes(context: Context, node: ast.For, scope: Scope) -> bool:
    return any(
        isinstance(inner, ast.expr) and context.taint.node(inner, scope)
        for statement in node.body
        for inner in ast.walk(statement)
    )


def _for_nothing(node: ast.For) -> bool:
    """Say whether all that the rounds of a loop compute is thrown away into ``_``: work for a test of speed."""
    return all(
        isinstance(one, ast.Assign) and [ast.unparse(target) for target in one.targets] == ["_"] for one in node.body
    )


RULE = lint_rule(
    "NNX909",
    "unrolled-loop",
    "a Python loop of 64 rounds or more in traced code",
    why="""\
Python loops run while tracing: every round adds its operations to the program to compile. Measured compile times for
4, 64, 256 and 1000 rounds on Flax 0.11: 0.2, 1.6, 5.8 and 22 seconds; `fori_loop` takes 0.1.
""",
    source="JAX tutorial (`stupid_fn`); measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax


@jax.jit
def power(x):
    for _ in range(1000):
        x = x * x
    return x
""",
    ),
    clean=(
        """\
import jax


@jax.jit
def power(x):
    for _ in range(4):
        x = x * x
    return jax.lax.fori_loop(0, 1000, lambda i, v: v * v, x)
""",
    ),
)
