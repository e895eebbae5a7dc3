"""NNX780: trees of unlike structure, or arrays of unlike length, that are gone through together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.literal_shape import literal_shape
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, written
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.values import Attr, Call, Const, Item, Loop, Mapping, Param, Sequence, Value

#: How many steps back a tree is followed to a dict.
_DEPTH = 7


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "map", "tree_map"):
        if name in TREE_MAPS and not event.value.starred and len(event.value.args) > 2:
            if not event.node.keywords and not context.bodies.guarded(event.node, event.scope):
                yield from _mapped(context, event)
    for event, name in foreign(context, "scan"):
        xs = event.value.argument(2, "xs")
        if name == "jax.lax.scan" and xs is not None and not event.value.starred:
            yield from _scanned(context, event, xs)


def _mapped(context: Context, event: CallEvent) -> Iterator[Finding]:
    """Yield the trees beside which ``jax.tree.map`` gets None or a number."""
    first, *others = zip(event.node.args[1:], event.value.args[1:], strict=True)
    if _none(context, event, *first) and not any(value == Const(None) for _, value in others):
        yield finding(
            RULE.code,
            event.scope,
            first[0],
            f"`{event.scope.module.source.text(first[0])}` is None in the first round, and None is a tree without "
            "leaves" if isinstance(first[1], Loop) else "None is a tree without leaves, and the other one has some",
            "begin with zeros: jax.tree.map(jnp.zeros_like, params)",
        )  # fmt: skip
        return
    if not _dict(context, context.flow.here(first[1], event.scope)):
        return
    keys = _keys(context, event, first[1])
    for node, value in others:
        if _none(context, event, node, value):
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{event.scope.module.source.text(node)}` is None here, in the first round at least, and None is a "
                "tree without leaves",
                "begin with zeros: jax.tree.map(jnp.zeros_like, params)",
            )
            return
        wanted = _keys(context, event, value)
        if keys is not None and wanted is not None and keys != wanted:
            texts = [event.scope.module.source.text(one) for one in (first[0], node)]
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{texts[0]}` and `{texts[1]}` have other keys: {', '.join(sorted(keys ^ wanted))} is in one alone",
                "give both the same structure",
            )
            return
        array = Arrays(context, {}).of(value, event.scope)
        if array.axes == 0 and array.number is not None and (isinstance(value, Const) or array.weak):
            text = event.scope.module.source.text(node)
            yield finding(
                RULE.code,
                event.scope,
                node,
                f"`{text}` is a number, and jax.tree.map goes through trees of one structure",
                f"let the function use it from around itself: lambda p, g: p - {text} * g",
            )
            return


def _keys(context: Context, event: CallEvent, value: Value) -> frozenset[str] | None:
    """Return the keys of a dict that is written down as a whole; None if they are not known."""
    found = context.flow.resolve(context.flow.here(value, event.scope)).value
    if not isinstance(found, Mapping) or not isinstance(found.node, ast.Dict):
        return None
    if isinstance(value, Item | Attr) and _filled(event, value):
        return None
    keys = [key.value for key in found.node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
    return frozenset(keys) if len(keys) == len(found.node.keys) else None


def _filled(event: CallEvent, value: Item | Attr) -> bool:
    """Say whether something is put into a dict, or taken out of it, where it is an entry or an attribute."""
    name = value.name if isinstance(value, Attr) else getattr(value.index, "value", None)
    return any(
        (isinstance(held, Attr) and held.name == name) or (isinstance(held, Item) and held.index == Const(name))
        for held, _ in event.scope.module.mutated
    )


def _none(context: Context, event: CallEvent, node: ast.expr, value: Value) -> bool:
    """Say whether a variable is None here for certain, in the first round of a loop at least."""
    if value == Const(None):
        tests = (getattr(block, "test", None) for block, _ in context.bodies.paths(event.scope).get(event.node, ()))
        return isinstance(node, ast.Name) and not any(test and node.id in names_in(test) for test in tests)
    if not isinstance(value, Loop) or not isinstance(node, ast.Name) or value.node not in event.loops:
        return False
    if value.before != Const(None):
        return False
    asked = (n.test for n in ast.walk(value.node) if isinstance(n, ast.If | ast.IfExp))
    return not any(node.id in names_in(test) for test in asked) and not context.bodies.sometimes(
        event.node, event.scope, value.node
    )


def _dict(context: Context, bound: Bound) -> bool:
    """Say whether a value is a dict of arrays on some way to it, or the gradient with respect to one.

    Each value is asked about once: what many callers hand on to each other has very many ways.
    """
    seen: set[Bound] = set()
    asked = [bound]
    for _ in range(_DEPTH):
        more: list[Bound] = []
        for one in asked:
            value = one.value
            while isinstance(value, Loop):
                value = value.before
            found = context.flow.resolve(context.flow.with_value(one, value))
            if found in seen:
                continue
            seen.add(found)
            if isinstance(found.value, Mapping) and found.value.items:
                return True
            if isinstance(found.value, Sequence) and isinstance(found.value.node, ast.List) and found.value.items:
                return True
            more += _before(context, found)
        asked = more
    return False


def _before(context: Context, found: Bound) -> list[Bound]:
    """Return what a value may come from, and for a gradient what it was taken with respect to."""
    if isinstance(found.value, Param | Attr):
        return [one for one in context.sources.originals(found) if one.value is not found.value]
    call = found.value.base if isinstance(found.value, Item) else found.value
    if isinstance(call, Call) and call.args and not call.starred:
        made = context.flow.follow(found, call.callee)
        if isinstance(made.value, Call) and context.flow.calls.callee_name(made) in GRADIENTS:
            if len(made.value.args) == 1 and made.value.keyword("argnums") is None:
                return [context.flow.with_value(found, call.args[0])]
    return []


def _scanned(context: Context, event: CallEvent, xs: Value) -> Iterator[Finding]:
    """Yield the scans over arrays of which one is a part of another, or that are made of other lengths."""
    display = context.flow.resolve(context.flow.here(xs, event.scope)).value
    if not isinstance(display, Sequence | Mapping) or not isinstance(display.node, ast.Tuple | ast.Dict):
        return
    home = event.scope
    if display.node not in context.bodies.paths(home):
        return  # its parts are values of another scope
    nodes = display.node.elts if isinstance(display.node, ast.Tuple) else display.node.values
    parts = display.items if isinstance(display, Sequence) else [part for _, part in display.items]
    if len(nodes) != len(parts) or context.bodies.guarded(event.node, event.scope):
        return
    cut: dict[object, tuple[int, ast.expr]] = {}
    made: dict[int, ast.expr] = {}
    for node, part in zip(nodes, parts, strict=True):
        wrong = None
        base, less = _cut(home, _unpacked(context, node, home))
        if base is not None:
            before = cut.setdefault(base, (less, node))
            wrong = before[1] if before[0] != less else None
        size = (literal_shape(context, part, home) or (None,))[0]
        if size is not None:
            one = made.setdefault(size, node)
            wrong = wrong or next((other for other in made.values() if other is not one), None)
        if wrong is not None:
            text = home.module.source.text
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{text(wrong)}` and `{text(node)}` are of different lengths, and scan goes through both",
                "cut them to one length, as in (x[:-1], x[1:])",
            )
            return


def _unpacked(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return what a variable is, which is bound once: ``x[:-1]`` of ``inputs, targets = x[:-1], x``."""
    made = written(context, node, scope)
    if isinstance(made, ast.Subscript) or not isinstance(node, ast.Name):
        return made
    names = context.bodies.names(scope).get(node.id, ())
    stores = [n for n in names if isinstance(n.ctx, ast.Store)]
    for one in context.bodies.nodes(scope) if len(stores) == 1 else ():
        if not isinstance(one, ast.Assign) or len(one.targets) != 1 or one.lineno >= node.lineno:
            continue
        target, value = one.targets[0], one.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and stores[0] in target.elts:
            part = value.elts[target.elts.index(stores[0])] if len(target.elts) == len(value.elts) else node
            read = [n for name in names_in(part) for n in context.bodies.names(scope).get(name, ())]
            later = any(isinstance(n.ctx, ast.Store) and n.lineno >= one.lineno for n in read)
            return part if isinstance(part, ast.Subscript | ast.Name) and not later else node
    return node


