"""NNX521: positions or time steps in half precision, which knows not each of so many whole numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.formula import at, binary, one_source, operand, same_numbers
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import each, foreign, in_test, written
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Sequence, Value

_EXACT = {"bfloat16": 256, "float16": 2048}  # up to where each whole number has one of its own
_WORDS = (b"bfloat16", b"float16")
_WAVES = frozenset({"jax.numpy.sin", "jax.numpy.cos", "jax.lax.sin", "jax.lax.cos"})
_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
# functions whose result is made of all of their arguments, or of the parts of the list that they get
_JOINING = frozenset({"outer", "multiply", "einsum", "dot", "concatenate", "stack", "hstack"})
_COUNTING = frozenset({"jax.numpy.arange", "numpy.arange"})
# where functions take a type
_TYPED = {"jax.numpy.arange": 3, "jax.numpy.asarray": 1, "jax.numpy.array": 1, "jax.lax.iota": 0,
          "jax.numpy.astype": 1}  # fmt: skip
_CASTS = frozenset({"astype"})
_DEPTH = 10


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(word) for module in context.project.modules for word in _WORDS):
        return
    counts = _Counts(context)
    for event, name in foreign(context, "sin", "cos"):
        if name in _WAVES and event.value.args and not event.value.starred and not in_test(event.scope):
            counts.follow(context.flow.here(event.value.args[0], event.scope), "", event.node, 0)
    for scope, node in each(context, ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], _ORDERED) and not in_test(scope):
            for side in (node.left, node.comparators[0]):
                if _counted(context, side, scope):
                    counts.follow(at(context, side, scope), "", node, 0)
    for scope, place, kind, greatest, user in counts.found.values():
        if scope.module not in context.asked or in_test(scope):
            continue
        yield finding(
            RULE.code,
            scope,
            place,
            f"these go up to {greatest:,}, and from {_EXACT[kind]:,} on {kind} does not know each whole number: "
            "neighbours become the same",
            "count in int32 and compute angles in float32; make the sines and cosines half precision afterwards",
            related=[(user, "used here")] if user in scope.module.values else [],
        )


def _counted(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is written as what counts, or becomes another type: ``jnp.arange(n)[None]``."""
    node = written(context, node, scope)
    while isinstance(node, ast.Subscript):
        node = written(context, node.value, scope)
    return isinstance(node, ast.Call) and last_word(node.func) in {"arange", "iota", "astype", "asarray"}


class _Counts:
    """Finds the whole numbers that a value is computed of, where they are made or become half precision.

    Attributes:
        found: by the call that counts, the scope, the call, the type, the greatest number, and what uses them.
    """

    def __init__(self, context: Context) -> None:
        self.found: dict[ast.AST, tuple[Scope, ast.AST, str, int, ast.AST]] = {}
        self._context = context
        self._seen: set[tuple[Bound, str]] = set()

    def follow(self, bound: Bound, kind: str, user: ast.AST, depth: int) -> None:
        """Note the counts that a value is computed of by products and other forms of the same numbers.

        Args:
            bound: the value.
            kind: the half precision that it becomes; empty if it becomes none.
            user: what it is used by.
            depth: how many steps it was followed.
        """
        found = one_source(self._context, bound) if depth <= _DEPTH else None
        if found is None or (found, kind) in self._seen:
            return
        self._seen.add((found, kind))
        product = binary(found, ast.Mult)
        if product is not None:
            for side in (product.left, product.right):
                self.follow(operand(self._context, found, side), "", user, depth + 1)
            return
        value = found.value
        if isinstance(value, Call):
            kind = self._kind(found, value) or kind
            greatest = self._greatest(found, value)
            if greatest is not None:
                home = self._context.bodies.home_of(found, value.node)
                if kind and home is not None and greatest > _EXACT[kind]:
                    self.found.setdefault(value.node, (home, value.node, kind, greatest, user))
                return
        inner = same_numbers(self._context, found)
        if inner is not None:
            self.follow(inner, kind, user, depth + 1)
        elif isinstance(value, Call) and not value.starred:
            if last(self._context.flow.calls.callee_name(found)) in _JOINING:
                for part in value.args:
                    for one in part.items if isinstance(part, Sequence) else (part,):
                        self.follow(self._context.flow.with_value(found, one), "", user, depth + 1)

    def _kind(self, found: Bound, value: Call) -> str:
        """Return the half precision in which a call is told to give its numbers, on all ways; empty if it is not."""
        name = self._context.flow.calls.callee_name(found)
        if not name and isinstance(value.callee, Attr) and value.callee.name in _CASTS:
            told = value.argument(0, "dtype")
        elif last(name) in _EXACT and value.args:
            return last(name)
        else:
            told = value.argument(_TYPED[name], "dtype") if name in _TYPED else None
        if told is None:
            return ""
        kinds = {
            str(one.value.value) if isinstance(one.value, Const) else last(getattr(one.value, "name", ""))
            for one in self._context.sources.originals(self._context.flow.with_value(found, told))
        }
        kind = kinds.pop() if len(kinds) == 1 else ""
        return kind if kind in _EXACT else ""

    def _greatest(self, found: Bound, value: Call) -> int | None:
        """Return the greatest whole number that a call counts to or draws, zero if it is not known; None for others."""
        name = self._context.flow.calls.callee_name(found)
        if value.starred:
            return None
        if name in _COUNTING:
            if len(value.args) > 2 or value.keyword("step") is not None:
                return 0
            return self._below(found, value.args[-1] if value.args else value.keyword("stop"))
        if name == "jax.lax.iota":
            return self._below(found, value.argument(1, "size"))
        if name == "jax.random.randint":
            return self._below(found, value.argument(3, "maxval"))
        return None

    def _below(self, found: Bound, end: Value | None) -> int:
        scope = found.frame.function.scope if found.frame is not None else None
        node = getattr(found.value, "node", None)
        home = scope or (self._context.bodies.home_of(found, node) if isinstance(node, ast.AST) else None)
        known = numbers(self._context, end, home) if home is not None else frozenset()
        return int(max(known)) - 1 if known else 0


_BAD = """\
import jax.numpy as jnp


def rotary(head_dim, length=2048):
    frequencies = 1.0 / 10000.0 ** (jnp.arange(0, head_dim, 2) / head_dim)
    positions = jnp.arange(length, dtype=jnp.bfloat16)
    angles = positions[:, None] * frequencies
    return jnp.cos(angles), jnp.sin(angles)


cos, sin = rotary(64)
"""

RULE = lint_rule(
    "NNX521",
    "half-positions",
    "positions or time steps in half precision, which rounds them",
    why="""\
bfloat16 has 8 bits for a number, so that above 256 it knows each second whole number only, above 512 each fourth, and
float16 above 2048. Positions or time steps that are counted in it, or become it before they are multiplied by
frequencies, get the same angles as their neighbours, and masks that compare them end in the wrong place.
""",
    source="github.com/huggingface/transformers/pull/29285 (RoPE in bfloat16); measured: 513 angles of 1,024",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("dtype=jnp.bfloat16", "dtype=jnp.float32"),
        _BAD.replace("2048", "256"),
        _BAD.replace("dtype=jnp.bfloat16", "dtype=jnp.float32").replace(
            "jnp.cos(angles), jnp.sin(angles)",
            "jnp.cos(angles).astype(jnp.bfloat16), jnp.sin(angles).astype(jnp.bfloat16)",
        ),
    ),
)
