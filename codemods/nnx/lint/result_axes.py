"""Axes, specs and shardings for other results than a function gives; part of NNX867."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.scan_pair import no_pair
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Call, Choice, Sequence, Value

# the options that tell of the results, entry by entry, with the positions that some of them may stand at
_OPTIONS: dict[str, tuple[str, int | None]] = {
    **{f"{home}.jit": ("out_shardings", None) for home in ("jax", "flax.nnx")},
    **{f"{home}.vmap": ("out_axes", 2) for home in ("jax", "flax.nnx")},
    **{f"{home}.pmap": ("out_axes", None) for home in ("jax", "flax.nnx")},
    **{f"{home}.shard_map": ("out_specs", None) for home in ("jax", "flax.nnx", "jax.experimental.shard_map")},
}


def result_axes(context: Context, root: Root) -> Iterator[tuple[ast.Tuple, str, str]]:
    """Yield the option of a transform that has an entry for each of other results, with what is wrong and the way out.

    Args:
        context: the analysis.
        root: where the transform is applied.
    """
    name, place = _OPTIONS.get(root.transform, ("", None))
    axes = option(root, name, place) if name else None
    function = root.function
    if not isinstance(axes, ast.Tuple) or any(isinstance(one, ast.Starred) for one in axes.elts):
        return
    if function.generator or not function.returns or not axes.elts:
        return
    if len(function.decorators) > int(root.decorator) or _made_of(context, root):
        return  # the other transforms may change what it gives, as value_and_grad does
    given = {_results(context, one, root) for one in function.returns}
    count = len(axes.elts)
    if None in given or count in given or (given == {0} and count > 2):
        return
    several = max(one for one in given if one is not None)
    entries = f"`{name}` has {count} entr{'y' if count == 1 else 'ies'}"
    if several == 0:
        yield (
            axes,
            f"{entries}, and the function gives one result and no tuple",
            f"write {name}={ast.unparse(axes.elts[0])}" if count == 1 else "give it one entry, and no tuple",
        )
    else:
        yield (
            axes,
            f"{entries}, and the function gives {several} result{'s' * (several != 1)}",
            "give one entry for each result, or one for all without a tuple",
        )


def _made_of(context: Context, root: Root) -> bool:
    """Say whether a transform is applied to what a call gives, and not to a function itself."""
    if root.decorator or not isinstance(root.node, ast.Call) or not root.node.args:
        return not root.decorator
    value = root.scope.module.values.get(root.node.args[0])
    return value is None or isinstance(context.flow.resolve(context.flow.here(value, root.scope)).value, Call)


def _results(context: Context, value: Value, root: Root) -> int | None:
    """Return how many results a tuple has, or 0 for what is no tuple; None if neither is known."""
    if isinstance(value, Choice):
        found = {_results(context, one, root) for one in value.options}
        return found.pop() if len(found) == 1 else None
    if isinstance(value, Sequence):
        parts = value.node.elts if isinstance(value.node, ast.Tuple) else None
        return None if parts is None or any(isinstance(one, ast.Starred) for one in parts) else len(parts)
    return 0 if no_pair(context, value, root.function) else None
