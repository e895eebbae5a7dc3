"""NNX868: axes of nnx.scan that belong to other parameters, or that are missing for a stack of layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.broadcast_stack import broadcast_stacks, uncarried_layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import kinds_of, shown
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Call, Param, Sequence, Value


def _check(context: Context) -> Iterator[Finding]:
    for root, axis, param in broadcast_stacks(context):
        yield finding(
            RULE.code,
            root.scope,
            axis,
            f"{shown(root.function)} calls all layers of the stack `{param.name}` at once: None hands it on whole",
            "give it the axis along which nnx.vmap has stacked the layers, as a rule 0",
        )
    for root, axis, layer, given in uncarried_layers(context):
        yield finding(
            RULE.code,
            root.scope,
            axis,
            f"every layer of the stack `{layer.name}` gets the same `{given.name}`, and the result of the last one "
            "alone is read: the others do nothing",
            "carry it from layer to layer: nnx.Carry in its place in in_axes, and out_axes=nnx.Carry",
        )
    for root in context.traced.roots:
        if root.transform != "flax.nnx.scan" or root.partial:
            continue
        inputs, outputs = option(root, "in_axes"), option(root, "out_axes")
        into, out = _carry(inputs, default=0), _carry(outputs, default=0)
        if into is None or out is None:
            continue
        if (into < 0) != (out < 0):
            side = "in_axes" if into < 0 else "out_axes"
            yield finding(
                RULE.code,
                root.scope,
                inputs or outputs or root.node,
                f"nnx.Carry is missing in {side}: what comes out of a round has to go into the next",
                f"give {side} an nnx.Carry, or take the other one away",
            )
            continue
        function = root.function
        params = list(function.params.values())[skipped(root) :]
        if into < 0 or len(params) <= into:
            continue
        carry = params[into]
        if any(_calls(r, carry, outputs) for r in function.returns) and _module(context, function, carry):
            yield finding(
                RULE.code,
                root.scope,
                inputs or root.node,
                f"{shown(function)} calls its carry `{carry.name}`, and returns what that gives as the next carry",
                "put nnx.Carry in the place of the activations, and the axis in that of the layers",
            )


def _carry(axes: ast.expr | None, default: int) -> int | None:
    """Return the place of the carry; -1 if there is none, None if the axes cannot be read."""
    if axes is None:
        return default
    parts = elements(axes, lists=True)
    if not all(isinstance(p, ast.Constant | ast.Attribute | ast.Name | ast.Call | ast.UnaryOp) for p in parts):
        return None
    places = [i for i, p in enumerate(parts) if isinstance(p, ast.Attribute | ast.Name) and last_word(p) == "Carry"]
    if places:
        return places[0]
    return -1 if all(isinstance(p, ast.Constant | ast.UnaryOp) for p in parts) else None


def _calls(returned: Value, carry: Param, outputs: ast.expr | None) -> bool:
    """Say whether the next carry is the result of calling the carry."""
    if isinstance(returned, Sequence) and not (outputs is not None and not isinstance(outputs, ast.Tuple)):
        returned = returned.items[0] if returned.items else returned
    return isinstance(returned, Call) and returned.callee is carry


def _module(context: Context, function: FunctionFacts, carry: Param) -> bool:
    kinds = kinds_of(context, carry, function.scope)
    return not kinds or Kind.MODULE in kinds


RULE = lint_rule(
    "NNX868",
    "scan-axes-order",
    "the axes of nnx.scan belong to other parameters",
    why="""\
`in_axes` of `nnx.scan` names for each parameter in order how it is scanned: an axis for the layers, `nnx.Carry` for
what goes from round to round. In the wrong order the whole stack of layers is taken for the carry. By default the
first parameter is the carry and the second one is scanned, unlike a method, whose first parameter is the module. `None`
hands a parameter on whole to every round: for layers that `nnx.vmap` has stacked this is an error about shapes, and an
input that is handed on so never goes through more than one of them.
""",
    source="flax pull request 4157 and its questions; measured on Flax 0.10.7 and 0.12.8: an error about the carry",
    check=_check,
    bad=(
        """\
from flax import nnx


@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def forward(layer: nnx.Linear, x):
    return layer(x)
""",
    ),
    clean=(
        """\
from flax import nnx


@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(layer: nnx.Linear, x):
    return layer(x)
""",
    ),
)
