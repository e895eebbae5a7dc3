"""NNX843: methods and arguments that change an array in place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discarded import IN_PLACE
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import is_none, keyword
from codemods.nnx.values import Param

_METHODS = ("fill", "resize", "itemset", "setflags", "partition", "put", "setfield")


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*_METHODS):
        func = event.node.func
        if isinstance(func, ast.Attribute):
            value = event.scope.module.values.get(func.value)
            if value is not None and (
                context.kinds.only(context.flow.here(value, event.scope)) is Kind.ARRAY
                or made_by_jax(context, value, event.scope)
            ):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"JAX arrays cannot be changed in place, and have no `{func.attr}`",
                    "use jnp.full_like, or x.at[index].set(value)",
                )
    for event, name in foreign(context, *IN_PLACE):
        if name.startswith("jax.numpy.") and not event.value.starred and keyword(event.node, "inplace") is None:
            if len(event.node.args) < 5 and not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"JAX arrays cannot be changed in place, which `{last(name)}` does unless it is told not to",
                    "take the result, with inplace=False",
                )
    for event in context.asked.calls():
        out = keyword(event.node, "out")
        if out is None or is_none(out):
            continue
        if isinstance(event.scope.module.values.get(out), Param):
            continue  # a wrapper hands on what it was given, mostly None
        name = context.flow.calls.name(event)
        if name.startswith("jax.numpy."):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "functions of jax.numpy cannot write into an array",
                "take the result",
            )


RULE = lint_rule(
    "NNX843",
    "array-mutator",
    "x.fill(), out= and other ways of numpy to change an array",
    why="JAX arrays are immutable: the methods do not exist, and `out=` raises NotImplementedError.",
    source="JAX tutorial, section on in-place updates; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp

x = jnp.zeros(3)
x.fill(1.0)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
import numpy as np

x = np.zeros(3)
x.fill(1.0)
y = jnp.full_like(x, 1.0)
""",
    ),
)
