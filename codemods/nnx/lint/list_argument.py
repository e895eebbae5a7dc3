"""NNX844: a list for a function of ``jax.numpy``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell_name
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.origins import listed, named
from codemods.nnx.lint.places import each
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Const, Item, Loop, Mapping, Param, Sequence

# functions that are given an array first; those that take sequences, such as stack, are left out
_ARRAYS = (
    "sum", "mean", "max", "min", "prod", "std", "var", "exp", "log", "sqrt", "abs", "sin", "cos", "tanh", "dot",
    "matmul",
    "argmax", "argmin", "cumsum", "cumprod", "sort", "argsort", "reshape", "transpose", "square", "any", "all",
    "median",
    "where", "maximum", "minimum", "expand_dims", "squeeze", "ravel", "round", "clip", "isnan", "isfinite", "sign",
    "linalg.norm", "unique", "nonzero", "tile", "repeat", "flip", "roll", "diag", "trace", "average",
)  # fmt: skip


# functions that are given arrays in the first places, by the number of these places
_SEVERAL = {
    **dict.fromkeys(
        ("dot", "matmul", "maximum", "minimum", "add", "subtract", "multiply", "divide", "power", "inner", "outer",
         "isclose", "allclose", "take", "append"), 2
    ),
    "where": 3,
    "clip": 3,
}  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    for event in context.bodies.named(*{last(name) for name in (*_ARRAYS, *_SEVERAL)}):
        node = event.node
        if event.scope.module not in context.asked:
            continue
        if not any(isinstance(argument, _WRITTEN) or named(argument) for argument in node.args):
            continue
        name = context.flow.calls.name(event)
        word = name.removeprefix("jax.numpy.")
        if not name.startswith("jax.numpy.") or word not in {*_ARRAYS, *_SEVERAL}:
            continue
        if context.bodies.guarded(node, event.scope):
            continue
        for argument in node.args[: _SEVERAL.get(word, 1)]:
            if isinstance(argument, ast.List | ast.Tuple):
                kind = "list" if isinstance(argument, ast.List) else "tuple"
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"functions of jax.numpy take no {kind}",
                    "make an array of it: jnp.array([...])",
                    _fix(context, event.scope, argument),
                )
            elif isinstance(argument, ast.ListComp | ast.Call):
                made = _built(context, argument, event.scope)
                if made:
                    yield finding(
                        RULE.code,
                        event.scope,
                        node,
                        f"functions of jax.numpy take no {made}",
                        _OF_TREE if made == _TREE else _OF_LIST,
                    )
            elif named(argument):
                tree, text = _is_tree(context, argument, event.scope), ast.unparse(argument)
                if tree or _is_list(context, argument, event.scope):
                    yield finding(
                        RULE.code,
                        event.scope,
                        node,
                        f"functions of jax.numpy take no {_TREE if tree else 'list'}, and `{text}` is one",
                        _OF_TREE if tree else _OF_LIST,
                    )
    for scope, inner in each(context, ast.Subscript):
        if isinstance(inner.slice, ast.List) and inner.slice.elts:
            owner = inner.value
            if isinstance(owner, ast.Attribute) and owner.attr == "at":
                owner = owner.value
            value = scope.module.values.get(owner)
            if value is not None and context.kinds.only(context.flow.here(value, scope)) is Kind.ARRAY:
                yield finding(
                    RULE.code,
                    scope,
                    inner,
                    "JAX arrays take no list as an index",
                    "make an array of it: jnp.array([...])",
                    _fix(context, scope, inner.slice),
                )


_WRITTEN = ast.List | ast.Tuple | ast.ListComp | ast.Call


def _built(context: Context, node: ast.ListComp | ast.Call, scope: Scope) -> str:
    """Return ``list`` or ``tuple`` for an argument that makes one; nothing for others."""
    if isinstance(node, ast.ListComp):
        return "list"
    value = scope.module.values.get(node)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
    if name in _LEAVES:
        return "list"
    if _is_tree(context, node, scope):
        return _TREE
    return last(name) if name in {"builtins.list", "builtins.tuple"} else ""


_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves"})
_TREE = "tree"
_OF_LIST = "make an array of it: jnp.array(...) or jnp.stack(...)"
_OF_TREE = "put its leaves together: sum(jax.tree.leaves(tree)), or jax.tree.reduce"


def _is_tree(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is what a map over trees gives, of which none is known to be one array."""
    value = scope.module.values.get(node)
    found = context.flow.resolve(context.flow.here(value, scope)) if value is not None else None
    if found is None or not isinstance(found.value, Call) or found.value.starred or len(found.value.args) < 2:
        return False
    if context.flow.calls.callee_name(found) not in TREE_MAPS:
        return False
    trees = [context.flow.with_value(found, tree) for tree in found.value.args[1:]]
    return any(_with_leaves(context, tree) for tree in trees)


