"""NNX706: noise that all leaves of a tree draw with one key."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import SAME, Use, uses
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.traced import function_of
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Const, Free, Item, Param, Value

_DRAWS = frozenset(
    {"normal", "uniform", "bernoulli", "truncated_normal", "gumbel", "laplace", "rademacher", "exponential", "cauchy"}
)
_HELPERS = 3  # how many functions deep a key is followed
# numbers that only fill arrays of some shapes
_FILLING = pattern(r"dummy|fake|mock|example|bench|profil|spec|abstract|template|placeholder|synthetic|warm", re.I)


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"jax.random") or m.source.mentions(b"import random") for m in context.asked.modules):
        return
    drawing: dict[FunctionFacts, list[tuple[Value, list[Use]]]] = {}
    for (scope, key), found in context.shared(uses).items():
        if scope.function is not None and (_outside(key) or isinstance(key, Param)):
            drawing.setdefault(scope.function, []).append((key, found))
    for function, event, bound in _mapped(context) if drawing else ():
        for key, found in drawing.get(function, ()):
            if isinstance(key, Param) and key.name not in bound:
                continue
            use = next((one for one in found if _drawn_of(context, function, one, bound)), None)
            if use is None or _filling(event) or SAME.search(ast.unparse(use.node)):
                continue
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"all leaves draw with the key `{ast.unparse(use.node)}`: those of one shape get the same numbers",
                "split the key once for each leaf: keys = jax.tree.unflatten(treedef, jax.random.split(key, n))",
            )


def _outside(key: Value) -> bool:
    """Say whether a key is one of the function around, or a part or an attribute of what that has."""
    while isinstance(key, Attr) or (isinstance(key, Item) and isinstance(key.index, Const)):
        key = key.base
    return isinstance(key, Free)


def _mapped(context: Context) -> Iterator[tuple[FunctionFacts, CallEvent, frozenset[str]]]:
    """Yield the functions that are applied to every leaf, with where that is and the parameters bound before."""
    for event, name in foreign(context, *sorted(last(one) for one in TREE_MAPS)):
        if name not in TREE_MAPS or not event.value.args or event.value.starred or in_test(event.scope):
            continue
        callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
        if len(callees) != 1 or callees[0].gradient or callees[0].receiver is not None:
            continue
        callee = callees[0]
        bound = [*list(callee.function.params)[: len(callee.args)], *(name for name, _ in callee.keywords)]
        yield callee.function, event, frozenset(bound)


def _drawn_of(context: Context, function: FunctionFacts | None, use: Use, bound: frozenset[str]) -> bool:
    """Say whether a call draws numbers of the shape of a leaf, or hands the leaf with the key to what draws them."""
    if function is None or not _noisy(context, use, 0):
        return False
    leaves = set(function.params) - bound
    given = [*use.event.node.args, *(word.value for word in use.event.node.keywords)]
    return any(isinstance(n, ast.Name) and n.id in leaves for one in given for n in ast.walk(one))


def _noisy(context: Context, use: Use, depth: int) -> bool:
    """Say whether a call draws noise, itself or in a function of the project: one order for all leaves is no noise."""
    if not use.helper:
        return last(use.name) in _DRAWS
    invoked = context.flow.calls.invoked(context.flow.here(use.event.value, use.event.scope))
    called = invoked[0][0].function if len(invoked) == 1 else None
    if called is None or depth >= _HELPERS:
        return False
    return any(
        _noisy(context, one, depth + 1)
        for (scope, key), own in context.shared(uses).items()
        if scope is called.scope and isinstance(key, Param)
        for one in own
    )


def _filling(event: CallEvent) -> bool:
    """Say whether the numbers are only to fill arrays, as for a first call or a measurement."""
    function = function_of(event.scope)
    texts = [function.name if function is not None else ""]
    statement = event.statement
    if isinstance(statement, ast.Assign):
        texts += [ast.unparse(one) for one in statement.targets]
    return any(_FILLING.search(text) for text in texts)


RULE = lint_rule(
    "NNX706",
    "noise-of-leaves",
    "one key for the noise of all leaves of a tree",
    why="""\
`jax.tree.map` calls its function once for each leaf. With a key from outside every leaf draws the same numbers, or the
first ones of the same row where the shapes differ. The noise of a private gradient can then be taken off by comparing
two leaves, and layers that begin equal stay equal.
""",
    source="jax pull request 3646, the same in JAX's own example; measured: equal noise in both layers",
    check=_check,
    bad=(
        """\
import jax


def perturbed(params, key):
    return jax.tree.map(lambda p: p + 0.1 * jax.random.normal(key, p.shape), params)
""",
    ),
    clean=(
        """\
import jax


def perturbed(params, key):
    leaves, treedef = jax.tree.flatten(params)
    keys = jax.tree.unflatten(treedef, list(jax.random.split(key, len(leaves))))
    return jax.tree.map(lambda p, k: p + 0.1 * jax.random.normal(k, p.shape), params, keys)
""",
    ),
)
