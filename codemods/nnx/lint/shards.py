"""Over which axes of the mesh ``shard_map`` shards the arguments of a function."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound
from codemods.nnx.lint.applied import option, skipped
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Call, Const, Param, Sequence, Value

SPECS = frozenset({"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.pjit.PartitionSpec"})
#: The axes of a mesh that one axis of an array lies over.
Axes = tuple[str, ...]


def spec_of(context: Context, bound: Bound) -> tuple[Axes, ...] | None:
    """Return what a ``PartitionSpec`` says of every axis that it names; None if a value is none, or not known."""
    found = context.flow.resolve(bound)
    if not isinstance(found.value, Call) or found.value.starred or context.flow.calls.callee_name(found) not in SPECS:
        return None
    axes: list[Axes] = []
    for argument in found.value.args:
        part = context.flow.follow(found, argument).value
        names: list[Value] = [*part.items] if isinstance(part, Sequence) else [part]
        texts = [one.value for one in names if isinstance(one, Const)]
        if len(texts) != len(names) or not all(text is None or isinstance(text, str) for text in texts):
            return None
        axes.append(tuple(text for text in texts if isinstance(text, str)))
    return tuple(axes)


def specs(context: Context, root: Root) -> dict[Param, tuple[Axes, ...]]:
    """Return the specs of the parameters of a function under ``shard_map``, as far as they are known.

    Args:
        context: the analysis.
        root: the application of the transform.
    """
    node = option(root, "in_specs", 2)
    value = root.scope.module.values.get(node) if isinstance(node, ast.expr) else None
    if value is None or root.partial:
        return {}
    params = list(root.function.params.values())[skipped(root) :]
    whole = context.flow.resolve(context.flow.here(value, root.scope))
    if isinstance(whole.value, Sequence):
        given = [context.flow.with_value(whole, one) for one in whole.value.items]
    else:
        given = [whole] * len(params)
    known = ((param, spec_of(context, spec)) for param, spec in zip(params, given, strict=False))
    return {param: axes for param, axes in known if axes is not None}
