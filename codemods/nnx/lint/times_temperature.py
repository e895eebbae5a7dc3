"""NNX962: logits that are multiplied by a temperature before one of them is drawn."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import callers_of, foreign, in_test, position, written
from codemods.nnx.lint.syntax import argument, entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Param

_TEMPERATURE = pattern(r"^(\w+_)?temp(erature)?$", re.I)
_INVERSE = pattern(r"inv|beta|recip", re.I)
_DEPTH = 5
# what takes logits, and at which place
_TAKING = {
    "jax.random.categorical": (1, "logits"),
    "optax.softmax_cross_entropy_with_integer_labels": (0, "logits"),
    "optax.softmax_cross_entropy": (0, "logits"),
    "optax.losses.softmax_cross_entropy_with_integer_labels": (0, "logits"),
    "optax.losses.softmax_cross_entropy": (0, "logits"),
}


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.mentions(b"emp") for m in context.project.modules):
        return
    told: set[ast.AST] = set()
    for event, name in foreign(context, *sorted({last(name) for name in _TAKING})):
        given = argument(event.node, *_TAKING.get(name, (0, "")))
        if name not in _TAKING or given is None or in_test(event.scope):
            continue
        for found in _products(context, given, event.scope, 0):
            if found.node in told or found.scope.module not in context.asked:
                continue
            if name.startswith("optax."):
                if _below_one(context, found):
                    told.add(found.node)
                    yield finding(
                        RULE.code,
                        found.scope,
                        found.node,
                        f"`{ast.unparse(found.factor)}` is less than 1, and brings the logits together: the loss "
                        "hardly tells them apart",
                        f"divide by it: {found.divided}",
                    )
            else:
                told.add(found.node)
                yield finding(
                    RULE.code,
                    found.scope,
                    found.node,
                    f"a low `{ast.unparse(found.factor)}` makes the draws more even here, a high one makes them sure",
                    f"divide by it: {found.divided}",
                )


def _below_one(context: Context, found: _Product) -> bool:
    """Say whether a temperature is known to be less than 1, also by the default of a parameter that no call fills."""
    value = found.scope.module.values.get(found.factor)
    known = numbers(context, value, found.scope)
    if not known and isinstance(value, Param) and not _filled(context, value):
        default = value.function.defaults.get(value.name)
        known = frozenset({default.value}) if isinstance(default, Const) and type(default.value) is float else known
    return bool(known) and all(0 < number < 1 for number in known)


def _filled(context: Context, param: Param) -> bool:
    """Say whether a call gives a parameter something."""
    calls = callers_of(context, param.function)
    return any(one.value.starred or argument(one.node, position(param), param.name) is not None for one in calls)


class _Product(NamedTuple):
    """A product by a temperature.

    Attributes:
        node: the product.
        factor: the temperature.
        scope: the body that it stands in.
        divided: what to write instead.
    """

    node: ast.AST
    factor: ast.expr
    scope: Scope
    divided: str


def _products(context: Context, given: ast.expr, scope: Scope, depth: int) -> Iterator[_Product]:
    """Yield the products by a temperature that an expression is, or has been before it was masked."""
    node = written(context, given, scope)
    if depth > _DEPTH:
        return
    if isinstance(node, ast.Name):
        yield from _of_name(context, node, scope, depth)
    elif isinstance(node, ast.Call) and last_word(node.func) == "where" and len(node.args) == 3:
        for one in node.args[1:]:
            yield from _products(context, one, scope, depth + 1)
    elif isinstance(node, ast.Call) and last_word(node.func) == "multiply" and len(node.args) == 2:
        for factor, other in (node.args, node.args[::-1]):
            if _warm(context, factor, scope):
                yield _Product(node, factor, scope, f"{ast.unparse(other)} / {ast.unparse(factor)}")
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"astype", "set"}:
        yield from _products(context, node.func.value, scope, depth + 1)
    elif isinstance(node, ast.Subscript):
        yield from _products(context, node.value, scope, depth + 1)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for factor in operands(node, ast.Mult):
            if _warm(context, factor, scope):
                yield _Product(node, factor, scope, _divided(node, factor))
                return


def _of_name(context: Context, node: ast.Name, scope: Scope, depth: int) -> Iterator[_Product]:
    """Yield the products that a variable was multiplied by in place, or that stand in for a parameter of a helper."""
    value = scope.module.values.get(node)
    last: ast.AST | None = None
    for name in context.bodies.names(scope).get(node.id, ()):
        if isinstance(name.ctx, ast.Store) and name.lineno < node.lineno:
            last = around(context, scope).get(name)
    if isinstance(last, ast.AugAssign):
        if isinstance(last.op, ast.Mult) and _warm(context, last.value, scope):
            yield _Product(last, last.value, scope, f"{node.id} = {node.id} / {ast.unparse(last.value)}")
    elif isinstance(value, Item) and isinstance(value.base, Call) and last_word(value.base.node.func) == "top_k":
        if value.base.node.args:
            yield from _products(context, value.base.node.args[0], scope, depth + 1)
    elif isinstance(value, Param) and last is None and value.function is scope.function:
        for caller in callers_of(context, value.function):
            handed = argument(caller.node, position(value), value.name)
            if handed is not None and not caller.value.starred and not in_test(caller.scope):
                yield from _products(context, handed, caller.scope, depth + 1)


def _warm(context: Context, factor: ast.expr, scope: Scope) -> bool:
    """Say whether a factor is a temperature, and not one over it under the same name."""
    word = entry_word(factor) if isinstance(factor, ast.Name | ast.Attribute | ast.Subscript) else ""
    if not _TEMPERATURE.search(word) or _INVERSE.search(word):
        return False
    return not isinstance(factor, ast.Name) or not context.bodies.stores(scope, word)


def _divided(product: ast.BinOp, factor: ast.expr) -> str:
    rest = [ast.unparse(one) for one in operands(product, ast.Mult) if one is not factor]
    return f"{' * '.join(rest)} / {ast.unparse(factor)}"


_BAD = """\
import jax


def sample(key, logits, temperature):
    return jax.random.categorical(key, logits * temperature, axis=-1)
"""

_CONTRASTIVE = """\
import jax.numpy as jnp
import optax


def info_nce(a, b, temperature=0.07):
    logits = a @ b.T * temperature
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
"""

RULE = lint_rule(
    "NNX962",
    "times-temperature",
    "logits that are multiplied by a temperature before one of them is drawn, or by one below 1 before a loss",
    why="""\
A temperature divides the logits: near 0 the greatest is drawn for certain, and the higher it is, the more even are the
chances. Multiplied by it the logits do the opposite, without an error, and only 1 gives what is meant. A contrastive
loss whose similarities are multiplied by 0.07 stays near the logarithm of the number of pairs, whatever they are.
""",
    source="EricGuo5513/momask-codes pull request 28; measured: at 0.1 the likeliest is drawn in 12% instead of 96%",
    severity="error",
    check=_check,
    bad=(_BAD, _CONTRASTIVE),
    clean=(
        _BAD.replace("logits * temperature", "logits / temperature"),
        _CONTRASTIVE.replace("b.T * temperature", "b.T / temperature"),
    ),
)
