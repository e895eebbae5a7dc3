"""NNX901: ``nnx.jit`` in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.flow import Callee
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import NNX_OBJECTS, in_test, jit_of, kinds_of
from codemods.nnx.lint.syntax import constant, inside
from codemods.nnx.lint.traced import Root
from codemods.nnx.project import enclosing_function
from codemods.nnx.speedup.loops import HotLoop, hot_loops, obstacle
from codemods.nnx.values import Call, Const, Function, Ref, Sequence

MANY = 1_000  # rounds; fewer are over before the traversal matters
FEW = 100  # rounds that are over before anybody notices
WIDE = 512  # features; the arithmetic of wider layers hides the traversal
_DEEP = 4  # how deep modules in modules are looked at


def _check(context: Context) -> Iterator[Finding]:
    if not any(root.transform == "flax.nnx.jit" for root in context.traced.roots):
        return
    loops: dict[Root, HotLoop] | None = None
    seen: set[object] = set()
    for event in context.asked.calls():
        if not any(isinstance(loop, ast.For | ast.While) for loop in event.loops):
            continue
        if enclosing_function(event.scope) in context.traced or in_test(event.scope):
            continue
        root = next((r for r in jit_of(context, event) if r.transform == "flax.nnx.jit"), None)
        if root is None or (event.scope, root) in seen or _counted(context, event) or not _objects(context, event):
            continue
        if not _hot(event) and (_short(event) or event.scope.module.source.notebook or not _small(context, event)):
            continue
        seen.add((event.scope, root))
        if loops is None:
            loops = {hot.root: hot for hot in hot_loops(context)}
        why = obstacle(context, loops[root]) if root in loops else "it is called in other ways too"
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "nnx.jit takes its objects apart and puts them together again in every round",
            f"for a small model use nnx.cached_partial, or jax.jit with nnx.split: by hand, as {why}"
            if why
            else "for a small model use nnx.cached_partial: `nnxmigrate speedup` does it",
        )


def _hot(event: CallEvent) -> bool:
    """Say whether a loop around a call has many rounds for certain."""
    return any(_rounds(loop) >= MANY for loop in event.loops)


def _short(event: CallEvent) -> bool:
    """Say whether the loops around a call have few rounds for certain."""
    return all(0 <= _rounds(loop) < FEW for loop in event.loops)


def _rounds(loop: ast.AST) -> int:
    """Return how many rounds a loop over a literal range has; -1 if that is not known."""
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call) or not isinstance(loop.iter.func, ast.Name):
        return -1
    numbers = [constant(argument) for argument in loop.iter.args]
    if loop.iter.func.id not in {"range", "trange"} or not numbers:
        return -1
    literal = [number for number in numbers if isinstance(number, int)]
    return len(range(*literal)) if len(literal) == len(numbers) < 4 and 0 not in literal[2:] else -1


def _small(context: Context, event: CallEvent) -> bool:
    """Say whether all modules that a call gets are made in sight and are small for certain."""
    values = list(event.value.given)
    models = [value for value in values if Kind.MODULE in kinds_of(context, value, event.scope)]
    made = [source for value in models for source in context.sources.originals(context.flow.here(value, event.scope))]
    return bool(made) and all(_tiny(context, source) for source in made)


def _tiny(context: Context, made: Bound, depth: int = 0) -> bool:
    """Say whether a constructor call makes a module whose sizes are all written there and small."""
    flow, value = context.flow, made.value
    if not isinstance(value, Call) or value.starred or depth > _DEEP:
        return False
    name = flow.calls.callee_name(made)
    if name.startswith("flax.nnx.") and last(name)[:1].isupper():
        parts = [*value.args, *(v for k, v in value.keywords if k != "rngs")]
        return all(_modest(context, flow.follow(made, part), depth) for part in parts)
    cls = flow.classes.class_of(made)
    init = flow.classes.method(cls, "__init__") if cls is not None else None
    if init is None:
        return False
    frame = flow.calls.enter(Callee(init, flow.open_frame(init.scope.parent), made), made)
    layers = [Bound(call.value, frame) for call in context.bodies.calls.get(init.scope, ())]
    layers = [one for one in layers if Kind.MODULE in context.kinds.of(one)]
    return bool(layers) and all(_tiny(context, layer, depth + 1) for layer in layers)


def _modest(context: Context, part: Bound, depth: int) -> bool:
    value = part.value
    if isinstance(value, Const):
        return not isinstance(value.value, int) or value.value <= WIDE
    if isinstance(value, Sequence):
        return all(_modest(context, context.flow.follow(part, item), depth) for item in value.items)
    if isinstance(value, Call) and Kind.MODULE in context.kinds.of(part):
        return _tiny(context, part, depth + 1)
    return isinstance(value, Ref | Function) or Kind.RNGS in context.kinds.of(part)


def _objects(context: Context, event: CallEvent) -> bool:
    values = list(event.value.given)
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
