"""NNX563: a gradient penalty by another gradient, or another norm, than that of each sample."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.penalty_norms import penalty_norms
from codemods.nnx.lint.places import each, in_test, resolved, written
from codemods.nnx.lint.syntax import constant, entry_word, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Function

_GRADIENT = pattern(rb"grad\b", needs=(b"grad",))
_NORMS = frozenset({"global_norm", "norm", "sqrt"})
_APPLYING = frozenset({"apply", "call", "forward"})
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    modules = {module for module in context.asked.modules if module.source.matches(_GRADIENT)}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if scope.module not in modules or not isinstance(node.op, ast.Sub) or constant(node.right) != 1:
            continue
        norm = written(context, node.left, scope)
        if in_test(scope) or not isinstance(norm, ast.Call) or last_word(norm.func) not in _NORMS:
            continue
        taken = _gradient(context, norm, scope, 0)
        if taken is not None and (_of_weights(taken) or _by_parameters(context, taken, scope)):
            yield finding(
                RULE.code,
                scope,
                taken,
                "the penalty is on the gradient by the weights, and not by what the critic is given",
                "differentiate by the samples: jax.grad(lambda x: critic(x).sum())(mixed)",
            )
        else:
            yield from penalty_norms(context, RULE.code, node, norm, scope)


def _gradient(context: Context, node: ast.expr, scope: Scope, depth: int) -> ast.Call | None:
    """Return the call of ``grad(f)`` whose result an expression is a norm of."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and (_differentiating(inner) or _decorated(context, inner, scope)) is not None:
            return inner
        if isinstance(inner, ast.Name) and depth < _DEPTH:
            made = written(context, inner, scope)
            if made is not inner:
                found = _gradient(context, made, scope, depth + 1)
                if found is not None:
                    return found
    return None


def _differentiating(taken: ast.Call) -> ast.Call | None:
    """Return ``grad(f)`` of a call of that, or of ``vmap(grad(f))``."""
    made = taken.func
    if isinstance(made, ast.Call) and last_word(made.func) == "vmap" and made.args:
        made = made.args[0]
    return made if isinstance(made, ast.Call) and last_word(made.func) == "grad" else None


def _by_parameters(context: Context, taken: ast.Call, scope: Scope) -> bool:
    """Say whether ``grad(score)(params, mixed)`` is by the first argument, which are the parameters by its name."""
    if len(taken.args) < 2 or not _PARAMETERS.search(entry_word(taken.args[0])):
        return False
    function = _by_first(context, taken, scope) or _decorated(context, taken, scope)
    return function is not None and _PARAMETERS.search(next(iter(function.params), "")) is not None


def _by_first(context: Context, taken: ast.Call, scope: Scope) -> FunctionFacts | None:
    """Return the function that ``grad(f)(x)`` differentiates by its first argument, if it has a name."""
    made = _differentiating(taken)
    if made is None or not made.args or isinstance(made.args[0], ast.Lambda):
        return None
    places = keyword(made, "argnums") or (made.args[1] if len(made.args) > 1 else None)
    if places is not None and constant(places) != 0:
        return None
    found = resolved(context, made.args[0], scope)
    return found.value.facts if found is not None and isinstance(found.value, Function) else None


def _decorated(context: Context, taken: ast.Call, scope: Scope) -> FunctionFacts | None:
    """Return the function that is called if ``grad`` is its only decorator: its first argument is the one by which."""
    value = scope.module.values.get(taken.func) if isinstance(taken.func, ast.Name) else None
    reached = context.flow.calls.callables(context.flow.here(value, scope)) if value is not None else []
    if len(reached) != 1 or not reached[0].gradient or isinstance(reached[0].function.node, ast.Lambda):
        return None
    marks = [last_word(one) for one in reached[0].function.node.decorator_list]
    return reached[0].function if marks == ["grad"] else None


_PARAMETERS = pattern(r"(^|_)(params?|parameters|weights|variables|theta|phi)(_|$)", re.I)


def _of_weights(taken: ast.Call) -> bool:
    """Say whether a function is differentiated by the model that it calls, or by the parameters that it applies."""
    made = _differentiating(taken)
    places = keyword(made, "argnums") if made is not None else None
    if made is None or not made.args or (places is not None and constant(places) != 0):
        return False
    function = made.args[0]
    if not isinstance(function, ast.Lambda) or not function.args.args:
        return False
    name = function.args.args[0].arg
    for call in ast.walk(function.body):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        if isinstance(call.func, ast.Name) and call.func.id == name:
            return True
        first = isinstance(call.args[0], ast.Name) and call.args[0].id == name
        if first and len(call.args) > 1 and (last_word(call.func) in _APPLYING or "apply" in last_word(call.func)):
            return True
    return False


_BAD = """\
import jax.numpy as jnp
import optax
from flax import nnx


def penalty(critic, mixed):
    grads = nnx.grad(lambda model: model(mixed).sum())(critic)
    return (optax.global_norm(grads) - 1) ** 2
"""
_WHOLE = """\
import jax
import jax.numpy as jnp


def penalty(critic, mixed):
    grads = jax.grad(lambda x: critic(x).sum())(mixed)
    return jnp.mean((jnp.linalg.norm(grads) - 1) ** 2)
"""

RULE = lint_rule(
    "NNX563",
    "weight-penalty",
    "a gradient penalty by the gradient of the weights, by that of a mean, or by one norm of all samples",
    why="""\
The penalty of Wasserstein GANs makes the critic's slope 1 along its input, at samples between real and false ones. The
gradient by the weights has another size and meaning: its norm says nothing of the slope, and the critic stays as steep
as it was. One norm of the gradients of a whole batch is as large as the slopes of all samples together, and the
gradient of a mean as many times smaller as there are samples: with either the critic gets another slope than 1.
""",
    source="Gulrajani and others, 2017, algorithm 1; measured: other penalties",
    check=_check,
    bad=(_BAD, _WHOLE),
    clean=(_WHOLE.replace("norm(grads)", "norm(grads, axis=-1)"),),
)
