"""NNX901: ``nnx.jit`` in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import NNX_OBJECTS, in_test, jit_of, kinds_of
from codemods.nnx.lint.syntax import inside
from codemods.nnx.project import enclosing_function


def _check(context: Context) -> Iterator[Finding]:
    if not any(root.transform == "flax.nnx.jit" for root in context.traced.roots):
        return
    seen: set[object] = set()
    for event in context.asked.calls():
        if not any(isinstance(loop, ast.For | ast.While) for loop in event.loops):
            continue
        if enclosing_function(event.scope) in context.traced or in_test(event.scope):
            continue
        root = next((r for r in jit_of(context, event) if r.transform == "flax.nnx.jit"), None)
        if root is None or (event.scope, root) in seen or _counted(context, event) or not _objects(context, event):
            continue
        seen.add((event.scope, root))
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "nnx.jit takes its objects apart and puts them together again in every round",
            "for a small model use nnx.cached_partial or jax.jit with nnx.split: see `nnxmigrate speedup`",
        )


def _objects(context: Context, event: CallEvent) -> bool:
    values = [*event.value.args, *(value for _, value in event.value.keywords)]
    return any(kinds_of(context, value, event.scope) & NNX_OBJECTS for value in values)


def _counted(context: Context, event: CallEvent) -> bool:
    """Say whether a call waits for every n-th round of its loop, as evaluations do: it is not hot."""
    loop = next(one for one in reversed(event.loops) if isinstance(one, ast.For | ast.While))
    path = context.bodies.paths(event.scope).get(event.node, ())
    return any(
        isinstance(outer, ast.If) and arm == "body" and inside(outer, loop) and _every(outer.test)
        for outer, arm in path
    )


def _every(test: ast.expr) -> bool:
    """Say whether a condition holds in every n-th round: ``i % n == 0`` or ``not i % n``, maybe with others."""
    match test:
        case ast.BoolOp(values=values):
            return any(_every(value) for value in values)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return _modulo(left) or _modulo(right)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _modulo(operand)
    return False


def _modulo(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


RULE = lint_rule(
    "NNX901",
    "nnx-jit-in-loop",
    "a function compiled with nnx.jit is called with NNX objects in a loop",
    why="""\
`nnx.jit` traverses its objects in Python at every call: 27 to 47 microseconds for each Variable, which a small model
feels and a large one hides behind the computation. `nnx.cached_partial` traverses them once (2.5 to 3.5 times the
steps per second of a small model), `jax.jit` with `nnx.split` and `nnx.merge` not at all (2.7 to 5 times).
""",
    source="performance guide of Flax NNX; measured on Flax 0.10.7, 0.11.2 and 0.12.8 on a CPU",
    check=_check,
    bad=(
        """\
from flax import nnx


@nnx.jit
def step(model, x):
    return model(x)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
for x in range(100):
    step(model, x)
""",
    ),
    clean=(
        """\
from flax import nnx


@nnx.jit
def step(model, x):
    return model(x)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
cached = nnx.cached_partial(step, model)
for x in range(100):
    cached(x)
step(model, 1)
""",
    ),
)
