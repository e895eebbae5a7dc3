"""NNX621: lists and dicts of plain values that change between the calls of a compiled function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.attributes import Attribute, Attributes, Store
from codemods.nnx.values import Attr, Comprehension, Const, Function, Mapping, Ref, Sequence

_PLAIN = frozenset(f"builtins.{name}" for name in ("bool", "float", "getattr", "int", "len", "round", "str"))
_DEPTH = 3  # how many callers up a change is followed


def check(context: Context) -> Iterator[Finding]:
    """Yield changes of static containers between two calls that compile the object with what it held first."""
    if not context.options.crosses("0.12"):
        return
    if not any(module.source.mentions(b"jit") for module in context.project.modules):
        return
    calls = _compiled(context)
    if not calls:
        return
    attributes = context.shared(Attributes)
    names = {store.event.node.attr for store in attributes.fillings() if isinstance(_object(store), ast.Name)}
    for attribute in attributes.named(_read(context, names)):
        changes = [store for store in attribute.stores if store.filling and isinstance(_object(store), ast.Name)]
        if not changes or not _static(context.flow, attributes, attribute):
            continue
        for place in dict.fromkeys(place for store in changes for place in _places(context, store)):
            if place.scope.module not in context.asked.modules:
                continue
            if _between(context, place, calls.get(place.scope.node, [])):
                through = ", which this call changes," if isinstance(place.node, ast.Call) else ""
                yield finding(
                    RULE.code,
                    place.scope,
                    place.node,
                    f"`{attribute.name}`{through} is static since Flax 0.12, and equal to itself when it has changed: "
                    "what is compiled goes on with the old values",
                    f"assign a new container: {place.target}.{attribute.name} = ..., or hold arrays in nnx.data(...)",
                )


class _Place(NamedTuple):
    """Where a container changes: there itself, or by a call of what changes it.

    Attributes:
        scope: the body in which it stands.
        node: the attribute, or the call.
        statement: the statement around it.
        target: the name of the object that keeps the container.
    """

    scope: Scope
    node: ast.expr
    statement: ast.stmt
    target: str


def _places(context: Context, store: Store) -> Iterator[_Place]:
    """Yield the place of a change, and the calls of the methods and helpers that make it."""
    target, event = _object(store), store.event
    assert isinstance(target, ast.Name)
    pending = [(_Place(event.scope, event.node, event.statement, target.id), 0)]
    while pending:
        place, depth = pending.pop()
        yield place
        function = place.scope.function
        if function is None or place.target not in function.params or depth == _DEPTH or function in context.traced:
            continue
        for call in context.flow.sites.callers(function):
            given = _given(call, function, place.target)
            if isinstance(given, ast.Name):
                pending.append((_Place(call.scope, call.node, call.statement, given.id), depth + 1))


def _given(call: CallEvent, function: FunctionFacts, name: str) -> ast.expr | None:
    """Return what a call gives for a parameter."""
    if call.value.starred:
        return None
    place = list(function.params).index(name)
    if function.self_param is not None and function.binding == "instance":
        if not isinstance(call.value.callee, Attr) or not isinstance(call.node.func, ast.Attribute):
            return None
        if place == 0:
            return call.node.func.value
        place -= 1
    if place < len(call.node.args):
        return call.node.args[place]
    return next((keyword.value for keyword in call.node.keywords if keyword.arg == name), None)


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
        if attributes.is_marked(store):
            return False
        if isinstance(bound.value, Comprehension) and _plain(flow, bound):
            if isinstance(getattr(store.event.statement, "value", None), ast.ListComp | ast.DictComp):
                continue
        if not isinstance(bound.value, Mapping | Sequence) or isinstance(bound.value.node, ast.Tuple):
            return False
    return True


def _plain(flow: Flow, made: Bound) -> bool:
    """Say whether a comprehension makes a list or dict of texts, numbers or functions."""
    assert isinstance(made.value, Comprehension)
    element = flow.follow(made, made.value.element)
    return isinstance(element.value, Const | Function | Ref) or flow.calls.callee_name(element) in _PLAIN


def _read(context: Context, names: set[str]) -> set[str]:
    """Return those of some names that compiled code reads attributes by."""
    if not names:
        return names
    return {
        event.node.attr
        for event in context.project.attributes()
        if event.node.attr in names
        and event.context == "load"
        and event.scope.function is not None
        and event.scope.function in context.traced
    }


def _compiled(context: Context) -> dict[ast.AST, list[CallEvent]]:
    """Return the calls of what ``nnx.jit`` compiles, by the body in which they stand, of the modules asked about."""
    found: dict[ast.AST, list[CallEvent]] = {}
    for root in context.traced.roots:
        if root.transform == "flax.nnx.jit":
            for event in context.traced.calls_of(root):
                if event.scope.module in context.asked:
                    found.setdefault(event.scope.node, []).append(event)
    return found


def _between(context: Context, place: _Place, calls: list[CallEvent]) -> bool:
    """Say whether the object is given to compiled code before and after a change, each time it comes there."""
    scope, line = place.scope, place.node.lineno
    paths = context.bodies.paths(scope)
    mine = paths.get(place.node, ())
    given = [
        event.node
        for event in calls
        if any(place.target in names_in(argument) for argument in event.node.args)
        and set(mine).issuperset(paths.get(event.node, ()))
    ]
    stored = [
        node.lineno
        for node in context.bodies.nodes(scope)
        if isinstance(node, ast.Name) and node.id == place.target and isinstance(node.ctx, ast.Store)
    ]
    for block, arm in mine:
        if isinstance(block, ast.For | ast.While) and arm == "body" and _changes_again(place, block):
            if any((block, arm) in paths.get(node, ()) for node in given):
                return not any(block.lineno <= other <= (block.end_lineno or block.lineno) for other in stored)
    first = [node.lineno for node in given if (node.end_lineno or node.lineno) < line]
    if not first or any(first[0] < other <= line for other in stored):
        return False
    return any(node.lineno > line for node in given)


def _changes_again(place: _Place, loop: ast.For | ast.While) -> bool:
    """Say whether each round of a loop puts something else into the container, or one thing more."""
    if isinstance(place.statement, ast.Expr) and isinstance(place.node, ast.Attribute):
        return True  # append and its like
    own = {node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return bool(own & names_in(place.statement) - {place.target})


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
the change, or in a loop with it, whether a method or helper makes the change or the body itself.
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
