"""NNX302: tree functions that JAX no longer has at its top level."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Ref

_NEW = {
    "tree_map": "tree.map",
    "tree_leaves": "tree.leaves",
    "tree_flatten": "tree.flatten",
    "tree_unflatten": "tree.unflatten",
    "tree_structure": "tree.structure",
    "tree_transpose": "tree.transpose",
    "tree_all": "tree.all",
    "tree_reduce": "tree.reduce",
    "tree_multimap": "tree.map",
}


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every removed name, read from the ``jax`` module or ``tree_multimap`` from ``tree_util``."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.attributes():
        if event.node.attr in _NEW and event.context == "load":
            yield from _report(context, event)


def _report(context: Context, event: AttrEvent) -> Iterator[Finding]:
    base = context.flow.resolve(context.flow.here(event.base, event.scope)).value
    name = event.node.attr
    if not isinstance(base, Ref):
        return
    if base.name == "jax":
        new = f"{event.scope.module.source.text(event.node.value)}.{_NEW[name]}"
    elif base.name == "jax.tree_util" and name == "tree_multimap":
        new = f"{event.scope.module.source.text(event.node.value)}.tree_map"
    else:
        return
    gone = "0.3.16" if name == "tree_multimap" else "0.6.0"
    if not _with_nnx(context) and context.options.older_jax(event.scope.module.source.path, gone):
        return  # what it is pinned to has the name, and there is no NNX that needs a newer one
    source = event.scope.module.source
    # of `jax.tree_map` only the last part changes, so that comments and line ends before it stay
    edit = replace(source, event.node, new) if _one_line(event.node) else None
    yield finding(
        "NNX302",
        event.scope,
        event.node,
        f"JAX has no {base.name}.{name} any more",
        f"write {new}",
        Fix(((source.path, edit),)) if edit is not None else None,
    )


def _with_nnx(context: Context) -> bool:
    """Say whether some file of the project uses NNX; Linen alone runs with the JAX that it always did."""
    return any(module.source.mentions(b"nnx") for module in context.project.modules)


def _one_line(node: ast.Attribute) -> bool:
    return node.lineno == node.end_lineno


RULE = Rule(
    code="NNX302",
    name="jax-tree-names",
    summary="tree functions that JAX removed, such as jax.tree_map",
    why="""\
JAX moved its tree functions to `jax.tree` and took `jax.tree_map`, `jax.tree_leaves` and the others away in 0.4.26 to
0.6; none of the JAX releases that Flax 0.11 runs with has them. `tree_multimap` has been `tree_map` since 2021.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="JAX change log, 0.4.26 and 0.6.0",
    examples=(
        Example(
            before="""\
import jax
import jax.numpy as jnp

print(jax.tree_map(lambda a: int(a.sum()), {"w": jnp.ones(3)}))
leaves, treedef = jax.tree_flatten((1, 2))
""",
            after="""\
import jax
import jax.numpy as jnp

print(jax.tree.map(lambda a: int(a.sum()), {"w": jnp.ones(3)}))
leaves, treedef = jax.tree.flatten((1, 2))
""",
            run=False,
        ),
        Example(
            before="""\
import jax

print(jax.tree_util.tree_map(lambda a: a + 1, [1, 2]))
""",
            after="""\
import jax

print(jax.tree_util.tree_map(lambda a: a + 1, [1, 2]))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)
