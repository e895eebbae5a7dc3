"""NNX875: methods of Linen modules on modules of NNX."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import kinds_of
from codemods.nnx.values import Attr

_OUTSIDE = {
    "init": "the model has its weights already; nnx.state(model) gives them",
    "init_with_output": "call the model: it has its weights already",
    "apply": "call the model, or nnx.merge(graphdef, state)(...) with the weights of a state",
    "bind": "call the model: its weights are its own",
    "unbind": "nnx.split(model) gives the structure and the weights",
    "tabulate": "nnx.tabulate(model, ...) shows a model",
}
_INSIDE = {
    "param": "make it in the constructor: self.name = nnx.Param(init(rngs.params(), shape))",
    "variable": "make it in the constructor: self.name = nnx.Variable(...)",
    "make_rng": "keep the streams in the constructor: self.rngs = rngs, and take self.rngs.name()",
    "has_variable": "ask for the attribute: hasattr(self, name)",
    "put_variable": "assign to the variable",
    "is_initializing": "a module of NNX is initialised when it is constructed",
    "is_mutable_collection": "variables of NNX can always be changed",
}


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*_OUTSIDE, *_INSIDE):
        func, callee = event.node.func, event.value.callee
        if event.scope.module not in context.asked or not isinstance(func, ast.Attribute):
            continue
        if not isinstance(callee, Attr) or context.bodies.guarded(event.node, event.scope):
            continue
        if context.bodies.of_asked_type(func.value, event.node, event.scope):
            continue
        cls = _class(context, event, callee)
        if cls is None or _has(context, cls, func.attr):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{cls.name}` is a module of NNX, and has no `{func.attr}`: that is a method of Linen",
            (_OUTSIDE | _INSIDE)[func.attr],
        )
    yield from _unused_setup(context)


def _unused_setup(context: Context) -> Iterator[Finding]:
    """Yield the ``setup`` methods that nothing calls, of modules without a constructor."""
    called = any(True for _ in context.bodies.named("setup"))
    for cls in context.asked.classes() if not called else ():
        setup = cls.methods.get("setup")
        bases = context.flow.classes.mro(cls)[1]
        if setup is None or bases != {"flax.nnx.Module"} or setup.decorators or list(setup.params)[1:]:
            continue
        if any("__init__" in one.methods for one in context.flow.classes.mro(cls)[0]):
            continue
        if any(isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) for node in ast.walk(setup.node)):
            yield finding(
                RULE.code,
                setup.scope.parent or setup.scope,
                setup.node,
                f"nothing calls `setup` of `{cls.name}`: modules of NNX are made by their constructor",
                "call it __init__, and give it rngs",
            )


def _class(context: Context, event: CallEvent, callee: Attr) -> ClassFacts | None:
    """Return the class of the module whose method a call calls; None if it is no module of NNX for certain."""
    if kinds_of(context, callee.base, event.scope) != {Kind.MODULE}:
        return None
    bound = context.flow.resolve(context.flow.here(callee.base, event.scope))
    cls = context.flow.classes.class_of(bound)
    if cls is None:
        return None
    bases = context.flow.classes.mro(cls)[1]
    return cls if bases and bases <= {"flax.nnx.Module", "flax.nnx.Pytree", "typing.Generic", "abc.ABC"} else None


def _has(context: Context, cls: ClassFacts, name: str) -> bool:
    """Say whether a class, or one derived from it, has an attribute of a name."""
    for one in context.flow.classes.heirs(cls) or (cls,):
        for parent in context.flow.classes.mro(one)[0]:
            if name in parent.methods or name in parent.fields or name in parent.stores or name in parent.scope.env:
                return True
            if {"__getattr__", "__getattribute__"} & set(parent.methods):
                return True
    return any(True for _ in context.flow.fields.stores().get(name, ()))


RULE = lint_rule(
    "NNX875",
    "linen-method",
    "a method of Linen on a module of NNX: init, apply, bind, setup, param, variable, make_rng",
    why="""\
A module of NNX holds its weights, which it makes when it is constructed: there is no `init`, and it is called instead
of `apply`. `self.param(...)` and `self.make_rng(...)` are an `nnx.Param` and `rngs.name()` in the constructor. Each of
the old names raises an AttributeError.
""",
    source="Flax guide from Linen to NNX; measured on Flax 0.10.7 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)


model = Net(nnx.Rngs(0))
variables = model.init(jax.random.key(0), jnp.ones((1, 4)))
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import linen as nn
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 2, rngs=rngs)

    def apply(self, x):
        return self.linear(x)


print(Net(nnx.Rngs(0)).apply(jnp.ones((1, 4))).shape)
print(nn.Dense(2).init)
""",
    ),
)
