"""NNX683: masks and positions of new tokens that do not reckon with those in the cache."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once, unpacked_once
from codemods.nnx.lint.places import callers_of, each, in_test
from codemods.nnx.lint.syntax import assignments, constant, is_none, names_in
from codemods.nnx.nodes import last_word

_JOINING = frozenset(
    {"concatenate", "concat", "append", "dynamic_update_slice", "dynamic_update_slice_in_dim", "hstack"}
)
_WORDS = (b"cache", b"past", b"prefix", b"memory")


def _check(context: Context) -> Iterator[Finding]:
    modules = {m for m in context.asked.modules if any(word in m.source.data for word in _WORDS)}
    for scope, call in each(context, ast.Call) if modules else ():
        pair = _lower(call) if scope.module in modules and not in_test(scope) else None
        if pair is not None and _longer(context, *pair, scope):
            yield finding(
                RULE.code,
                scope,
                call,
                "the mask begins at the first key, where those of the cache are: the new tokens do not see their own",
                "move it by those before: jnp.tril(jnp.ones((queries, keys)), k=keys - queries)",
            )
    for scope, node in each(context, ast.Compare) if modules else ():
        found = _compared(node) if scope.module in modules and not in_test(scope) else None
        if found is not None and _longer(context, *found, scope):
            yield finding(
                RULE.code,
                scope,
                node,
                "the queries are counted from zero, as the keys of the cache are: the new tokens do not see their own",
                "count them behind those before: jnp.arange(queries) + keys - queries",
            )
    for scope, loop in each(context, ast.For) if modules else ():
        if scope.module in modules and not in_test(scope):
            yield from _offsets(context, loop, scope)


def _lower(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    """Return the two lengths of a lower triangle that begins in the corner: ``jnp.tril(jnp.ones((q, k)))``."""
    if last_word(call.func) != "tril" or len(call.args) != 1 or call.keywords:
        return None
    ones = call.args[0]
    if isinstance(ones, ast.Call) and isinstance(ones.func, ast.Attribute) and ones.func.attr == "astype":
        ones = ones.func.value
    if not isinstance(ones, ast.Call) or last_word(ones.func) not in {"ones", "full"} or not ones.args:
        return None
    shape = ones.args[0]
    lengths = shape.elts[-2:] if isinstance(shape, ast.Tuple | ast.List) else []
    return (lengths[0], lengths[1]) if len(lengths) == 2 else None


def _compared(node: ast.Compare) -> tuple[ast.expr, ast.expr] | None:
    """Return the two lengths of ``jnp.arange(q)[:, None] >= jnp.arange(k)[None, :]``."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.GtE | ast.LtE):
        return None
    sides = [node.left, node.comparators[0]]
    first, second = sides if isinstance(node.ops[0], ast.GtE) else sides[::-1]
    counts: list[ast.expr] = []
    for one, column in ((first, True), (second, False)):
        index = one.slice.elts if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Tuple) else []
        if not isinstance(one, ast.Subscript):
            return None
        added = [i for i, part in enumerate(index) if is_none(part)]
        counted = one.value
        if (column and added != [1]) or (not column and index and added != [0]):
            return None
        if not isinstance(counted, ast.Call) or last_word(counted.func) != "arange" or len(counted.args) != 1:
            return None
        counts.append(counted.args[0])
    return counts[0], counts[1]


def _longer(context: Context, queries: ast.expr, keys: ast.expr, scope: Scope) -> bool:
    """Say whether the one length is that of queries, and the other one of keys to which those before were joined."""
    one, other = _array(context, queries, scope), _array(context, keys, scope)
    if one is None or other is None or one == other or scope.function is None:
        return False
    if _joined(context, other, scope):
        return not _joined(context, one, scope)
    params = list(scope.function.params)
    if one not in params or other not in params:
        return False
    for event in callers_of(context, scope.function):
        given = [_given(event, name, params, scope) for name in (one, other)]
        if all(isinstance(part, ast.Name) for part in given):
            first, second = (part.id for part in given if isinstance(part, ast.Name))
            if _joined(context, second, event.scope) and not _joined(context, first, event.scope):
                return True
    return False


def _given(event: CallEvent, name: str, params: list[str], scope: Scope) -> ast.expr | None:
    """Return what a call gives for a parameter."""
    for word in event.node.keywords:
        if word.arg == name:
            return word.value
    method = scope.function is not None and scope.function.self_param is not None
    place = params.index(name) - int(method)
    plain = not any(isinstance(one, ast.Starred) for one in event.node.args)
    return event.node.args[place] if plain and 0 <= place < len(event.node.args) else None


