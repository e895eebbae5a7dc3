"""NNX686: the mean over devices of means over what a mask leaves, of which each device has another number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Indexed
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, formula_of, in_test, resolved, written
from codemods.nnx.lint.syntax import names_in, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Item, Mapping

_MASKS = pattern(r"(^|_)(mask(s|ed)?|valid|padding|non_?pad|keep|is_token|(loss|token)_weights?)(_|$)")
_DEPTH = 3


class _Of(NamedTuple):
    """An expression, and the body that it stands in."""

    node: ast.expr
    scope: Scope


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"pmean") for module in context.asked.modules):
        return
    told: set[Scope] = set()  # the losses whose value and gradient are both averaged
    for event, name in foreign(context, "pmean"):
        if name != "jax.lax.pmean" or not event.node.args or in_test(event.scope):
            continue
        for one, scope in _parts(context, event.node.args[0], event.scope):
            mask = _masked(context, one, scope)
            if mask and (scope is event.scope or scope not in told):
                told.add(scope)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"each device divides by its own `{mask}`: a device where little counts weighs as much as one "
                    "where all does",
                    "sum before the division: jax.lax.psum(total, axis) / jax.lax.psum(count, axis)",
                )
                break


def _parts(context: Context, node: ast.expr, scope: Scope) -> list[tuple[ast.expr, Scope]]:
    """Return what a mean over devices is taken of: one value, the entries of a dict or tuple, or what a loss gives."""
    value = scope.module.values.get(node)
    if isinstance(value, Mapping) and isinstance(value.node, ast.Dict):
        return [(one, scope) for one in value.node.values]
    if isinstance(node, ast.Tuple | ast.List):
        return [part for one in node.elts for part in _parts(context, one, scope)]
    loss = _loss_of(context, node, scope)
    formula = formula_of(context, loss) if loss is not None else None
    if loss is not None and formula is not None:
        node, scope = formula.elts[0] if isinstance(formula, ast.Tuple) and formula.elts else formula, loss.scope
    given = written(context, node, scope)
    call = scope.module.values.get(given)
    if (
        not isinstance(given, ast.Call)
        or not isinstance(call, Call)
        or context.flow.calls.callee_name(context.flow.here(call, scope))
    ):
        return [(node, scope)]
    called = [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(call, scope))]
    formula = formula_of(context, called[0]) if len(called) == 1 else None
    return [(formula, called[0].scope)] if formula is not None else [(node, scope)]


def _loss_of(context: Context, node: ast.expr, scope: Scope) -> FunctionFacts | None:
    """Return the function of the project whose value or gradient something is: ``value_and_grad(loss_fn)(params)``."""
    found = resolved(context, node, scope)
    while found is not None and isinstance(found.value, Item | Indexed):
        found = context.flow.follow(found, found.value.base)
    if found is None or not isinstance(found.value, Call):
        return None
    made = context.flow.follow(found, found.value.callee)
    if not isinstance(made.value, Call) or not made.value.args:
        return None
    if context.flow.calls.callee_name(made) not in {"jax.value_and_grad", "jax.grad"}:
        return None
    called = context.flow.calls.callables(context.flow.follow(made, made.value.args[0]))
    return called[0].function if len(called) == 1 else None


def _masked(context: Context, node: ast.expr, scope: Scope) -> str:
    """Return the number of what counts, as it is written, by which the sum of that is divided; empty for others."""
    quotient = written(context, node, scope)
    if not isinstance(quotient, ast.BinOp) or not isinstance(quotient.op, ast.Div):
        return ""
    counted, added = (_summed(context, part, scope) for part in (quotient.right, quotient.left))
    if counted is None or added is None or counted.scope is not added.scope:
        return ""
    count, total, home = counted.node, added.node, counted.scope
    made = bound_once(context, home, count) if isinstance(count, ast.Name) else None
    named = {*names_in(count), *(names_in(made) if made is not None else ()), last_word(_cast(count))}
    if not any(_MASKS.search(name) for name in named) and not isinstance(_cast(made or count), ast.Compare):
        return ""
    texts = {ast.unparse(one) for factor in _factors(context, total, home) for one in (factor, _cast(factor))}
    return ast.unparse(written(context, quotient.right, scope)) if ast.unparse(_cast(count)) in texts else ""


def _factors(context: Context, node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Return the factors of what is summed up, or the condition of ``jnp.where(mask, losses, 0)``."""
    node = written(context, node, scope)
    if isinstance(node, ast.Call) and last_word(node.func) == "where" and len(node.args) == 3:
        return [node.args[0]]
    return operands(node, ast.Mult)


def _cast(node: ast.expr) -> ast.expr:
    """Return what is cast to another type."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        return node.func.value
    return node


def _summed(context: Context, node: ast.expr, scope: Scope, depth: int = 0) -> _Of | None:
    """Return what a number is the sum of, also where the sum is kept from zero, or is one of a function's results."""
    node = written(context, node, scope)
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):  # + 1e-8
        return _summed(context, node.left, scope, depth + 1) if isinstance(node.right, ast.Constant) else None
    if isinstance(node, ast.Name):
        given = _result(context, node, scope)
        return _summed(context, given.node, given.scope, depth + 1) if given is not None else None
    if not isinstance(node, ast.Call):
        return None
    word = last_word(node.func)
    if word in {"maximum", "clip"} and node.args:
        return _summed(context, node.args[0], scope, depth + 1)
    if word != "sum" or any(one.arg == "axis" for one in node.keywords) or len(node.args) > 1:
        return None
    inner = node.args[0] if node.args else getattr(node.func, "value", None)
    return _Of(inner, scope) if isinstance(inner, ast.expr) else None


def _result(context: Context, node: ast.Name, scope: Scope) -> _Of | None:
    """Return what a function of the project gives for one variable of ``total, count = sums(losses)``."""
    value = scope.module.values.get(node)
    if not isinstance(value, Item) or not isinstance(value.base, Call) or not isinstance(value.index, Const):
        return None
    called = context.flow.calls.invoked(context.flow.here(value.base, scope))
    formula = formula_of(context, called[0][0].function) if len(called) == 1 else None
    place = value.index.value
    if not isinstance(formula, ast.Tuple) or not isinstance(place, int) or not 0 <= place < len(formula.elts):
        return None
    return _Of(formula.elts[place], called[0][0].function.scope)


_BAD = """\
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, axis_name="devices")
def evaluate(losses, mask):
    loss = jnp.sum(losses * mask) / jnp.sum(mask)
    return jax.lax.pmean(loss, "devices")
"""

RULE = lint_rule(
    "NNX686",
    "mean-of-unequal-means",
    "the mean over devices of means over what a mask leaves, where each device may have another number of that",
    why="""\
Each device has other tokens or examples, and another number of padding. The mean of the devices' means gives a token of
a device with few of them more weight than one of a full device: the loss is another one with another number of devices,
and than that of all the data. Sum up what counts over the devices, and how much counts, and divide then.
""",
    source="transformers pull request 19494; measured: another loss than that of all tokens",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            """\
    loss = jnp.sum(losses * mask) / jnp.sum(mask)
    return jax.lax.pmean(loss, "devices")
""",
            """\
    total = jax.lax.psum(jnp.sum(losses * mask), "devices")
    return total / jax.lax.psum(jnp.sum(mask), "devices")
""",
        ),
    ),
)
