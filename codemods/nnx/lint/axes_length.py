"""NNX867: axes for more or fewer arguments than there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import arguments, calls_of, option, skipped
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import resolved, shown
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Sequence

_MAPPING = frozenset({"jax.vmap", "flax.nnx.vmap", "jax.pmap", "flax.nnx.pmap", "flax.nnx.scan"})


def _check(context: Context) -> Iterator[Finding]:
    for root in context.traced.roots:
        if root.transform not in _MAPPING or root.partial:
            continue
        axes = option(root, "in_axes", 1)
        count = _length(context, axes, root) if axes is not None else None
        if axes is None or count is None:
            continue
        function = root.function
        free = function.positional - skipped(root)
        if function.vararg is None and count > free:
            message = f"`in_axes` has {count} entries, and {shown(function)} takes {free} argument{_s(free)}"
            yield finding(RULE.code, root.scope, axes, message, "give one entry for each positional argument")
            continue
        event = next((e for e in calls_of(context, root) if arguments(e, root) not in (None, count)), None)
        if event is not None:
            given = arguments(event, root)
            assert given is not None
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown(function)} is mapped with {count} `in_axes`, and gets {given} positional argument{_s(given)}"
                + _keywords(event),
                "give one entry for each positional argument",
            )


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _keywords(event: CallEvent) -> str:
    return "; arguments by name are mapped over axis 0" if event.node.keywords else ""


def _length(context: Context, axes: ast.expr, root: Root) -> int | None:
    """Return for how many arguments axes are given; None if one entry stands for all, or they are not known."""
    if isinstance(axes, ast.Tuple | ast.List):
        return len(axes.elts) if not any(isinstance(e, ast.Starred) for e in axes.elts) else None
    found = resolved(context, axes, root.scope)
    if found is None or not isinstance(found.value, Sequence) or not isinstance(found.value.node, ast.Tuple | ast.List):
        return None
    return len(found.value.items) if not any(isinstance(e, ast.Starred) for e in found.value.node.elts) else None


RULE = lint_rule(
    "NNX867",
    "axes-for-other-arguments",
    "in_axes has another length than the positional arguments",
    why="""\
`in_axes` has one entry for each positional argument of a call. Arguments by name are not counted: they are always
mapped over their first axis. Another number raises a ValueError.
""",
    source="jax issues 7465 and 17747; measured: ValueError on Flax 0.10.7 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax


def predict(params, x, scale):
    return x @ params * scale


def batched(params, xs):
    return jax.vmap(predict, in_axes=(None, 0))(params, xs, 2.0)
""",
    ),
    clean=(
        """\
import jax


def predict(params, x, scale=1.0):
    return x @ params * scale


def batched(params, xs):
    return jax.vmap(predict, in_axes=(None, 0))(params, xs)
""",
    ),
)