def _array(context: Context, length: ast.expr, scope: Scope) -> str | None:
    """Return the variable of which an expression is the length, or one of the lengths."""
    made = length
    if isinstance(length, ast.Name):
        found = bound_once(context, scope, length) or unpacked_once(context, scope, length)
        made = found if found is not None else _of_shape(context, length, scope)
    if isinstance(made, ast.Call) and last_word(made.func) == "len" and len(made.args) == 1:
        made = ast.Subscript(ast.Attribute(made.args[0], "shape", ast.Load()), ast.Constant(0), ast.Load())
    if isinstance(made, ast.Subscript):
        made = made.value
    if isinstance(made, ast.Attribute) and made.attr == "shape" and isinstance(made.value, ast.Name):
        return made.value.id
    return None


def _of_shape(context: Context, name: ast.Name, scope: Scope) -> ast.expr:
    """Return the shape that a variable is unpacked from: ``batch, length, width = x.shape``."""
    stores = context.bodies.stores(scope, name.id)
    above = around(context, scope)
    target = above.get(stores[0]) if len(stores) == 1 else None
    statement = above.get(target) if isinstance(target, ast.Tuple) else None
    return statement.value if isinstance(statement, ast.Assign) else name


def _joined(context: Context, name: str, scope: Scope) -> bool:
    """Say whether a variable is, in one way at least, what was there before with something behind it."""
    for node in context.bodies.nodes(scope):
        for target, value in assignments(node):
            if last_word(target) == name and isinstance(target, ast.Name) and isinstance(value, ast.Call):
                if last_word(value.func) in _JOINING:
                    return True
    return False


def _offsets(context: Context, loop: ast.For, scope: Scope) -> Iterator[Finding]:
    """Yield the positions that grow by the length of the prompt in every round, though its tokens come in the first."""
    inside = [*ast.walk(loop)]
    stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in inside:
        if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
            continue
        if not isinstance(node.target, ast.Name):
            continue
        prompt = _whole(node.value)
        if not prompt or prompt in stored:
            continue
        begun = {
            target.id
            for one in context.bodies.nodes(scope)
            for target, value in assignments(one)
            if isinstance(target, ast.Name) and isinstance(value, ast.Name) and value.id == prompt
        }
        for call in (n for n in inside if isinstance(n, ast.Call)):
            given = names_in(call)
            if node.target.id in given and prompt not in given and begun & stored & given:
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    f"`{ast.unparse(node.value)}` is the length of the whole prompt, and later rounds have one token",
                    f"add how many tokens the round had: {sorted(begun & stored & given)[0]}",
                )
                break


def _whole(node: ast.expr) -> str:
    """Return the array of which an expression is the length; empty for others."""
    if isinstance(node, ast.Call) and last_word(node.func) == "len" and len(node.args) == 1:
        return last_word(node.args[0]) if isinstance(node.args[0], ast.Name) else ""
    if isinstance(node, ast.Subscript) and last_word(node.value) == "shape" and isinstance(constant(node.slice), int):
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr in {"size", "shape"} and isinstance(node.value, ast.Name):
        return node.value.id
    return ""


_BAD = """\
import jax
import jax.numpy as jnp


def attend(q, k, v):
    mask = jnp.tril(jnp.ones((q.shape[0], k.shape[0]), dtype=bool))
    return jax.nn.softmax(jnp.where(mask, q @ k.T, -1e30), axis=-1) @ v


def step(q, k, v, cache):
    k = jnp.concatenate([cache[0], k])
    v = jnp.concatenate([cache[1], v])
    return attend(q, k, v), (k, v)
"""
_OFFSET = """\
import jax


def generate(decode, prompt, cache, rounds):
    tokens, offset = prompt, 0
    for _ in range(rounds):
        tokens, cache = decode(tokens, cache, offset)
        offset += prompt.size
    return tokens
"""

RULE = lint_rule(
    "NNX683",
    "behind-the-cache",
    "a causal mask or positions of new tokens that do not reckon with those in the cache",
    why="""\
With a cache there are more keys than queries, and the first of the new tokens comes behind all of the cache. A lower
triangle that begins in the corner lets it see the first key alone, and the last of them not itself: it has to be moved
by as many as there are before, `jnp.tril(..., k=keys - queries)`. In the same way the positions go on by the number of
tokens of each round, which is that of the prompt in the first round only.
""",
    source="github.com/lucidrains/x-transformers/issues/187, skyzh/tiny-llm pull request 46; measured: other outputs",
    severity="error",
    check=_check,
    bad=(_BAD, _OFFSET),
    clean=(
        _BAD.replace("dtype=bool))", "dtype=bool), k=k.shape[0] - q.shape[0])"),
        _OFFSET.replace("prompt.size", "tokens.size"),
    ),
)
