"""A number in the place of a key or of labels, by what they are or are called; part of NNX874."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.keys import DRAWING
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Param

_KEYS = pattern(r"^(\w+_)?(key|rng)(s?\d?|_[a-z\d])$")
_NUMBERS = pattern(
    r"^(i|j|k|n|t|it|count|number|layer|(\w+_)?(step|epoch|episode|index|idx|iteration|round)(_?(id|idx|index|num))?)$"
)
_PLACES = frozenset({"axis_index", "process_index", "program_id"})


def number_for_key(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the calls of ``fold_in`` with the number before the key, and of ``one_hot`` with it before the labels."""
    for event, name in foreign(context, "one_hot"):
        if not name.startswith(("jax.nn.", "flax.nnx.")) or len(event.node.args) != 2 or event.value.starred:
            continue
        if _is_number(*event.node.args) and not _is_number(*reversed(event.node.args)) and not in_test(event.scope):
            first, second = map(ast.unparse, event.node.args)
            yield (
                event,
                event.node.args[0],
                f"`one_hot` takes the labels first, and `{first}` is the number of classes",
                f"exchange the arguments: one_hot({second}, {first})",
            )
    yield from _shapes_first(context)
    for event, name in foreign(context, "fold_in"):
        if name != "jax.random.fold_in" or len(event.node.args) < 2 or event.value.starred or in_test(event.scope):
            continue
        if context.bodies.guarded(event.node, event.scope) or not _folded_into(context, event):
            continue
        text = ast.unparse(event.node.args[1])
        yield (
            event,
            event.node.args[0],
            f"`jax.random.fold_in` takes the key first, and here `{text}` stands in the place of the number",
            f"exchange the arguments: fold_in({text}, {ast.unparse(event.node.args[0])})",
        )


def _shapes_first(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the calls of samplers with the shape before the key, and of ``nnx.update`` with the state before the model,
    by what they are called."""
    for event, name in foreign(context, *DRAWING, "update"):
        args = event.node.args
        if len(args) < 2 or event.value.starred or in_test(event.scope) or not isinstance(args[1], ast.Name):
            continue
        first, second = ast.unparse(args[0]), args[1].id
        if context.bodies.guarded(event.node, event.scope):
            continue
        if name == "flax.nnx.update" and _STATES.search(last_word(args[0])) and second in _MODELS:
            yield (
                event,
                args[0],
                f"`nnx.update` takes the object that changes first, and here `{second}` stands in the state's place",
                f"exchange the arguments: nnx.update({second}, {first})",
            )
        elif name.startswith("jax.random.") and _KEYS.search(second) and _called_shape(args[0]):
            word = last_word(event.node.func)
            yield (
                event,
                args[0],
                f"`jax.random.{word}` takes a key first, and here `{second}` stands in the place of the shape",
                f"exchange the arguments: {word}({second}, {first})",
            )


_MODELS = frozenset({"model", "module", "net", "network"})
_STATES = pattern(r"^(\w+_)?(state|params|weights)$")
_SHAPES = pattern(r"^(\w+_)?(shape|size|dims)$")


def _called_shape(node: ast.expr) -> bool:
    """Say whether an expression is a shape: part of one, a list with one in it, or called so."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) and _called_shape(node.value)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add) and isinstance(node.right, ast.List | ast.Tuple)
    return isinstance(node, ast.Name) and _SHAPES.search(node.id) is not None


def _folded_into(context: Context, event: CallEvent) -> bool:
    """Say whether the second argument is a key, and the first one a number, by what they are or are called."""
    number, key = event.node.args[:2]
    known = [kinds_of(context, value, event.scope) for value in event.value.args[:2]]
    if known[0] == {Kind.KEY}:
        return False
    keyed = known[1] == {Kind.KEY} or (
        isinstance(key, ast.Name | ast.Attribute) and _KEYS.search(last_word(key)) is not None
    )
    if not keyed:
        return False
    plain = isinstance(number, ast.Constant) and isinstance(number.value, int)
    counted = number.value if isinstance(number, ast.Subscript) else number
    named = isinstance(counted, ast.Name | ast.Attribute) and _NUMBERS.search(last_word(counted)) is not None
    named = named or (isinstance(number, ast.Call) and last_word(number.func) in _PLACES)
    if known[1] == {Kind.KEY} and not isinstance(event.value.args[0], Param):
        return plain or named or isinstance(number, ast.BinOp)
    return plain or named


def _is_number(node: ast.expr, other: ast.expr) -> bool:
    """Say whether an expression is a number of classes: a size, or a number beside what is called labels."""
    if isinstance(node, ast.Constant):
        return type(node.value) is int and node.value > 1 and _LABELS.search(last_word(other)) is not None
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    return isinstance(node, ast.Name | ast.Attribute) and _CLASSES.search(last_word(node)) is not None


_CLASSES = pattern(
    r"^(num|n)_?(classes|actions|labels|tokens|experts)$|^(NUM|N)_(CLASSES|ACTIONS|LABELS)$|^vocab_size$"
)
_LABELS = pattern(r"^(y|ys|(\w+_)?(labels|targets|actions|tokens|ids))$")