def _cut(scope: Scope, node: ast.expr) -> tuple[Value | None, int]:
    """Return what array an expression is, or is cut out of, and how many elements it is shorter."""
    if isinstance(node, ast.Name):
        return scope.module.values.get(node), 0
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or names_in(node.slice):
        return None, 0
    if not isinstance(node.slice, ast.Slice) or node.slice.step is not None:
        return None, 0
    lower, upper = (_number(one) for one in (node.slice.lower, node.slice.upper))
    if lower is None or upper is None or lower < 0 or upper > 0:
        return None, 0
    return scope.module.values.get(node.value), lower - upper


def _number(node: ast.expr | None) -> int | None:
    """Return a literal whole number, 0 for none."""
    if node is None:
        return 0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return -inner if inner is not None else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


RULE = lint_rule(
    "NNX780",
    "unlike-trees",
    "jax.tree.map over trees of unlike structure, or scan over arrays of unlike length",
    why="""\
`jax.tree.map(f, one, two)` goes through trees of one structure: a number beside a dict, such as the learning rate, or
None for a sum that has not begun raises a ValueError. `jax.lax.scan` takes one slice of every array in each round, so
that all of them have the same length: `(x, x[1:])` has not.
""",
    source="JAX documentation on pytrees, jax issues; measured on JAX 0.6.2, 0.7.2 and 0.10.2: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def step(params, grads, rate):
    return jax.tree.map(lambda p, g, r: p - r * g, params, grads, rate)


params = step({"w": 1.0, "b": 0.0}, {"w": 0.1, "b": 0.2}, 0.01)
""",
        """\
import jax
import jax.numpy as jnp


def differences(x):
    return jax.lax.scan(lambda total, pair: (total + pair[1] - pair[0], None), 0.0, (x, x[1:]))


differences(jnp.arange(4.0))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def step(params, grads, rate):
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def differences(x):
    return jax.lax.scan(lambda total, pair: (total + pair[1] - pair[0], None), 0.0, (x[:-1], x[1:]))


params = step({"w": 1.0, "b": 0.0}, {"w": 0.1, "b": 0.2}, 0.01)
differences(jnp.arange(4.0))
""",
    ),
)
