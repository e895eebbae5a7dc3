"""NNX662: outputs of a recurrent layer that reads backwards, in the order in which they were made, beside others."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item

_LAYERS = frozenset({"flax.linen.RNN", "flax.nnx.RNN"})
_JOINING = frozenset({"jax.numpy.concatenate", "jax.numpy.concat"})
# what takes one place of a sequence, or all of them together: then their order says nothing
_SUMMARY = pattern(
    r"\[:, *-1\b|\[:, *0\b|\[-1\b|\b(mean|max|sum|average)\((\w+, *)?(axis=)?\(?(1|-2)\b|\battend|\battention\b|_pool\b"
)
_BOTH = {"forward", "backward"}


def _check(context: Context) -> Iterator[Finding]:
    if not any(
        module.source.mentions(b"reverse") and module.source.mentions(b"RNN") for module in context.project.modules
    ):
        return
    for event, name in foreign(context, "concatenate", "concat"):
        parts = argument(event.node, 0, "arrays")
        if name not in _JOINING or not isinstance(parts, ast.List | ast.Tuple) or in_test(event.scope):
            continue
        if len(parts.elts) != 2 or constant(argument(event.node, 1, "axis")) not in (-1, 2):
            continue
        ways = {_direction(context, event, part) for part in parts.elts}
        if ways == _BOTH and not _summed_up(context, event) and not context.bodies.guarded(event.node, event.scope):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the outputs of the layer that reads backwards come in its own order: the first stands beside the last",
                "make it with RNN(..., reverse=True, keep_order=True), or take Bidirectional",
            )


def _direction(context: Context, event: CallEvent, node: ast.expr) -> str:
    """Return in which direction an ``nnx.RNN`` reads whose outputs an expression is; empty for anything else, and for
    one that reads backwards and gives its outputs in the order of the sequence."""
    value = event.scope.module.values.get(node)
    if isinstance(value, Item) and isinstance(value.index, Const) and value.index.value == 1:
        value = value.base  # outputs behind the carry
    if not isinstance(value, Call) or value.starred:
        return ""
    found: set[str] = set()
    for made in context.sources.originals(context.flow.here(value.callee, event.scope)):
        if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) not in _LAYERS:
            return ""
        backward, kept = (_set(value, made.value, option) for option in ("reverse", "keep_order"))
        if made.value.starred or None in {backward, kept} or (backward and kept):
            return ""
        found.add("backward" if backward else "forward")
    return found.pop() if len(found) == 1 else ""


def _set(call: Call, made: Call, option: str) -> bool | None:
    """Say whether an option is on, by the call or else by the constructor; None if that is not known."""
    given = call.keyword(option) or made.keyword(option)
    if given is None:
        return False
    return given.value if isinstance(given, Const) and isinstance(given.value, bool) else None


def _summed_up(context: Context, event: CallEvent) -> bool:
    """Say whether what is joined may be of use in one place, or as a sum over all of them, alone."""
    above = around(context, event.scope)
    user = above.get(event.node)
    if isinstance(user, ast.Subscript | ast.Attribute):
        return True
    function = event.scope.function
    whole = function.owner.scope.node if function is not None and function.owner is not None else event.scope.node
    if _SUMMARY.search(event.scope.module.source.text(whole) if not isinstance(whole, ast.Module) else ""):
        return True
    if not isinstance(user, ast.Return):
        return False
    return any(_SUMMARY.search(module.source.data.decode(errors="replace")) for module in context.project.modules)


_BAD = """\
import jax.numpy as jnp
from flax import nnx


class Tagger(nnx.Module):
    def __init__(self, din: int, hidden: int, tags: int, rngs: nnx.Rngs):
        self.forward = nnx.RNN(nnx.GRUCell(din, hidden, rngs=rngs), rngs=rngs)
        self.backward = nnx.RNN(nnx.GRUCell(din, hidden, rngs=rngs), reverse=True, rngs=rngs)
        self.out = nnx.Linear(2 * hidden, tags, rngs=rngs)

    def __call__(self, x):
        h = jnp.concatenate([self.forward(x), self.backward(x)], axis=-1)
        return self.out(h)
"""

RULE = lint_rule(
    "NNX662",
    "reversed-outputs",
    "outputs of a recurrent layer that reads backwards, beside those of one that reads forwards, in another order",
    why="""\
`nnx.RNN(..., reverse=True)` gives its outputs in the order in which it made them: the first belongs to the last element
of the sequence. Beside the outputs of a layer that reads forwards, each position gets what was made for another one.
With `keep_order=True` they stand in the order of the sequence.
""",
    source="API reference of nnx.RNN; measured on Flax 0.12.8: a change of the first element shows at the last",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("reverse=True", "reverse=True, keep_order=True"),),
)
