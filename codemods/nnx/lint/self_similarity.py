"""NNX929: a contrastive loss in which each example is its own best match."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.array_calls import whole_of
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import foreign, formula_of, in_test, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_HOMES = ("optax.", "jax.nn.", "flax.nnx.", "jax.scipy.special.")
_CONTRASTIVE = pattern(r"contrast|nt_?xent|info_?nce|simclr|\bpos(itive)?s?\b|negatives?", re.I)
# what takes the diagonal out, or says that it may stay
_DIAGONAL = pattern(r"\beye\b|identity|mask|fill_diagonal|diag_indices|tril|triu|\binf\b|1e9|attention", re.I)
_LOSS = "softmax_cross_entropy_with_integer_labels"
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, _LOSS, "softmax_cross_entropy", "log_softmax", "logsumexp"):
        word = "a" if last(name) == "logsumexp" else "x" if last(name) == "log_softmax" else "logits"
        logits = argument(event.node, 0, word)
        if logits is None or in_test(event.scope) or not name.startswith(_HOMES):
            continue
        if word == "logits" and last(name) != _LOSS:
            labels = argument(event.node, 1, "labels")
            made = written(context, labels, event.scope) if labels is not None else None
            if not isinstance(made, ast.Call) or last_word(made.func) != "one_hot":
                continue
        if word != "logits" and not _contrasts(event.scope):
            continue
        found = _product(context, logits, event.scope, 0)
        if found is not None:
            yield finding(
                RULE.code,
                event.scope,
                logits,
                f"the similarity of each example with itself is among the logits: `{ast.unparse(found)}` has it on its"
                " diagonal, and it is the greatest",
                "hide it: jnp.where(jnp.eye(n, dtype=bool), -1e9, similarity)",
            )


def _contrasts(scope: Scope) -> bool:
    """Say whether a function computes a contrastive loss by hand, by its words, and leaves the diagonal alone."""
    text = ast.unparse(scope.node) if scope.function is not None else ""
    return _CONTRASTIVE.search(text) is not None and not _DIAGONAL.search(text)


def _product(context: Context, node: ast.expr, scope: Scope, depth: int) -> ast.expr | None:
    """Return the product of a matrix with itself that logits are, but for a temperature."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope)
        return _product(context, made, scope, depth + 1) if made is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return _product(context, node.left, scope, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = [_product(context, one, scope, depth + 1) for one in (node.left, node.right)]
        return sides[0] or sides[1]
    if isinstance(node, ast.Call) and len(node.args) == 2 and (found := _by_helper(context, node, scope)):
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node if _transposed(node.left, node.right) else None
    if isinstance(node, ast.Call) and last_word(node.func) in {"dot", "matmul"} and len(node.args) == 2:
        return node if _transposed(*node.args) else None
    if isinstance(node, ast.Call) and last_word(node.func) == "einsum" and len(node.args) == 3:
        form = constant(node.args[0])
        same = ast.unparse(node.args[1]) == ast.unparse(node.args[2])
        if same and isinstance(form, str) and isinstance(node.args[1], ast.Name | ast.Attribute):
            first, _, rest = form.replace(" ", "").partition(",")
            second, _, result = rest.partition("->")
            sizes = len(first), len(second), len(result)
            if sizes == (2, 2, 2) and first[1] == second[1] and result == first[0] + second[0]:
                return node
    return None


def _by_helper(context: Context, node: ast.Call, scope: Scope) -> ast.expr | None:
    """Return a call ``cosine(z, z)`` of a function of the project that gives ``a @ b.T``."""
    value = scope.module.values.get(node)
    same = ast.unparse(node.args[0]) == ast.unparse(node.args[1]) and isinstance(node.args[0], ast.Name | ast.Attribute)
    if not same or not isinstance(value, Call) or value.starred:
        return None
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    function = invoked[0][0].function if len(invoked) == 1 else None
    formula = formula_of(context, function) if function is not None else None
    if function is None or not isinstance(formula, ast.BinOp) or not isinstance(formula.op, ast.MatMult):
        return None
    left, right = formula.left, formula.right
    turned = isinstance(right, ast.Attribute) and right.attr == "T" and isinstance(right.value, ast.Name)
    names = [left.id, right.value.id] if turned and isinstance(left, ast.Name) else []  # type: ignore[attr-defined]
    return node if names and names == [*function.params][:2] else None


def _transposed(one: ast.expr, other: ast.expr) -> bool:
    """Say whether one matrix is the other one transposed: ``z`` and ``z.T``."""
    if not isinstance(one, ast.Name | ast.Attribute):
        return False
    if isinstance(other, ast.Attribute) and other.attr == "T":
        return ast.unparse(other.value) == ast.unparse(one)
    if isinstance(other, ast.Call) and last_word(other.func) == "transpose":
        inner = whole_of(other)
        return inner is not None and ast.unparse(inner) == ast.unparse(one)
    return False


_BAD = """\
import jax.numpy as jnp
import optax


def nt_xent(z, labels, temperature=0.1):
    similarity = z @ z.T / temperature
    return optax.softmax_cross_entropy_with_integer_labels(similarity, labels).mean()
"""

RULE = lint_rule(
    "NNX929",
    "similarity-with-itself",
    "a contrastive loss whose logits have the similarity of each example with itself",
    why="""\
Of `z @ z.T` the diagonal is the greatest in every row. The softmax gives it nearly all, whatever the model learns; the
loss has a floor, and its gradient pushes examples from their pairs. SimCLR leaves the diagonal out.
""",
    source="Chen et al. 2020, equation 1; measured: a greater loss that cannot fall",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("z @ z.T / temperature", "jnp.where(jnp.eye(len(z), dtype=bool), -1e9, z @ z.T / temperature)"),
        _BAD.replace("(z, labels", "(z, other, labels").replace("z.T", "other.T"),
    ),
)
