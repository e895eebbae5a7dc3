"""NNX302: tree functions that JAX no longer has at its top level."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.lint.syntax import inside
from codemods.nnx.names.references import module_edit
from codemods.nnx.rewrite import below, replace
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
_MULTIMAP = "tree_multimap"
_HOMES = {"jax": frozenset(_NEW), "jax.tree_util": frozenset({_MULTIMAP})}


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every removed name, read from the ``jax`` module or ``tree_multimap`` from ``tree_util``."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.attributes():
        if event.node.attr in _NEW and event.context == "load":
            yield from _report(context, event)
    for module in context.asked.modules:
        if module.source.mentions(b"tree_"):
            yield from _imported(context, module)


def _report(context: Context, event: AttrEvent) -> Iterator[Finding]:
    base = context.flow.resolve(context.flow.here(event.base, event.scope)).value
    name = event.node.attr
    if not isinstance(base, Ref):
        return
    if base.name == "jax":
        new = f"{event.scope.module.source.text(event.node.value)}.{_NEW[name]}"
    elif base.name == "jax.tree_util" and name == _MULTIMAP:
        new = f"{event.scope.module.source.text(event.node.value)}.tree_map"
    else:
        return
    if _still_there(context, event.scope.module, name):
        return
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


def _imported(context: Context, module: ModuleFacts) -> Iterator[Finding]:
    """Yield the ``from`` imports of removed names, but for those that a ``try`` or a test of the version may skip."""
    for statement in module.imports:
        if not isinstance(statement, ast.ImportFrom) or statement.level or statement.module not in _HOMES:
            continue
        names = [alias.name for alias in statement.names]
        gone = [name for name in names if name in _HOMES[statement.module]]
        if not gone or all(_still_there(context, module, name) for name in gone) or _optional(module, statement):
            continue
        edits = _moved(module, statement, gone)
        several = ", ".join(f"{statement.module}.{name}" for name in gone)
        there = dict.fromkeys("tree_map" if name == _MULTIMAP else name for name in gone)
        yield finding(
            RULE.code,
            module.scope,
            statement,
            f"JAX has no {several} any more",
            f"write from jax.tree_util import {', '.join(there)}",
            Fix(tuple((module.source.path, edit) for edit in edits)) if edits else None,
        )


def _moved(module: ModuleFacts, statement: ast.ImportFrom, gone: list[str]) -> list[Edit]:
    """Return the edits that import the removed names from ``jax.tree_util``, in a line of their own beside others."""
    source = module.source
    kept = [_written(alias.name, alias) for alias in statement.names if alias.name not in gone]
    if not kept and _MULTIMAP not in gone:
        return [module_edit(module, statement, "jax.tree_util")]
    if statement.lineno != statement.end_lineno:
        return []
    moved = [
        _written("tree_map" if alias.name == _MULTIMAP else alias.name, alias)
        for alias in statement.names
        if alias.name in gone
    ]
    line = f"from jax.tree_util import {', '.join(moved)}"
    if not kept:
        return [replace(source, statement, line)]
    added = below(source, statement, line)
    rest = f"from {statement.module} import {', '.join(kept)}"
    return [replace(source, statement, rest), added] if added is not None else []


def _written(name: str, alias: ast.alias) -> str:
    """Return how a name is imported that is to be called as before."""
    called = alias.asname or alias.name
    return name if name == called else f"{name} as {called}"


def _optional(module: ModuleFacts, statement: ast.ImportFrom) -> bool:
    """Say whether a statement stands in a ``try`` or below a test."""
    return any(inside(statement, block) for block in module.source.of_type(ast.Try, ast.If))


def _still_there(context: Context, module: ModuleFacts, name: str) -> bool:
    """Say whether what a project is pinned to has a name, and there is no NNX that needs a newer JAX."""
    gone = "0.3.16" if name == _MULTIMAP else "0.6.0"
    return not _with_nnx(context) and context.options.older_jax(module.source.path, gone)


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
from jax import grad, tree_leaves, tree_multimap

print(tree_leaves(tree_multimap(lambda a, b: a + b, [1.0], [2.0])), grad(lambda x: x * x)(1.0))
""",
            after="""\
from jax import grad
from jax.tree_util import tree_leaves, tree_map as tree_multimap

print(tree_leaves(tree_multimap(lambda a, b: a + b, [1.0], [2.0])), grad(lambda x: x * x)(1.0))
""",
            run=False,
        ),
        Example(
            before="""\
from jax import tree_map

print(tree_map(lambda a: a + 1, [1, 2]))
""",
            after="""\
from jax.tree_util import tree_map

print(tree_map(lambda a: a + 1, [1, 2]))
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
