"""NNX613: ``nnx.Sequential.layers`` as a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.nodes import last_word
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.attributes import Attributes
from codemods.nnx.v012.data_marks import wrapped
from codemods.nnx.v012.walked_lists import walked_lists
from codemods.nnx.values import Call, Changed, Function, Ref, Star

_MARKS = frozenset({"flax.nnx.data", "flax.nnx.static"})


def check(context: Context) -> Iterator[Finding]:
    """Yield sums with, and type checks of, the layers of a Sequential."""
    if not context.options.crosses("0.12"):
        return
    yield from walked_lists(context)
    reads = {e.node: e for e in context.asked.attributes() if e.node.attr == "layers" and e.context == "load"}
    if not reads:
        return
    modules = {event.scope.module for event in reads.values()}
    for module in (one for one in context.asked.modules if one in modules):
        for node in module.source.of_type(ast.BinOp, ast.Call, ast.Assign, ast.Delete):
            operands: list[ast.expr] = []
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
                operands = [node.left, node.right]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
                operands = node.args[:1]
            for operand in operands:
                event = reads.get(operand) if isinstance(operand, ast.Attribute) else None
                if event is not None and _of_sequential(context, event):
                    yield _finding(event, fixable=isinstance(node, ast.BinOp))
            yield from _surgery(context, node, reads)


def _surgery(context: Context, node: ast.AST, reads: dict[ast.Attribute, AttrEvent]) -> Iterator[Finding]:
    """Yield changes that put a module where a function was, or the other way round."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
        event = _layers(node.targets[0].value, reads)
        made = _made(context, event) if event is not None else []
        value = event.scope.module.values.get(node.value) if event is not None else None
        if event is None or value is None or not made:
            return
        stored, index = context.flow.here(value, event.scope), _number(node.targets[0].slice)
        if context.flow.calls.callee_name(stored) in _MARKS or isinstance(node.targets[0].slice, ast.Slice):
            return
        new = _is_data(context, stored)
        if new is None or not any(_other(one, index, new) for one in made):
            return
        if index is None and _asked(context, event):
            return
        anew = _assigned(context, event)
        if _before(anew, event):
            return  # what was assigned is a list of its own
        name = "data" if new else "static"
        alone = set(context.options.targets) == {"0.12"} and len(made) == len(_sources(context, event))
        alone = alone and _later(context, anew, event)
        yield finding(
            "NNX613",
            event.scope,
            node.targets[0],
            "a place of nnx.Sequential.layers stays what it was first, data or static, since Flax 0.12: "
            + ("a module may not go where a function was" if new else "a function is no leaf where a module was"),
            f"say what it is now: layers[...] = nnx.{name}(...)",
            wrapped(context, event.scope, node.value, name) if alone else None,
        )
    for target, index, given in _shifts(node):
        event = _layers(target, reads)
        made = _made(context, event) if event is not None and index is not None else []
        if event is None or index is None or not made:
            continue
        value = event.scope.module.values.get(given) if given is not None else None
        new = _is_data(context, context.flow.here(value, event.scope)) if value is not None else None
        moved = any(_shifted(one, index, -1 if given is None else 1) or _put(one, index, new) for one in made)
        if moved and not _before(_assigned(context, event), event):
            yield finding(
                "NNX613",
                event.scope,
                node if isinstance(node, ast.Call) else event.node,
                "this moves modules to places of nnx.Sequential.layers where functions were, or the other way round: "
                "an error since Flax 0.12",
                "assign a new list: model.layers = [*model.layers[:1], layer, *model.layers[1:]]",
            )


def _assigned(context: Context, event: AttrEvent) -> list[AttrEvent]:
    """Return the places where all layers of what may be the same object are assigned anew, as another list."""
    mine = {source.value for source in _sources(context, event)}
    return [
        one
        for one in context.project.attributes()
        if one.node.attr == "layers"
        and one.context == "store"
        and not isinstance(one.stored, Changed)  # layers[...] = ...
        and isinstance(one.statement, ast.Assign | ast.AnnAssign)
        and any(source.value in mine for source in _sources(context, one))
    ]


def _before(places: list[AttrEvent], event: AttrEvent) -> bool:
    """Say whether one of several places stands before another one in the same body."""
    return any(one.scope is event.scope and one.statement.lineno < event.statement.lineno for one in places)


def _later(context: Context, places: list[AttrEvent], event: AttrEvent) -> bool:
    """Say whether all of several places come after another one, which is in no loop with them."""
    paths = context.bodies.paths(event.scope).get(event.node, ())
    if any(isinstance(block, ast.For | ast.While) for block, _ in paths):
        return not places
    return all(one.scope is event.scope and one.statement.lineno > event.statement.lineno for one in places)


