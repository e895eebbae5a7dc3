"""NNX691: a sampler of a diffusion that adds noise to its result."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors
from codemods.nnx.lint.ascending_sampler import ascending_samplers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, in_test, written
from codemods.nnx.lint.steps_alpha import under_root
from codemods.nnx.lint.syntax import constant, entry_word, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Call

_BETAS = pattern(r"^_?betas?(_t)?$", re.I)
_ALPHAS = pattern(r"alpha", re.I)
_NORMAL = frozenset({"jax.random.normal", "numpy.random.normal", "numpy.random.randn"})
# what may leave the noise out where it has no place
_CHOOSING = frozenset(
    {"where", "select", "cond", "switch", "minimum", "clip", "sign", "zeros", "zeros_like", "heaviside", "astype"}
)
_FACTORS = 2  # the root of the variance and the noise


def _check(context: Context) -> Iterator[Finding]:
    modules = {m for m in context.asked.modules if m.source.mentions(b"beta") and m.source.mentions(b"normal")}
    for scope, node in each(context, ast.BinOp) if modules else ():
        if not isinstance(node.op, ast.Add) or scope.module not in modules or scope.function is None or in_test(scope):
            continue
        for mean, noise in ((node.left, node.right), (node.right, node.left)):
            parts = list(factors(written(context, noise, scope)))
            roots = [one for one in parts if _of_beta(under_root(context, one, scope))]
            drawn = [one for one in parts if one not in roots and _drawn(context, one, scope)]
            if len(parts) != _FACTORS or len(roots) != 1 or len(drawn) != 1 or not _reverse(context, mean, scope):
                continue
            if not _chosen(context, scope) and _to_zero(context, scope):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    "the last step, at t = 0, adds noise as well: what is sampled is noisy",
                    "leave it out there: jnp.where(t > 0, jnp.sqrt(betas[t]), 0.0) * noise",
                )

    for scope, mean, step in ascending_samplers(context):
        yield finding(
            RULE.code,
            scope,
            mean,
            f"`{step}` counts up from zero: the sampler begins with the step that takes the least noise away, and ends "
            "with the one that adds the most",
            f"count down: {step} = num_steps - 1 - i, or reversed(range(num_steps))",
        )


def _of_beta(node: ast.expr | None) -> bool:
    """Say whether something is the variance that one step has, chosen by the step."""
    return isinstance(node, ast.Subscript) and _BETAS.search(entry_word(node)) is not None


def _drawn(context: Context, node: ast.expr, scope: Scope) -> bool:
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else node
    value = scope.module.values.get(made) if made is not None else None
    return isinstance(value, Call) and context.flow.calls.callee_name(context.flow.here(value, scope)) in _NORMAL


def _reverse(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is the mean of the step before: something less the noise, by a root of alpha."""
    made = written(context, node, scope)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Div):
        scale, inner = made.right, made.left
    elif isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
        inner, scale = sorted((made.left, made.right), key=lambda one: not _less(written(context, one, scope)))
    else:
        return False
    names = {entry_word(one) for one in ast.walk(scale) if isinstance(one, ast.Name | ast.Attribute | ast.Subscript)}
    return _less(written(context, inner, scope)) and any(_ALPHAS.search(one) for one in names)


def _less(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def _chosen(context: Context, scope: Scope) -> bool:
    """Say whether a body decides anything by a comparison, as which step is the last one."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.Compare | ast.IfExp | ast.If | ast.Lambda):
            return True
        if isinstance(node, ast.Call) and last_word(node.func) in _CHOOSING:
            return True
    return False


def _to_zero(context: Context, scope: Scope) -> bool:
    """Say whether the functions around count the steps down to zero, and to nothing else."""
    function = scope.function
    outer = function
    while outer is not None and (above := enclosing_function(outer.scope.parent)) is not None:
        outer = above
    assert outer is not None
    nodes = [*ast.walk(outer.node)]
    if any(isinstance(one, ast.Compare) and "t" in names_in(one) for one in nodes):
        return False
    if any(isinstance(one, ast.Call) and last_word(one.func) == "fori_loop" for one in nodes):
        return any(_from_end(one) for one in context.bodies.nodes(scope)) and _from_start(nodes)
    counted = [one for one in nodes if isinstance(one, ast.Call) and last_word(one.func) in {"arange", "range"}]
    down = [one for one in counted if len(one.args) == 3 and constant(one.args[2]) == -1]
    if down:
        return all(constant(one.args[1]) == -1 for one in down)
    turned = [one for one in nodes if isinstance(one, ast.Subscript) and ast.unparse(one.slice) == "::-1"]
    turned_calls = [one for one in nodes if isinstance(one, ast.Call) and last_word(one.func) in {"reversed", "flip"}]
    inner = [one.value for one in turned] + [one.args[0] for one in turned_calls if one.args]
    return any(one in counted and len(one.args) == 1 for one in inner if isinstance(one, ast.Call))


def _from_end(node: ast.AST) -> bool:
    """Say whether a step is ``T - 1 - i`` or ``T - i - 1``, which ends at zero."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or not isinstance(node.left, ast.BinOp):
        return False
    taken = (node.left.right, node.right)
    return isinstance(node.left.op, ast.Sub) and sorted(constant(one) == 1 for one in taken) == [False, True]


def _from_start(nodes: list[ast.AST]) -> bool:
    """Say whether all loops begin at zero."""
    loops = [one for one in nodes if isinstance(one, ast.Call) and last_word(one.func) == "fori_loop" and one.args]
    return all(constant(one.args[0]) == 0 for one in loops)


_BAD = """\
import jax
import jax.numpy as jnp

betas = jnp.linspace(1e-4, 0.02, 1000)
alphas = 1.0 - betas
alpha_bars = jnp.cumprod(alphas)


def sample(model, key, x):
    def step(x, given):
        t, key = given
        mean = (x - betas[t] / jnp.sqrt(1.0 - alpha_bars[t]) * model(x, t)) / jnp.sqrt(alphas[t])
        return mean + jnp.sqrt(betas[t]) * jax.random.normal(key, x.shape), None

    return jax.lax.scan(step, x, (jnp.arange(999, -1, -1), jax.random.split(key, 1000)))[0]
"""

RULE = lint_rule(
    "NNX691",
    "noise-of-last-step",
    "a sampler of a diffusion that adds noise in its last step too, or counts its steps up",
    why="""\
Each step of the sampler gives the mean of what was a step before, and adds noise of the variance `betas[t]`, except the
last one, whose mean is the result. Noise that is added there stays: the samples are spread wider than the data, and
pictures are grainy. A sampler whose steps count up from zero ends with the step of the most noise.

The variance of the posterior, which is zero at the first step, has the same effect as leaving it
out.
""",
    source="Ho et al. 2020, algorithm 2; measured: the samples have another spread than the data",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.sqrt(betas[t]) *", "jnp.where(t > 0, jnp.sqrt(betas[t]), 0.0) *"),),
)
