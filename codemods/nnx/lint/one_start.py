"""NNX786: layers of a Linen scan or vmap that all begin with the same weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.values import Mapping, Ref

_MAPPING = {"flax.linen.scan": "scan", "flax.linen.vmap": "vmap"}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "scan", "vmap"):
        if name in _MAPPING:
            yield from _found(context, event, _MAPPING[name])
    for event, name in foreign(context, "partial"):
        if name == "functools.partial" and event.value.args:
            first = context.flow.follow(context.flow.here(event.value, event.scope), event.value.args[0]).value
            if isinstance(first, Ref) and first.name in _MAPPING:
                yield from _found(context, event, _MAPPING[first.name])


def _found(context: Context, event: CallEvent, word: str) -> Iterator[Finding]:
    axes, split = keyword(event.node, "variable_axes"), keyword(event.node, "split_rngs")
    if axes is None or in_test(event.scope) or any(one.arg is None for one in event.node.keywords):
        return
    stacked, apart = (_entry(context, event, one, "params") for one in (axes, split))
    if not isinstance(stacked, int) or isinstance(stacked, bool) or apart not in (False, _MISSING):
        return
    yield finding(
        RULE.code,
        event.scope,
        split if split is not None else event.node,
        f"{word} stacks the weights of its layers, and gives all of them one key: they begin alike",
        'split the key: split_rngs={"params": True}',
    )


_MISSING = object()


def _entry(context: Context, event: CallEvent, node: ast.expr | None, key: str) -> object:
    """Return what a dict that is written out has under a key: a mark for nothing, None for what is not known."""
    if node is None:
        return _MISSING
    value = event.scope.module.values.get(node)
    made = value.node if isinstance(value, Mapping) else written(context, node, event.scope)
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and made.func.id == "dict" and not made.args:
        pairs: list[tuple[object, ast.expr]] = [(one.arg, one.value) for one in made.keywords]
    elif isinstance(made, ast.Dict):
        pairs = [(constant(name), value) for name, value in zip(made.keys, made.values, strict=True)]
    else:
        return None
    if any(not isinstance(name, str) for name, _ in pairs):
        return None
    return next((constant(value) for name, value in pairs if name == key), _MISSING)


RULE = lint_rule(
    "NNX786",
    "one-start-for-all-layers",
    "linen.scan or linen.vmap stacks params, and does not split their key",
    why="""\
With `variable_axes={"params": 0}` every layer has its own weights, and `split_rngs` says whether each has its own key.
Without `"params": True` there all layers are initialized alike. What `variable_broadcast` shares has one key rightly.
""",
    source="google/flax issue 4950; measured: the weights of all layers are equal",
    check=_check,
    bad=(
        """\
from flax import linen as nn


class Stack(nn.Module):
    @nn.compact
    def __call__(self, x):
        layers = nn.scan(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": False}, length=4)
        return layers(8)(x)
""",
    ),
    clean=(
        """\
from flax import linen as nn


class Stack(nn.Module):
    @nn.compact
    def __call__(self, x):
        layers = nn.scan(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True}, length=4)
        shared = nn.scan(nn.Dense, variable_broadcast="params", split_rngs={"params": False}, length=4)
        return shared(8)(layers(8)(x))
""",
    ),
)
