"""NNX219: a layer with a Rngs of its own and a call with a Rngs of the same seed, whose masks no longer agree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent, ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Call, Class, Ref

_FORKING = frozenset({"flax.nnx.Dropout", "flax.nnx.MultiHeadAttention"})


def check(context: Context) -> Iterator[Finding]:
    """Yield calls that get a Rngs which is written as the one that a layer of the same function was made with."""
    if not context.options.crosses("0.11"):
        return
    for module in context.asked.modules:
        if not module.source.mentions(b"Dropout") and not module.source.mentions(b"MultiHeadAttention"):
            continue
        named = [event for event in module.calls if event.value.keyword("rngs") is not None]
        layers = [
            (event, made)
            for event in named
            if context.flow.calls.name(event) in _FORKING and (made := _rngs(context, event)) is not None
        ]
        scopes = {layer.scope for layer, _ in layers}
        for event in named:
            if event.scope in scopes and not _constructs(context, event):
                yield from _called(context, module, event, layers)


def _called(
    context: Context, module: ModuleFacts, event: CallEvent, layers: list[tuple[CallEvent, ast.Call]]
) -> Iterator[Finding]:
    made = _rngs(context, event)
    twin = next((layer for layer, own in layers if made is not None and _alike(layer, event, own, made)), None)
    if made is not None and twin is not None:
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"this draws no more what the layer of line {twin.node.lineno} draws, which holds a fork since Flax 0.11",
            "give it a fork of the same Rngs: nnx.Rngs(...).fork()",
            _fix(context, module, made),
        )


def _rngs(context: Context, event: CallEvent) -> ast.Call | None:
    """Return the ``nnx.Rngs(...)`` that a call gets as ``rngs``, if it gets one for certain."""
    value = event.value.keyword("rngs")
    if value is None:
        return None
    sources = context.sources.originals(context.flow.here(value, event.scope))
    made = next(iter(sources)) if len(sources) == 1 else None
    if made is None or not isinstance(made.value, Call) or context.flow.calls.callee_name(made) != "flax.nnx.Rngs":
        return None
    return made.value.node


def _alike(layer: CallEvent, event: CallEvent, one: ast.Call, two: ast.Call) -> bool:
    """Say whether a layer and a call of one scope get each a Rngs, made by the same words of constants."""
    if layer.scope is not event.scope or one is two:
        return False
    parts = (*one.args, *(keyword.value for keyword in one.keywords))
    return all(isinstance(part, ast.Constant) for part in parts) and ast.dump(one) == ast.dump(two)


def _constructs(context: Context, event: CallEvent) -> bool:
    """Say whether a call makes a layer, which forks as the other does."""
    callee = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee).value
    return isinstance(callee, Class) or (isinstance(callee, Ref) and callee.name.startswith("flax."))


def _fix(context: Context, module: ModuleFacts, made: ast.Call) -> Fix | None:
    source = module.source
    inside = any(node is made for node in source.of_type(ast.Call))
    if "0.10" in context.options.targets or not inside or not source.faithful(made):
        return None
    end = source.span(made)[1]
    return Fix(((source.path, Edit(end, end, b".fork()")),), Safety.UNSAFE)


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx

own = nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=0))
other = nnx.Dropout(0.5)
x = jnp.ones((1, 32))
print(bool((own(x) == other(x, rngs=nnx.Rngs(dropout=0))).all()))
"""

RULE = Rule(
    code="NNX219",
    name="same-seed-masks",
    summary="a layer and a call with Rngs of the same seed, whose masks no longer agree",
    why="""\
Up to Flax 0.10 a layer drew from the Rngs that it was made with. Since 0.11 it draws from a fork, and so other masks
than a call that is given a Rngs of the same seed; tests that compare the two fail. A fork of the second Rngs draws what
the layer draws. The masks differ from those of 0.10 then, as the layer's do anyway; therefore the fix is unsafe.
""",
    kind=Kind.REQUIRED,
    safety=Safety.UNSAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("(x, rngs=nnx.Rngs(dropout=0))", "(x, rngs=nnx.Rngs(dropout=0).fork())"),
            targets=("0.11", "0.12"),
            unsafe=True,
        ),
    ),
    check=check,
)
