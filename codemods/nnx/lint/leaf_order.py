"""NNX788: layers that are applied in the order of their names, in which the tenth comes before the second."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import in_test, scopes, written
from codemods.nnx.lint.syntax import constant, inside, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Item,
    Loop,
    Mapping,
    Unknown,
    Value,
)

_LEAVES = frozenset({"jax.tree.leaves", "jax.tree_util.tree_leaves", "jax.tree_leaves"})
_FLATTEN = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten", "jax.tree_flatten"})
_WORDS = (b"leaves(", b"flatten(", b"sorted(")
_ONE_DIGIT = 10  # so many layers are in order
# what counts layers
_COUNTERS = frozenset(
    {"i", "j", "k", "n", "l", "idx", "index", "layer", "block", "number", "num", "depth", "layer_idx", "layer_index",
     "layer_id", "block_idx"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    if not any(word in m.source.data for m in context.project.modules for word in _WORDS):
        return
    for scope in scopes(context):
        for loop in context.bodies.nodes(scope):
            if not isinstance(loop, ast.For) or in_test(scope):
                continue
            whole = _ordered(context, written(context, loop.iter, scope), scope)
            if whole is not None and _carries(loop) and _numbered(context, whole, scope):
                yield finding(
                    RULE.code,
                    scope,
                    loop.iter,
                    "the layers come in the order of their names: the one numbered 10 before the one numbered 2",
                    "go through the numbers: for i in range(depth): params[f'layer_{i}'], or fill them: f'{i:03}'",
                )


def _ordered(context: Context, node: ast.expr, scope: Scope) -> ast.expr | None:
    """Return the dict whose entries a loop gets in the order of their names."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is None:
        node = written(context, node.value, scope)
    if isinstance(node, ast.Name):
        return _flattened(context, node, scope)
    if not isinstance(node, ast.Call) or len(node.args) != 1:
        return None
    value = scope.module.values.get(node)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if value is not None else ""
    if name in _LEAVES and not node.keywords:
        return node.args[0]
    if name != "builtins.sorted" or node.keywords:
        return None
    given = node.args[0]
    if isinstance(given, ast.Call) and last_word(given.func) in {"keys", "items"} and not given.args:
        return given.func.value if isinstance(given.func, ast.Attribute) else None
    return given


def _flattened(context: Context, node: ast.Name, scope: Scope) -> ast.expr | None:
    """Return the dict of which a variable holds the leaves: ``leaves, treedef = jax.tree.flatten(params)``."""
    value = scope.module.values.get(node)
    made = value.base if isinstance(value, Item) and value.index == Const(0) else None
    if not isinstance(made, Call) or made.keywords or len(made.node.args) != 1:
        return None
    name = context.flow.calls.callee_name(context.flow.here(made, scope))
    return made.node.args[0] if name in _FLATTEN else None


def _carries(loop: ast.For) -> bool:
    """Say whether each round makes the next value of a variable of its last one and of an entry."""
    entries = set(names_in(loop.target))
    for statement in loop.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            read = names_in(statement.value)
            if read & entries and not names_in(target) & read:
                entries |= names_in(target)  # ``w, b = params[name]``
            if isinstance(target, ast.Name) and target.id in read and isinstance(statement.value, ast.Call | ast.BinOp):
                if read & entries and not _only_sums(statement.value):
                    return True
    return False


def _only_sums(node: ast.expr) -> bool:
    """Say whether an expression is one whose order is all the same: a sum, a product, or the most of some."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.BitOr | ast.BitAnd)
    return isinstance(node, ast.Call) and last_word(node.func) in {"max", "min", "maximum", "minimum", "add", "update"}


def _numbered(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a dict has numbers at the ends of its keys, with as many digits as each has."""
    value = scope.module.values.get(node)
    if value is None:
        return False
    known = context.shared(_numbered_dicts)
    sources = context.sources.originals(context.flow.here(value, scope))
    return any(_is_numbered(context, one, one.value, known, 0) for one in sources)


def _is_numbered(context: Context, source: Bound, value: Value, known: set[int], depth: int) -> bool:
    if depth > _ONE_DIGIT:
        return False
    if isinstance(value, Comprehension) and isinstance(value.key, Unknown | Call) and source.frame is not None:
        rounds = getattr(value.loop, "iter", None)
        many = isinstance(rounds, ast.expr) and not _few_rounds(context, rounds, source.frame.function.scope)
        return many and _counts(value.key.node)
    if isinstance(value, Loop | Changed):
        return _is_numbered(context, source, value.before, known, depth + 1)
    if isinstance(value, Choice):
        return any(_is_numbered(context, source, one, known, depth + 1) for one in value.options)
    return isinstance(value, Mapping) and id(value) in known


