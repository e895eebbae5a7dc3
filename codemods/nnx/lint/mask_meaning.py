"""What attention masks are True for, as far as the text tells: what may be seen, or what is hidden."""

from __future__ import annotations

import ast
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.padding_test import compared_padding
from codemods.nnx.lint.syntax import constant, new_axis
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item, Sequence, Unknown, Value

_SAME = frozenset({"array", "asarray", "astype", "bool_", "broadcast_to", "expand_dims", "rearrange", "repeat"}
                  | {"reshape", "squeeze", "swapaxes", "tile", "transpose"})  # fmt: skip
_TURNED = frozenset({"bitwise_not", "invert", "logical_not"})
_BOTH = frozenset({"bitwise_and", "combine_masks", "logical_and", "make_attention_mask"})
_COMPARING = {"equal": ast.Eq(), "not_equal": ast.NotEq(), "less": ast.Lt(), "less_equal": ast.LtE(),
              "greater": ast.Gt(), "greater_equal": ast.GtE()}  # fmt: skip
_DEPTH = 12


class Meaning(NamedTuple):
    """What a mask is made of.

    Attributes:
        hides: what it keeps from being seen, in the words of a message.
        seen: whether it is True for what may be seen, and not for what is hidden.
    """

    hides: str
    seen: bool


def meaning(context: Context, mask: Bound, scope: Scope, depth: int = 0) -> Meaning | None:
    """Return what a mask is True for; None if that is not known.

    Args:
        context: the analysis.
        mask: the mask.
        scope: the body that it is used in.
        depth: how deep in a larger mask it stands.
    """
    known, key = context.shared(_Meanings), (mask, scope)
    kept = known.kept.get(key)
    if depth > _DEPTH:
        known.cut += 1
        return None
    if kept is not None and (kept.whole or depth >= kept.depth):
        known.cut += not kept.whole
        return kept.answer
    # masks are made of each other in loops and on many ways: each is asked about once, not once for each way
    known.kept[key] = _Kept(None, depth, whole=False)
    cut = known.cut
    answer = _of_one(context, mask, scope, depth)
    known.kept[key] = _Kept(answer, depth, whole=known.cut == cut)
    return answer


class _Kept(NamedTuple):
    """What was found for a mask.

    Attributes:
        answer: what it is true for; None while that is looked for.
        depth: how deep it stood then.
        whole: whether everything was followed that it is made of.
    """

    answer: Meaning | None
    depth: int
    whole: bool


class _Meanings:
    """What masks were found to be true for.

    Attributes:
        kept: the answers, by the mask and the body that it is used in.
        cut: how often a mask was not followed since it stood too deep.
    """

    def __init__(self, _: Context) -> None:
        self.kept: dict[tuple[Bound, Scope], _Kept] = {}
        self.cut = 0


def _of_one(context: Context, mask: Bound, scope: Scope, depth: int) -> Meaning | None:
    flow, value = context.flow, mask.value
    if isinstance(value, Indexed | Item):
        return _of_all(context, flow.with_value(mask, value.base), scope, depth)
    if isinstance(value, Unknown):
        return _computed(context, mask, value.node, _home(context, mask, value.node, scope), depth)
    if not isinstance(value, Call) or value.starred:
        return None
    name = flow.calls.callee_name(mask)
    home, _, word = name.rpartition(".")
    if name:
        known = home in {"jax.numpy", "numpy", "einops"} or (home in _FLAX and word.endswith(("_mask", "_masks")))
        return _made(context, mask, value, word, scope, depth) if known else None
    if isinstance(value.callee, Attr) and value.callee.name in _SAME:
        return _of_all(context, flow.with_value(mask, value.callee.base), scope, depth)
    return None


def over_queries(context: Context, mask: Bound, scope: Scope) -> bool:
    """Say whether a mask of padding has its axis where the queries are, as ``keep[:, None, :, None]``."""
    value = mask.value
    if not isinstance(value, Item | Indexed):
        return False
    index = value.index.value if isinstance(value, Indexed) else value.index
    written = index.node if isinstance(index, Sequence) else None
    parts = written.elts if isinstance(written, ast.Tuple) else []
    if len(parts) < 3 or [*map(new_axis, parts[-2:])] != [False, True]:
        return False
    found = meaning(context, mask, scope)
    return found is not None and found.hides == PADDING


