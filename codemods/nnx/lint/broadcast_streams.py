"""Streams that nnx.scan gives to every round as they were, so that all rounds draw the same numbers; part of NNX836."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.captured_streams import handed
from codemods.nnx.lint.lax_control_flow import draws
from codemods.nnx.lint.modes import file_speaks
from codemods.nnx.lint.places import in_test, kinds_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Mapping, Param, Ref

_MODES = (b".eval(", b"deterministic", b"set_attributes", b".view(")
# one mask for all steps of a sequence, and what is drawn alike on purpose
_MEANT = pattern(r"variational|locked|rnn|lstm|(?<![a-z])gru|cell|recurr|same|shared|common|fixed|antithetic", 2)
_STREAMS = frozenset({"flax.nnx.RngState", "flax.nnx.RngKey", "flax.nnx.RngCount", "flax.nnx.RngStream"})
_NO_DRAWS = frozenset({"fork", "split", "items", "keys", "values", "copy"})


def broadcast_streams(context: Context) -> Iterator[tuple[Root, ast.expr, str]]:
    """Yield the scans whose rounds all draw the same numbers.

    Args:
        context: the analysis.

    Yields:
        The transform, the axis in its options, and the parameter with the streams.
    """
    for root in context.traced.roots:
        if root.transform != "flax.nnx.scan" or root.partial or root.scope.module not in context.asked:
            continue
        axes = option(root, "in_axes")
        if not isinstance(axes, ast.Tuple | ast.List) or in_test(root.scope) or _meant(root):
            continue
        if any("split_rngs" in ast.unparse(one) for one in getattr(root.function.node, "decorator_list", ())):
            continue
        given = list(zip(list(root.function.params.values())[skipped(root) :], axes.elts, strict=False))
        stacked = [param for param, axis in given if _mapped(context, root, axis)]
        for param, axis in given:
            if _drawn(context, root, param, axis, stacked):
                yield root, axis, param.name
                break


def _meant(root: Root) -> bool:
    """Say whether names tell that all rounds are to draw the same."""
    scope: Scope | None = root.function.scope
    names: list[str] = []
    while scope is not None:
        names += [scope.function.name] if scope.function is not None else []
        names += [scope.function.owner.name] if scope.function is not None and scope.function.owner else []
        scope = scope.parent
    return any(_MEANT.search(name) for name in (*names, *root.function.params))


def _drawn(context: Context, root: Root, param: Param, axis: ast.expr, stacked: list[Param]) -> bool:
    """Say whether rounds draw from a parameter that no round changes for the next."""
    scope = root.function.scope
    events = context.bodies.calls.get(scope, ())
    axes = _axes(context, root, axis)
    kinds = kinds_of(context, param, scope) if axes == {"": None} else frozenset()
    if axes == {"": None} and (kinds == {Kind.RNGS} or (not kinds and param.name == "rngs")):
        if any(_draws_itself(event, param) for event in events):
            return True
        return any(
            _of_stack(event, stacked) and any(value is param and handed(context, event, at, 0) for at, value in named)
            for event in events
            for named in ([*enumerate(event.value.args), *event.value.keywords],)
        ) and not file_speaks(context, _MODES, root)
    if param not in stacked or not any(event.value.callee is param and not event.node.keywords for event in events):
        return False
    kept = next((axes[name] for name in (*_STREAMS, "") if name in axes), 0)
    if kept is not None or file_speaks(context, _MODES, root):
        return False
    sources = list(context.sources.originals(context.flow.here(param, scope)))
    return bool(sources) and all(draws(context, one, keeping=True) for one in sources)


def _draws_itself(event: CallEvent, param: Param) -> bool:
    """Say whether a call draws from streams: ``rngs()``, ``rngs.dropout()``, ``rngs.normal(shape)``."""
    callee = event.value.callee
    held = callee.base if isinstance(callee, Attr) and callee.name not in _NO_DRAWS else None
    return callee is param or held is param or (isinstance(held, Attr) and held.base is param)


def _of_stack(event: CallEvent, stacked: list[Param]) -> bool:
    """Say whether a call is one of a layer of the stack that the scan goes over."""
    callee = event.value.callee
    return any(one is callee or (isinstance(callee, Attr) and callee.base is one) for one in stacked)


def _mapped(context: Context, root: Root, axis: ast.expr) -> bool:
    """Say whether each round gets weights of its own."""
    axes = _axes(context, root, axis)
    return type(next((axes[name] for name in ("flax.nnx.Param", "") if name in axes), None)) is int


def _axes(context: Context, root: Root, axis: ast.expr) -> dict[str, object]:
    """Return the axes of an entry of ``in_axes`` by the names of their filters, that of the rest under no name.

    What is neither a number nor None, as ``nnx.Carry``, is ``...``.
    """
    value = root.scope.module.values.get(axis)
    found = context.flow.resolve(context.flow.here(value, root.scope)) if value is not None else None
    if found is None:
        return {}
    if isinstance(found.value, Const):
        return {"": found.value.value}
    if not isinstance(found.value, Call) or context.flow.calls.callee_name(found) != "flax.nnx.StateAxes":
        return {}
    entries = context.flow.follow(found, found.value.args[0]) if found.value.args else found
    axes: dict[str, object] = {}
    for key, given in entries.value.items if isinstance(entries.value, Mapping) else ():
        named = context.flow.follow(entries, key).value if key is not None else None
        kept = context.flow.follow(entries, given).value
        name = named.name if isinstance(named, Ref) else "" if named == Const(...) else None
        if name is None:
            return {}  # another filter
        axes[name] = kept.value if isinstance(kept, Const) else ...
    return axes
