"""NNX621: lists and dicts of plain values that change between the calls of a compiled function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.flow import Flow
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.attributes import Attribute, Attributes, Store
from codemods.nnx.values import Mapping, Sequence


def check(context: Context) -> Iterator[Finding]:
    """Yield changes of static containers between two calls that compile the object with what it held first."""
    if not context.options.crosses("0.12"):
        return
    if not any(b"jit" in module.source.data for module in context.project.modules):
        return
    attributes = context.shared(Attributes)
    calls: dict[ast.AST, list[CallEvent]] | None = None
    for attribute in attributes.all:
        changes = [store for store in attribute.stores if store.filling and isinstance(_object(store), ast.Name)]
        changes = [store for store in changes if store.event.scope.module in context.asked.modules]
        if not changes or not _static(context.flow, attributes, attribute) or not _read(context, attribute.name):
            continue
        if calls is None:
            calls = _compiled(context)
        for store in changes:
            if _between(context, store, calls.get(store.event.scope.node, [])):
                yield finding(
                    RULE.code,
                    store.event.scope,
                    store.event.node,
                    f"`{attribute.name}` is static since Flax 0.12, and equal to itself when it has changed: what is "
                    "compiled goes on with the old values",
                    f"assign a new container: {ast.unparse(store.event.node)} = ..., or hold arrays in nnx.data(...)",
                )


def _object(store: Store) -> ast.expr:
    return store.event.node.value


def _static(flow: Flow, attributes: Attributes, attribute: Attribute) -> bool:
    """Say whether an attribute is given lists or dicts that are written out, and never data."""
    direct = [store for store in attribute.stores if not store.filling]
    if not direct or attribute.named or attribute.deleted:
        return False
    for store in attribute.stores:
        bound = flow.resolve(flow.here(store.value, store.event.scope))
        if attributes.gives_data(store.value, store.event.scope):
            return False
        if store.filling:
            continue
        if not isinstance(bound.value, Mapping | Sequence) or isinstance(bound.value.node, ast.Tuple):
            return False
    return True


def _read(context: Context, name: str) -> bool:
    """Say whether compiled code reads an attribute of that name."""
    return any(
        event.node.attr == name
        and event.context == "load"
        and event.scope.function is not None
        and event.scope.function in context.traced
        for event in context.project.attributes()
    )


def _compiled(context: Context) -> dict[ast.AST, list[CallEvent]]:
    """Return the calls of what ``nnx.jit`` compiles, by the body in which they stand."""
    found: dict[ast.AST, list[CallEvent]] = {}
    for root in context.traced.roots:
        if root.transform == "flax.nnx.jit":
            for event in context.traced.calls_of(root):
                found.setdefault(event.scope.node, []).append(event)
    return found


def _between(context: Context, store: Store, calls: list[CallEvent]) -> bool:
    """Say whether the object is given to compiled code before and after a change, each time it comes there."""
    target, scope = _object(store), store.event.scope
    assert isinstance(target, ast.Name)
    paths = context.bodies.paths(scope)
    mine = set(paths.get(store.event.node, ()))
    given = [
        event.node
        for event in calls
        if any(target.id in names_in(argument) for argument in event.node.args)
        and mine.issuperset(paths.get(event.node, ()))
    ]
    line = store.event.node.lineno
    stored = [
        node.lineno
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Store)
    ]
    first = [node.lineno for node in given if (node.end_lineno or node.lineno) < line]
    if not first or any(first[0] < other <= line for other in stored):
        return False
    return any(node.lineno > line for node in given)


_PROGRAM = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(2))
        self.factors = {{"scale": 2.0}}

    def __call__(self, x):
        return x * self.w * self.factors["scale"]


@nnx.jit
def total(net, x):
    return net(x).sum()


net, x = Net(), jnp.ones(2)
print(total(net, x))
{}
print(total(net, x))
"""

RULE = Rule(
    code="NNX621",
    name="changed-static",
    summary="a list or dict of plain values that changes between the calls of a compiled function",
    why="""\
Up to Flax 0.11 the lists and dicts of an object were a part of its graph, so that a changed entry compiled anew. Since
0.12 they are static, and compared with themselves: `nnx.jit` runs what it compiled for the old entries, without an
error. A new list or dict in their place is seen. The rule speaks where one body calls compiled code before and after
the change.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.12.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(before=_PROGRAM.format('net.factors["scale"] = 3.0'), targets=("0.12",), run=False),
        Example(
            before=_PROGRAM.format('net.factors = {"scale": 3.0}'),
            after=_PROGRAM.format('net.factors = {"scale": 3.0}'),
            targets=("0.12",),
        ),
    ),
    check=check,
)
