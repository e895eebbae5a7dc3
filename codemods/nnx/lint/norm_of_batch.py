"""NNX564: vectors of a batch that are divided by the norm of the whole batch before they are compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.may_be_mapped import may_be_mapped
from codemods.nnx.lint.places import each, in_test, resolved, written
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Unknown

_NORM = pattern(rb"norm\(", needs=(b"norm(",))
_LIKENESS = pattern(r"logit|sim|cos|score|(^|_)(sm|aff)")
_SHARES = frozenset({"softmax", "log_softmax", "softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"})


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_NORM)}
    told: set[ast.AST] = set()
    for scope, node in each(context, ast.BinOp) if modules else ():
        if scope.module not in modules or not isinstance(node.op, ast.MatMult) or in_test(scope):
            continue
        turned = node.right
        if (
            not isinstance(turned, ast.Attribute)
            or turned.attr not in {"T", "mT"}
            or not _compares(context, node, scope)
        ):
            continue
        for side in (*factors(node.left), turned.value):
            made, home = _made(context, side, scope)
            if made not in told and home.module in context.asked and _by_whole_norm(context, made, home):
                told.add(made)
                yield finding(
                    RULE.code,
                    home,
                    made,
                    "without an axis this is the norm of the whole batch: the vectors are not of length 1",
                    "take that of each: jnp.linalg.norm(x, axis=-1, keepdims=True)",
                )


def _made(context: Context, side: ast.expr, scope: Scope) -> tuple[ast.expr, Scope]:
    """Return the expression that made one of the compared arrays, and its body, also in a function that gives it."""
    made = written(context, side, scope)
    if isinstance(made, ast.BinOp):
        return made, scope
    found = resolved(context, side, scope)
    if found is None or found.frame is None or not isinstance(found.value, Unknown):
        return made, scope
    function, node = found.frame.function, found.value.node
    if not isinstance(node, ast.BinOp) or function.scope is scope or may_be_mapped(context, function, scope):
        return made, scope
    return node, function.scope


def _by_whole_norm(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is ``x / jnp.linalg.norm(x)``."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return False
    norm = written(context, node.right, scope)
    if isinstance(norm, ast.BinOp) and isinstance(norm.op, ast.Add):
        norm = written(context, norm.left, scope)  # with a small number
    elif isinstance(norm, ast.Call) and last_word(norm.func) in {"maximum", "clip"} and norm.args:
        norm = written(context, norm.args[0], scope)
    if not isinstance(norm, ast.Call) or last_word(norm.func) != "norm" or norm.keywords or len(norm.args) != 1:
        return False
    return ast.unparse(norm.args[0]) == ast.unparse(node.left)


def _compares(context: Context, node: ast.BinOp, scope: Scope) -> bool:
    """Say whether a product is that of all vectors with all others: it goes into a softmax, or is called so."""
    for event in context.bodies.calls.get(scope, ()):
        if last_word(event.node.func) in _SHARES:
            return True
    for statement in context.bodies.nodes(scope):
        if isinstance(statement, ast.Assign) and any(inner is node for inner in ast.walk(statement.value)):
            return any(_LIKENESS.search(ast.unparse(target).lower()) for target in statement.targets)
    name = scope.function.name.lower() if scope.function is not None else ""
    return _LIKENESS.search(name) is not None


_BAD = """\
import jax.numpy as jnp
import optax


def contrastive(a, b, temperature=0.1):
    a = a / jnp.linalg.norm(a)
    b = b / jnp.linalg.norm(b)
    logits = a @ b.T / temperature
    return optax.softmax_cross_entropy_with_integer_labels(logits, jnp.arange(len(a))).mean()
"""

RULE = lint_rule(
    "NNX564",
    "norm-of-batch",
    "vectors of a batch that are divided by the norm of the whole batch before they are compared",
    why="""\
`jnp.linalg.norm(x)` of a matrix is one number, the root of the sum of all squares. Divided by it the vectors are as
unequally long as before and much shorter: the logits lie near zero, the softmax near uniform, and the loss near the
logarithm of the batch size.
""",
    source="jax.numpy.linalg.norm; Chen and others, 2020; measured: losses that do not fall",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("norm(a)", "norm(a, axis=-1, keepdims=True)").replace(
            "norm(b)", "norm(b, axis=-1, keepdims=True)"
        ),
    ),
)