def _numbered_dicts(context: Context) -> set[int]:
    """Return the dicts into which a loop puts entries with numbered names, by their identity."""
    found: set[int] = set()
    for module in context.project.modules:
        for store in module.item_stores:
            if not _counts(store.node.slice) or _few(context, store.node.slice, store.scope):
                continue
            base: Value | None = store.base
            for _ in range(_ONE_DIGIT):
                if not isinstance(base, Loop | Changed):
                    break
                base = base.before
            found |= {id(one) for one in _held(base, store.scope) if isinstance(one, Mapping)}
    return found


def _held(base: Value | None, scope: Scope) -> list[Value]:
    """Return a dict, or those that the methods of an object put into its attribute."""
    function = scope.function
    if not isinstance(base, Attr) or function is None or function.owner is None or base.base is not function.self_param:
        return [base] if base is not None else []
    return [value for _, value in function.owner.stores.get(base.name, ())]


def _counts(key: ast.AST) -> bool:
    """Say whether a key is a word with a number behind it that is not filled up with zeros."""
    number = _behind_word(key)
    return isinstance(number, ast.Name) and number.id in _COUNTERS


def _behind_word(key: ast.AST) -> ast.expr | None:
    """Return what stands behind a word in a text that is put together: ``i`` of ``f"layer_{i}"``."""
    if isinstance(key, ast.JoinedStr) and len(key.values) == 2:
        first, number = key.values
        if not isinstance(number, ast.FormattedValue) or number.format_spec is not None:
            return None
        return number.value if isinstance(first, ast.Constant) else None
    if isinstance(key, ast.BinOp) and isinstance(word := constant(key.left), str):
        if isinstance(key.op, ast.Mod):
            return key.right if re.fullmatch(r"[^%]+%[dis]", word) else None
        text = key.right
        plain = isinstance(key.op, ast.Add) and isinstance(text, ast.Call) and last_word(text.func) == "str"
        return text.args[0] if plain and isinstance(text, ast.Call) and len(text.args) == 1 else None
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Attribute) and key.func.attr == "format":
        word = constant(key.func.value)
        return key.args[0] if isinstance(word, str) and re.fullmatch(r"[^{}]+\{0?\}", word) and key.args else None
    return None


def _few(context: Context, key: ast.AST, scope: Scope) -> bool:
    """Say whether the number in a key is known to have one digit."""
    counters = names_in(key)
    loops = (n for n in context.bodies.nodes(scope) if isinstance(n, ast.For) and inside(key, n))
    return all(_few_rounds(context, loop.iter, scope) for loop in loops if names_in(loop.target) & counters)


def _few_rounds(context: Context, rounds: ast.expr, scope: Scope) -> bool:
    """Say whether a loop counts to ten at most, or does not count at all."""
    if not isinstance(rounds, ast.Call) or last_word(rounds.func) not in {"range", "enumerate"} or not rounds.args:
        return True
    if last_word(rounds.func) == "enumerate":
        return not isinstance(rounds.args[0], ast.Name | ast.Attribute | ast.Call)
    end = scope.module.values.get(rounds.args[min(1, len(rounds.args) - 1)])
    known = numbers(context, end, scope)
    return bool(known) and max(known) <= _ONE_DIGIT


RULE = lint_rule(
    "NNX788",
    "layers-in-order-of-names",
    "layers with numbered names, applied as jax.tree.leaves or sorted gives them",
    why="""\
JAX goes through dicts in the order of their keys, and `sorted` does so too: `layer_10` comes before `layer_2`. What is
right for up to ten layers is another network with eleven.
""",
    source="jax issue 4085; measured: another result from eleven layers on",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def init(key, depth, width):
    params = {}
    for i in range(depth):
        params[f"layer_{i}"] = jax.random.normal(jax.random.fold_in(key, i), (width, width))
    return params


def forward(params, x):
    for w in jax.tree.leaves(params):
        x = jnp.tanh(x @ w)
    return x


forward(init(jax.random.key(0), 12, 4), jnp.ones((2, 4)))
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def init(key, depth, width):
    params = {}
    for i in range(depth):
        params[f"layer_{i}"] = jax.random.normal(jax.random.fold_in(key, i), (width, width))
    return params


def forward(params, x):
    for name in sorted(params, key=lambda name: int(name.split("_")[1])):
        x = jnp.tanh(x @ params[name])
    return x


forward(init(jax.random.key(0), 12, 4), jnp.ones((2, 4)))
""",
    ),
)
