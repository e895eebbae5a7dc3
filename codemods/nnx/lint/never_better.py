"""NNX699: a best value that begins where nothing can be better."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import assignments, constant, entry_word, taken_apart, written_number
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_BEST = pattern(
    rb"best|lowest|highest|minimum|patience", needs=(b"best", b"lowest", b"highest", b"minimum", b"patience")
)
_LOSS = pattern(r"(^|_)(loss|losses|mse|mae|rmse|err|error|perplexity|ppl|cross_entropy|xent)(_|$)|loss$")
_SHARE = pattern(r"(^|_)(acc|accuracy|acc1|top1|f1|auc|auroc|recall|precision|iou|miou)(_|$)")
# where losses may well be negative
_NEGATIVE = pattern(
    rb"elbo|log_?prob|log_?lik|log_?pdf|nll|logpdf|policy|actor|critic|reward|wasserstein|energy|-\s*jnp"
)
_FAR = 1e6


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_BEST)}
    for scope, node in each(context, ast.If) if modules else ():
        if scope.module not in modules or in_test(scope):
            continue
        for best, value, smaller in _compared(node.test):
            if not _kept(node, best, value) or not _in_loop(context, scope, node):
                continue
            begun = _begun(context, scope, node, best)
            if begun is None:
                continue
            worst = _worst(scope, best, value, smaller, begun)
            if worst:
                yield finding(RULE.code, scope, node.test, *worst, related=[(begun, "begun here")])
                continue
            reason = _never(scope, best, value, smaller, begun)
            if reason:
                yield finding(
                    RULE.code,
                    scope,
                    node.test,
                    f"`{best.id}` begins as {ast.unparse(begun)}: {reason}, and nothing is ever kept",
                    f"begin with {'' if smaller else '-'}jnp.inf",
                    related=[(begun, "begun here")],
                )


def _compared(test: ast.expr) -> Iterator[tuple[ast.Name, ast.expr, bool]]:
    """Yield what a condition compares: the variable for the best, the new value, and whether less is better."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    for part in parts:
        if not isinstance(part, ast.Compare) or len(part.ops) != 1:
            continue
        less = isinstance(part.ops[0], ast.Lt | ast.LtE)
        if less or isinstance(part.ops[0], ast.Gt | ast.GtE):
            for best, value, turned in (
                (part.comparators[0], part.left, False),
                (part.left, part.comparators[0], True),
            ):
                if isinstance(best, ast.Name):
                    yield best, value, less != turned


def _kept(node: ast.If, best: ast.Name, value: ast.expr) -> bool:
    """Say whether the new value becomes the best where the condition holds."""
    text = ast.unparse(value)
    for statement in node.body:
        for one in ast.walk(statement):
            if not isinstance(one, ast.Assign) or len(one.targets) != 1:
                continue
            if any(
                isinstance(t, ast.Name) and t.id == best.id and _same(v, text)
                for t, v in taken_apart(one.targets[0], one.value)
            ):
                return True
    return False


def _same(node: ast.expr, text: str) -> bool:
    while isinstance(node, ast.Call) and len(node.args) == 1 and last_word(node.func) in {"float", "int"}:
        node = node.args[0]
    return ast.unparse(node) in {text, text.removeprefix("float(").removesuffix(")")}


def _in_loop(context: Context, scope: Scope, node: ast.If) -> bool:
    return any(isinstance(block, ast.For | ast.While) for block, _ in context.bodies.paths(scope).get(node, ()))


def _begun(context: Context, scope: Scope, node: ast.If, best: ast.Name) -> ast.expr | None:
    """Return the number that the best begins with, if it is given one once, before the loop."""
    stores = context.bodies.stores(scope, best.id)
    inner = {one for statement in node.body for one in ast.walk(statement)}
    outer = [one for one in stores if one not in inner]
    if len(outer) != 1 or outer[0].lineno > node.lineno or best.id in scope.globals or best.id in scope.remote:
        return None
    for statement in context.bodies.nodes(scope):
        for target, value in assignments(statement):
            if target is outer[0]:
                return value
    return None


def _number(node: ast.expr) -> float | None:
    """Return a number that is written out, also an infinite one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return -inner if inner is not None else None
    if isinstance(node, ast.Attribute) and node.attr in {"inf", "infty"} and isinstance(node.value, ast.Name):
        return math.inf
    if isinstance(node, ast.Call) and last_word(node.func) == "float" and len(node.args) == 1:
        text = constant(node.args[0])
        if isinstance(text, str) and text.lower().strip("+-") in {"inf", "infinity"}:
            return -math.inf if text.startswith("-") else math.inf
    return written_number(node)


def _never(scope: Scope, best: ast.Name, value: ast.expr, smaller: bool, begun: ast.expr) -> str:
    """Return why no value is better than the first; empty if one may be."""
    number = _number(begun)
    if number is None:
        return ""
    words = (best.id.lower(), entry_word(value).lower())
    if smaller and number <= -_FAR:
        return "no value is smaller"
    if not smaller and number >= _FAR:
        return "no value is greater"
    if smaller and number == 0 and any(map(_LOSS.search, words)) and not scope.module.source.matches(_NEGATIVE):
        return "no loss is smaller"
    if not smaller and number == 1 and any(map(_SHARE.search, words)):
        return "no share is greater than 1"
    return ""


def _worst(scope: Scope, best: ast.Name, value: ast.expr, smaller: bool, begun: ast.expr) -> tuple[str, str] | None:
    """Return what to tell of a best value that is the worst: the greatest loss, or the smallest accuracy."""
    number = _number(begun)
    words = (best.id.lower(), entry_word(value).lower())
    if number is None or "best" not in best.id.lower() or any("worst" in word for word in words):
        return None
    kind, other = (_SHARE, _LOSS) if smaller else (_LOSS, _SHARE)
    if not any(map(kind.search, words)) or any(map(other.search, words)) or abs(number) < _FAR:
        return None
    if (number > 0) is not smaller or (not smaller and scope.module.source.matches(_NEGATIVE)):
        return None
    what = "smallest share" if smaller else "greatest loss"
    return (
        f"`{best.id}` keeps the {what}, which is the worst",
        "compare the other way round, and begin at the other end",
    )


_BAD = """\
from flax import nnx


def train(model, step, evaluate, epochs):
    best_loss, best = 0.0, None
    for _ in range(epochs):
        step(model)
        loss = evaluate(model)
        if loss < best_loss:
            best_loss, best = loss, nnx.clone(model)
    return best
"""

RULE = lint_rule(
    "NNX699",
    "never-better",
    "a best value that begins where no other can be better",
    why="""\
Whoever keeps the least loss has to begin with one that is greater than all, and whoever keeps the greatest accuracy
with one that is less. The other way round nothing is ever kept, or what is worst, patience runs out at once, and what
is restored is the beginning. Losses count as never negative unless the file speaks of likelihoods, policies or
energies.
""",
    source="Keras's EarlyStopping, which begins with inf or -inf by its mode; measured: nothing is kept",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("best_loss, best = 0.0", 'best_loss, best = float("inf")'),),
)
