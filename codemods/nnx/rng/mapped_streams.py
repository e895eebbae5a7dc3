"""NNX202: axes that carry or broadcast the streams of a stack."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.rng.analysis import rng_analysis
from codemods.nnx.rng.chains import MAPS, SPLIT, Step, chain, decorators
from codemods.nnx.rng.layouts import Shape
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Const, Mapping, Ref

_STREAMS = frozenset({"flax.nnx.RngState", "flax.nnx.RngKey"})


def check(context: Context) -> Iterator[Finding]:
    """Yield axes of a stack whose parameters are mapped and whose streams are not."""
    if not context.options.crosses("0.11") or not _mentioned(context):
        return
    found: dict[ast.AST, tuple[Scope, ast.AST]] = {}
    for event in context.project.calls():
        call = context.flow.here(event.value, event.scope)
        steps, _ = chain(context.flow, context.flow.follow(call, event.value.callee))
        for index, argument in enumerate(event.value.args):
            _collect(context, steps, index, context.flow.with_value(call, argument), found)
    for function in context.project.functions():
        if function.owner is not None and function.decorators:
            steps = decorators(context.flow, function)
            for frame in context.flow.sites.entries(function):
                for index, given in enumerate([*([frame.receiver] if frame.receiver else []), *frame.args]):
                    _collect(context, steps, index, given, found)
    for node, (scope, axis) in found.items():
        source = scope.module.source
        both = "0.10" in context.options.targets  # whose layers share scalar streams
        fix = None if both else Fix(((source.path, Edit(*source.span(axis), b"0")),))
        message = "the streams of this stack have their own axis since Flax 0.11; they can only be mapped over it"
        yield finding(RULE.code, scope, node, message, "axis 0 for the streams, as for the parameters", fix)


def _mentioned(context: Context) -> bool:
    return any(module.source.mentions(b"StateAxes") for module in context.project.modules)


def _collect(
    context: Context, steps: list[Step], index: int, argument: Bound, found: dict[ast.AST, tuple[Scope, ast.AST]]
) -> None:
    if any(step.name == SPLIT for step in steps):
        return
    for step in steps:
        if step.name in MAPS:
            axis = _unmapped(context.flow, step, index)
            if axis is not None and rng_analysis(context).layouts.of(argument) == {Shape.VECTOR}:
                place = rng_analysis(context).layouts.events.get(axis[0])
                if place is not None:
                    found[axis[1]] = (place.scope, axis[1])


def _unmapped(flow: Flow, step: Step, index: int) -> tuple[Call, ast.AST] | None:
    """Return the call of ``nnx.StateAxes`` and the expression of the axis that its streams have, if that is wrong."""
    axes = step.option("in_axes")
    if axes is None:
        return None
    mine = flow.containers.item(flow.resolve(axes), Bound(Const(index)))
    if not isinstance(mine.value, Call) or flow.calls.callee_name(mine) != "flax.nnx.StateAxes" or not mine.value.args:
        return None
    mapping = flow.follow(mine, mine.value.args[0])
    if not isinstance(mapping.value, Mapping) or not isinstance(mapping.value.node, ast.Dict):
        return None
    wrong: ast.AST | None = None
    mapped = False
    for (key, axis), node in zip(mapping.value.items, mapping.value.node.values, strict=True):
        name = flow.follow(mapping, key).value if key is not None else None
        value = flow.follow(mapping, axis).value
        # a name as a filter stands for the streams of that name
        if (isinstance(name, Ref) and name.name in _STREAMS) or (
            isinstance(name, Const) and isinstance(name.value, str)
        ):
            if wrong is None and (value == Const(None) or value == Ref("flax.nnx.Carry")):
                wrong = node
        else:
            mapped = mapped or value == Const(0)
    return (mine.value, wrong) if wrong is not None and mapped else None


_PROGRAM = """\
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


blocks = nnx.split_rngs(splits=4)(nnx.vmap(Block))(nnx.Rngs(params=0, dropout=1))


@nnx.scan(in_axes=(nnx.StateAxes({{nnx.RngState: {axis}, ...: 0}}), nnx.Carry), out_axes=nnx.Carry)
def forward(block, x):
    return block(x)


print(forward(blocks, jnp.ones((1, 3))).shape)
"""

RULE = Rule(
    code="NNX202",
    name="unmapped-streams",
    summary="nnx.StateAxes that carry or broadcast the streams of stacked layers",
    why="""\
Up to Flax 0.10 the layers of a stack shared scalar streams, which `nnx.scan` could carry from layer to layer. Since
0.11 each layer has its own key, stored with the axis of the stack: carried or broadcast, the key array reaches the
layer whole and drawing from it raises "fold_in accepts a single key". The streams have to be mapped like the
parameters.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(before=_PROGRAM.format(axis="nnx.Carry"), after=_PROGRAM.format(axis="0"), targets=("0.11", "0.12")),
    ),
    check=check,
    always=True,
)
