"""NNX667: a bias correction whose steps are counted from zero, so that it divides by zero in the first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import complement
from codemods.nnx.lint.clamped_block import rounds_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, one_source
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Unknown

_POWERS = pattern(rb"1(\.0?)? ?- ?[^\n]{1,60}(\*\*|pow)")
_GUARDING = frozenset({"where", "select", "maximum", "max", "clip", "cond", "nan_to_num"})


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_POWERS)}
    for scope, correction, old, new in _counted_late(context, modules):
        words = f"`{old}` is the number before this step, 0 in the first, where 1 - 1 = 0 divides: `{new}` is meant"
        yield finding(RULE.code, scope, correction, words, f"write `{new}`")
    told: set[tuple[Scope, str]] = set()
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Div) or scope.module not in modules or in_test(scope):
            continue
        step = _exponent(written(context, node.right, scope))
        home = _outermost(scope)
        if (
            step is None
            or (home, step.id) in told
            or _guarded(context, scope, step)
            or not _from_zero(context, step, scope)
        ):
            continue
        told.add((home, step.id))
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{step.id}` is 0 in the first step, where this divides by 1 - 1 = 0: all becomes NaN or infinite",
            f"count from one: {step.id} + 1",
        )


def _counted_late(context: Context, modules: set[ModuleFacts]) -> Iterator[tuple[Scope, ast.BinOp, str, str]]:
    """Yield the corrections with the number of steps before this one, in functions that correct with the new number as
    well: ``step = state.step + 1`` with ``1 - b1**state.step`` and ``1 - b2**step``."""
    for function in (one for module in context.asked.modules if module in modules for one in module.functions):
        if in_test(function.scope) or isinstance(function.node, ast.Lambda):
            continue
        counted = {
            ast.unparse(node.value.left): node.targets[0].id
            for node in context.bodies.nodes(function.scope)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.BinOp)
            and isinstance(node.value.op, ast.Add)
            and isinstance(node.value.left, ast.Attribute | ast.Subscript)
            and constant(node.value.right) == 1
        }
        powers = {node: _power(node) for node in ast.walk(function.node) if counted and isinstance(node, ast.BinOp)}
        used = {ast.unparse(one) for one in powers.values() if one is not None}
        for node, exponent in powers.items():
            old = ast.unparse(exponent) if exponent is not None else ""
            if old in counted and counted[old] in used:
                yield function.scope, node, old, counted[old]


def _outermost(scope: Scope) -> Scope:
    """Return the function around all others that a body stands in: one for the functions of a ``jax.tree.map``."""
    while scope.parent is not None and scope.parent.function is not None:
        scope = scope.parent
    return scope


def _exponent(node: ast.expr) -> ast.Name | None:
    """Return the variable ``t`` in ``1 - decay**t``."""
    exponent = _power(node)
    return exponent if isinstance(exponent, ast.Name) else None


def _power(node: ast.expr) -> ast.expr | None:
    """Return what ``t`` is in ``1 - decay**t``."""
    power = complement(node)
    if isinstance(power, ast.BinOp) and isinstance(power.op, ast.Pow):
        return power.right
    if isinstance(power, ast.Call) and last_word(power.func) in {"power", "pow"} and len(power.args) == 2:
        return power.args[1]
    return None


def _guarded(context: Context, scope: Scope, step: ast.Name) -> bool:
    """Say whether the body, or one around it, looks at the number of the step elsewhere, as in ``if t > 0``."""
    home: Scope | None = scope
    while home is not None:
        for node in context.bodies.nodes(home):
            looks = isinstance(node, ast.Compare | ast.IfExp)
            if looks or (isinstance(node, ast.Call) and last_word(node.func) in _GUARDING):
                if any(one.id == step.id for one in _looked_at(node)):
                    return True
        home = home.parent
    return False


def _looked_at(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the variables in a condition but those of which a remainder is taken, as in ``step % 100 == 0``."""
    if isinstance(node, ast.Name):
        yield node
    elif not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)):
        for child in ast.iter_child_nodes(node):
            yield from _looked_at(child)


def _from_zero(context: Context, step: ast.Name, scope: Scope) -> bool:
    """Say whether a variable counts 0, 1, 2, ... in a loop, wherever it is handed on from."""
    counter = at(context, step, scope)
    if rounds_of(context, counter) is not None:
        return True
    found = one_source(context, counter)
    loop = found.value.node if found is not None and isinstance(found.value, Unknown) else None
    return isinstance(loop, ast.For | ast.comprehension) and _numbers(loop.iter)


def _numbers(node: ast.expr) -> bool:
    """Say whether a loop goes over ``enumerate(...)`` from zero, perhaps behind a bar of progress."""
    while isinstance(node, ast.Call) and last_word(node.func) in {"tqdm", "trange", "list"} and node.args:
        node = node.args[0]
    if not isinstance(node, ast.Call) or last_word(node.func) != "enumerate":
        return False
    start = argument(node, 1, "start")
    return start is None or constant(start) == 0


_BAD = """\
import jax
import jax.numpy as jnp


def adam(params, grads, m, v, t, rate=0.1):
    m = 0.9 * m + 0.1 * grads
    v = 0.999 * v + 0.001 * grads**2
    return params - rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v


params, m, v = jnp.ones(3), jnp.zeros(3), jnp.zeros(3)
for step in range(10):
    grads = jax.grad(lambda p: jnp.sum(p**2))(params)
    params, m, v = adam(params, grads, m, v, step)
"""

RULE = lint_rule(
    "NNX667",
    "bias-correction-from-zero",
    "a bias correction `1 - decay**t` that is divided by at t = 0",
    why="""\
Averages that begin at zero are divided by `1 - decay**t`, where t is the number of averages that went in: at least one.
With a t of zero this is 0, and the first step divides zero by zero, or something by zero. Loops over `range(n)`,
`enumerate(...)` and `jax.lax.fori_loop(0, n, ...)` count from zero.
""",
    source="Kingma and Ba, Adam, algorithm 1; measured on JAX 0.7.2 and 0.10.2: NaN from the first step on",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("m, v, step)", "m, v, step + 1)"),),
)
