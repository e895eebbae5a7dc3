"""NNX786: layers of a Linen scan or vmap that all begin with the same weights."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.values import Const, Mapping, Ref

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
    options = _options(context, event)
    if options is None or "variable_axes" not in options or in_test(event.scope):
        return
    split = keyword(event.node, "split_rngs")
    stacked, apart = (_entry(context, options.get(one), "params") for one in ("variable_axes", "split_rngs"))
    if not isinstance(stacked, int) or isinstance(stacked, bool) or apart not in (False, _MISSING):
        return
    given = "all of them one key: they begin alike" if apart is False else "none of them a key: InvalidRngError"
    yield finding(
        RULE.code,
        event.scope,
        split if split is not None else event.node,
        f"{word} stacks the weights of its layers, and gives {given}",
        'split the key: split_rngs={"params": True}',
    )


_MISSING = object()


def _options(context: Context, event: CallEvent) -> dict[str, Bound] | None:
    """Return what a call gives by name, also with ``**options`` of a dict that is known; None if there may be more."""
    found: dict[str, Bound] = {}
    for name, value in event.value.keywords:
        given = context.flow.here(value, event.scope)
        entries = {name: given} if name is not None else _entries(context, given)
        if entries is None:
            return None
        found |= entries
    return found


def _entries(context: Context, bound: Bound) -> dict[str, Bound] | None:
    """Return what a dict that is written out has under its keys; None if it is not known as a whole."""
    whole = context.flow.resolve(bound)
    if not isinstance(whole.value, Mapping):
        return None
    found: dict[str, Bound] = {}
    for key, item in whole.value.items:
        if not isinstance(key, Const) or not isinstance(key.value, str):
            return None
        found[key.value] = context.flow.with_value(whole, item)
    return found


def _entry(context: Context, bound: Bound | None, key: str) -> object:
    """Return what a dict that is written out has under a key: a mark for nothing, None for what is not known."""
    entries = _entries(context, bound) if bound is not None else {}
    if entries is None:
        return None
    if key not in entries:
        return _MISSING
    value = context.flow.resolve(entries[key]).value
    return value.value if isinstance(value, Const) else None


RULE = lint_rule(
    "NNX786",
    "one-start-for-all-layers",
    "linen.scan or linen.vmap stacks params, and does not split their key",
    why="""\
With `variable_axes={"params": 0}` every layer has its own weights, and `split_rngs` says whether each has its own key.
With `"params": False` all layers are initialized alike; without the entry they get no key, and `init` raises an
InvalidRngError. What `variable_broadcast` shares has one key rightly.
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
