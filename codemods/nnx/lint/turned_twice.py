"""NNX576: a loop from the end over what is turned round already."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import argument, constant, keyword, written_number
from codemods.nnx.nodes import last_word

# what goes along the first axis, or from the end with reverse=True, and where it takes what it goes over
_PLACES = {
    "scan": (2, "xs"), "associative_scan": (1, "elems"), "cumsum": (0, "operand"), "cumprod": (0, "operand"),
    "cummax": (0, "operand"), "cummin": (0, "operand"), "cumlogsumexp": (0, "operand"),
}  # fmt: skip
_FLIPS = frozenset({"flip", "flipud"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"reverse") for module in context.asked.modules):
        return
    for event, name in foreign(context, *_PLACES):
        if not name.startswith("jax.lax.") or event.value.starred or in_test(event.scope):
            continue
        if constant(keyword(event.node, "reverse")) is not True or not _along_first(event, last(name)):
            continue
        given = argument(event.node, *_PLACES[last(name)])
        turned = _turned(context, given, event.scope) if given is not None else []
        if turned and not _turned_back(context, event.scope, turned):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "reverse=True begins at the end of what is turned round, which is its beginning",
                "give it as it is: reverse=True alone goes from the last to the first",
            )


def _along_first(event: CallEvent, word: str) -> bool:
    """Say whether a call goes along the first axis, as far as is written."""
    if word == "scan":
        return True
    axis = argument(event.node, 3 if word == "associative_scan" else 1, "axis")
    return axis is None or constant(axis) == 0


def _turned(context: Context, node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Return what turns an array round, or each of the arrays of a tuple; nothing if one of them is as it is."""
    whole = written(context, node, scope)
    if isinstance(whole, ast.Tuple | ast.List):
        parts = [_turned(context, one, scope) for one in whole.elts]
        return [one for part in parts for one in part] if parts and all(parts) else []
    made = _bound(context, whole, scope) if isinstance(whole, ast.Name) else whole
    return [made] if made is not None and _is_turned(made) else []


def _bound(context: Context, name: ast.Name, scope: Scope) -> ast.expr | None:
    """Return what the only assignment of a variable gives it, as ``x[::-1]``, of which no value is kept."""
    stores = context.bodies.stores(scope, name.id)
    if len(stores) != 1:
        return None
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign) and node.targets == stores:
            return node.value
    return None


def _is_turned(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
        return (
            isinstance(index, ast.Slice)
            and index.lower is None
            and index.upper is None
            and written_number(index.step) == -1
        )
    if isinstance(node, ast.Call) and _over_tree(node.func) and len(node.args) == 2:
        mapped = node.args[0]
        return isinstance(mapped, ast.Lambda) and _is_turned(mapped.body)
    if not isinstance(node, ast.Call) or last_word(node.func) not in _FLIPS:
        return False
    axis = argument(node, 1, "axis")
    return axis is None or constant(axis) == 0


def _over_tree(function: ast.expr) -> bool:
    """Say whether a function maps over all arrays of a tree, by its name: ``jax.tree.map``."""
    if isinstance(function, ast.Attribute) and function.attr == "map":
        return last_word(function.value) == "tree"
    return last_word(function) == "tree_map"


def _turned_back(context: Context, scope: Scope, turned: list[ast.expr]) -> bool:
    """Say whether a body turns anything else round, which may be the result."""
    return any(
        isinstance(node, ast.Subscript | ast.Call) and node not in turned and _is_turned(node)
        for node in context.bodies.nodes(scope)
    )


RULE = lint_rule(
    "NNX576",
    "turned-twice",
    "reverse=True over an array that is turned round already",
    why="""\
`jax.lax.scan(step, init, xs, reverse=True)` goes from the last row of `xs` to the first, and leaves the results in the
order of the rows. Of `xs[::-1]` the last row is the first of `xs`: the loop goes forward, as without both, and its
results stand in the wrong order. Returns and advantages then count what came before.
""",
    source="jax documentation of lax.scan; measured on JAX 0.6.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax


def returns(rewards):
    def step(total, reward):
        total = reward + 0.99 * total
        return total, total

    return jax.lax.scan(step, 0.0, rewards[::-1], reverse=True)[1]
""",
    ),
    clean=(
        """\
import jax


def returns(rewards):
    def step(total, reward):
        total = reward + 0.99 * total
        return total, total

    return jax.lax.scan(step, 0.0, rewards, reverse=True)[1]
""",
        """\
import jax


def returns(rewards):
    def step(total, reward):
        total = reward + 0.99 * total
        return total, total

    return jax.lax.scan(step, 0.0, rewards[::-1])[1][::-1]
""",
    ),
)
