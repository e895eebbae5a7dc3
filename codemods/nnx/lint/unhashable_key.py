"""NNX758: arrays as keys of dicts and as members of sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Round
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import scopes
from codemods.nnx.values import Attr, Call, Changed, Each, Loop, Mapping, Value

_DICTS = frozenset({"builtins.dict", "collections.defaultdict", "collections.Counter", "collections.OrderedDict"})
_SETS = frozenset({"builtins.set", "builtins.frozenset"})
_BY_KEY = frozenset({"get", "setdefault", "pop"})


def _check(context: Context) -> Iterator[Finding]:
    for scope in scopes(context):
        for node in context.bodies.nodes(scope):
            key = _key(context, node, scope)
            if key is not None and _array(context, key, scope) and not context.bodies.guarded(node, scope):
                yield finding(
                    RULE.code,
                    scope,
                    key,
                    f"`{ast.unparse(key)}` is an array, which has no hash: it is no key of a dict and in no set",
                    "take its number: int(x), or x.item() and x.tolist()",
                )


def _key(context: Context, node: ast.AST, scope: Scope) -> ast.expr | None:
    """Return what a node uses as a key."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple | ast.Constant):
        return node.slice if _made(context, node.value, scope, _DICTS) else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
        return node.left if _made(context, node.comparators[0], scope, _DICTS | _SETS) else None
    if isinstance(node, ast.Call) and len(node.args) in {1, 2}:
        func = node.func
        if isinstance(func, ast.Attribute):
            if func.attr in _BY_KEY and _made(context, func.value, scope, _DICTS):
                return node.args[0]
            if func.attr == "add" and _made(context, func.value, scope, _SETS):
                return node.args[0]
        value = scope.module.values.get(node)
        if isinstance(value, Call) and len(node.args) == 1:
            name = context.flow.calls.callee_name(context.flow.here(value, scope))
            if name in _SETS | {"collections.Counter", "builtins.hash"} and not isinstance(node.args[0], ast.Starred):
                return node.args[0]
    return None


def _made(context: Context, node: ast.expr, scope: Scope, makers: frozenset[str]) -> bool:
    """Say whether an expression is a dict or set of Python."""
    value = scope.module.values.get(node)
    if value is None:
        return False
    while isinstance(value, Changed | Loop):
        value = value.before
    found = [context.flow.resolve(context.flow.here(value, scope))]
    if isinstance(found[0].value, Attr):  # what the field was before its entries
        ways = [context.flow.unchanged(one) for one in context.sources.of(found[0])]
        found = [one for one in ways if not isinstance(one.value, Attr)] or found
    return all(_is_made(context, one, makers) for one in found)


def _is_made(context: Context, bound: Bound, makers: frozenset[str]) -> bool:
    value = bound.value
    while isinstance(value, Changed | Loop):
        value = value.before
    if isinstance(value, Mapping):
        return "builtins.dict" in makers
    return isinstance(value, Call) and context.flow.calls.callee_name(context.flow.with_value(bound, value)) in makers


def _array(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is an array of JAX, or an element that a loop over one gives."""
    value: Value | None = scope.module.values.get(node)
    if isinstance(value, Round | Each):
        value = value.base
    return made_by_jax(context, value, scope)


RULE = lint_rule(
    "NNX758",
    "array-as-key",
    "an array as the key of a dict or the member of a set",
    why="""\
Arrays of JAX have no hash, one of a single number neither: `counts[label]` for a label of `jnp.argmax` raises a
TypeError, and so does `set(labels)`. An array of numpy gives numbers that can be keys, one of JAX gives arrays.
""",
    source="Stack Overflow, unhashable type ArrayImpl; measured on JAX 0.6.2, 0.7.2 and 0.10.2: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp


def count(logits):
    counts = {}
    for label in jnp.argmax(logits, axis=-1):
        counts[label] = counts.get(label, 0) + 1
    return counts
""",
    ),
    clean=(
        """\
import jax.numpy as jnp


def count(logits):
    counts = {}
    for label in jnp.argmax(logits, axis=-1).tolist():
        counts[label] = counts.get(label, 0) + 1
    return counts
""",
    ),
)
