"""NNX571: a Python loop that fills an array of JAX place by place, outside of compiled code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import each, in_test, resolved
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.lint.unrolled import LONG, rounds
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_UPDATE = pattern(rb"\.at\[", needs=(b".at[",))
_WRITING = frozenset({"set", "add"})
_MADE = frozenset(f"jax.numpy.{word}" for word in ("empty", "full", "ones", "zeros", "empty_like", "full_like")) | {
    "jax.numpy.ones_like",
    "jax.numpy.zeros_like",
}
# what takes its own time in every round
_SLOW = pattern(r"^(open|read\w*|load\w*|imread|step|print|write\w*|save\w*|sleep|input|next|wait|run|get|solve_ivp)$")


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_UPDATE)}
    for scope, loop in each(context, ast.For) if modules else ():
        if scope.module not in modules or in_test(scope) or not isinstance(loop.target, ast.Name):
            continue
        if scope.function is not None and context.traced.get(scope.function) is not None:
            continue
        if rounds(context, loop, scope) < LONG and not _of_shape(context, loop.iter, scope):
            continue
        inner = [node for statement in loop.body for node in ast.walk(statement)]
        if any(isinstance(n, ast.Call) and _SLOW.search(last_word(n.func)) for n in inner):
            continue
        for statement in loop.body:
            array = _filled(statement, loop.target.id)
            if array is not None and _made_before(context, array, loop, scope):
                yield finding(
                    RULE.code,
                    scope,
                    statement,
                    f"each round copies all of `{array}` to change one place of it",
                    "compute all of it at once, by jax.vmap or jax.lax.map; or fill an array of NumPy",
                )
                break


def _of_shape(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a loop goes over as many numbers as an array has rows: ``range(x.shape[0])``."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "range" or not 0 < len(node.args) < 3:
        return False
    end = node.args[-1]
    if isinstance(end, ast.Name):
        end = bound_once(context, scope, end) or end
    return isinstance(end, ast.Subscript) and ast.unparse(end).endswith(".shape[0]")


def _filled(statement: ast.stmt, counter: str) -> str | None:
    """Return the variable of ``x = x.at[i].set(...)``, where the index is the number of the round."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    name, call = statement.targets[0], statement.value
    if not isinstance(name, ast.Name) or not isinstance(call, ast.Call) or last_word(call.func) not in _WRITING:
        return None
    place = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(place, ast.Subscript) or ast.unparse(place.value) != f"{name.id}.at":
        return None
    return name.id if counter in names_in(place.slice) else None


def _made_before(context: Context, array: str, loop: ast.For, scope: Scope) -> bool:
    """Say whether an array was made by ``jnp.zeros`` or the like in front of a loop."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign) and node.lineno < loop.lineno and len(node.targets) == 1:
            if isinstance(node.targets[0], ast.Name) and node.targets[0].id == array:
                made = resolved(context, node.value, scope)
                if made is not None and isinstance(made.value, Call):
                    return context.flow.calls.callee_name(made) in _MADE
    return False


_BAD = """\
import jax.numpy as jnp


def payoffs(paths, strike):
    n = paths.shape[0]
    found = jnp.zeros(n)
    for i in range(n):
        found = found.at[i].set(jnp.maximum(paths[i].mean() - strike, 0.0))
    return found
"""

RULE = lint_rule(
    "NNX571",
    "filled-by-rounds",
    "a Python loop that fills an array place by place, outside of compiled code",
    why="""\
Arrays do not change: `x.at[i].set(v)` outside of compiled code copies all of `x`, and every operation of a round is a
call of its own. 2,000 rounds took 9 s where `jax.vmap` takes 0.3 s.
""",
    source="github.com/jax-ml/jax/issues/15761; measured on a CPU",
    severity="hint",
    check=_check,
    bad=(_BAD,),
    clean=(
        """\
import jax
import jax.numpy as jnp


def payoffs(paths, strike):
    return jax.vmap(lambda path: jnp.maximum(path.mean() - strike, 0.0))(paths)
""",
    ),
)
