"""NNX758: arrays as keys of dicts and as members of sets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Round
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import made_by_jax
from codemods.nnx.lint.cached_tracer import is_kept
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Each, Loop, Mapping, Value

_DICTS = frozenset({"builtins.dict", "collections.defaultdict", "collections.Counter", "collections.OrderedDict"})
_SETS = frozenset({"builtins.set", "builtins.frozenset"})
_BY_KEY = frozenset({"get", "setdefault", "pop"})
_OF_MEMBERS = frozenset({"set", "frozenset", "Counter", "hash"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.Subscript, ast.Compare, ast.Call):
        for key, holder, makers in _keys(node):  # first what is seldom so, and is soon known
            array = _array(context, key, scope)
            if not array and not (_named(context, key) and _variable(context, key, scope)):
                continue
            if not _takes_keys(context, holder, scope, makers) or context.bodies.guarded(node, scope):
                continue
            if not array:
                yield finding(
                    RULE.code,
                    scope,
                    key,
                    f"`{ast.unparse(key)}` is a Variable, which has no hash since Flax 0.12",
                    "take its path or name for the key, or id(variable)",
                )
                continue
            yield finding(
                RULE.code,
                scope,
                key,
                f"`{ast.unparse(key)}` is an array, which has no hash: it is no key of a dict and in no set",
                "take its number: int(x), or x.item() and x.tolist()",
            )
    for scope, node, name in _remembered(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"`{ast.unparse(node)}` is an array, which has no hash: `{name}` cannot keep its results by it",
            "keep them by something else, such as a number or a string",
        )


def _remembered(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the arrays that functions get which keep their results by their arguments, each with the function."""
    for module in context.project.modules:
        if not module.source.mentions(b"cache"):
            continue
        for function in module.functions:
            if not function.decorators or not is_kept(context, function):
                continue
            for event in context.flow.sites.callers(function):
                if event.scope.module not in context.asked or context.bodies.guarded(event.node, event.scope):
                    continue
                given = (*event.node.args, *(k.value for k in event.node.keywords))
                node = next((one for one in given if _array(context, one, event.scope)), None)
                if node is not None:
                    yield event.scope, node, function.name


def _keys(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr, frozenset[str]]]:
    """Yield what a node may use as a key, what it is the key of, and what makes such a thing."""
    if isinstance(node, ast.Subscript):
        if not isinstance(node.slice, ast.Slice | ast.Tuple | ast.Constant):
            yield node.slice, node.value, _DICTS
    elif isinstance(node, ast.Compare):
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield node.left, node.comparators[0], _DICTS | _SETS
    elif isinstance(node, ast.Call) and len(node.args) in {1, 2} and not isinstance(node.args[0], ast.Starred):
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _BY_KEY:
            yield node.args[0], func.value, _DICTS
        elif isinstance(func, ast.Attribute) and func.attr == "add":
            yield node.args[0], func.value, _SETS
        elif len(node.args) == 1 and last_word(func) in _OF_MEMBERS:
            yield node.args[0], node, _SETS | {"collections.Counter", "builtins.hash"}


def _takes_keys(context: Context, holder: ast.expr, scope: Scope, makers: frozenset[str]) -> bool:
    """Say whether an expression is a dict or set, or a call that makes one of its argument."""
    if not isinstance(holder, ast.Call):
        return _made(context, holder, scope, makers)
    value = scope.module.values.get(holder)
    if isinstance(value, Call) and "builtins.hash" in makers:
        return context.flow.calls.callee_name(context.flow.here(value, scope)) in makers
    return _made(context, holder, scope, makers)


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


_VARIABLES = frozenset({"param", "variable", "var", "v", "p", "kernel", "embedding", "weight", "w", "bias", "scale"})


def _named(context: Context, node: ast.expr) -> bool:
    """Say whether a name is one that people give Variables, in code that was written for Flax 0.12."""
    return context.options.origin == "0.12" and last_word(node) in _VARIABLES


def _variable(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is a Variable of NNX."""
    value = scope.module.values.get(node)
    return value is not None and context.kinds.only(context.flow.here(value, scope)) is Kind.VARIABLE


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
TypeError, and so does `set(labels)`, and the call of a function under `functools.lru_cache` with an array. An array of
numpy gives numbers that can be keys, one of JAX gives arrays.
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
