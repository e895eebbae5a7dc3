"""NNX613: ``nnx.Sequential.layers`` as a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call


def check(context: Context) -> Iterator[Finding]:
    """Yield sums with, and type checks of, the layers of a Sequential."""
    if not context.options.crosses("0.12"):
        return
    reads = {e.node: e for e in context.asked.attributes() if e.node.attr == "layers" and e.context == "load"}
    if not reads:
        return
    for module in context.asked.modules:
        for node in module.source.nodes:
            operands: list[ast.expr] = []
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
                operands = [node.left, node.right]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                operands = node.args[:1]
            for operand in operands:
                event = reads.get(operand) if isinstance(operand, ast.Attribute) else None
                if event is not None and _of_sequential(context, event):
                    yield _finding(event, fixable=isinstance(node, ast.BinOp))


def _of_sequential(context: Context, event: AttrEvent) -> bool:
    flow = context.flow
    for source in context.sources.originals(flow.here(event.base, event.scope)):
        cls = flow.classes.class_of(source)
        names = (
            flow.classes.mro(cls)[1]
            if cls is not None and not any("layers" in c.stores for c in flow.classes.mro(cls)[0])
            else ()
        )
        if "flax.nnx.Sequential" in names:
            return True
        if isinstance(source.value, Call) and flow.calls.callee_name(source) == "flax.nnx.Sequential":
            return True
    return False


def _finding(event: AttrEvent, fixable: bool) -> Finding:
    source = event.scope.module.source
    fix = None
    if fixable and source.faithful(event.node):
        start, end = source.span(event.node)
        fix = Fix(((source.path, Edit(start, start, b"list(")), (source.path, Edit(end, end, b")"))))
    message = "the layers of nnx.Sequential are an nnx.List since Flax 0.12, which is no list"
    return finding("NNX613", event.scope, event.node, message, "make a list of it: list(model.layers)", fix)


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx

net = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.relu)
longer = nnx.Sequential(*(net.layers + [nnx.Linear(2, 1, rngs=nnx.Rngs(1))]))
print(longer(jnp.ones((1, 2))))
"""

RULE = Rule(
    code="NNX613",
    name="sequential-layers",
    summary="the layers of nnx.Sequential are no list any more",
    why="""\
`nnx.Sequential.layers` is an `nnx.List` since Flax 0.12.0: it has no `+`, and `isinstance(model.layers, list)` is
False. `append`, indexing, slicing and iteration work as before.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(Example(_BEFORE, _BEFORE.replace("net.layers +", "list(net.layers) +"), targets=("0.12",)),),
    check=check,
    always=True,
)
