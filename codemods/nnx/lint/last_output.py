"""The last output of a recurrent layer for sequences that end before it; part of NNX713."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.owners import owner_class
from codemods.nnx.lint.padding_test import is_lengths
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.values import Call, Const, Item

_LAYERS = frozenset({"flax.nnx.RNN", "flax.nnx.Bidirectional"})
_OF_LINEN = frozenset({"flax.linen.RNN", "flax.linen.Bidirectional"})
# options with which the last output is another one
_OTHERWISE = ("time_major", "reverse", "keep_order")


def last_outputs(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield where the output of the last position is taken of sequences of several lengths, with what names these.

    Args:
        context: the analysis.
    """
    texts = [module.source.data for module in context.project.modules]
    if not any(b"RNN(" in text or b"Bidirectional(" in text for text in texts):
        return
    left = any(b"-len(" in text or b"- len(" in text or b"- lengths" in text for text in texts)
    for scope, node in each(context, ast.Subscript):
        if not _last_step(node.slice) or in_test(scope):
            continue
        value = scope.module.values.get(node.value)
        if value is None:
            continue
        calls = [_call(context, one) for one in context.sources.originals(context.flow.here(value, scope))]
        found = {_lengths(context, call, scope, left) if call is not None else "" for call in calls}
        if found and "" not in found:
            yield scope, node, min(found)


def last_examples(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield where the last example of a batch is taken of outputs whose first axis is time.

    Args:
        context: the analysis.
    """
    if not any(module.source.mentions(b"time_major") for module in context.project.modules):
        return
    for scope, node in each(context, ast.Subscript):
        value = scope.module.values.get(node.value)
        if value is None or in_test(scope) or not _last_step(node.slice) or ast.unparse(node.slice).startswith("..."):
            continue
        calls = [_call(context, one) for one in context.sources.originals(context.flow.here(value, scope))]
        if calls and all(call is not None and _time_first(context, call, scope) for call in calls):
            yield scope, node


def _time_first(context: Context, call: Bound, scope: Scope) -> bool:
    """Say whether a recurrent layer is told that the first axis is time, and nothing else of its outputs."""
    made = call.value
    assert isinstance(made, Call)
    home = call.frame.function.scope if call.frame is not None else scope
    if owner_class(context, made.callee, home) not in _LAYERS:
        return False
    given = made.keyword("time_major")
    if given is not None:
        return given == Const(True)
    layers = context.sources.originals(context.flow.with_value(call, made.callee))
    return bool(layers) and all(
        isinstance(one.value, Call) and one.value.keyword("time_major") == Const(True) for one in layers
    )


def _last_step(index: ast.expr) -> bool:
    """Say whether an index takes the last step of each sequence: ``[:, -1]``, ``[:, -1, :]`` or ``[..., -1, :]``."""
    if not isinstance(index, ast.Tuple) or len(index.elts) not in {2, 3}:
        return False
    first, *rest = (ast.unparse(one) for one in index.elts)
    return rest == ["-1", ":"] if first == "..." else first == ":" and rest in (["-1"], ["-1", ":"])


def _call(context: Context, outputs: Bound) -> Bound | None:
    """Return the call of a recurrent layer that gives outputs, alone or behind the carry."""
    value = outputs.value
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value.index, Bound) else value.index
        if index != Const(1):
            return None
        outputs = context.flow.resolve(context.flow.with_value(outputs, value.base))
    if not isinstance(outputs.value, Call) or outputs.value.starred:
        return None
    behind = isinstance(value, Item | Indexed)
    asked = outputs.value.keyword("return_carry")
    return outputs if behind is (asked == Const(True)) else None


def _lengths(context: Context, call: Bound, scope: Scope, left: bool) -> str:
    """Return what says how long the sequences are that a layer is given; empty if nothing does."""
    made = call.value
    assert isinstance(made, Call)
    home = call.frame.function.scope if call.frame is not None else scope
    if any(made.keyword(word) is not None for word in _OTHERWISE):
        return ""
    layers = context.sources.originals(context.flow.with_value(call, made.callee))
    if owner_class(context, made.callee, home) not in _LAYERS and not _of_linen(context, layers):
        return ""
    for one in layers:
        if not isinstance(one.value, Call) or any(one.value.keyword(word) is not None for word in _OTHERWISE):
            return ""
    given = made.keyword("seq_lengths")
    if given is not None:
        return "seq_lengths" if given != Const(None) else ""
    return "" if left else _unread(scope.function)


def _of_linen(context: Context, layers: Iterable[Bound]) -> bool:
    """Say whether all that is called are recurrent layers of Linen."""
    names = [context.flow.calls.callee_name(one) if isinstance(one.value, Call) else "" for one in layers]
    return bool(names) and _OF_LINEN.issuperset(names)


def _unread(function: FunctionFacts | None) -> str:
    """Return the parameter of a function that holds the lengths of sequences, if the function does not look at it."""
    if function is None:
        return ""
    read = {n.id for n in ast.walk(function.node) if isinstance(n, ast.Name)}
    names = (n for n in function.params if n.endswith("s") and is_lengths(ast.Name(n)))
    return next((name for name in names if name not in read), "")
