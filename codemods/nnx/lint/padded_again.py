"""NNX688: a sum over what indices of a fixed number take, of which those that fill it up take one place again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, keyword, names_in
from codemods.nnx.nodes import first_element, last_word
from codemods.nnx.patterns import pattern

_FINDING = frozenset({"nonzero", "flatnonzero", "where"})
_SUMS = frozenset({"sum", "mean", "prod", "var", "std", "average", "logsumexp", "max", "min"})
# how a number is called that is not always reached
_UPPER = pattern(r"(^|_)(max(imum)?|cap(acity)?|limit|bound|budget|upper|padded|pad)(_|$)")
# what tells the padding from the rest
_TELLING = frozenset({"arange", "where", "select", "isin", "segment_sum", "at", "isfinite", "unique"})
_VALID = pattern(r"valid|count|n_hits|num_|is_pad|present|mask_")


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"nonzero") or m.source.mentions(b"size=") for m in context.asked.modules):
        return
    for event, name in foreign(context, *_FINDING):
        size = keyword(event.node, "size")
        if not name.startswith("jax.numpy.") or size is None or in_test(event.scope) or len(event.node.args) != 1:
            continue
        if event.scope.function is None or not _above(size) or _told_apart(event):
            continue
        for total, taken in _sums(context, event):
            fill = keyword(event.node, "fill_value")
            which = "the first element" if fill is None or constant(fill) == 0 else "one element"
            yield finding(
                RULE.code,
                event.scope,
                total,
                f"the indices are filled up to `{ast.unparse(size)}`: `{taken}` has {which} again for each of these",
                "leave the padding out: jnp.where(jnp.arange(size) < mask.sum(), x[index], 0)",
                related=[(event.node, "filled up here")],
            )
            break


def _above(size: ast.expr) -> bool:
    """Say whether a number of places is one that there may be less of: the length of the array, or one called so."""
    if isinstance(size, ast.Call):
        return isinstance(size.func, ast.Name) and size.func.id == "len"
    if isinstance(size, ast.Subscript):
        return isinstance(size.value, ast.Attribute) and size.value.attr == "shape"
    if isinstance(size, ast.Attribute) and size.attr == "size":
        return True
    return _UPPER.search(last_word(size).lower()) is not None


def _told_apart(event: CallEvent) -> bool:
    """Say whether a function may tell the padding from the rest: it counts, compares, or reads the mask again."""
    asked = names_in(event.node.args[0])
    inner = {*ast.walk(event.node)}
    for node in ast.walk(event.scope.node):
        if isinstance(node, ast.Call) and node is not event.node and last_word(node.func) in _TELLING:
            return True
        if isinstance(node, ast.Attribute) and node.attr == "at":
            return True
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in inner:
            if (node.id in asked and isinstance(event.node.args[0], ast.Name)) or _VALID.search(node.id.lower()):
                return True
    return False


def _sums(context: Context, event: CallEvent) -> Iterator[tuple[ast.Call, str]]:
    """Yield the sums over what the indices take, with how that is written."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    scope = event.scope
    if any(len(context.bodies.stores(scope, one)) > 1 for one in names):
        return
    above = around(context, scope)
    taken: dict[str, str] = {}
    for node in context.bodies.nodes(scope):
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load) or not _index(node.slice, names):
            continue
        text = ast.unparse(node)
        outer = above.get(node)
        if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Name):
            taken[outer.targets[0].id] = text
        total = _summed(node, above)
        if total is not None:
            yield total, text
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in taken:
            stores = context.bodies.stores(scope, node.id)
            total = _summed(node, above) if len(stores) == 1 else None
            if total is not None:
                yield total, taken[node.id]


def _index(node: ast.expr, names: set[str]) -> bool:
    """Say whether an index is what was found: ``x[index]``, ``x[found[0]]``, or the first of several."""
    node = first_element(node)
    if isinstance(node, ast.Subscript) and constant(node.slice) == 0:
        node = node.value
    return isinstance(node, ast.Name) and node.id in names


def _summed(node: ast.AST, above: dict[ast.AST, ast.AST]) -> ast.Call | None:
    """Return the call that sums something up, also times something else; None if nothing does."""
    outer = above.get(node)
    while isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult | ast.Pow):
        node, outer = outer, above.get(outer)
    if isinstance(outer, ast.Attribute) and outer.attr in _SUMS:
        call = above.get(outer)
        whole = isinstance(call, ast.Call) and call.func is outer and not call.args and not call.keywords
        return call if isinstance(call, ast.Call) and whole else None
    if isinstance(outer, ast.Call) and last_word(outer.func) in _SUMS and outer.args and outer.args[0] is node:
        return outer
    return None


_BAD = """\
import jax.numpy as jnp

MAX_HITS = 16


def cluster_energy(energies, inside):
    (hits,) = jnp.nonzero(inside, size=MAX_HITS)
    return energies[hits].sum()
"""

RULE = lint_rule(
    "NNX688",
    "padding-taken-again",
    "a sum over what jnp.nonzero(..., size=n) finds, with the padding of its indices",
    why="""\
With `size=` the indices are filled up to a fixed number, by 0 if nothing else is said: `x[index]` has the first element
once for every index that fills up. A fill beyond the end takes the last element, as JAX clamps indices, and -1 too.
Sums and means have to leave these out: by `jnp.where(jnp.arange(size) < mask.sum(), x[index], 0)`, or without any
index by `jnp.where(mask, x, 0).sum()`.
""",
    source="jax issue 7129; measured: the first element counts once for every place that fills up",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "    return energies[hits].sum()\n",
            "    there = jnp.arange(MAX_HITS) < inside.sum()\n    return jnp.where(there, energies[hits], 0.0).sum()\n",
        ),
        _BAD.replace("size=MAX_HITS", "size=3"),
    ),
)
