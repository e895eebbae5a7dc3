"""NNX618: what ``Optimizer.update`` returns, as the result of a branch or in a condition."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Param, Value

# where branches stand among the arguments: the first, the one behind the last, and the first operand
_COND = (1, 3, 3)
_SWITCH = (1, 2, 2)
_BRANCHING = {
    "flax.nnx.cond": _COND,
    "jax.lax.cond": _COND,
    "flax.nnx.switch": _SWITCH,
    "jax.lax.switch": _SWITCH,
}


def check(context: Context) -> Iterator[Finding]:
    """Yield branches that differ since ``update`` returns the updates, and conditions that took its None for false."""
    if not context.options.crosses("0.12") or not any(m.source.mentions(b".update") for m in context.project.modules):
        return
    events = {event.value: event for event in context.project.calls()}
    told: set[CallEvent] = set()
    for event in events.values():
        source = event.scope.module.source
        if not source.mentions(b"cond") and not source.mentions(b"switch"):
            continue
        name = context.flow.calls.name(event)
        if name in _BRANCHING and not event.value.starred:
            updates = _Branching(context, events, event, _BRANCHING[name]).updates()
            fix = _fix(updates)
            for update in (u for u in updates if u not in told):
                yield finding(
                    "NNX618",
                    update.scope,
                    update.node,
                    "`update` returns the updates since Flax 0.12.7, so that this branch differs from the others",
                    "return None there, as `update` did before",
                    fix,
                )
            told |= set(updates)
    for event, callee in _asked(context):
        if event not in told:
            yield finding(
                "NNX618",
                event.scope,
                event.node,
                "`update` returns the updates since Flax 0.12.7, so that this is no longer None",
                "ask for something else, or put `(..., None)[1]` around it",
                _fix({event: callee}),
            )


def _asked(context: Context) -> Iterator[tuple[CallEvent, Attr]]:
    """Yield updates of optimizers whose result is a condition, as in ``optimizer.update(grads) or loss``."""
    for event in context.bodies.named("update"):
        callee = event.value.callee
        if event.scope.module not in context.asked.modules or not event.used or not isinstance(callee, Attr):
            continue
        if not any(event.node in _conditions(node) for node in ast.walk(event.statement)):
            continue
        if context.kinds.of(context.flow.here(callee.base, event.scope)) == {Objects.OPTIMIZER}:
            yield event, callee


def _conditions(node: ast.AST) -> list[ast.expr]:
    """Return the parts of a node of which it asks whether they are true, or None."""
    if isinstance(node, ast.BoolOp):
        return node.values[:-1]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return [node.test]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
        other = node.comparators[0]
        return [node.left] if isinstance(other, ast.Constant) and other.value is None else []
    return []


class _Branching:
    """One call of ``nnx.cond`` or the like."""

    def __init__(
        self, context: Context, events: dict[Call, CallEvent], event: CallEvent, places: tuple[int, int, int]
    ) -> None:
        self.context = context
        self.flow = context.flow
        self.events = events
        self.event = event
        self.places = places

    def updates(self) -> dict[CallEvent, Attr]:
        """Return the updates whose results branches return where others return something else."""
        results = [[self._updates(part) for part in parts] for parts in self._returned()]
        longest = max((len(parts) for parts in results), default=0)
        found: dict[CallEvent, Attr] = {}
        for index in range(longest):
            column = [parts[index] if index < len(parts) else {} for parts in results]
            if any(column) and not _alike(column):
                for updates in column:
                    found |= updates
        return found

    def _returned(self) -> Iterator[list[tuple[ast.expr | None, Scope]]]:
        """Yield what each branch returns, by position if it is a tuple; one entry for each function."""
        first, behind, _ = self.places
        call = self.event.value
        branches: list[Bound] = []
        for value in call.args[first:behind]:
            bound = self.flow.here(value, self.event.scope)
            listed = list(self.flow.containers.elements(bound)) if self.places == _SWITCH else []
            branches += listed or [bound]
        for branch in branches:
            for callee in self.flow.calls.callables(branch):
                function = callee.function
                for node in returned_by(function):
                    parts: list[ast.expr | None] = list(node.elts) if isinstance(node, ast.Tuple) else [node]
                    yield [(part, function.scope) for part in parts]

    def _updates(self, part: tuple[ast.expr | None, Scope]) -> dict[CallEvent, Attr]:
        """Return the updates of optimizers that a returned value comes from."""
        node, scope = part
        value = scope.module.values.get(node) if node is not None else None
        if value is None:
            return {}
        found = {}
        for source in self.context.sources.of(self.flow.here(value, scope)):
            made = source.value
            event = self.events.get(made) if isinstance(made, Call) else None
            if event is not None and isinstance(event.value.callee, Attr) and event.value.callee.name == "update":
                if self._of_optimizer(event.value.callee.base, event.scope):
                    found[event] = event.value.callee
        return found

    def _of_optimizer(self, base: Value, scope: Scope) -> bool:
        kinds = self.context.kinds.of(self.flow.here(base, scope))
        if not kinds and isinstance(base, Param) and base.name in base.function.params:
            # the operand that a branch gets at the position of its parameter
            position = self.places[2] + list(base.function.params).index(base.name)
            if position < len(self.event.value.args):
                kinds = self.context.kinds.of(self.flow.here(self.event.value.args[position], self.event.scope))
        return kinds == {Objects.OPTIMIZER}


def _alike(column: list[dict[CallEvent, Attr]]) -> bool:
    """Say whether all branches return the updates of the same operand, or of what they know by the same name."""
    return all(column) and len({_whose(callee) for updates in column for callee in updates.values()}) == 1


def _whose(callee: Attr) -> object:
    base = callee.base
    if isinstance(base, Param) and base.name in base.function.params:
        return list(base.function.params).index(base.name)
    return base


def returned_by(function: FunctionFacts) -> list[ast.expr | None]:
    """Return what a function returns; one None if it says nothing."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return [node.body]
    found = [statement.value for statement in _returns(node.body)]
    return found or [None]


