"""Whether a loop has so few rounds that compiling in each of them costs nobody much."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.places import written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Const

_FEW = 4  # rounds of a range
_WRITTEN = 12  # entries that stand there
_WRAPPING = frozenset({"enumerate", "zip", "tqdm", "trange", "track", "sorted", "reversed", "list", "tuple", "iter"})
_COUNTING = frozenset({"range", "trange", "arange"})
_VIEWS = frozenset({"items", "keys", "values"})
# what there are a handful of: each needs code of its own, on another device, of another shape or along another axis
_KINDS = pattern(
    r"(^|_)(devices?|backends?|platforms?|sizes?|shapes?|lengths?|ax[ei]s|dims?|dimensions?|ndims?|dtypes?|precisions?"
    r"|modes?|methods?|solvers?|variants?|configs?|cases|scenarios?|batch_?sizes|n_\w+s|num_\w+s)(_list|_values)?($|_?\d)"
)


def few(context: Context, scope: Scope, loop: ast.AST) -> bool:
    """Say whether a loop has few rounds: over what is written there, a small range, devices, sizes or axes.

    Args:
        context: the analysis.
        scope: the scope that the loop stands in.
        loop: the loop; a ``while`` has unknown rounds.
    """
    return isinstance(loop, ast.For | ast.comprehension) and _few(context, scope, loop.iter)


def _few(context: Context, scope: Scope, given: ast.expr) -> bool:
    if isinstance(given, ast.Tuple | ast.List | ast.Set):
        return len(given.elts) <= _WRITTEN and not any(isinstance(one, ast.Starred) for one in given.elts)
    if isinstance(given, ast.Dict):
        return len(given.keys) <= _WRITTEN and None not in given.keys
    if isinstance(given, ast.Name | ast.Attribute):
        if _KINDS.search(last_word(given).lower()):
            return True
        made = written(context, given, scope)
        return (
            made is not given and isinstance(constant(made), tuple | list | dict | set) and _few(context, scope, made)
        )
    if not isinstance(given, ast.Call):
        return False
    word = last_word(given.func)
    if word in _COUNTING:
        ends = [_number(context, scope, one) for one in given.args]
        if len(ends) in {1, 2} and None not in ends:
            return (ends[-1] or 0) - (ends[0] or 0 if len(ends) == 2 else 0) <= _FEW
        return len(ends) == 1 and _of_kinds(given.args[0])
    if word in _VIEWS and isinstance(given.func, ast.Attribute):
        return _few(context, scope, given.func.value)
    if word in {"devices", "local_devices"}:
        return True
    return word in _WRAPPING and any(_few(context, scope, one) for one in given.args)


def _number(context: Context, scope: Scope, node: ast.expr) -> int | None:
    value = scope.module.values.get(node)
    found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    number = found.value if isinstance(found, Const) else constant(node)
    return number if type(number) is int else None


def _of_kinds(node: ast.expr) -> bool:
    """Say whether a count is that of axes or devices, or of what has a name like them: ``range(x.ndim)``."""
    counted = node.args[0] if isinstance(node, ast.Call) and last_word(node.func) == "len" and node.args else node
    return last_word(counted).lower() in {"ndim", "ndims", "dimensionality", "dim", "dims"} or (
        counted is not node and bool(_KINDS.search(last_word(counted).lower()))
    )
