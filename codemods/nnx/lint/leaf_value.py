"""NNX724: the value of a leaf that is an array already."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign
from codemods.nnx.values import Const, Function, Item, Value

_MAPS = {
    "jax.tree.map": 0,
    "jax.tree_util.tree_map": 0,
    "jax.tree.map_with_path": 1,
    "jax.tree_util.tree_map_with_path": 1,
}
_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves"})
_FLAT = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten"})
_PATHS = frozenset({"jax.tree.leaves_with_path", "jax.tree_util.tree_leaves_with_path"})
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_TREES = frozenset({Kind.STATE, Kind.GRADIENT})
_NAMES = frozenset({"value", "raw_value"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(
        module.source.mentions(b".value") or module.source.mentions(b".raw_value") for module in context.asked.modules
    ):
        return
    for event, name in foreign(context, "map", "tree_map", "map_with_path", "tree_map_with_path"):
        if name in _MAPS and event.value.keyword("is_leaf") is None and len(event.value.args) in {2, 3}:
            yield from _mapped(context, event, _MAPS[name])
    words = ("leaves", "flatten", "leaves_with_path")
    for event, name in foreign(context, *words, *(f"tree_{word}" for word in words)):
        if name in _LEAVES | _FLAT | _PATHS and event.value.keyword("is_leaf") is None and len(event.value.args) == 1:
            if _tree(context, event.value.args[0], event.scope):
                yield from _gone_through(context, event, name)


def _tree(context: Context, value: Value, scope: Scope) -> bool:
    kind = context.kinds.only(context.flow.here(value, scope))
    return kind in _TREES


def _mapped(context: Context, event: CallEvent, position: int) -> Iterator[Finding]:
    """Yield the reads in a function that a tree's leaves are given to."""
    if not all(_tree(context, value, event.scope) for value in event.value.args[1:]):
        return
    function = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
    if not isinstance(function, Function):
        return
    names = list(function.facts.params)[position:]
    read = _read(function.facts, set(names))
    if read is not None and function.facts.scope.module in context.asked:
        yield _told(function.facts.scope, read)


def _read(facts: FunctionFacts, names: set[str]) -> ast.Attribute | None:
    """Return the first read of the value of a parameter, unless the function asks what it is."""
    first = None
    for node in ast.walk(facts.node):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"isinstance", "hasattr", "getattr"}
        ):
            return None
        if isinstance(node, ast.Attribute) and node.attr in _NAMES and isinstance(node.value, ast.Name):
            if node.value.id in names and first is None:
                first = node
    return first


def _gone_through(context: Context, event: CallEvent, function: str) -> Iterator[Finding]:
    """Yield the reads of the variable of a loop over leaves."""
    for node in context.bodies.nodes(event.scope):
        if isinstance(node, ast.For) and _leaves(event, node.iter, function):
            bodies: list[ast.AST] = list(node.body)
            target = node.target
        elif isinstance(node, _COMPREHENSIONS) and _leaves(event, node.generators[0].iter, function):
            target = node.generators[0].target
            elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            bodies = [*elements, *node.generators[0].ifs]
        else:
            continue
        if function in _PATHS and isinstance(target, ast.Tuple):
            target = target.elts[-1]
        elif function in _PATHS:
            continue
        if not isinstance(target, ast.Name):
            continue
        name = target.id
        inner = [one for body in bodies for one in ast.walk(body)]
        if any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in {"isinstance", "hasattr"}
            for n in inner
        ):
            continue
        for one in inner:
            if (
                isinstance(one, ast.Attribute)
                and one.attr in _NAMES
                and isinstance(one.value, ast.Name)
                and one.value.id == name
            ):
                yield _told(event.scope, one)
                break


def _leaves(event: CallEvent, node: ast.expr, function: str) -> bool:
    """Say whether an expression is the list of leaves that a call gives, by a name of it too."""
    value = event.scope.module.values.get(node)
    if function in _FLAT:
        return isinstance(value, Item) and value.base is event.value and value.index == Const(0)
    return value is event.value


def _told(scope: Scope, node: ast.Attribute) -> Finding:
    name = scope.module.source.text(node.value)
    return finding(
        RULE.code,
        scope,
        node,
        f"the leaves of a state are arrays: `{name}` has no `{node.attr}`",
        f"write {name}; with is_leaf=lambda x: isinstance(x, nnx.Variable) the leaves are Variables",
    )


RULE = lint_rule(
    "NNX724",
    "value-of-leaf",
    "the .value of a leaf of a state, which is an array already",
    why="""\
A Variable is a node of a tree and not a leaf: `jax.tree.map` and `jax.tree.leaves` of a state go through to the
arrays, which have no `value`. It is an AttributeError. `nnx.map` gives the Variables with their paths.
""",
    source="Flax guide on moving from Linen; measured on Flax 0.10.7 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx


def penalty(model: nnx.Module):
    params = nnx.state(model, nnx.Param)
    return sum(jnp.sum(p.value**2) for p in jax.tree.leaves(params))
""",
        """\
import jax
from flax import nnx


def halved(model: nnx.Module):
    return jax.tree.map(lambda p: p.value / 2, nnx.state(model, nnx.Param))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp
from flax import nnx


def penalty(model: nnx.Module):
    params = nnx.state(model, nnx.Param)
    leaves = jax.tree.leaves(params, is_leaf=lambda x: isinstance(x, nnx.Variable))
    return sum(jnp.sum(p[...] ** 2) for p in leaves) + sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
""",
    ),
)
