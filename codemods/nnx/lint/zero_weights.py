"""NNX989: a network of several layers whose weights all begin at zero."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word

_WEIGHT = re.compile(r"^(w|weights?|kernels?|dense|fc|hidden|out(put)?)(_?\d+|_\w+)?$", re.I)
_NAMED = re.compile(r"init|params|weights|network|mlp", re.I)
# what is only a template, is filled elsewhere, or is told apart by noise
_OTHERWISE = re.compile(
    rb"load|restore|checkpoint|pretrained|perturb|evolution|posterior|numpyro|blackjax|langevin|lora|unravel|eval_shape",
    re.I,
)
_NOT_LEARNED = re.compile(r"grad|accum|moment|veloc|opt|state|zeros|like|ema|mean|var", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.Dict):
        if _ours(scope) and (linked := _linked(node)) is not None and _kept(context, scope, node):
            yield _found(scope, linked)
    for scope, comprehension in each(context, ast.ListComp):
        if _ours(scope) and _kept(context, scope, comprehension):
            zeros = _of_sizes(comprehension)
            if zeros is not None:
                yield _found(scope, zeros)


def _found(scope: Scope, node: ast.expr) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        "all weights begin at zero: the units of a layer stay equal, and the layers before it learn nothing",
        "draw the weights: jax.random.normal(key, shape) / jnp.sqrt(shape[0]); only biases may begin at zero",
    )


def _ours(scope: Scope) -> bool:
    data = scope.module.source.data
    return b"grad(" in data and not _OTHERWISE.search(data) and not in_test(scope)


def _kept(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression makes what a model learns, by the names of what gets it."""
    name = scope.function.name if scope.function is not None else ""
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.Assign) and one.value is node:
            names = [last_word(target) for target in one.targets]
            return any(_NAMED.search(word) and not _NOT_LEARNED.search(word) for word in names)
        if isinstance(one, ast.Return) and one.value is node:
            return _NAMED.search(name) is not None and not _NOT_LEARNED.search(name)
    return False


def _zero_matrix(node: ast.expr) -> tuple[str, str] | None:
    """Return the two sizes of a matrix of zeros."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "zeros" or not node.args:
        return None
    shape = node.args[0]
    if not isinstance(shape, ast.Tuple) or len(shape.elts) != 2 or constant(shape.elts[0]) == 1:
        return None
    return ast.unparse(shape.elts[0]), ast.unparse(shape.elts[1])


def _linked(node: ast.Dict) -> ast.expr | None:
    """Return the first of two layers of zeros, if a dict holds no other weights."""
    found: list[tuple[ast.expr, tuple[str, str]]] = []
    for key, value in zip(node.keys, node.values, strict=True):
        word = constant(key)
        if not isinstance(word, str):
            return None
        if isinstance(value, ast.Call) and last_word(value.func) in {"zeros", "ones"}:
            sizes = _zero_matrix(value)
            if sizes is not None and _WEIGHT.search(word):
                found.append((value, sizes))
        else:
            return None
    for one, (_, width) in found:
        if any(one is not other and first == width for other, (first, _) in found):
            return one
    return None


def _of_sizes(node: ast.ListComp) -> ast.expr | None:
    """Return the matrix of zeros of each layer, where a list has one for each two sizes that follow each other."""
    if len(node.generators) != 1:
        return None
    target, over = node.generators[0].target, node.generators[0].iter
    if not isinstance(target, ast.Tuple) or not isinstance(over, ast.Call) or last_word(over.func) != "zip":
        return None
    cuts = [ast.unparse(one) for one in over.args]
    if len(cuts) != 2 or not cuts[0].endswith("[:-1]") or cuts[1] != cuts[0].replace("[:-1]", "[1:]"):
        return None
    calls = [n for n in ast.walk(node.elt) if isinstance(n, ast.Call)]
    if any(last_word(call.func) not in {"zeros", "ones"} for call in calls):
        return None
    sizes = tuple(ast.unparse(one) for one in target.elts)
    return next((call for call in calls if _zero_matrix(call) == sizes), None)


_BAD = """\
import jax
import jax.numpy as jnp


def init_params(width, hidden):
    return {
        "w1": jnp.zeros((width, hidden)),
        "b1": jnp.zeros(hidden),
        "w2": jnp.zeros((hidden, 1)),
    }


def loss_fn(params, x, y):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] - y) ** 2)


params = init_params(2, 8)
grads = jax.grad(loss_fn)(params, jnp.ones((4, 2)), jnp.ones((4, 1)))
"""

RULE = lint_rule(
    "NNX989",
    "zero-weights",
    "a network of several layers whose weights all begin at zero",
    why="""\
The gradient of each layer is a product with the weights of the next, and with what the one before gives. Where all are
zero, so are all gradients but those of the last bias, for ever. A model with one layer may begin at zero, and the last
layer may, or one of the two matrices of a low rank.
""",
    source="Goodfellow et al. 2016, section 8.4; measured: the gradients of all weights are 0",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.zeros((width, hidden))", "jax.random.normal(jax.random.key(0), (width, hidden))"),),
)
