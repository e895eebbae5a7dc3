"""Trees of weights that vmap would map leaf by leaf, over first axes of different lengths; part of NNX867."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.frames import Bound, Part
from codemods.nnx.lint.arrays import Arrays, batched
from codemods.nnx.lint.literal_shape import literal_shape
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Class,
    Comprehension,
    Const,
    Function,
    Loop,
    Mapping,
    Param,
    Sequence,
    Unknown,
    Value,
)

_FILLING = frozenset({"jax.numpy.zeros", "jax.numpy.ones", "jax.numpy.full", "jax.numpy.empty"})
_SAMPLING = frozenset({"jax.random.normal", "jax.random.uniform", "jax.random.truncated_normal"})
_DEPTH = 4
_ENTRIES = 100  # how many changes of one container are looked at
_SHOWN = 40  # how long a text messages may show


def uneven(context: Context, event: CallEvent, argument: Value) -> str:
    """Say how the leaves of a mapped argument differ in their first axes, whatever the numbers are.

    Args:
        context: the analysis.
        event: the call of what vmap made.
        argument: the argument.

    Returns:
        Two of the leaves in words; empty if they agree, or that is not known.
    """
    function = event.scope.function
    if function is not None and function in context.shared(batched):
        return ""  # it is one of many that have an axis more
    given = context.flow.resolve(context.flow.here(argument, event.scope))
    found = context.sources.originals(given)
    if len(found) > 1:  # what training makes of weights has their shapes
        found = OrderedSet(one for one in found if not _updated(context, one)) or found
    if all(_begun(context, one) for one in found):
        filled = _filled(context, given, 0)
        found = OrderedSet((filled,)) if filled is not None else found
    if len(found) != 1 or any(one in context.shared(batched) for one in _made_in(next(iter(found)))):
        return ""
    for layer in _layers(context, next(iter(found)), 0):
        lengths: dict[str, str] = {}
        for name, length in layer:
            if length:
                lengths.setdefault(length, f"{name} has {length}")
        if len(lengths) > 1:
            return " and ".join(list(lengths.values())[:2])
        for text in lengths:
            rounds = _in_rounds(context, next(iter(found)), text)
            if len(rounds) > 1:
                return f"`{text}` is {rounds[0]} in one layer and {rounds[1]} in another"
    return ""


def _in_rounds(context: Context, bound: Bound, text: str) -> list[int]:
    """Return the numbers that a name stands for in the rounds of ``for m, n in zip(sizes[:-1], sizes[1:])``."""
    frame = bound.frame
    if frame is None or not text.isidentifier():
        return []
    for node in ast.walk(frame.function.node):
        if not isinstance(node, ast.For | ast.comprehension) or not isinstance(node.iter, ast.Call):
            continue
        if last_word(node.iter.func) != "zip" or not isinstance(node.target, ast.Tuple):
            continue
        for target, given in zip(node.target.elts, node.iter.args, strict=False):
            whole = given.value if isinstance(given, ast.Subscript) else given
            value = frame.function.scope.module.values.get(whole)
            if not isinstance(target, ast.Name) or target.id != text or value is None:
                continue
            sizes = context.flow.resolve(Bound(value, frame)).value
            numbers = (
                [part.value for part in sizes.items if isinstance(part, Const)] if isinstance(sizes, Sequence) else []
            )
            first = isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice) and given.slice.lower
            known = [n for n in numbers if type(n) is int]
            return list(dict.fromkeys(known[1:] if first else known[:-1])) if len(known) == len(numbers) else []
    return []


def _begun(context: Context, bound: Bound) -> bool:
    """Say whether a value is an empty list or dict, one with more put into it, or a tree made leaf by leaf."""
    value = bound.value
    if isinstance(value, Sequence | Mapping):
        return not value.items
    if isinstance(value, Call):
        return context.flow.calls.callee_name(bound) in TREE_MAPS | {"optax.apply_updates"}
    return isinstance(value, Changed)


def _updated(context: Context, bound: Bound) -> bool:
    """Say whether a tree is another one with updates, leaf by leaf, so that its leaves have the same shapes."""
    value = bound.value
    if isinstance(value, Comprehension):  # [(w - rate * dw, b - rate * db) for (w, b), (dw, db) in zip(...)]
        rounds = getattr(value.loop, "iter", None)
        parts = value.element.items if isinstance(value.element, Sequence) else (value.element,)
        zipped = isinstance(rounds, ast.Call) and last_word(rounds.func) == "zip" and len(rounds.args) > 1
        return zipped and all(isinstance(part, Unknown) and _leafwise(part.node) for part in parts)
    if not isinstance(value, Call) or len(value.args) < 2:
        return False
    name = context.flow.calls.callee_name(bound)
    if name not in TREE_MAPS or len(value.node.args) < 3:
        return name == "optax.apply_updates"
    function = value.node.args[0]
    if isinstance(function, ast.Lambda):
        return _leafwise(function.body)
    named = context.flow.follow(bound, value.args[0]).value
    body: list[ast.stmt] = []
    if isinstance(named, Function) and not isinstance(named.facts.node, ast.Lambda):
        body = named.facts.node.body
    written = [one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    only = written[0] if len(written) == 1 else None
    return isinstance(only, ast.Return) and only.value is not None and _leafwise(only.value)


# what keeps the shape of a leaf or shrinks it, or gives a number
_KEEPING = frozenset({"len", "float", "int", "sqrt", "square", "sign", "clip", "abs", "exp", "tanh", "sum", "mean"})


def _leafwise(node: ast.AST) -> bool:
    """Say whether a node is arithmetic of the leaves of two trees: ``p - rate * g``."""
    return isinstance(node, ast.BinOp) and not any(
        isinstance(n, ast.Subscript | ast.MatMult) or (isinstance(n, ast.Call) and last_word(n.func) not in _KEEPING)
        for n in ast.walk(node)
    )


def _filled(context: Context, bound: Bound, depth: int) -> Bound | None:
    """Return a list or dict that begins empty, with what is put into it; None if that is not found."""
    flow, value = context.flow, bound.value
    if depth > _DEPTH * 2:
        return None
    if isinstance(value, Changed):
        return bound
    if isinstance(value, Part):
        return _filled(context, flow.resolve(value.of), depth + 1)
    if isinstance(value, Loop):
        before = flow.follow(bound, value.before)
        if isinstance(before.value, Sequence | Mapping):
            return bound
        return _filled(context, before, depth + 1)
    if isinstance(value, Attr):
        held = [flow.resolve(one) for one in flow.fields.field(flow.with_value(bound, value.base), value.name)]
        made = [one for one in held if not _updated(context, one)]
        return _filled(context, made[0], depth + 1) if len(made) == 1 else None
    if isinstance(value, Param):
        for entry in flow.sites.entries(value.function):
            argument = flow.argument(entry, value.name)
            found = _filled(context, flow.resolve(argument), depth + 1) if argument is not None else None
            if found is not None:
                return found
    return None


def _made_in(bound: Bound) -> Iterator[FunctionFacts]:
    """Yield the functions in whose activations a value was made."""
    frame = bound.frame
    while frame is not None:
        yield frame.function
        frame = frame.caller


def _layers(context: Context, bound: Bound, depth: int) -> Iterator[list[tuple[str, str]]]:
    """Yield the leaves of every dict that stands in a tree, each with the length of its first axis as it is written."""
    found = context.flow.resolve(bound)
    value = found.value
    if depth > _DEPTH:
        return
    if isinstance(value, Comprehension):
        yield from _layers(context, context.flow.with_value(found, value.element), depth + 1)
    elif isinstance(value, Sequence | Mapping | Changed | Loop) or _record(context, found) is not None:
        leaves: list[tuple[str, str]] = []
        fields = _record(context, found)
        for name, item in _entries(value) if fields is None else fields:
            part = context.flow.follow(found, item)
            deeper = isinstance(part.value, Mapping | Sequence | Comprehension | Changed | Loop)
            if deeper or _record(context, part) is not None:
                yield from _layers(context, part, depth + 1)
            elif name:
                leaves.append((name, _length(context, part)))
        yield leaves


def _record(context: Context, bound: Bound) -> list[tuple[str, Value]] | None:
    """Return the fields of a named tuple that is made here, with their names; None if a value is none."""
    value = bound.value
    if not isinstance(value, Call) or value.starred:
        return None
    cls = context.flow.follow(bound, value.callee).value
    if not isinstance(cls, Class) or "typing.NamedTuple" not in context.flow.classes.mro(cls.facts)[1]:
        return None
    given = zip(context.flow.classes.dataclass_fields(cls.facts), value.args, strict=False)
    return [(f"`{name}`", one) for name, one in (*given, *value.keywords) if name is not None]


def _entries(value: Value) -> Iterator[tuple[str, Value]]:
    """Yield what a display holds, and what is put into it later, with a name for each."""
    stack, seen = [value], set[int]()
    while stack:
        one = stack.pop()
        if id(one) in seen or len(seen) > _ENTRIES:
            continue
        seen.add(id(one))
        if isinstance(one, Loop):
            stack += [one.before] if one.again is None else [one.again, one.before]
        elif isinstance(one, Changed):
            stack.append(one.before)
            key = one.node.slice if isinstance(one.node, ast.Subscript) else None
            yield f"`{ast.unparse(key)}`" if key is not None else _appended(one.node), one.value
        elif isinstance(one, Sequence):
            yield from ((f"part {place}", item) for place, item in enumerate(one.items))
        elif isinstance(one, Mapping):
            yield from ((f"`{key.value}`" if isinstance(key, Const) else "", item) for key, item in one.items)


def _appended(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.expr) and len(ast.unparse(node)) < _SHOWN else ""


def _length(context: Context, bound: Bound) -> str:
    """Return the length of the first axis as it is written, or that there is none; empty if it is not known."""
    value = bound.value
    if isinstance(value, Const):
        return "no axis" if type(value.value) in {int, float} else ""
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):  # weights times a factor
        home = bound.frame.function.scope if bound.frame is not None else context.bodies.home(value.node)
        parts = [home.module.values.get(n) for n in (value.node.left, value.node.right)] if home is not None else []
        told = [_length(context, context.flow.follow(bound, part)) for part in parts if part is not None]
        known = [length for length in told if length not in {"", "no axis"}]
        return known[0] if len(known) == 1 else ""
    if not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(bound)
    if name not in _FILLING | _SAMPLING:
        return "no axis" if Arrays(context, {}).of_bound(bound).axes == 0 else ""
    shape = argument(value.node, 1 if name in _SAMPLING else 0, "shape")
    if shape is None:
        return "no axis" if name in _SAMPLING else ""
    if isinstance(shape, ast.Tuple | ast.List):
        return _text(shape.elts[0]) if shape.elts else "no axis"
    scope = context.bodies.home(value.node)
    shape_known = literal_shape(context, value, scope) if scope is not None else ()
    if shape_known:
        return str(shape_known[0]) if shape_known[0] is not None else ""
    return _text(shape) if name in _FILLING and _size(shape) else ""


def _size(node: ast.expr) -> bool:
    """Say whether a shape is one number by its name: ``jnp.zeros(n_out)``."""
    return isinstance(node, ast.Name) and not any(word in node.id for word in ("shape", "size", "dims"))


def _text(node: ast.expr) -> str:
    return "" if isinstance(node, ast.Starred) else ast.unparse(node)
