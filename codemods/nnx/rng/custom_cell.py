"""NNX216: recurrent cells of the project's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.rng.layers import CELLS
from codemods.nnx.rng.sampler_names import SAMPLERS
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Choice, Item, Param, Value


def check(context: Context) -> Iterator[Finding]:
    """Yield what a cell derived from one of Flax's takes for granted."""
    if not context.options.crosses("0.11"):
        return
    for cls in context.asked.classes():
        bases = context.flow.classes.mro(cls)[1]
        if any(base in CELLS or base.endswith(".RNNCellBase") for base in bases):
            init = cls.methods.get("initialize_carry")
            if init is not None:
                yield from _streams(context, init)
            if bases & CELLS and not any("rngs" in parent.stores for parent in context.flow.classes.mro(cls)[0]):
                yield from _own_rngs(context, cls)


def _streams(context: Context, method: FunctionFacts) -> Iterator[Finding]:
    """A carry is initialised with a stream by ``nnx.RNN``, and with a Rngs by others."""
    param = method.params.get("rngs") or next(iter([*method.params.values()][2:]), None)
    if param is None:
        return
    source = method.scope.module.source
    for event in method.scope.module.calls:
        callee = event.value.callee
        if event.scope is not method.scope or not isinstance(callee, Attr | Item) or not _draws(event):
            continue
        func = event.node.func
        if _may_be(callee.base, param) and isinstance(func, ast.Attribute | ast.Subscript):
            rngs = spell(context.flow, event.scope, "Rngs")
            fix = None
            if rngs is not None and isinstance(func.value, ast.Name):
                name = func.value.id
                text = f"({source.text(func)} if isinstance({name}, {rngs.text}) else {name})"
                edits = (Edit(*source.span(func), text.encode()), *rngs.edits)
                fix = Fix(tuple((source.path, edit) for edit in edits))
            message = "nnx.RNN passes one stream to initialize_carry since Flax 0.11, not a Rngs"
            yield finding(RULE.code, event.scope, event.node, message, "take the stream if it is one", fix)


def _may_be(value: Value, param: Param) -> bool:
    """Say whether a value is a parameter on some way, as that of ``rngs or self.rngs``."""
    return value is param or (isinstance(value, Choice) and any(_may_be(option, param) for option in value.options))


def _draws(event: CallEvent) -> bool:
    """Say whether a key of a named stream is drawn, and no method of a stream is called."""
    callee = event.value.callee
    method = isinstance(callee, Attr) and callee.name in SAMPLERS | {"fork"}
    return not method and not event.node.args and not event.node.keywords


def _own_rngs(context: Context, cls: ClassFacts) -> Iterator[Finding]:
    """A cell of Flax no longer stores the Rngs that a class derived from it draws from."""
    reads = [
        e
        for e in cls.scope.module.attributes
        if e.node.attr == "rngs" and e.context == "load" and _is_self(e.base, cls)
    ]
    if not reads:
        return
    init = cls.methods.get("__init__")
    parent = context.flow.classes.super_constructor(init) if init is not None else None
    fix = None
    if init is not None and parent is not None and "rngs" in init.params and not parent.used:
        fix = _stored(init, parent)
    message = "cells keep no Rngs since Flax 0.11: self.rngs is None"
    first = reads[0]
    yield finding(RULE.code, first.scope, first.node, message, "store it after super().__init__: self.rngs = rngs", fix)


def _is_self(base: Value, cls: ClassFacts) -> bool:
    return any(base is method.self_param for method in cls.methods.values())


def _stored(init: FunctionFacts, parent: CallEvent) -> Fix | None:
    """Add ``self.rngs = rngs`` behind the call of the parent's constructor."""
    source = init.scope.module.source
    statement = parent.statement
    line = statement.end_lineno or statement.lineno
    if statement not in getattr(init.node, "body", ()) or source.line(line)[statement.end_col_offset or 0 :].strip():
        return None
    receiver = next(iter(init.params))
    end = source.span(statement)[1]
    indent = source.line(statement.lineno)[: statement.col_offset]
    text = source.newline + f"{indent}{receiver}.rngs = rngs".encode()
    return Fix(((source.path, Edit(end, end, text)),)) if isinstance(statement, ast.Expr) else None


RULE = Rule(
    code="NNX216",
    name="custom-cell",
    summary="recurrent cells that rely on a Rngs",
    why="""\
`nnx.RNN` hands `initialize_carry` a single stream since Flax 0.11, where `rngs.carry()` raises an AttributeError; a
call from elsewhere may still pass a Rngs. And the cells of Flax store no Rngs any more, so that
`self.rngs.<stream>()` in a class derived from one fails on None: store it yourself.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn.recurrent import RNNCellBase


class Cell(RNNCellBase):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)

    def __call__(self, carry, x):
        carry = self.linear(x) + carry
        return carry, carry

    def initialize_carry(self, shape, rngs):
        return 0 * jax.random.normal(rngs.carry(), (*shape[:-1], 2))

    @property
    def num_feature_axes(self):
        return 1


print(float(nnx.RNN(Cell(nnx.Rngs(0)), rngs=nnx.Rngs(0))(jnp.ones((1, 2, 2))).sum()))
""",
            after="""\
import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn.recurrent import RNNCellBase


class Cell(RNNCellBase):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)

    def __call__(self, carry, x):
        carry = self.linear(x) + carry
        return carry, carry

    def initialize_carry(self, shape, rngs):
        return 0 * jax.random.normal((rngs.carry if isinstance(rngs, nnx.Rngs) else rngs)(), (*shape[:-1], 2))

    @property
    def num_feature_axes(self):
        return 1


print(float(nnx.RNN(Cell(nnx.Rngs(0)), rngs=nnx.Rngs(0))(jnp.ones((1, 2, 2))).sum()))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax
from flax import nnx


class Noisy(nnx.LSTMCell):
    def __init__(self, *args, rngs, **options):
        super().__init__(*args, rngs=rngs, **options)

    def mask(self):
        return jax.random.bernoulli(self.rngs.noise(), 0.5, (4,))


print(Noisy(2, 3, rngs=nnx.Rngs(params=0, noise=1)).mask().tolist())
""",
            after="""\
import jax
from flax import nnx


class Noisy(nnx.LSTMCell):
    def __init__(self, *args, rngs, **options):
        super().__init__(*args, rngs=rngs, **options)
        self.rngs = rngs

    def mask(self):
        return jax.random.bernoulli(self.rngs.noise(), 0.5, (4,))


print(Noisy(2, 3, rngs=nnx.Rngs(params=0, noise=1)).mask().tolist())
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