#: What is wrong with a mask that :func:`over_queries` tells of, and the way out.
OVER_QUERIES = (
    "the mask of padding has its axis where the queries are: no key is hidden, and all attend to the padding",
    "put it where the keys are: keep[:, None, None, :]",
)


def _of_all(context: Context, mask: Bound, scope: Scope, depth: int) -> Meaning | None:
    """Return what a mask is true for wherever it comes from."""
    agreed: Meaning | None = None
    for one in context.sources.originals(mask):
        found = meaning(context, one, scope, depth + 1)
        if found is None or agreed not in (None, found):
            return None
        agreed = found
    return agreed


_FLAX = frozenset({"flax.nnx", "flax.linen", "flax.linen.attention", "flax.nnx.nn.attention"})


def _made(context: Context, mask: Bound, value: Call, word: str, scope: Scope, depth: int) -> Meaning | None:
    """Return what the result of a function of numpy, JAX or Flax is true for."""
    flow = context.flow

    def of(place: int) -> Meaning | None:
        return _of_all(context, flow.with_value(mask, value.args[place]), scope, depth)

    if word in {"triu", "tril"}:
        return _triangle(context, mask, value, word)
    if word == "make_causal_mask":
        return Meaning(BEHIND, True)
    if not value.args:
        return None
    if word in _TURNED:
        return _turned(of(0))
    if word == "where" and len(value.args) == 3:
        ways = [_holds(argument) for argument in value.node.args[1:]]
        return None if None in ways or ways[0] is ways[1] else of(0) if ways[0] else _turned(of(0))
    if word in _BOTH:
        if value.keyword("pairwise_fn") is not None or (word == "make_attention_mask" and len(value.args) != 2):
            return None
        return _joined([of(place) for place in range(len(value.args))], every=True)
    if word in {"logical_or", "bitwise_or"}:
        return _joined([of(place) for place in range(len(value.args))], every=False)
    if word in _COMPARING and len(value.node.args) == 2:
        home = _home(context, mask, value.node, scope)
        return _of_padding(compared_padding(context, value.node.args[0], _COMPARING[word], value.node.args[1], home))
    return of(0) if word in _SAME else None


BEHIND = "the positions behind"
PADDING = "padding"


def _of_padding(tells: bool | None) -> Meaning | None:
    return None if tells is None else Meaning(PADDING, not tells)


def _triangle(context: Context, mask: Bound, made: Call, word: str) -> Meaning | None:
    """Return what a triangle of ones is true for; None if it also takes in, or leaves out, the positions themselves."""
    return Meaning(BEHIND, word == "tril") if _diagonal(context, mask, made) == (0 if word == "tril" else 1) else None


def _diagonal(context: Context, mask: Bound, made: Call) -> int | None:
    """Return the number of the diagonal that a triangle of ones ends at; None if it is not known."""
    shift = made.argument(1, "k")
    k = context.flow.follow(mask, shift).value if shift is not None else Const(0)
    ones = context.flow.follow(mask, made.args[0]) if made.args else None
    if ones is None or not isinstance(ones.value, Call) or not isinstance(k, Const) or not isinstance(k.value, int):
        return None
    name = context.flow.calls.callee_name(ones)
    return k.value if name.rpartition(".")[2] in {"ones", "full", "ones_like"} else None


def is_upper_half(context: Context, mask: Bound) -> bool:
    """Say whether a mask is ``jnp.triu`` of ones with the positions themselves, also as another type.

    Args:
        context: the analysis.
        mask: the mask.
    """
    value = mask.value
    if not isinstance(value, Call) or value.starred:
        return False
    home, _, word = context.flow.calls.callee_name(mask).rpartition(".")
    if home in {"jax.numpy", "numpy"}:
        if word == "triu":
            return _diagonal(context, mask, value) == 0
        return word in _SAME_PLACES and bool(value.args) and _upper(context, mask, value.args[0])
    method = value.callee if isinstance(value.callee, Attr) and not home else None
    return method is not None and method.name == "astype" and _upper(context, mask, method.base)


