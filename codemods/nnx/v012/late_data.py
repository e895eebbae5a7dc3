"""NNX602: attributes that are None or a number first, and a module, Variable or array later."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.data_marks import data_marks, fix


def check(context: Context) -> Iterator[Finding]:
    """Yield first assignments of what data replaces later."""
    if not context.options.crosses("0.12"):
        return
    for mark in data_marks(context):
        if not mark.container and mark.first is not None:
            place, later = mark.store.event, mark.first.event
            name = later.scope.module.source.path
            where = f"line {later.node.lineno}" + (
                f" of {name}" if later.scope.module is not place.scope.module else ""
            )
            promised = mark.first is mark.store
            then = "although `__data__` names it, and assigning data" if promised else f"and assigning data in {where}"
            yield finding(
                "NNX602",
                place.scope,
                place.node,
                f"`{place.node.attr}` becomes static here, {then} is an error since Flax 0.12",
                f"mark it as data from the start: {place.node.attr} = nnx.data(...)",
                fix(context, mark),
            )


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = None
        self.cache = None
        self.name = None
        self.build(rngs)

    def build(self, rngs):
        self.head = nnx.Linear(2, 2, rngs=rngs)
        self.name = "net"


net = Net(nnx.Rngs(0))
net.cache = jnp.zeros(2)
print(net.head(jnp.ones((1, 2))) + net.cache, net.name)
"""

RULE = Rule(
    code="NNX602",
    name="late-data",
    summary="None first, a module, Variable or array later",
    why="""\
From Flax 0.12.0 on, the first assignment decides whether an attribute is static or data: None, numbers and strings are
static. Assigning a module, Variable or array later raises "Cannot assign data value to static attribute".
`nnx.data(None)`, which 0.11 has too, makes it data from the start.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.11.2, 0.12.0 to 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("head = None", "head = nnx.data(None)").replace("cache = None", "cache = nnx.data(None)"),
            targets=("0.12",),
        ),
    ),
    check=check,
    always=True,
)
