"""NNX624: Variables that stand as indices of arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.project import scope_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Value


def check(context: Context) -> Iterator[Finding]:
    """Yield the Variables in the subscripts of arrays, of ``.at`` and of other Variables."""
    if not context.options.crosses("0.12"):
        return
    variables = context.shared(Variables)
    for module in context.asked.modules:
        if not module.source.mentions(b"nnx"):
            continue
        for node in module.source.of_type(ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            named = [one for one in parts if isinstance(one, ast.Name | ast.Attribute) and one in module.values]
            if not named or not module.source.faithful(node):
                continue
            scope = scope_of(module, node)
            found = [one for one in named if variables.is_variable(module.values[one], scope)]
            if not found or not _of_array(variables, module, node.value, scope):
                continue
            for one in found:
                end = module.source.span(one)[1]
                yield finding(
                    RULE.code,
                    scope,
                    one,
                    "a Variable is no index of an array any more with the releases of JAX that go with Flax 0.12",
                    "take the number in it",
                    Fix(((module.source.path, Edit(end, end, b".value")),)),
                )


def _of_array(variables: Variables, module: ModuleFacts, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is an array, a Variable or the ``at`` of one."""
    if isinstance(node, ast.Attribute) and node.attr == "at":
        return True
    if isinstance(node, ast.Attribute) and node.attr == "value":
        held: Value | None = module.values.get(node.value)
        return held is not None and variables.is_variable(held, scope)
    value = module.values.get(node)
    if value is None:
        return False
    return variables.is_variable(value, scope) or variables.arrays.is_array(variables.flow.here(value, scope))


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx


class Ring(nnx.Module):
    def __init__(self):
        self.data = nnx.Variable(jnp.zeros((3, 2)))
        self.place = nnx.Variable(jnp.array(1))

    def add(self, x):
        self.data.value = self.data.value.at[self.place].set(x)

    def last(self):
        return self.data[self.place]


ring = Ring()
ring.add(jnp.ones(2))
print(ring.last())
"""

_AFTER = _BEFORE.replace("self.place]", "self.place.value]")

_LEFT = """\
import jax.numpy as jnp
from flax import nnx

place = nnx.Variable(jnp.array(1))
names = {id(place): "place"}
print(names[id(place)], jnp.eye(2)[place + 0], [place][0] + 1)
"""

RULE = Rule(
    code="NNX624",
    name="variable-index",
    summary="a Variable as the index of an array",
    why="""\
JAX turned objects with `__jax_array__`, as Variables are, into arrays where they stood as an index, with a
DeprecationWarning in its later releases. The releases that Flax 0.12 runs with raise "Triggering __jax_array__() during
abstractification is no longer supported". The number in the Variable is an index on every version.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.10.7 (JAX 0.6.2), 0.11.2 (0.7.2) and 0.12.8 (0.10.2)",
    examples=(
        Example(_BEFORE, _AFTER, targets=("0.12",)),
        Example(_LEFT, _LEFT, targets=("0.11", "0.12")),
    ),
    check=check,
)
