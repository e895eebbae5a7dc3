"""NNX912: a model that a loop calls without compiling it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import varies
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.places import in_test, jit_of, kinds_of, scopes
from codemods.nnx.lint.rounds import few
from codemods.nnx.lint.syntax import innermost_loop, inside
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Class, Function, Ref


def _check(context: Context) -> Iterator[Finding]:
    for scope in scopes(context):
        seen: set[ast.AST] = set()
        for event in context.bodies.calls.get(scope, ()):
            loop = innermost_loop(event)
            if loop is None or loop in seen or not _eager(context, event, loop):
                continue
            seen.add(loop)
            if _paced(loop) or few(context, scope, loop):
                continue
            yield finding(
                RULE.code,
                scope,
                event.node,
                "the model runs operation by operation in every round",
                "call it through a compiled function: predict = nnx.jit(lambda m, x: m(x))",
            )


def _eager(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether a call runs a module in a loop of many rounds, and not in compiled code."""
    if not isinstance(event.node.func, ast.Name | ast.Attribute) or not event.node.args:
        return False
    function = enclosing_function(event.scope)
    if function in context.traced or in_test(event.scope) or _few(loop) or _in_module(context, event):
        return False
    if context.bodies.sometimes(event.node, event.scope, loop):
        return False
    callee = event.value.callee
    found = context.flow.resolve(context.flow.here(callee, event.scope)).value
    holder = callee
    while isinstance(holder, Attr):
        holder = holder.base
    if varies(holder, loop) or (isinstance(found, Call) and inside(found.node, loop)):
        return False  # another model in every round
    if isinstance(found, Class | Function | Ref) or kinds_of(context, callee, event.scope) != {Kind.MODULE}:
        return False
    if jit_of(context, event):
        return False
    return not _compiled(context, event) and not _trains(context, event, loop) and not _counts(context, event)


#: What takes longer than a small model, or waits: environments, windows and people.
_PACING = frozenset({"step", "reset", "render", "imshow", "draw", "pause", "show", "sleep", "input", "savefig", "plot"})


def _paced(loop: ast.For | ast.While) -> bool:
    """Say whether something else sets the pace of a loop: it steps an environment of the host, or shows something."""
    calls = (n for n in ast.walk(loop) if isinstance(n, ast.Call))
    return any(last_word(call.func) in _PACING for call in calls)


def _counts(context: Context, event: CallEvent) -> bool:
    """Say whether what is called is no model and only keeps count, as a metric does: nobody takes what it gives, or
    it can be asked for a result and be reset."""
    if isinstance(event.statement, ast.Expr) and event.statement.value is event.node:
        return True
    callee = context.flow.here(event.value.callee, event.scope)
    made = [context.flow.classes.class_of(one) for one in context.sources.originals(callee)]
    return bool(made) and all(
        cls is not None and all(context.flow.classes.method(cls, name) is not None for name in ("compute", "reset"))
        for cls in made
    )


def _few(loop: ast.For | ast.While) -> bool:
    """Say whether a loop goes over a display of some values."""
    return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Tuple | ast.List)


def _in_module(context: Context, event: CallEvent) -> bool:
    """Say whether a call stands in a method of a module, which is compiled where the module is used."""
    function = enclosing_function(event.scope)
    while function is not None and function.owner is None:
        parent = function.scope.parent
        function = enclosing_function(parent) if parent is not None else None
    owner = function.owner if function is not None else None
    return owner is not None and any(name.startswith("flax.nnx.") for name in context.flow.classes.mro(owner)[1])


def _compiled(context: Context, event: CallEvent) -> bool:
    """Say whether the module compiles its ``__call__`` itself."""
    for callee, _ in context.flow.calls.invoked(context.flow.here(event.value, event.scope)):
        tracing = context.traced.get(callee.function)
        if tracing is not None and any(root.transform in COMPILING for root in tracing.roots):
            return True
    return False


def _trains(context: Context, event: CallEvent, loop: ast.AST) -> bool:
    """Say whether the same loop steps an optimizer, which NNX904 reports."""
    return any(
        isinstance(other.value.callee, Attr)
        and other.value.callee.name == "update"
        and loop in other.loops
        and Kind.OPTIMIZER in kinds_of(context, other.value.callee.base, other.scope)
        for other in context.bodies.calls.get(event.scope, ())
    )


RULE = lint_rule(
    "NNX912",
    "eager-model-in-loop",
    "a loop calls a model outside of compiled code",
    why="""\
Without `jit` every operation of every layer is a call of its own: a small model took 19 to 42 ms instead of 1 ms.
Compile a function of the model and call that in the loop. Loops that step an environment or show something have that
for their pace, and are left alone.
""",
    source="JAX tutorial (the widest possible context); measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
from flax import nnx


def evaluate(model: nnx.Module, batches):
    total = 0.0
    for batch in batches:
        total += model(batch).mean()
    return total
""",
    ),
    clean=(
        """\
from flax import nnx

predict = nnx.jit(lambda model, batch: model(batch).mean())


def evaluate(model: nnx.Module, batches):
    fast = nnx.cached_partial(predict, model)
    return sum(fast(batch) for batch in batches)
""",
        """\
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = [nnx.Linear(2, 2, rngs=rngs) for _ in range(3)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
    ),
)