def _shifts(node: ast.AST) -> Iterator[tuple[ast.expr, int | None, ast.expr | None]]:
    """Yield the lists in which elements move, with the place from which on they do, and what is put in there."""
    if isinstance(node, ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                yield target.value, _number(target.slice), None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        if node.func.attr == "insert" and len(node.args) == 2:
            yield node.func.value, _number(node.args[0]), node.args[1]
        elif node.func.attr == "pop":
            yield node.func.value, _number(node.args[0]), None


def _asked(context: Context, event: AttrEvent) -> bool:
    """Say whether a place is changed only where its layer is of some class."""
    return any(
        isinstance(block, ast.If) and any(last_word(part) == "isinstance" for part in _expressions(block.test))
        for block, _ in context.bodies.paths(event.scope).get(event.node, ())
    )


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Name | ast.Attribute))


def _layers(node: ast.expr, reads: dict[ast.Attribute, AttrEvent]) -> AttrEvent | None:
    return reads.get(node) if isinstance(node, ast.Attribute) else None


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return -inner if inner is not None else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


class _Made(NamedTuple):
    """What makes a Sequential.

    Attributes:
        data: of each layer whether it is data; None where that is not known.
        whole: whether these are all layers, in their order.
    """

    data: tuple[bool | None, ...]
    whole: bool


def _made(context: Context, event: AttrEvent) -> list[_Made]:
    """Return the calls of nnx.Sequential of which an object may be."""
    flow, found = context.flow, []
    for source in _sources(context, event):
        call = source.value
        if not isinstance(call, Call) or flow.calls.callee_name(source) != "flax.nnx.Sequential":
            continue
        layers: list[Bound] = []
        for given in call.args:
            inner = given.value if isinstance(given, Star) else given
            one = flow.with_value(source, inner)
            layers += flow.containers.elements(one) if isinstance(given, Star) else [one]
        found.append(_Made(tuple(_is_data(context, one) for one in layers), not call.starred))
    return found


def _sources(context: Context, event: AttrEvent) -> OrderedSet[Bound]:
    return context.sources.originals(context.flow.here(event.base, event.scope))


def _is_data(context: Context, layer: Bound) -> bool | None:
    """Say whether a layer is data; None if it is not known, or a function."""
    if context.shared(Attributes).is_data(layer):
        return True
    found = context.flow.resolve(layer)
    if isinstance(found.value, Function):
        return False
    static = isinstance(found.value, Ref) and found.value.name.startswith(("flax.nnx.", "jax.nn.", "jax.numpy."))
    return False if static else None


def _other(made: _Made, index: int | None, new: bool) -> bool:
    """Say whether a place may be of the other kind than what is put there."""
    if index is not None and (made.whole or 0 <= index < len(made.data)):
        return -len(made.data) <= index < len(made.data) and made.data[index] is (not new)
    return (made.whole or new) and (not new) in made.data


def _shifted(made: _Made, index: int, shift: int) -> bool:
    """Say whether layers come to places of the other kind when those from a place on move."""
    data = made.data
    if index < 0 and not made.whole:
        return False
    start = max(index + len(data), 0) if index < 0 else index
    moved = range(start, len(data) - 1) if shift > 0 else range(start + 1, len(data))
    return any(data[place] is not None and data[place + shift] is (not data[place]) for place in moved)


def _put(made: _Made, index: int, new: bool | None) -> bool:
    """Say whether a layer is put in where one of the other kind was."""
    return new is not None and made.whole and 0 <= index < len(made.data) and made.data[index] is (not new)


def _of_sequential(context: Context, event: AttrEvent) -> bool:
    flow = context.flow
    for source in _sources(context, event):
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

_PLACE = """\
import jax.numpy as jnp
from flax import nnx

rngs = nnx.Rngs(0)
net = nnx.Sequential(nnx.Linear(2, 2, rngs=rngs), nnx.relu, nnx.Linear(2, 1, rngs=rngs))
net.layers[1] = nnx.LayerNorm(2, rngs=rngs)
print(net(jnp.ones((1, 2))))
"""

RULE = Rule(
    code="NNX613",
    name="sequential-layers",
    summary="the layers of nnx.Sequential are no list any more",
    why="""\
`nnx.Sequential.layers` is an `nnx.List` since Flax 0.12.0: it has no `+`, and `isinstance(model.layers, list)` is
False. `append`, indexing, slicing and iteration work as before. Each of its places is data or static for good: a module
may not be put where a function was (unless `nnx.data(...)` says so), nor be moved there by `insert` and `del`.
`iter_modules` gives the list itself too.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(_BEFORE, _BEFORE.replace("net.layers +", "list(net.layers) +"), targets=("0.12",)),
        Example(
            _PLACE,
            _PLACE.replace(" nnx.LayerNorm(2, rngs=rngs)", " nnx.data(nnx.LayerNorm(2, rngs=rngs))"),
            targets=("0.12",),
        ),
    ),
    check=check,
    always=True,
)
