"""NNX579: the places that nonzero fills up, counted as if they were found."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import constant, keyword, names_in, one_of
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern

_SEARCHES = frozenset({"jax.numpy.nonzero", "jax.numpy.flatnonzero", "jax.numpy.where"})
_UPDATES = frozenset({"add", "set", "multiply", "max", "min", "subtract"})
_LIMIT = pattern(r"(^|_)(max|maximum|cap|capacity|limit|upper|padded|bound)(_|$)")


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"size") for module in context.asked.modules):
        return
    for event, name in foreign(context, *map(last, _SEARCHES)):
        if name not in _SEARCHES or len(event.node.args) != 1 or event.value.starred or in_test(event.scope):
            continue
        size = keyword(event.node, "size")
        if size is None or keyword(event.node, "fill_value") is not None or not _limit(size):
            continue
        names = _names(context, event)
        update = _update(context, event, names) if names else None
        if update is not None:
            yield finding(
                RULE.code,
                event.scope,
                update,
                f"`{last(name)}` fills up to `{ast.unparse(size)}` with zeros: the first place gets an update for each",
                "fill up with what is past the end: fill_value=x.shape[0]",
                related=[(event.node, "filled up here")],
            )


def _limit(size: ast.expr) -> bool:
    """Say whether a size is how many there may be at most: that of an array, or a number that is called so."""
    if isinstance(size, ast.Call):
        return last_word(size.func) == "len"
    if isinstance(size, ast.Subscript):
        return last_word(size.value) == "shape"
    word = last_word(size)
    return (word == "size" and isinstance(size, ast.Attribute)) or _LIMIT.search(word.lower()) is not None


def _names(context: Context, event: CallEvent) -> frozenset[str]:
    """Return the variables that get what was found, each of which is set nowhere else."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return frozenset()
    value, target = statement.value, statement.targets[0]
    if value is not event.node:  # nonzero(...)[0]
        if not isinstance(value, ast.Subscript) or value.value is not event.node or not one_of(value.slice, range(4)):
            return frozenset()
    elif isinstance(target, ast.Name) and last_word(event.node.func) != "flatnonzero":
        return frozenset()  # a tuple
    found = [one.id for one in elements(target) if isinstance(one, ast.Name)]
    return frozenset(name for name in found if len(context.bodies.stores(event.scope, name)) == 1)


def _update(context: Context, event: CallEvent, names: frozenset[str]) -> ast.Call | None:
    """Return an update of the found places by a constant, which those that are filled up get too."""
    for node in context.bodies.nodes(event.scope):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or len(node.args) != 1:
            continue
        place = node.func.value
        if node.func.attr not in _UPDATES or node.keywords or not isinstance(place, ast.Subscript):
            continue
        if last_word(place.value) != "at" or type(constant(node.args[0])) not in {int, float, bool}:
            continue
        if any(isinstance(one, ast.Name) and one.id in names for one in elements(place.slice)):
            if names_in(place.slice) <= names:
                return node
    return None


RULE = lint_rule(
    "NNX579",
    "padded-rows",
    "an update of all that nonzero found, and of what it was filled up with",
    why="""\
`jnp.nonzero(x, size=n)` gives `n` places: where it finds fewer, zeros follow. An update of all of them by a constant
also changes the first place, once for each that is missing. With `fill_value=x.shape[0]` these lie past the end, where
updates are left out.
""",
    source="jax issue 7129; measured on JAX 0.6.2 and 0.10.2: the first row counts what is missing",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def degrees(adjacency, max_edges):
    senders, receivers = jnp.nonzero(adjacency, size=max_edges)
    counts = jnp.zeros(adjacency.shape[0])
    return counts.at[receivers].add(1.0)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def degrees(adjacency, max_edges):
    nodes = adjacency.shape[0]
    senders, receivers = jnp.nonzero(adjacency, size=max_edges, fill_value=nodes)
    return jnp.zeros(nodes).at[receivers].add(1.0)
""",
    ),
)
