"""NNX804: traced code that rebinds a global or an outer variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.places import shown, traced_bodies
from codemods.nnx.rule import Example, Kind, Rule


def _check(context: Context) -> Iterator[Finding]:
    for function, _ in traced_bodies(context):
        if not function.scope.globals:
            continue
        nodes = context.bodies.nodes(function.scope)
        outer = {name for node in nodes if isinstance(node, ast.Nonlocal) for name in node.names}
        for node in nodes:
            if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)} & function.scope.globals
            for name in sorted(names):
                # counting traces in an enclosing test or benchmark is a custom and works as meant
                if name in outer and not _tainted(context, node, function.scope):
                    continue
                yield finding(
                    RULE.code,
                    function.scope,
                    node,
                    f"`{name}` changes once per compilation and not at every call of {shown(function)}",
                    f"return the new value of `{name}`, or keep it in an nnx.Variable",
                )


def _tainted(context: Context, node: ast.Assign | ast.AugAssign | ast.AnnAssign, scope: Scope) -> bool:
    return node.value is not None and context.taint.node_holds(node.value, scope)


RULE = Rule(
    code="NNX804",
    name="global-in-traced",
    summary="traced code assigns to a global or nonlocal variable",
    why="""\
The assignment happens while tracing: once per compilation. A counter stays at 1, and a traced value leaks its tracer,
which raises UnexpectedTracerError when it is used. Counting traces in a `nonlocal` variable is left alone.
""",
    kind=Kind.LINT,
    safety=None,
    since="0.10",
    source='talk "Introducing Flax NNX (Part 2)", section 3; measured: 1 of 5 calls counted',
    examples=(
        Example(
            before="""\
import jax

count = 0


@jax.jit
def step(x):
    global count
    count += 1
    return x
""",
            run=False,
        ),
    ),
    check=_check,
)
