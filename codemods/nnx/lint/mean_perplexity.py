"""NNX963: the mean of perplexities of batches, where that of all tokens is wanted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.perplexity_metric import averaged_metrics
from codemods.nnx.lint.places import in_test, scopes
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_WORD = pattern(r"ppls?($|_)|perplexit", re.I)
_MEANS = frozenset({"mean", "fmean", "average", "nanmean"})
_WRAPPING = frozenset({"float", "item", "array", "asarray", "stack", "device_get"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, node, name in averaged_metrics(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"of `{name}` the mean over the batches is taken, which is greater than the perplexity of all together",
            "take the mean of the losses alone, and then its exponential",
        )
    for scope in scopes(context):
        mentions = scope.module.source.mentions
        if mentions(b"exp(") and (mentions(b"ppl") or mentions(b"erplex")) and not in_test(scope):
            for node, name in _collected(context, scope):
                if _averaged(context, scope, name) and not _kept(context, scope, name):
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"the mean of `{name}` is greater than the perplexity of all batches together",
                        "add up the losses, and take the exponential of their mean",
                    )


def _collected(context: Context, scope: Scope) -> Iterator[tuple[ast.AST, str]]:
    """Yield the exponentials that a loop adds to a list or a sum of perplexities, with its name."""
    for loop in context.bodies.nodes(scope):
        if isinstance(loop, ast.Assign) and isinstance(loop.targets[0], ast.Name) and _WORD.search(loop.targets[0].id):
            if isinstance(loop.value, ast.ListComp) and _exponential(loop.value.elt):
                yield loop.value, loop.targets[0].id
        if not isinstance(loop, ast.For | ast.While):
            continue
        made = {
            node.targets[0].id
            for statement in loop.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _exponential(node.value)
        }
        for node in (inner for statement in loop.body for inner in ast.walk(statement)):
            name, given = _added(node)
            if not _WORD.search(name):
                continue
            if given is not None and (_exponential(given) or (names_in(given) & made and _wrapped(given))):
                yield node, name


def _added(node: ast.AST) -> tuple[str, ast.expr | None]:
    """Return the name of a list or a sum to which a statement adds something, and what it adds."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
        return node.target.id, node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        if isinstance(node.func.value, ast.Name) and len(node.args) == 1:
            return node.func.value.id, node.args[0]
    return "", None


def _wrapped(node: ast.expr) -> bool:
    """Say whether an expression is a name, or one as a Python number."""
    while isinstance(node, ast.Call) and last_word(node.func) in _WRAPPING:
        node = node.args[0] if node.args else node.func
    return isinstance(node, ast.Name)


def _exponential(node: ast.expr) -> bool:
    """Say whether an expression is the exponential of something: ``float(jnp.exp(loss))``."""
    while isinstance(node, ast.Call) and last_word(node.func) in _WRAPPING:
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        if inner is None:
            return False
        node = inner
    return isinstance(node, ast.Call) and last_word(node.func) == "exp" and len(node.args) == 1


def _kept(context: Context, scope: Scope, name: str) -> bool:
    """Say whether code takes a list of perplexities otherwise too: they may be those of texts, one by one."""
    above = around(context, scope)
    for node in context.bodies.names(scope).get(name, ()):
        outer = above.get(node)
        if isinstance(node.ctx, ast.Store) or isinstance(outer, ast.BinOp | ast.AugAssign):
            continue
        if isinstance(outer, ast.Attribute) and outer.attr == "append":
            continue
        if isinstance(outer, ast.Call) and last_word(outer.func) in _MEANS | _WRAPPING | {"sum", "fsum", "len"}:
            continue
        return True
    return False


def _averaged(context: Context, scope: Scope, name: str) -> bool:
    """Say whether code divides the sum of a list, or a sum itself, or takes its mean."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left = node.left
            if isinstance(left, ast.Call) and last_word(left.func) in {"sum", "fsum"} and left.args:
                left = left.args[0]
            if isinstance(left, ast.Name) and left.id == name:
                return True
        elif isinstance(node, ast.Call) and last_word(node.func) in _MEANS and node.args:
            if _wrapped(node.args[0]) and name in names_in(node.args[0]):
                return True
    return False


_BAD = """\
import jax.numpy as jnp


def evaluate(loss_of, batches):
    ppls = []
    for batch in batches:
        ppls.append(jnp.exp(loss_of(batch)))
    return sum(ppls) / len(ppls)
"""

_CLEAN = """\
import jax.numpy as jnp


def evaluate(loss_of, batches):
    losses = []
    for batch in batches:
        losses.append(loss_of(batch))
    return jnp.exp(sum(losses) / len(losses))
"""

RULE = lint_rule(
    "NNX963",
    "mean-of-perplexities",
    "the mean of perplexities of batches, where that of all tokens is wanted",
    why="""\
The perplexity is the exponential of the mean loss of all tokens. A mean of exponentials is never less, and one hard
batch alone decides it: a result that depends on the size and the order of the batches.
""",
    source="alexiglad/EBT pull request 3; measured: 72812 instead of 23 with two hard batches of eight",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_CLEAN,),
)
