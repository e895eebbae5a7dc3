"""What comes next, taken by ``jnp.roll`` or the like: behind the last step comes the first one; part of NNX566."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, entry_word, operands, written_number
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_VALUES = pattern(r"^(v|q|vs|values?|vals|v_?t|baselines?|critic_\w+|(\w+_)?values?|v_preds?|q_\w+)$")
_DISCOUNT = pattern(r"^_?(gammas?|discounts?|discount_\w+|gamma_\w+)$")
_ENDS = pattern(r"done|term|mask|alive|cont|end|last|trunc|reset|discounts")
_AFTER = pattern(r"last_v|v_last|value_last|last_q|final_v|bootstrap|last_obs|final_obs|next_obs|value_next|end_v")


def next_of_first(context: Context) -> Iterator[tuple[Scope, ast.expr, ast.expr]]:
    """Yield the calls ``jnp.roll(values, -1)``, or of the same effect, that a discount multiplies, with the values.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "roll", "concatenate", "append"):
        if not name.startswith(("jax.numpy.", "numpy.")) or event.scope.function is None or in_test(event.scope):
            continue
        values = _turned_round(event.node)
        if values is None or not _VALUES.search(entry_word(values)):
            continue
        uses = [_product(context, event.scope, one) for one in _uses(context, event.scope, event.node)]
        if uses and all(_DISCOUNT.search(word) for word in _discounts(uses)) and _counts(context, event.scope, uses):
            yield event.scope, event.node, values


def _turned_round(call: ast.Call) -> ast.expr | None:
    """Return x of ``roll(x, -1)`` and ``concatenate([x[1:], x[:1]])``; None of anything else."""
    if last_word(call.func) == "roll":
        return argument(call, 0, "a") if written_number(argument(call, 1, "shift")) == -1 else None
    whole = call.args[0] if call.args else None
    listed = whole.elts if isinstance(whole, ast.List | ast.Tuple) else []
    joined = call.args if last_word(call.func) == "append" else listed
    if len(joined) < 2 or not all(isinstance(one, ast.Subscript) for one in joined[:2]):
        return None
    later, first = joined[:2]
    if not isinstance(later, ast.Subscript) or not isinstance(first, ast.Subscript):
        return None
    ends = ast.unparse(later.slice) == "1:" and ast.unparse(first.slice) in {":1", "0"}
    return later.value if ends and ast.unparse(later.value) == ast.unparse(first.value) else None


def _uses(context: Context, scope: Scope, call: ast.Call) -> list[ast.expr]:
    """Return where the result of a call is read: the call itself, or the variable that it is given to."""
    statement = around(context, scope).get(call)
    if not isinstance(statement, ast.Assign):
        return [call]
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name):
        return []
    if len(context.bodies.stores(scope, target.id)) > 1:
        return []  # the last one may have been put right
    return [*context.bodies.reads(scope, target.id)]


def _product(context: Context, scope: Scope, node: ast.expr) -> list[ast.expr]:
    """Return the factors of the whole product that something stands in."""
    above, whole = around(context, scope), node
    while isinstance(outer := above.get(whole), ast.BinOp) and isinstance(outer.op, ast.Mult):
        whole = outer
    return operands(whole, ast.Mult)


def _discounts(uses: list[list[ast.expr]]) -> list[str]:
    """Return for each product its factor that is a discount, or another one."""
    words = [[last_word(factor) for factor in factors] for factors in uses]
    return [next((word for word in some if _DISCOUNT.search(word)), "") for some in words]


def _counts(context: Context, scope: Scope, uses: list[list[ast.expr]]) -> bool:
    """Say whether the value behind the last step matters: it is not cut off, nor zero because all ends there."""
    nodes = context.bodies.nodes(scope)
    for node in nodes:
        if isinstance(node, ast.Subscript) and any(_last(part) for part in ast.walk(node.slice)):
            return False
    ended = any(_ENDS.search(ast.unparse(factor)) for factors in uses for factor in factors)
    if not ended:
        return True
    words = {n.id if isinstance(n, ast.Name) else n.attr for n in nodes if isinstance(n, ast.Name | ast.Attribute)}
    return any(_AFTER.search(word) for word in (*words, *(scope.function.params if scope.function else ())))


def _last(node: ast.AST) -> bool:
    """Say whether a part of an index counts from the end."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
