"""Calls whose result nobody takes."""

from __future__ import annotations

import ast
from bisect import bisect
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.names import TREE_MAPS

PURE = frozenset(
    {"optax.apply_updates", "flax.nnx.cached_partial", "functools.partial", "jax.jit", "flax.nnx.jit", "flax.nnx.clone",
     "flax.nnx.view", "flax.nnx.with_attributes",
     "jax.device_put", "jax.device_get", "jax.lax.stop_gradient", "jax.lax.with_sharding_constraint", "jax.lax.psum",
     "jax.lax.pmean", "flax.nnx.with_sharding_constraint", "optax.incremental_update", "optax.global_norm",
     "flax.nnx.merge", "flax.nnx.split", "jax.grad", "flax.nnx.grad", "jax.vmap", "flax.nnx.vmap"}
)  # fmt: skip
# functions of jax.numpy that people know as changing their argument, or that nobody calls for nothing
_ARRAYS = frozenset(
    {"append", "clip", "concatenate", "delete", "expand_dims", "flip", "insert", "maximum", "minimum", "nan_to_num",
     "pad", "put", "resize", "reshape", "roll", "sort", "squeeze", "swapaxes", "transpose", "where"}
)  # fmt: skip
_LOOKING = frozenset({"str", "len", "isinstance", "float", "int", "max", "min", "abs", "tuple", "getattr", "hasattr"})
_WRITING = frozenset({"copyto", "put", "save", "savez", "savetxt", "fill_diagonal", "place", "putmask"})
_METHODS = frozenset({"astype", "reshape", "sort", "transpose", "squeeze", "ravel", "clip", "flatten", "round"})


#: Last parts of the names of all these functions.
# functions of jax.numpy that raise unless they are told not to change the array they get
IN_PLACE = frozenset({"fill_diagonal", "put", "place", "put_along_axis"})
WORDS = frozenset(name.rpartition(".")[2] for name in PURE | TREE_MAPS) | _ARRAYS


def discarded(context: Context, words: Iterable[str]) -> Iterator[tuple[CallEvent, str]]:
    """Yield the calls of foreign functions that stand alone as a statement, with the function's full name.

    Args:
        context: the analysis.
        words: last parts of the names that matter.
    """
    for event in context.bodies.named(*sorted(words)):
        if not event.used and event.scope.module in context.asked:
            name = context.flow.calls.name(event)
            if name:
                yield event, name


def displayed(event: CallEvent) -> bool:
    """Say whether a notebook may show the result, or one that the script was exported from."""
    source = event.scope.module.source
    return event.scope.function is None and (source.notebook or bool(source.cell_starts))


def last_of_cell(event: CallEvent) -> bool:
    """Say whether a call is what a cell of a notebook ends with, which is shown below it."""
    if not displayed(event):
        return False
    module, line = event.scope.module, event.statement.lineno
    cells = module.source.cell_starts
    tree = module.scope.node
    assert isinstance(tree, ast.Module)
    return not any(s.lineno > line and bisect(cells, s.lineno) == bisect(cells, line) for s in tree.body)


def is_pure(event: CallEvent, name: str) -> bool:
    """Say whether a call does nothing but give a result."""
    if name in TREE_MAPS:
        return bool(event.node.args) and _harmless(event.node.args[0])
    home, _, word = name.rpartition(".")
    if word in IN_PLACE:
        return False  # NNX843 says so
    return name in PURE or (home == "jax.numpy" and word in _ARRAYS and bool(event.node.args))


def array_method(context: Context, event: CallEvent) -> bool:
    """Say whether a call is a method of a JAX array that gives a new array."""
    func = event.node.func
    if not isinstance(func, ast.Attribute) or func.attr not in _METHODS:
        return False
    value = event.scope.module.values.get(func.value)
    return value is not None and context.kinds.only(context.flow.here(value, event.scope)) is Kind.ARRAY


def _harmless(node: ast.expr) -> bool:
    """Say whether a function is a lambda that calls nothing with an effect, or one of JAX's that has none."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        return _without_effect(node) or ast.unparse(node) in {"jax.lax.stop_gradient", "lax.stop_gradient"}
    if not isinstance(node, ast.Lambda) or isinstance(node.body, ast.Constant):
        return False  # `lambda a, b: None` only compares the structure of the trees
    return not any(isinstance(n, ast.Call) and not _without_effect(n.func) for n in ast.walk(node.body))


def _without_effect(func: ast.expr) -> bool:
    """Say whether a function is one of jax.numpy, by the way it is written, or of Python's that only looks."""
    if isinstance(func, ast.Name):
        return func.id in _LOOKING
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr in _METHODS:
        return True
    home = func.value
    return func.attr not in _WRITING and isinstance(home, ast.Name) and home.id in {"jnp", "np"}
