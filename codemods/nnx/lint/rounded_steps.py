"""NNX947: weights, averages or counts of half precision that are moved by steps which it rounds away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.average_begun import average_begun
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.kept_precision import Kept, Place
from codemods.nnx.lint.learning_rates import greatest_rate
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.places import foreign, formula_of, in_test
from codemods.nnx.lint.rounded_counts import rounded_counts
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Function, Ref, Unknown, Value

_SMALL = 1e-3  # a step of Adam, beside which a weight of 0.5 is more than 256 times as large
_SLOW = 0.01  # the greatest share of the new weights in a slow average
# where rounding is made up for, or another copy is kept
_MENDED = pattern(
    rb"master|stochastic.?round|kahan|compensat|fp32_params|params_fp32|full_precision",
    re.I,
    needs=(b"master", b"stochastic", b"kahan", b"compensat", b"fp32", b"full_precision"),
)


def _check(context: Context) -> Iterator[Finding]:
    sources = [module.source.data for module in context.project.modules]
    if not any(b"bfloat16" in data or b"float16" in data for data in sources):
        return
    kept = Kept(context)
    told: set[ast.AST] = set()
    for event, params, rate in (*_optimized(context), *_by_hand(context)):
        if in_test(event.scope) or event.scope.module.source.matches(_MENDED):
            continue
        place = kept.half(params)
        if place is None or place[1] in told or place[0].module not in context.asked or in_test(place[0]):
            continue
        if not place[0].module.source.matches(_MENDED):
            told.add(place[1])
            yield _found(
                place,
                f"the weights are kept in half precision: steps of {rate:g} are lost in its rounding",
                "keep them in float32 and compute in half precision: dtype=jnp.bfloat16, param_dtype=jnp.float32",
            )
    for event, average, share in _averages(context, kept):
        made = kept.half(average) or (event.scope, event.node)
        place = average_begun(context, average.value, event) if made[1] not in told else None
        place = place or made
        if place[1] not in told and place[0].module in context.asked and not in_test(place[0]):
            told.add(place[1])
            yield _found(
                place,
                f"the average is kept in half precision: {share:.1g} of a difference is lost in its rounding",
                "keep it in float32: jax.tree.map(lambda p: p.astype(jnp.float32), params)",
            )
    for scope, node, exact in rounded_counts(context):
        if node not in told:
            told.add(node)
            yield _found(
                (scope, node),
                f"this count is kept in half precision, which tells whole numbers apart up to {exact} only",
                "count in integers: jnp.zeros((), jnp.int32)",
            )


def _found(place: Place, problem: str, help: str) -> Finding:
    return finding(RULE.code, place[0], place[1], problem, help)


def _optimized(context: Context) -> Iterator[tuple[CallEvent, Bound, float]]:
    """Yield the places where an optimizer of small steps gets its parameters or model, with the size of a step."""
    for event in context.bodies.named("init"):
        if event.scope.module in context.asked and isinstance(event.value.callee, Attr) and len(event.value.args) == 1:
            yield from _small(context, event, event.value.callee.base, event.value.args[0])
    for event, name in foreign(context, "Optimizer", "ModelAndOptimizer"):
        model, tx = event.value.argument(0, "model"), event.value.argument(1, "tx")
        wrt = event.value.argument(2, "wrt")
        chosen = context.flow.resolve(context.flow.here(wrt, event.scope)).value if wrt is not None else None
        if name.startswith("flax.nnx.") and model and tx and chosen in (None, Ref("flax.nnx.Param")):
            yield from _small(context, event, tx, model)
    for event in context.bodies.named("create"):
        tx, params = event.value.keyword("tx"), event.value.keyword("params")
        if event.scope.module in context.asked and tx is not None and params is not None:
            yield from _small(context, event, tx, params)


def _by_hand(context: Context) -> Iterator[tuple[CallEvent, Bound, float]]:
    """Yield the steps that ``jax.tree.map(lambda p, g: p - 1e-4 * g, params, grads)`` takes, as optimizers do."""
    for event, name in foreign(context, "map", "tree_map"):
        args = event.value.args
        if name not in TREE_MAPS or len(args) != 3:
            continue
        mapped = context.flow.resolve(context.flow.here(args[0], event.scope)).value
        formula = formula_of(context, mapped.facts) if isinstance(mapped, Function) else None
        if (
            not isinstance(mapped, Function)
            or not isinstance(formula, ast.BinOp)
            or not isinstance(formula.op, ast.Sub)
        ):
            continue
        params = list(mapped.facts.params)
        if len(params) != 2 or not isinstance(formula.left, ast.Name) or formula.left.id != params[0]:
            continue
        name, rate = _weighted(context, formula.right, params, mapped.facts.scope)
        if name == params[1] and rate is not None and 0 < rate <= _SMALL and params[0] not in names_in(formula.right):
            yield event, context.flow.here(args[1], event.scope), rate


def _small(context: Context, event: CallEvent, tx: Value, params: Value) -> Iterator[tuple[CallEvent, Bound, float]]:
    rate = greatest_rate(context, context.flow.here(tx, event.scope))
    if rate is not None and 0 < rate <= _SMALL:
        yield event, context.flow.here(params, event.scope), rate


def _averages(context: Context, kept: Kept) -> Iterator[tuple[CallEvent, Bound, float]]:
    """Yield the updates of slow averages of half precision, each with the average and the share of the new weights."""
    for event, name in foreign(context, "map", "tree_map", "incremental_update"):
        if in_test(event.scope) or event.scope.module.source.matches(_MENDED):
            continue
        args = event.value.args
        if name == "optax.incremental_update":
            new, old, size = (
                event.value.argument(*one) for one in enumerate(("new_tensors", "old_tensors", "step_size"))
            )
            rates = numbers(context, size, event.scope)
            if new is None or old is None or not rates or not 0 < max(rates) <= _SLOW:
                continue
            pair, share, keeps = (old, new), float(max(rates)), False
        elif name in TREE_MAPS and len(args) == 3:
            mapped = context.flow.resolve(context.flow.here(args[0], event.scope)).value
            step = _step(context, mapped.facts) if isinstance(mapped, Function) else None
            if step is None:
                continue
            place, share, keeps = step
            pair = (args[1], args[2]) if place == 0 else (args[2], args[1])
        else:
            continue
        average, weights = (context.flow.here(one, event.scope) for one in pair)
        if kept.half(average) is not None and (keeps or kept.half(weights) is not None):
            yield event, average, share


def _step(context: Context, function: FunctionFacts) -> tuple[int, float, bool] | None:
    """Return which argument of a function is a slow average, the share of the other, and whether its type is kept."""
    formula, params = formula_of(context, function), list(function.params)
    if formula is None or len(params) != 2 or "float32" in (text := ast.unparse(function.node)):
        return None
    keeps = ".dtype" in text
    while isinstance(formula, ast.Call) and isinstance(formula.func, ast.Attribute) and formula.func.attr == "astype":
        formula = formula.func.value
    if not isinstance(formula, ast.BinOp) or not isinstance(formula.op, ast.Add | ast.Sub):
        return None
    for one, other in ((formula.left, formula.right), (formula.right, formula.left)):
        name, decay = _weighted(context, one, params, function.scope)
        if name and decay is not None and 1 - _SLOW <= decay < 1 and names_in(other) & (set(params) - {name}):
            return params.index(name), 1 - decay, keeps
        if isinstance(one, ast.Name) and one.id in params and isinstance(other, ast.BinOp):  # e + rate * (p - e)
            for side, rest in ((other.left, other.right), (other.right, other.left)):
                rates = numbers(context, function.scope.module.values.get(side), function.scope)
                rates = rates or numbers(context, Unknown(side), function.scope)
                if rates and 0 < max(rates) <= _SLOW and set(params) <= names_in(rest):
                    return params.index(one.id), float(max(rates)), keeps
    return None


def _weighted(context: Context, node: ast.expr, params: list[str], scope: Scope) -> tuple[str, float | None]:
    """Return the parameter that a term is, and the number that it is multiplied by."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            names = names_in(one) & set(params)
            if len(names) == 1 and isinstance(one, ast.Name | ast.Call | ast.Attribute | ast.Subscript):
                rates = numbers(context, scope.module.values.get(other) or Unknown(other), scope)
                return next(iter(names)), max(rates, default=None)
    return "", None


