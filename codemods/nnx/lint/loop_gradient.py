"""NNX872: the gradient of a loop of unknown length."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.chains import switched
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, shown
from codemods.nnx.lint.reached import Reach, mentions
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function

_FORWARD = frozenset({"jax.jacfwd"})
# what says that the loop has a derivative of its own, or none
_HANDLED = frozenset(
    {"custom_vjp", "custom_jvp", "stop_gradient", "custom_root", "custom_linear_solve", "closure_convert", "vjp"}
)

_SOLVER = "jax.scipy.optimize.minimize"  # which runs such a loop

# what takes functions and differentiates none of them
_WITHOUT = frozenset({"stop_gradient", "custom_root", "custom_linear_solve"})


def _check(context: Context) -> Iterator[Finding]:
    loops: dict[FunctionFacts, list[tuple[ast.Call, str]]] = {}
    for event, name in foreign(context, "while_loop", "fori_loop", "minimize"):
        function = event.scope.function
        if (
            function is None
            or event.value.starred
            or in_test(event.scope)
            or context.bodies.guarded(event.node, event.scope)
            or _chosen(context, event)
        ):
            continue
        if name in {"jax.lax.while_loop", _SOLVER} or (name == "jax.lax.fori_loop" and _open(context, event)):
            loops.setdefault(function, []).append((event.node, last(name)))
    if not loops:
        return
    seen: set[ast.AST] = set()
    for function, names in Reach(context, loops, _FORWARD).functions():
        if any(last_word(n) in _HANDLED for n in ast.walk(function.node)) or _ruled(function):
            continue
        for node, word in loops.get(function, ()):
            # a condition alone has no gradient to hand on
            parts = node.args[1:] if word == "while_loop" else node.args[2:]
            if word == "minimize":
                parts = [*node.args, *(one.value for one in node.keywords)]
            if node not in seen and any(_used(part, names) for part in parts):
                seen.add(node)
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    f"{shown(function)} is differentiated, and {word} "
                    + ("with a bound that is traced has no gradient" if word == "fori_loop" else "has no gradient"),
                    "use fori_loop with known bounds, or scan"
                    if word != "minimize"
                    else "differentiate the condition of the minimum: jax.lax.custom_root, or jax.custom_vjp",
                )


def _ruled(function: FunctionFacts) -> bool:
    """Say whether a function around another has a rule of its own for the derivative, or hands the other only to what
    needs none: ``lax.custom_root(f, x, solve, tangent)``, ``stop_gradient(solve(x))``."""
    inner: FunctionFacts | None = function
    while inner is not None:
        outer = enclosing_function(inner.scope.parent)
        if outer is None or isinstance(outer.node, ast.Lambda):
            return False
        if any(_rule(n) for decorator in outer.node.decorator_list for n in ast.walk(decorator)):
            return True
        handled = {
            id(n)
            for call in ast.walk(outer.node)
            if isinstance(call, ast.Call) and last_word(call.func) in _WITHOUT
            for n in ast.walk(call)
        }
        uses = [n for n in ast.walk(outer.node) if isinstance(n, ast.Name) and n.id == inner.name]
        if handled and uses and all(id(n) in handled for n in uses):
            return True
        inner = outer
    return False


def _rule(node: ast.AST) -> bool:
    """Say whether an expression names what gives a function a derivative of its own, also that of Equinox."""
    return last_word(node).removeprefix("filter_") in {"custom_vjp", "custom_jvp"}


def _chosen(context: Context, event: CallEvent) -> bool:
    """Say whether a setting chooses the loop, as ``if mode == FORWARD``: with another one, another loop may run."""
    for block, _ in context.bodies.paths(event.scope).get(event.node, ()):
        test = block.test if isinstance(block, ast.If | ast.IfExp) else None
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        if isinstance(test, ast.Name | ast.Attribute):
            return True
    return switched(event.node, event.scope, context.bodies, context.traced.given)


def _open(context: Context, event: CallEvent) -> bool:
    """Say whether a bound of a loop is traced."""
    return any(context.taint.node(bound, event.scope) for bound in event.node.args[:2])


def _used(part: ast.expr, names: set[str]) -> bool:
    """Say whether a body or a first carry depends on some names."""
    own = {a.arg for a in part.args.args} if isinstance(part, ast.Lambda) else set()
    return mentions(part, names - own)


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
