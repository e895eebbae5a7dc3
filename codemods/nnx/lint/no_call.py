"""NNX719: a module that is called and has no ``__call__``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by_calls, named, origin
from codemods.nnx.lint.places import foreign, in_test, may_be_state
from codemods.nnx.lint.uncallable import called_optimizers
from codemods.nnx.values import Attr, Call, Const, Free, Item, Param, Value

_BASES = frozenset({"flax.nnx.Module", "flax.nnx.Pytree", "typing.Generic", "abc.ABC"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _states(context)
    for event, message, help in called_optimizers(context):
        yield finding(RULE.code, event.scope, event.node, message, help)
    lacking = {cls for cls in context.project.classes() if _lacks(context, cls)}
    if not lacking:
        return
    made = context.flow.may.made_of(lacking)
    for event in context.asked.calls():
        callee: Value | None = event.value.callee
        if isinstance(callee, Item) and isinstance(callee.index, Const):
            callee = origin(context, event.node.func, event.scope)
        if not isinstance(callee, Call | Attr | Param | Item) or not made.may_be(callee) or in_test(event.scope):
            continue
        if context.bodies.guarded(event.node, event.scope) or not named(event.node.func):
            continue
        sources = made_by_calls(context, context.flow.here(callee, event.scope))
        found = {context.flow.classes.class_of(source) for source in sources}
        cls = found.pop() if len(found) == 1 else None
        if cls is None or cls not in lacking:
            continue
        text = event.scope.module.source.text(event.node.func)
        meant = "forward" if "forward" in cls.methods else ""
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{text}` cannot be called: its class {cls.name} has no `__call__`",
            f"name `{meant}` of {cls.name} `__call__`"
            if meant
            else f"call a method of it, or give {cls.name} a __call__",
        )


def _states(context: Context) -> Iterator[Finding]:
    """Yield the calls of what nnx.split gives."""
    given = foreign(context, "split", "state", "graphdef", everywhere=True)
    if not any(name.startswith("flax.nnx.") for _, name in given):
        return
    for event in context.asked.calls():
        callee = event.value.callee
        if not isinstance(callee, Item | Param | Free | Call) or not isinstance(event.node.func, ast.Name):
            continue
        if not may_be_state(context, callee):
            continue
        kind = context.kinds.only(context.flow.here(callee, event.scope))
        if kind not in {Kind.STATE, Kind.GRAPHDEF} or context.bodies.guarded(event.node, event.scope):
            continue
        what = "a state" if kind is Kind.STATE else "a graph definition"
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{event.node.func.id}` is {what}, and no model: it cannot be called",
            "make the model of both: nnx.merge(graphdef, state)(x)",
        )


def _lacks(context: Context, cls: ClassFacts) -> bool:
    """Say whether the instances of a class are modules that cannot be called, for certain."""
    parents, names = context.flow.classes.mro(cls)
    if "flax.nnx.Module" not in names or not names <= _BASES or cls.decorators:
        return False
    # `__new__` may give an object of another class
    return not any(
        "__call__" in one.methods or "__call__" in one.scope.env or "__new__" in one.methods or one.decorators
        for one in parents
    )


RULE = lint_rule(
    "NNX719",
    "no-call",
    "an object of a module class without __call__ is called",
    why="""\
A module of NNX is called by its `__call__`, which `nnx.Module` does not define: a method `forward`, as PyTorch has it,
is one like any other, and calling the object raises a TypeError. An optimizer is no function either, and neither is a
transformation of optax: `optax.clip_by_global_norm(1.0)(grads)`.
""",
    source="measured on Flax 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)

    def forward(self, x):
        return self.out(x)


model = Net(nnx.Rngs(0))
print(model(jnp.ones((1, 4))))
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.out = nnx.Linear(4, 2, rngs=rngs)

    def forward(self, x):
        return self.out(x)

    __call__ = forward


model = Net(nnx.Rngs(0))
print(model(jnp.ones((1, 4))), model.forward(jnp.ones((1, 4))))
""",
    ),
)
