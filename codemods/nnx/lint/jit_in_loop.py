"""NNX903: compiling in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import compiled_roots, foreign, in_test
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call, Function


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "jit", "pmap"):
        if name not in {"jax.jit", "flax.nnx.jit", "jax.pmap", "flax.nnx.pmap"} or not event.node.args:
            continue
        loop = next((one for one in reversed(event.loops) if isinstance(one, ast.For | ast.While)), None)
        if in_test(event.scope) or enclosing_function(event.scope) in context.traced:
            continue
        bound = _bound_in(loop, event.node) if loop is not None else not _repeated(context, event)
        if not bound and _fresh(context, event, name):
            yield _found(event.scope, event.node, name)
    for root in compiled_roots(context):
        node = root.function.node
        if not root.decorator or isinstance(node, ast.Lambda) or in_test(root.scope):
            continue
        for outer, arm in reversed(context.bodies.paths(root.scope).get(node, ())):
            if isinstance(outer, ast.For | ast.While) and arm == "body":
                if not _bound_in(outer, node, own=node) and enclosing_function(root.scope) not in context.traced:
                    yield _found(root.scope, root.node, root.transform)
                break


def _found(scope: Scope, node: ast.AST, name: str) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"`{name}` makes a new function in every round, which is compiled every time",
        "compile once before the loop",
    )


def _repeated(context: Context, event: CallEvent) -> bool:
    """Say whether a function compiles another one and calls it at once, and is itself called in loops only."""
    function = event.scope.function
    if function is None or isinstance(function.node, ast.Lambda):
        return False
    made = event.node.args[0]
    if isinstance(made, ast.Lambda) and not (made.args.args or made.args.vararg):
        return False  # makes something once, such as arrays that are sharded
    used = any(isinstance(n, ast.Call) and n.func is event.node for n in context.bodies.nodes(event.scope))
    callers = context.flow.callers(function) if used else []
    return bool(callers) and all(
        any(isinstance(loop, ast.For | ast.While) for loop in caller.loops) and not in_test(caller.scope)
        for caller in callers
    )


def _fresh(context: Context, event: CallEvent, name: str) -> bool:
    """Say whether the compiled code cannot be found again: nnx.jit always makes a new one."""
    if name.startswith("flax."):
        return True
    inner = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    if isinstance(inner, Function):
        return isinstance(event.node.args[0], ast.Lambda)
    return isinstance(inner, Call) and isinstance(event.node.args[0], ast.Call)


def _bound_in(loop: ast.For | ast.While, node: ast.AST, own: ast.AST | None = None) -> bool:
    """Say whether what is compiled depends on something that the loop binds; its own names do not count."""
    inner = set(ast.walk(own)) if own is not None else set()
    bound = {
        n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in inner
    }
    bound |= {n.name for n in ast.walk(loop) if isinstance(n, ast.FunctionDef) and n is not own and n not in inner}
    return any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(node))


RULE = lint_rule(
    "NNX903",
    "jit-in-loop",
    "jit inside a loop",
    why="""\
Compiled code belongs to the function object. `nnx.jit(f)` makes a new one each time, and so does `jax.jit` of a
lambda or a partial: ten rounds, ten compilations. `jax.jit(f)` of one and the same f finds its code again.
""",
    source="JAX tutorial; measured: 10 compilations in 10 rounds",
    check=_check,
    bad=(
        """\
from flax import nnx


def double(x):
    return x * 2


for x in range(10):
    nnx.jit(double)(x)
""",
    ),
    clean=(
        """\
import jax
from flax import nnx


def double(x):
    return x * 2


fast = nnx.jit(double)
for x in range(10):
    fast(x)
    jax.jit(double)(x)
""",
    ),
)
