"""NNX565: optimizers by hand whose second moment is one of bare gradients, or that step along the gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.known_formulas import Wrong, wrong_forms
from codemods.nnx.lint.old_moments import old_moments
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.syntax import taken_apart
from codemods.nnx.lint.templates import Term, terms
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_GRADIENT = pattern(r"^(g|dw|grads?|gradients?|g_t|d_?params?)$")
_SECOND = pattern(r"^(v|nu|s|sq|second|v_t|sq_avg|square_avg|exp_avg_sq|cache|rms)\w{0,4}$")
# words that begin as second moments do
_OTHER = pattern(r"^(val(ue|s)?|vec|vel|velo|var|vars|vs|score|seq|size|scale|state|step|shift|sum|src|sign|sub|sol)$")
_WEIGHTS = pattern(r"^(p|w|b|x|theta|params?|weights?|param_\w+)$")
_ROOT = pattern(rb"sqrt\(", needs=(b"sqrt(",))
_WORD = pattern(rb"\bg\b|grad", needs=(b"g",))


_WRONG = (
    Wrong(
        ("V/(1 - B**T)",),
        "the second moment is corrected by the decay of the first: the first steps are much too small",
        "v / (1 - beta2**t)",
        (b"**", b"2"),
        named={"V": _SECOND, "B": pattern(r"(^|[._])b(eta)?_?1$")},
        unlike={"V": _OTHER},
    ),
)


def _check(context: Context) -> Iterator[Finding]:
    for told in wrong_forms(context, RULE.code, _WRONG):
        if not _of_first_moment(context, told):
            yield told
    for scope, entry, name in old_moments(context):
        words = f"the new `{name}` is computed and used, and the old one handed on: every step begins with the first"
        yield finding(RULE.code, scope, entry, words, f"return `{name}`")
    modules = {module for module in context.asked.modules if module.source.matches(_WORD)}
    if not modules:
        return
    averages: dict[Scope, dict[str, float]] = {}
    for scope, node in each(context, ast.Assign):
        if scope.module not in modules or scope.function is None or len(node.targets) != 1 or in_test(scope):
            continue
        for target, value in taken_apart(node.targets[0], node.value):
            if not isinstance(target, ast.Name):
                continue
            weight = _average(target.id, value)
            if weight is None:
                continue
            averages.setdefault(scope, {})[target.id] = weight
            if scope.module.source.matches(_ROOT) and _rooted(context, scope, target.id):
                yield finding(
                    RULE.code,
                    scope,
                    value,
                    f"`{target.id}` averages the gradients, and its root is taken: that of their squares is meant",
                    "square the gradient in it: g**2",
                )
    for scope, step in each(context, ast.BinOp):
        if scope in averages and isinstance(step.op, ast.Add):
            yield from _steps(scope, step, averages[scope])


def _of_first_moment(context: Context, told: Finding) -> bool:
    """Say whether a form stands in a function that is mapped over a tree which is not called as second moments are:
    ``jax.tree.map(lambda v: v / (1 - b1**t), m)``."""
    source = next(module.source for module in context.asked.modules if module.source.path == told.path)
    for call in source.of_type(ast.Call):
        if last_word(call.func) not in {"map", "tree_map"} or len(call.args) < 2:
            continue
        mapped, trees = call.args[0], call.args[1:]
        start, end = source.span(mapped)
        if isinstance(mapped, ast.Lambda) and start <= told.start < end:
            given = zip(mapped.args.args, trees, strict=False)
            called = [_called(tree) for one, tree in given if _SECOND.search(one.arg)]
            return bool(called) and not any(word == "" or _SECOND.search(word) for word in called)
    return False


def _called(tree: ast.expr) -> str:
    """Return what a tree is called, also in a dict: ``v`` of ``state.v`` and of ``state["v"]``."""
    if isinstance(tree, ast.Subscript) and isinstance(tree.slice, ast.Constant) and isinstance(tree.slice.value, str):
        return tree.slice.value
    return last_word(tree)


def _average(name: str, value: ast.expr) -> float | None:
    """Return the sign of the gradient in ``v = beta * v + (1 - beta) * g``; None for anything else."""
    if not isinstance(value, ast.BinOp):
        return None
    parts = terms(value)
    old = [one for one in parts if _has(one, name)]
    new = [one for one in parts if one not in old]
    if len(parts) != 2 or len(old) != 1:
        return None
    given = [one for one in new[0].factors if _GRADIENT.search(last_word(one.node))]
    if len(given) != 1 or given[0].power != 1 or len(new[0].factors) > _FACTORS or not old[0].number > 0:
        return None
    return new[0].number


def _has(term: Term, name: str) -> bool:
    return any(isinstance(one.node, ast.Name) and one.node.id == name and one.power == 1 for one in term.factors)


def _rooted(context: Context, scope: Scope, name: str) -> bool:
    """Say whether the root of a variable is taken that is called as second moments are, perhaps corrected before."""
    if not _SECOND.search(name):
        return False
    for event in context.bodies.calls.get(scope, ()):
        if last_word(event.node.func) != "sqrt" or not event.node.args:
            continue
        given = [event.node.args[0]]
        given += [_set(context, n, scope) for n in ast.walk(given[0]) if isinstance(n, ast.Name)]
        if any(isinstance(n, ast.Name) and n.id == name for one in given for n in ast.walk(one)):
            return True
    return False


def _set(context: Context, name: ast.Name, scope: Scope) -> ast.expr:
    """Return what a variable was set to, also beside others."""
    made = written(context, name, scope)
    if made is not name:
        return made
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            for target, value in taken_apart(node.targets[0], node.value):
                if isinstance(target, ast.Name) and target.id == name.id:
                    return value
    return name


def _steps(scope: Scope, node: ast.BinOp, averages: dict[str, float]) -> Iterator[Finding]:
    """Yield steps that add the average of the gradients to the weights."""
    parts = terms(node)
    if len(parts) != 2:
        return
    weights = [one for one in parts if len(one.factors) == 1 and _WEIGHTS.search(last_word(one.factors[0].node))]
    moved = [one for one in parts if one not in weights]
    if len(weights) != 1 or weights[0].number != 1 or len(moved[0].factors) > _FACTORS:
        return
    for name, weight in averages.items():
        if _has(moved[0], name) and moved[0].number * weight > 0:
            if isinstance(weights[0].factors[0].node, ast.Name) and weights[0].factors[0].node.id == name:
                continue
            yield finding(
                RULE.code,
                scope,
                node,
                f"`{name}` is an average of the gradients: added to the weights, the loss rises",
                f"subtract it: {ast.unparse(weights[0].factors[0].node)} - rate * {name}",
            )


_FACTORS = 3
_BAD = """\
import jax.numpy as jnp


def rmsprop(p, g, v, rate=1e-3):
    v = 0.9 * v + 0.1 * g
    return p - rate * g / (jnp.sqrt(v) + 1e-8), v
"""

RULE = lint_rule(
    "NNX565",
    "own-moments",
    "an optimizer by hand with a second moment of bare gradients, or a step along the gradient",
    why="""\
RMSProp and Adam divide by the root of an average of squared gradients. The average of the gradients themselves has both
signs, and its root is NaN where it is negative. With momentum the weights go against the average of the gradients.
""",
    source="Kingma and Ba, 2015, algorithm 1; measured: NaN, and losses that rise",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("+ 0.1 * g\n", "+ 0.1 * g**2\n"),),
)
