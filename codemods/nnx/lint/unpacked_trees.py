"""NNX577: a list of trees for which jax.tree.map takes each alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.list_scanned import list_of
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Value

# what joins the leaves of several trees
_JOINING = frozenset(
    {"stack", "concatenate", "array", "asarray", "vstack", "hstack", "mean", "sum", "max", "min", "median", "average",
     "maximum", "minimum", "reduce", "zip", "len"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "map", "tree_map"):
        if name not in TREE_MAPS or len(event.value.args) != 2 or event.value.starred or event.node.keywords:
            continue
        if in_test(event.scope) or not _of_several(context, event):
            continue
        if list_of(context, event, event.value.args[1], _anything):
            text = event.scope.module.source.text(event.node.args[1])
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "a list is one tree, and the function gets one leaf at a time: the trees in it stay apart",
                f"give the trees one by one: jax.tree.map(f, *{text})",
            )


def _anything(context: Context, event: CallEvent, value: Value) -> bool:
    return True


def _of_several(context: Context, event: CallEvent) -> bool:
    """Say whether what is mapped takes any number of leaves, and nothing before them, and joins them."""
    callees = context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope))
    if len(callees) != 1 or callees[0].gradient or callees[0].args or callees[0].receiver is not None:
        return False
    function: FunctionFacts = callees[0].function
    node = function.node
    if not isinstance(node, ast.Lambda | ast.FunctionDef) or function.decorators:
        return False
    args = node.args
    if args.vararg is None or args.args or args.posonlyargs or args.kwonlyargs or args.kwarg:
        return False
    name = args.vararg.arg
    if context.bodies.stores(function.scope, name):
        return False
    nodes = context.bodies.nodes(function.scope)
    if any(isinstance(n, ast.If | ast.IfExp) for n in nodes):
        return False
    return any(
        isinstance(n, ast.Call)
        and last_word(n.func) in _JOINING
        and any(isinstance(a, ast.Name) and a.id == name for a in n.args)
        for n in nodes
    )


RULE = lint_rule(
    "NNX577",
    "unpacked-trees",
    "jax.tree.map with a function of several leaves over a list of trees",
    why="""\
A list is a tree itself. `jax.tree.map(lambda *leaves: jnp.stack(leaves), trees)` calls the function with one leaf after
the other, and gives a list of trees again, each with one more axis. `*trees` gives the trees side by side, so that the
function gets the leaves that belong together.
""",
    source="jax documentation of pytrees; measured on JAX 0.6.2 and 0.10.2",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def average(load, names):
    trees = [load(name) for name in names]
    return jax.tree.map(lambda *leaves: jnp.mean(jnp.stack(leaves), axis=0), trees)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def average(load, names):
    trees = [load(name) for name in names]
    return jax.tree.map(lambda *leaves: jnp.mean(jnp.stack(leaves), axis=0), *trees)
""",
    ),
)
