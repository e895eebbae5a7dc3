"""NNX605: in-place operators on Variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.project import scope_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.told_layers import ToldLayers
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Attr, Item, Value


def check(context: Context) -> Iterator[Finding]:
    """Yield augmented assignments whose target is a Variable."""
    if not context.options.crosses("0.12"):
        return
    variables, told = Variables(context), ToldLayers(context)
    for module in context.asked.modules:
        attributes = {e.node: e for e in module.attributes if e.context == "store"}
        for statement in module.source.of_type(ast.AugAssign):
            target = statement.target
            event = attributes.get(target) if isinstance(target, ast.Attribute) else None
            place: tuple[Value, Scope] | None = None
            if event is not None:
                place = Attr(event.base, event.node.attr), event.scope
            elif isinstance(target, ast.Name) and target in module.values:
                place = module.values[target], scope_of(module, statement)
            elif isinstance(target, ast.Subscript) and {target.value, target.slice} <= module.values.keys():
                place = Item(module.values[target.value], module.values[target.slice]), scope_of(module, statement)
            if place is None or not module.source.faithful(target):
                continue
            if variables.is_variable(*place) or told.parameter(place[0], target, place[1]):
                end = module.source.span(target)[1]
                yield finding(
                    "NNX605",
                    place[1],
                    target,
                    "in-place operators on a Variable raise NotImplementedError since Flax 0.12",
                    f"change its content: {ast.unparse(target)}.value, or {ast.unparse(target)}[...] of an array",
                    Fix(((module.source.path, Edit(end, end, b".value")),)),
                )


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx


class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
        self.steps = 0

    def __call__(self):
        self.count += 1
        self.steps += 1


counter = Counter()
counter()
counter()
weight = nnx.Param(jnp.ones(2))
weight *= 1.5
print(counter.count.value, counter.steps, weight.value)
"""

RULE = Rule(
    code="NNX605",
    name="in-place-operator",
    summary="an in-place operator on a Variable",
    why="""\
`variable += x` changed the content of a Variable up to Flax 0.11; since 0.12.0 it raises NotImplementedError.
`.value += x` is the same on all versions; where only 0.12 is asked for, it is then spelled without the deprecated
`.value`.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("self.count += 1", "self.count.value += 1").replace("weight *=", "weight.value *="),
            targets=("0.12",),
        ),
    ),
    check=check,
    always=True,
)
