"""NNX732: an attention mask that is True for the positions behind, which must not be seen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Const, Item, Unknown

_FUNCTIONS = frozenset({"flax.nnx.dot_product_attention", "jax.nn.dot_product_attention"})
_LAYERS = frozenset({"flax.nnx.MultiHeadAttention"})
_SAME = frozenset({"array", "asarray", "astype", "bool_", "broadcast_to", "expand_dims", "repeat", "reshape", "squeeze"}
                  | {"tile"})  # fmt: skip
_TURNED = frozenset({"bitwise_not", "invert", "logical_not"})
_DEPTH = 12


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"triu") or m.source.mentions(b"tril") for m in context.project.modules):
        return
    for module in context.asked.modules:
        for event in module.calls if module.source.mentions(b"mask") else ():
            given = event.value.keyword("mask")
            if given is None or in_test(event.scope) or not _attends(context, event):
                continue
            masks = context.sources.originals(context.flow.here(given, event.scope))
            if masks and all(_allows(context, mask, event.scope) is False for mask in masks):
                yield finding(
                    RULE.code,
                    event.scope,
                    next(word.value for word in event.node.keywords if word.arg == "mask"),
                    "the mask is True for the positions behind alone: in JAX and Flax True is what may be seen, not"
                    " what is hidden",
                    "make it of jnp.tril(jnp.ones((n, n), bool)), or by nnx.make_causal_mask",
                )


def _attends(context: Context, event: CallEvent) -> bool:
    """Say whether a call is one of attention, of which the mask is known."""
    callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope))
    if context.flow.calls.name(event) in _FUNCTIONS:
        return True
    if isinstance(callee.value, Const):
        return False
    return owner_class(context, event.value.callee, event.scope) in _LAYERS


def _allows(context: Context, mask: Bound, scope: Scope, depth: int = 0) -> bool | None:
    """Say whether a mask is True for the positions up to each one, or for those behind; None if that is not known."""
    flow, value = context.flow, mask.value
    if depth > _DEPTH:
        return None
    if isinstance(value, Changed):
        return None
    if isinstance(value, Indexed | Item):
        return _allows(context, flow.resolve(flow.with_value(mask, value.base)), scope, depth + 1)
    if isinstance(value, Unknown):
        home = context.bodies.home(value.node) or scope
        return _computed(context, mask, value.node, home, depth)
    if not isinstance(value, Call):
        return None
    name = flow.calls.callee_name(mask)
    word = name.rpartition(".")[2]
    if name.startswith(("jax.numpy.", "numpy.")):
        if word in {"triu", "tril"}:
            return _triangle(context, mask, value, word)
        if word in _TURNED and value.args:
            return _turned(_allows(context, flow.follow(mask, value.args[0]), scope, depth + 1))
        if word == "where" and len(value.args) == 3:
            ways = [_holds(argument) for argument in value.node.args[1:]]
            inner = _allows(context, flow.follow(mask, value.args[0]), scope, depth + 1)
            return None if None in ways or ways[0] is ways[1] else inner if ways[0] else _turned(inner)
        if word in _SAME and value.args:
            return _allows(context, flow.follow(mask, value.args[0]), scope, depth + 1)
    if not name and isinstance(value.callee, Attr) and value.callee.name in _SAME:
        return _allows(context, flow.follow(mask, value.callee.base), scope, depth + 1)
    return None


def _triangle(context: Context, mask: Bound, made: Call, word: str) -> bool | None:
    """Say what a triangle of ones allows; None if it also takes in, or leaves out, the positions themselves."""
    shift = made.argument(1, "k")
    k = context.flow.follow(mask, shift).value if shift is not None else Const(0)
    ones = context.flow.follow(mask, made.args[0]) if made.args else None
    if ones is None or not isinstance(ones.value, Call) or not isinstance(k, Const) or not isinstance(k.value, int):
        return None
    if context.flow.calls.callee_name(ones).rpartition(".")[2] not in {"ones", "full", "ones_like"}:
        return None
    if word == "tril":
        return True if k.value == 0 else None
    return False if k.value == 1 else None


def _computed(context: Context, mask: Bound, node: ast.AST, home: Scope, depth: int) -> bool | None:
    """Say what an expression of a mask allows: ``~m``, ``m == 0``, ``1 - m``, ``m * -1e9``."""

    def of(part: ast.expr) -> bool | None:
        value = home.module.values.get(part)
        if value is None:
            return None
        return _allows(context, context.flow.follow(mask, value), home, depth + 1)

    if isinstance(node, ast.UnaryOp):
        return _turned(of(node.operand)) if isinstance(node.op, ast.Invert) else of(node.operand)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        against, op = constant(node.comparators[0]), node.ops[0]
        if against is None or not isinstance(op, ast.Eq | ast.NotEq | ast.Gt):
            return None
        same = isinstance(op, ast.Gt) or bool(against) is isinstance(op, ast.Eq)
        return of(node.left) if same else _turned(of(node.left))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and constant(node.left) == 1:
        return _turned(of(node.right))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        return next((of(one) for one, other in (sides, sides[::-1]) if _holds(other)), None)
    return None


def _turned(allowed: bool | None) -> bool | None:
    return None if allowed is None else not allowed


def _holds(node: ast.expr) -> bool | None:
    """Return the truth of a number in the text: that of minus infinity is True; None if it is not known."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Attribute | ast.Name):
        return True if last_word(node) in {"inf", "min", "NEG_INF", "NINF"} else None
    return True if isinstance(node, ast.Call) and ast.unparse(node) in {"float('-inf')", "float('inf')"} else None


RULE = lint_rule(
    "NNX732",
    "future-mask",
    "an attention mask in PyTorch's form, which is True for what must not be seen",
    why="""\
`nnx.MultiHeadAttention`, `nnx.dot_product_attention` and `jax.nn.dot_product_attention` take a mask that is True where
a position may be attended to. A mask of `jnp.triu(..., k=1)`, as PyTorch takes it, shows each position only what comes
behind it. The same holds for masks that are added to the scores, zero where something may be seen and -inf elsewhere:
as truths, they are the other way round.
""",
    source="docstring of flax.nnx.dot_product_attention; measured: outputs that change with later tokens",
    check=_check,
    severity="error",
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


def attend(q, k, v):
    hidden = jnp.triu(jnp.ones((8, 8), dtype=bool), k=1)
    return nnx.dot_product_attention(q, k, v, mask=hidden)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


def attend(q, k, v):
    hidden = jnp.triu(jnp.ones((8, 8), dtype=bool), k=1)
    return nnx.dot_product_attention(q, k, v, mask=~hidden)
""",
    ),
)
