"""NNX206: a carry is initialised without a Rngs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.rewrite import RewriteError, add_keyword, replace
from codemods.nnx.rng.layers import CELLS
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Const


def check(context: Context) -> Iterator[Finding]:
    """Yield every ``cell.initialize_carry(shape)`` of a cell that needs a Rngs."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.calls():
        callee = event.value.callee
        if isinstance(callee, Attr) and callee.name == "initialize_carry" and not event.value.starred:
            given = [name for name, _ in event.value.keywords]
            if (len(event.value.args) + len(given) == 1 and "rngs" not in given) or _own(event) is not None:
                yield from _without(context, event, callee)


def _own(event: CallEvent) -> ast.expr | None:
    """Return the argument of ``cell.initialize_carry(shape, cell.rngs)`` that is None since 0.11."""
    call = event.node
    assert isinstance(call.func, ast.Attribute)
    given = call.args[1] if len(call.args) == 2 else next((k.value for k in call.keywords if k.arg == "rngs"), None)
    if isinstance(given, ast.Attribute) and given.attr == "rngs":
        return given if ast.dump(given.value) == ast.dump(call.func.value) else None
    return None


def _without(context: Context, event: CallEvent, callee: Attr) -> Iterator[Finding]:
    cells = list(context.sources.originals(context.flow.here(callee.base, event.scope)))
    verdicts = [_zeros(context, cell) for cell in cells if not isinstance(cell.value, Const)]
    if all(verdict is _OTHER for verdict in verdicts):
        return
    if not {True, False} & set(verdicts) and _of_the_project(context, event):
        return
    fix = _fix(context, event, Safety.SAFE if all(verdict is True for verdict in verdicts) else Safety.UNSAFE)
    help_ = "pass one: initialize_carry(shape, rngs=nnx.Rngs(0)); a carry of zeros draws nothing from it"
    if False in verdicts:
        help_ = "pass one with a stream `carry`; a carry that is drawn at random comes out different from 0.10"
    yield finding(
        RULE.code, event.scope, event.node, "cells keep no Rngs since Flax 0.11, so the carry needs one", help_, fix
    )


def _of_the_project(context: Context, event: CallEvent) -> bool:
    """Say whether an unknown object may be one of the project, or of Linen in a file without NNX."""
    if not event.scope.module.source.mentions(b"nnx"):
        return True
    owners = [cls for cls in context.project.classes() if "initialize_carry" in cls.methods]
    return any(not context.flow.classes.mro(cls)[1] & CELLS for cls in owners)


_OTHER = "other"


def _zeros(context: Context, cell: Bound) -> object:
    """Say whether a cell's carry starts as zeros; None if that is not known, ``_OTHER`` for a cell of the project."""
    flow = context.flow
    if not isinstance(cell.value, Call):
        return None
    name = flow.calls.callee_name(cell)
    cls = flow.classes.class_of(cell)
    if cls is not None:
        if flow.classes.method(cls, "initialize_carry") is not None or not flow.classes.mro(cls)[1] & CELLS:
            return _OTHER
        return None
    if name not in CELLS:
        return _OTHER if name else None
    if cell.value.keyword("keep_rngs") is not None:  # written for 0.11
        return _OTHER
    return not cell.value.starred and cell.value.keyword("carry_init") is None


def _fix(context: Context, event: CallEvent, safety: Safety) -> Fix | None:
    rngs = spell(context.flow, event.scope, "Rngs")
    if rngs is None:
        return None
    source = event.scope.module.source
    try:
        own, text = _own(event), f"{rngs.text}(0)"
        edit = replace(source, own, text) if own is not None else add_keyword(source, event.node, "rngs", text)
        edits = (edit, *rngs.edits)
    except RewriteError:
        return None
    return Fix(tuple((source.path, edit) for edit in edits), safety)


RULE = Rule(
    code="NNX206",
    name="carry-without-rngs",
    summary="cell.initialize_carry without a Rngs",
    why="""\
Up to Flax 0.10 a recurrent cell kept the Rngs it was made with and initialised its carry from it. Since 0.11 cells
keep none, and `initialize_carry(shape)` raises "RNGs must be provided to initialize the cell carry". By default the
carry is zeros, for which any Rngs gives the same; only a cell with a random `carry_init` starts from other numbers.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx

cell = nnx.LSTMCell(2, 3, rngs=nnx.Rngs(0))
carry = cell.initialize_carry((1, 2))
_, y = cell(carry, jnp.ones((1, 2)))
print(float(y.sum()))
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

cell = nnx.LSTMCell(2, 3, rngs=nnx.Rngs(0))
carry = cell.initialize_carry((1, 2), rngs=nnx.Rngs(0))
_, y = cell(carry, jnp.ones((1, 2)))
print(float(y.sum()))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax.numpy as jnp
from flax import nnx

cell = nnx.GRUCell(2, 3, rngs=nnx.Rngs(0))
carry = cell.initialize_carry((1, 2), cell.rngs)
_, y = cell(carry, jnp.ones((1, 2)))
print(float(y.sum()))
""",
            after="""\
import jax.numpy as jnp
from flax import nnx

cell = nnx.GRUCell(2, 3, rngs=nnx.Rngs(0))
carry = cell.initialize_carry((1, 2), nnx.Rngs(0))
_, y = cell(carry, jnp.ones((1, 2)))
print(float(y.sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
