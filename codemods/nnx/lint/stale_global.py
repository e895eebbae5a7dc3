"""NNX807: compiled code that reads a variable which is bound again between its calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import shown, traced_bodies
from codemods.nnx.lint.traced import COMPILED
from codemods.nnx.values import Attr, Class, Free, Function, ModuleRef, Value


def _check(context: Context) -> Iterator[Finding]:
    for function, tracing in traced_bodies(context, COMPILED):
        if not tracing.roots:
            continue
        seen: set[str] = set()
        for node in context.bodies.nodes(function.scope):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id in seen:
                continue
            value = function.scope.module.values.get(node)
            if isinstance(value, Free) and value.scope.function not in context.traced and _data(value):
                seen.add(node.id)
                line = _rebound(context, function, value)
                if line:
                    yield finding(
                        RULE.code,
                        function.scope,
                        node,
                        f"{shown(function)} keeps an earlier value of `{node.id}`, which line {line} changes",
                        f"pass `{node.id}` as an argument",
                    )


def _data(free: Free) -> bool:
    """Say whether a variable is bound several times, and to data only."""
    bindings: list[Value] = free.scope.bindings.get(free.name, [])
    return len(bindings) > 1 and not any(isinstance(b, Function | Class | ModuleRef | Attr) for b in bindings)


def _rebound(context: Context, function: FunctionFacts, free: Free) -> int | None:
    """Return the line that binds a variable again after a first call and before another; None if there is none."""
    outer = free.scope
    nodes = context.bodies.nodes(outer)
    if function.scope.parent is not outer:
        return None
    names = {function.name} | {
        t.id for n in nodes if isinstance(n, ast.Assign) and _mentions(n.value, function) for t in n.targets
        if isinstance(t, ast.Name)
    }  # fmt: skip
    calls = [n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in names]
    lines = sorted(call.lineno for call in calls)
    for node in nodes:
        if _binds(node, free.name) and lines and lines[0] < node.lineno < lines[-1]:  # type: ignore[attr-defined]
            return node.lineno  # type: ignore[attr-defined, no-any-return]
    return None


def _mentions(node: ast.expr, function: FunctionFacts) -> bool:
    return any((isinstance(n, ast.Name) and n.id == function.name) or n is function.node for n in ast.walk(node))


def _binds(node: ast.AST, name: str) -> bool:
    """Say whether a statement binds a name, or an item of what it holds."""
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return False
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        inner = target.value if isinstance(target, ast.Subscript) else target
        if isinstance(inner, ast.Name) and inner.id == name:
            return True
    return False


RULE = lint_rule(
    "NNX807",
    "stale-global",
    "compiled code reads a variable that changes between calls",
    why="""\
The value at the first call is a constant of the compiled code. Later values are not seen, until a call with other
shapes compiles anew and takes whatever value there is by then.
""",
    source="JAX tutorial, section on purity (`shift`, `config`); measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax

scale = 1.0


@jax.jit
def scaled(x):
    return x * scale


scaled(2.0)
scale = 2.0
scaled(2.0)
""",
    ),
    clean=(
        """\
import jax

scale = 1.0
scale = 2.0


@jax.jit
def scaled(x):
    return x * scale


scaled(2.0)
""",
    ),
)