def _returns(body: list[ast.stmt]) -> Iterator[ast.Return]:
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _returns(getattr(statement, field, []))
            for handler in getattr(statement, "handlers", []):
                yield from _returns(handler.body)


def _fix(updates: dict[CallEvent, Attr]) -> Fix | None:
    """Return the edits that drop what the updates return; up to Flax 0.12.6 that was None."""
    edits: list[tuple[str, Edit]] = []
    for event in updates:
        source, call = event.scope.module.source, event.node
        if not source.faithful(call):
            return None
        start, end = source.span(call)
        statement, function = event.statement, event.scope.function
        body = function.node.body if function is not None else []
        if isinstance(statement, ast.Return) and isinstance(body, list) and body[-1] is statement:
            first, last = source.span(statement)
            if statement.value is call and last == end:
                edits.append((source.path, Edit(first, start, b"")))
                continue
        edits += ((source.path, Edit(start, start, b"(")), (source.path, Edit(end, end, b", None)[1]")))
    return Fix(tuple(edits))


_STEP = """\
import jax.numpy as jnp
import optax
from flax import nnx


@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)

    def apply(model, optimizer):
        return optimizer.update(model, grads)

    nnx.cond(jnp.isfinite(loss), apply, lambda m, o: None, model, optimizer)
    nnx.cond(loss > 0, lambda m, o: o.update(m, grads), lambda m, o: None, model, optimizer)


model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
step(model, optimizer, jnp.ones((1, 2)))
"""

_OLD = """\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))


@nnx.jit
def step(optimizer, x):
    grads = nnx.grad(lambda m: m(x).sum())(optimizer.model)
    nnx.cond(x.sum() > 0, lambda o: o.update(grads), lambda o: None, optimizer)


step(optimizer, jnp.ones((1, 1)))
print(model(jnp.ones((1, 1))))
"""

RULE = Rule(
    code="NNX618",
    name="update-result",
    summary="a branch returns what Optimizer.update returns, or a condition asks for it",
    why="""\
`optimizer.update(...)` returned None up to Flax 0.12.6 and returns the updates since 0.12.7. In
`nnx.cond(p, lambda m, o: o.update(m, grads), lambda m, o: None, m, o)` the branches then differ in type, and JAX raises
"branch outputs must have the same pytree structure". In `lambda m, g: optimizer.update(m, g) or loss(m)` the updates
now stand for true. The fix leaves the result out, which is the same on all versions.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.7",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            _STEP,
            _STEP.replace("return optimizer.update", "optimizer.update").replace(
                "o.update(m, grads),", "(o.update(m, grads), None)[1],"
            ),
            targets=("0.12",),
            run=False,
        ),
        Example(
            _OLD,
            _OLD.replace("nnx.Optimizer", "nnx.ModelAndOptimizer").replace(
                "o.update(grads)", "(o.update(grads), None)[1]"
            ),
            targets=("0.12",),
        ),
    ),
    check=check,
    always=True,
)