def _upper(context: Context, mask: Bound, part: Value) -> bool:
    return is_upper_half(context, context.flow.follow(mask, part))


_SAME_PLACES = frozenset({"array", "asarray", "bool_"})


def _computed(context: Context, mask: Bound, node: ast.AST, home: Scope, depth: int) -> Meaning | None:
    """Return what an expression is true for: ``~m``, ``m == 0``, ``1 - m``, ``m * -1e9``, ``tokens == pad``."""

    def of(part: ast.expr) -> Meaning | None:
        value = home.module.values.get(part)
        if value is None:
            return None
        return _of_all(context, context.flow.with_value(mask, value), home, depth)

    if isinstance(node, ast.UnaryOp):
        return _turned(of(node.operand)) if isinstance(node.op, ast.Invert) else of(node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        op, other = node.ops[0], node.comparators[0]
        order = _ordered(context, node.left, op, other, home)
        if order is not None:
            return order
        tells = compared_padding(context, node.left, op, other, home)
        if tells is not None:
            return _of_padding(tells)
        against = constant(other)
        if against is None or not isinstance(op, ast.Eq | ast.NotEq | ast.Gt):
            return None
        same = isinstance(op, ast.Gt) or bool(against) is isinstance(op, ast.Eq)
        return of(node.left) if same else _turned(of(node.left))
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Sub) and constant(node.left) == 1:
            return _turned(of(node.right))
        if isinstance(node.op, ast.BitAnd | ast.BitOr):
            return _joined([of(node.left), of(node.right)], every=isinstance(node.op, ast.BitAnd))
        if isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            return next((of(one) for one, other in (sides, sides[::-1]) if _holds(other)), None)
    return None


def _ordered(context: Context, left: ast.expr, op: ast.cmpop, right: ast.expr, home: Scope) -> Meaning | None:
    """Return what ``i[:, None] >= i[None, :]`` of positions is true for: those of the keys that queries may see."""
    if not isinstance(left, ast.Subscript) or not isinstance(right, ast.Subscript):
        return None
    places = [ast.unparse(one.slice).replace("jnp.newaxis", "None").strip("()") for one in (left, right)]
    value = home.module.values.get(left.value)
    made = context.flow.resolve(context.flow.here(value, home)) if value is not None else None
    counted = made is not None and isinstance(made.value, Call) and last_word(made.value.node.func) == "arange"
    if not counted or ast.unparse(left.value) != ast.unparse(right.value):
        return None
    if places == ["None, :", ":, None"]:  # the keys first
        return _ORDERS.get(_MIRRORED.get(type(op), type(op)))
    return _ORDERS.get(type(op)) if places == [":, None", "None, :"] else None


_ORDERS: dict[type[ast.cmpop], Meaning] = {ast.GtE: Meaning(BEHIND, True), ast.Lt: Meaning(BEHIND, False)}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt}


def _joined(parts: list[Meaning | None], *, every: bool) -> Meaning | None:
    """Return what masks are true for together: where all of them are, or where one is.

    What is true for hidden places alone stays so, whatever else must hold as well.
    """
    hidden = [one for one in parts if one is not None and not one.seen]
    shown = [one for one in parts if one is not None and one.seen]
    if every and hidden:
        return hidden[0]
    if len(shown) == len(parts) and every:
        return shown[0]
    return hidden[0] if len(hidden) == len(parts) else None


def _home(context: Context, mask: Bound, node: ast.AST, scope: Scope) -> Scope:
    """Return the scope that a mask is computed in."""
    if mask.frame is not None:
        return mask.frame.function.scope
    return context.bodies.home(node) or context.bodies.module_scope(node) or scope


def _turned(found: Meaning | None) -> Meaning | None:
    return None if found is None else Meaning(found.hides, not found.seen)


def _holds(node: ast.expr) -> bool | None:
    """Return the truth of a number in the text: that of minus infinity is True; None if it is not known."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Attribute | ast.Name):
        return True if last_word(node) in {"inf", "min", "NEG_INF", "NINF"} else None
    return True if isinstance(node, ast.Call) and ast.unparse(node) in {"float('-inf')", "float('inf')"} else None
