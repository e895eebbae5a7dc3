"""NNX575: an order of all examples that is drawn with replacement."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import foreign, in_test, literal, target_of, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

# the places of what is drawn from
_FIRST = {"jax.random.choice": 1, "numpy.random.choice": 0}
# what people call the order that they go through their examples in, and functions that make one
_ORDER = pattern(r"(^|_)(perms?|permutations?|permuted|shuffled?|shuffling|order|ordering)(_|$|\d)")
_SHUFFLING = pattern(r"(^|_)(shuffled?|shuffling|shuffles|permuted?|permutations?|epochs?)(_|$)")
_REPEATING = pattern(r"boot|resampl|replac|bag(ging|ged|s)?(_|$)|particle")


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "choice"):
        if name not in _FIRST or event.value.starred or in_test(event.scope):
            continue
        if _all_of_them(context, event, _FIRST[name]) and _as_order(event):
            by_numpy = name.startswith("numpy.")
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "`choice` draws with replacement: this order has some examples twice and others never",
                f"draw an order: {'np.random.permutation(n)' if by_numpy else 'jax.random.permutation(key, n)'}",
            )


def _all_of_them(context: Context, event: CallEvent, first: int) -> bool:
    """Say whether as many are drawn as there are, all with the same weight and with replacement.

    Args:
        context: the analysis.
        event: the draw.
        first: the place of what is drawn from, before that of how many are drawn.
    """
    call, scope = event.node, event.scope
    if argument(call, first + 3, "p") is not None or any(one.arg is None for one in call.keywords):
        return False
    again = argument(call, first + 2, "replace")
    among, size = argument(call, first, "a"), argument(call, first + 1, "shape" if first else "size")
    if among is None or size is None or (again is not None and constant(again) is not True):
        return False
    if isinstance(size, ast.Tuple | ast.List):
        if len(size.elts) != 1:
            return False
        size = size.elts[0]
    elif first:
        return False
    return _rows(size, among) or _same(context, _number(context, among, scope), size, scope)


def _rows(size: ast.expr, among: ast.expr) -> bool:
    """Say whether a size is how many rows an array has that is drawn from itself."""
    inner: ast.expr | None = None
    if isinstance(size, ast.Call) and last_word(size.func) == "len" and len(size.args) == 1:
        inner = size.args[0]
    elif isinstance(size, ast.Subscript) and constant(size.slice) == 0 and isinstance(size.value, ast.Attribute):
        inner = size.value.value if size.value.attr == "shape" else None
    return inner is not None and ast.dump(inner) == ast.dump(among)


def _number(context: Context, among: ast.expr, scope: Scope) -> ast.expr:
    """Return how many are drawn from: a number, or that of ``jnp.arange(n)``."""
    whole = written(context, among, scope)
    if isinstance(whole, ast.Call) and len(whole.args) == 1 and not whole.keywords:
        made = scope.module.values.get(whole)
        if isinstance(made, Call):
            name = context.flow.calls.callee_name(context.flow.here(made, scope))
            if name in {"jax.numpy.arange", "numpy.arange"}:
                return whole.args[0]
    return among


def _same(context: Context, one: ast.expr, other: ast.expr, scope: Scope) -> bool:
    """Say whether two expressions are the same number: written alike, or one constant."""
    known = literal(context, one, scope)
    if type(known) is int and known == literal(context, other, scope):
        return True
    return ast.dump(_spelled(context, one, scope)) == ast.dump(_spelled(context, other, scope))


def _spelled(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return the expression of which a variable is the name; others themselves."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    return node if made is None else made


def _as_order(event: CallEvent) -> bool:
    """Say whether what is drawn is called an order, or made in a function that shuffles."""
    target = target_of(event)
    word = target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
    function = event.scope.function
    home = function.name if function is not None else ""
    if _REPEATING.search(word.lower()) or _REPEATING.search(home.lower()):
        return False
    return bool(_ORDER.search(word.lower()) or _SHUFFLING.search(home.lower()))


RULE = lint_rule(
    "NNX575",
    "drawn-order",
    "an order of all examples that random.choice draws with replacement",
    why="""\
`jax.random.choice(key, n, (n,))` draws with replacement, unless it is told `replace=False`: an epoch in such an order
sees about 63 % of its examples, many of them several times. `jax.random.permutation(key, n)` is an order of all.
""",
    source="Stack Overflow, on shuffling in JAX; measured on JAX 0.10.2: 320 of 512 examples",
    check=_check,
    bad=(
        """\
import jax


def epoch(key, x, y, size):
    perm = jax.random.choice(key, len(x), (len(x),))
    for start in range(0, len(x), size):
        rows = perm[start : start + size]
        yield x[rows], y[rows]
""",
    ),
    clean=(
        """\
import jax


def epoch(key, x, y, size):
    perm = jax.random.permutation(key, len(x))
    for start in range(0, len(x), size):
        rows = perm[start : start + size]
        yield x[rows], y[rows]
""",
        """\
import jax


def bootstrapped(key, x):
    rows = jax.random.choice(key, len(x), (len(x),))
    return x[rows].mean()
""",
    ),
)