def _with_leaves(context: Context, tree: Bound) -> bool:
    """Say whether a tree has leaves below it: a dict or list, the parameters of a model, or their gradients."""
    sources = list(context.sources.originals(tree))
    return bool(sources) and all(_several(context, one) for one in sources)


def _several(context: Context, source: Bound) -> bool:
    value = source.value
    if isinstance(value, Mapping | Sequence):
        return len(value.items) > 0
    if isinstance(value, Param):
        return bool(_PARAMETERS.search(value.name))
    return isinstance(value, Call) and context.flow.calls.callee_name(source) in _STATES


_STATES = frozenset({"flax.nnx.state", "flax.nnx.grad", "flax.nnx.to_pure_dict"})
_PARAMETERS = pattern(r"^(params?|parameters|grads?|gradients|updates|state_dict|tree|pytree)$")


def _fix(context: Context, scope: Scope, node: ast.expr) -> Fix | None:
    spelling = spell_name(context.flow, scope, "jax.numpy.array")
    if spelling is None or spelling.edits:
        return None
    source = scope.module.source
    start, end = source.span(node)
    edits = (Edit(start, start, f"{spelling.text}(".encode()), Edit(end, end, b")"))
    return Fix(tuple((source.path, edit) for edit in edits))


def _is_list(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression of a scope is a list, as a variable is that is bound to list displays only."""
    if not isinstance(node, ast.Name):
        return listed(context, node, scope)
    function = scope.function
    if function is not None and node.id in function.params:
        return False
    stores = context.bodies.stores(scope, node.id)
    if not stores:
        return False
    value = scope.module.values.get(node)
    while isinstance(value, Loop | Changed):
        value = value.before
    if isinstance(value, Item | Call):  # what a function gives, or a part of that
        return len(stores) == 1 and listed(context, node, scope)
    if isinstance(value, Attr | Const | Param):
        return False
    made: list[ast.expr] = []
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            made += [one.value for target in targets if isinstance(target, ast.Name) and target.id == node.id]
    return bool(made) and len(stores) == len(made) and all(isinstance(m, ast.List | ast.ListComp) for m in made)


RULE = lint_rule(
    "NNX844",
    "list-argument",
    "a list or tuple where jax.numpy wants an array",
    why="""\
Unlike numpy, the functions of jax.numpy raise a TypeError for a list, because converting it element by element is
slow. Functions that take sequences of arrays, such as stack and concatenate, are not meant.
""",
    source="JAX tutorial; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    severity="error",
    check=_check,
    mended=(
        (
            """\
import jax.numpy as jnp

total = jnp.sum([1, 2, 3])
""",
            """\
import jax.numpy as jnp

total = jnp.sum(jnp.array([1, 2, 3]))
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp

both = jnp.stack([jnp.ones(2), jnp.zeros(2)])
total = jnp.array([1, 2, 3]).sum() + jnp.concatenate([both, both]).sum()
""",
    ),
    safety=Safety.SAFE,
)