_BAD = """\
import jax
import jax.numpy as jnp
import optax


def loss(params, x, y):
    return jnp.mean(((x @ params["w"]).astype(jnp.float32) - y) ** 2)


params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), {"w": jnp.ones((4, 2))})
optimizer = optax.adam(1e-4)
state = optimizer.init(params)
for _ in range(3):
    grads = jax.grad(loss)(params, jnp.ones((8, 4), jnp.bfloat16), jnp.zeros((8, 2)))
    updates, state = optimizer.update(grads, state, params)
    params = optax.apply_updates(params, updates)
print(params)
"""

RULE = lint_rule(
    "NNX947",
    "rounded-steps",
    "weights or an average in half precision that small steps hardly move",
    why="""\
bfloat16 has eight bits of a number: beside 1 it knows nothing finer than 1/128. A step of `optax.adam(1e-4)`, or the
thousandth of a difference that a slow average takes, is smaller than half of that for all but the smallest weights, and
is rounded away. The weights stand still, or the average does, without an error. Keep them in float32 and cast a copy
for the forward pass, as `dtype=jnp.bfloat16` of the layers does.
""",
    source="Micikevicius et al. 2018, section 3.1; measured: the loss stays where it was",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("p.astype(jnp.bfloat16)", "p.astype(jnp.float32)"),),
)
