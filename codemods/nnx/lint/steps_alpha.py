"""Noise put on the clean data by the share that one step leaves, not by that of all steps so far; part of NNX999."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.lint.arithmetic import complement, factors
from codemods.nnx.lint.origins import bound_once, made_by
from codemods.nnx.lint.places import each, in_test, resolved, written
from codemods.nnx.lint.syntax import constant, entry_word, is_none
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Unknown

_CLEAN = pattern(r"^x_?(0|start|zero|clean|data|init)$|^(images?|imgs?|clean|data|batch|x_batch)$", re.I)
_ALPHAS = pattern(r"^_?alphas?(_t)?$", re.I)
_BETAS = pattern(r"(^|_)betas?(_|$)", re.I)
_LOOKING_UP = frozenset({"extract", "gather", "take", "extract_into_tensor"})
_DEPTH = 4


def steps_alpha(context: Context) -> Iterator[tuple[Scope, ast.BinOp, str]]:
    """Yield ``sqrt(alphas[t]) * x0 + sqrt(1 - alphas[t]) * noise`` with the name of the alphas, which are one minus the
    betas wherever the project defines them.

    Args:
        context: the analysis.
    """
    modules = {m for m in context.asked.modules if m.source.mentions(b"alpha") and m.source.mentions(b"sqrt")}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Add) or scope.module not in modules or scope.function is None or in_test(scope):
            continue
        for one, rests in ((node.left, node.right), (node.right, node.left)):
            shares = [under_root(context, part, scope) for part in factors(one)]
            clean = [part for part in factors(one) if _CLEAN.search(entry_word(part))]
            noise = [under_root(context, part, scope) for part in factors(rests)]
            share = next((part for part in shares if part is not None), None)
            rest = next((part for part in noise if part is not None), None)
            other = complement(rest)
            if share is None or not clean or other is None or ast.unparse(other) != ast.unparse(share):
                continue
            taken = _taken(context, share, scope)
            if taken is not None and _ALPHAS.search(entry_word(taken)) and _of_steps(context, taken, scope):
                yield scope, node, ast.unparse(taken)


def under_root(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return what an expression is the square root of, by variables and indices too; None for others.

    Args:
        context: the analysis.
        node: the expression.
        scope: the body that it stands in.
    """
    made = written(context, node, scope)
    while isinstance(made, ast.Subscript):
        made = _table(context, made.value, scope) if isinstance(made.value, ast.Name) else made.value
    if isinstance(made, ast.Call) and last_word(made.func) == "sqrt" and len(made.args) == 1:
        return made.args[0]
    return None


def _table(context: Context, name: ast.Name, scope: Scope) -> ast.expr:
    """Return what a variable of the function or of the module is the name of."""
    found = resolved(context, name, scope)
    made = found.value.node if found is not None and isinstance(found.value, Call | Unknown) else None
    return made if isinstance(made, ast.expr) else made_by(context, name, scope) or name


def _taken(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the array of which an expression is what stands at the steps, also with further axes."""
    for _ in range(_DEPTH):
        node = (bound_once(context, scope, node) or node) if isinstance(node, ast.Name) else node
        if isinstance(node, ast.Call) and last_word(node.func).lstrip("_") in _LOOKING_UP and node.args:
            return node.args[0]
        if isinstance(node, ast.Name | ast.Attribute):
            return node  # of a table of roots
        if isinstance(node, ast.Call) and last_word(node.func) in {"reshape", "expand_dims", "asarray"}:
            inner = node.func.value if isinstance(node.func, ast.Attribute) else None
            library = isinstance(inner, ast.Name) and inner.id in {"jnp", "np", "numpy"}
            node = node.args[0] if library and node.args else inner if isinstance(inner, ast.expr) else node
        elif isinstance(node, ast.Subscript) and _of_axes(node.slice):
            node = node.value
        elif isinstance(node, ast.Subscript) and not isinstance(constant(node.slice), str):
            return node.value
        else:
            return None
    return None


def _of_axes(index: ast.expr) -> bool:
    """Say whether an index only adds axes, as ``[:, None]``."""
    parts = elements(index)
    return all(isinstance(one, ast.Slice) or constant(one) in (None, Ellipsis) for one in parts) and (
        any(is_none(one) for one in parts)
    )


def _of_steps(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether all that the project calls so is one minus the betas."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    if made is not None:
        return _rest(made)
    word = entry_word(node)
    found = [one for module in context.project.modules for one in _defined(module, word)]
    return bool(found) and all(map(_rest, found))


def _defined(module: ModuleFacts, word: str) -> Iterator[ast.expr]:
    """Yield what is assigned to a name, or given as the entry or the argument of that name; not the name again."""
    if not module.source.mentions(word.encode()):
        return
    for node in ast.walk(module.scope.node):
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Assign):
            pairs = [(last_word(one), node.value) for one in node.targets]
        elif isinstance(node, ast.keyword):
            pairs = [(node.arg or "", node.value)]
        elif isinstance(node, ast.Dict):
            pairs = [(str(constant(k)), v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        yield from (value for name, value in pairs if name == word and last_word(value) != word)


def _rest(node: ast.expr) -> bool:
    """Say whether an expression is one minus the betas."""
    betas = complement(node)
    return betas is not None and _BETAS.search(entry_word(betas)) is not None
