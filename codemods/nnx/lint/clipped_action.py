"""NNX530: clipped actions that are kept with the log-probability of what was drawn."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_RATIO = pattern(rb"(?<![a-z])ratios?\s*(?::[^=\n]*)?=\s*[\w.]*exp\(", re.I, needs=(b"ratio",))
# distributions of which no sample lies outside, and bounds that keep their logarithm finite
_BOUNDED = pattern(rb"squash|Tanh|Transformed|bijector|Beta\(|TruncatedNormal|truncated_normal",
                   needs=(b"squash", b"tanh", b"transformed", b"bijector", b"beta(", b"truncated"))  # fmt: skip
_CLOSE = pattern(r"1e-|eps|0?\.99|tiny", re.I)
_LOGARITHM = pattern(r"log_?probs?|log_?pi|logpdf|log_?likelihood|gaussian_log_?prob\w*|\w*_log_?prob", re.I)
_DRAWING = frozenset({"normal", "sample", "multivariate_normal"})
_CLIP = frozenset({"jax.numpy.clip", "numpy.clip", "jax.lax.clamp"})


def _check(context: Context) -> Iterator[Finding]:
    modules = {
        module
        for module in context.asked.modules
        if module.source.matches(_RATIO) and not module.source.matches(_BOUNDED)
    }
    for event, name in foreign(context, "clip") if modules else ():
        if name not in _CLIP or event.scope.module not in modules or event.scope.function is None:
            continue
        drawn, scope = event.node.args[0] if event.node.args else None, event.scope
        if not isinstance(drawn, ast.Name) or in_test(scope) or _CLOSE.search(ast.unparse(event.node)):
            continue
        clipped = _target(context, scope, event.node)
        if not clipped or clipped == drawn.id or not _is_drawn(context, scope, drawn):
            continue
        logarithm = _only_logarithm(context, scope, drawn, event.node)
        kept = _together(context, scope, clipped, logarithm) if logarithm else None
        if kept is not None:
            yield finding(
                RULE.code,
                scope,
                kept,
                f"`{clipped}` is kept beside the log-probability of `{drawn.id}`: for clipped actions the ratio of new "
                "and old probabilities is not 1 to begin with",
                f"keep {drawn.id}, and clip only what the environment gets",
            )


def _target(context: Context, scope: Scope, node: ast.AST) -> str:
    """Return the variable that gets a value, if no other statement sets it."""
    above = around(context, scope).get(node)
    if not isinstance(above, ast.Assign) or len(above.targets) != 1 or not isinstance(above.targets[0], ast.Name):
        return ""
    name = above.targets[0].id
    return name if len(context.bodies.stores(scope, name)) == 1 else ""


def _is_drawn(context: Context, scope: Scope, name: ast.Name) -> bool:
    """Say whether a variable is a sample: ``dist.sample(seed=key)``, ``mean + std * jax.random.normal(key, ...)``."""
    made = bound_once(context, scope, name)
    return made is not None and any(isinstance(n, ast.Call) and last(_word(n)) in _DRAWING for n in ast.walk(made))


def _word(call: ast.Call) -> str:
    return last_word(call.func)


def _only_logarithm(context: Context, scope: Scope, drawn: ast.Name, clip: ast.Call) -> str:
    """Return the variable of the log-probability of a sample that nothing else is done with, but to clip it."""
    found: set[str] = set()
    above = around(context, scope)
    for read in context.bodies.reads(scope, drawn.id):
        call = above.get(read)
        if isinstance(call, ast.keyword):
            call = above.get(call)
        if call is clip:
            continue
        if not isinstance(call, ast.Call) or not _LOGARITHM.fullmatch(_word(call)):
            return ""
        outer: ast.AST | None = call
        while outer is not None and not isinstance(outer, ast.stmt):
            outer = above.get(outer)
        if not isinstance(outer, ast.Assign) or len(outer.targets) != 1 or not isinstance(outer.targets[0], ast.Name):
            return ""
        found.add(outer.targets[0].id)
    name = found.pop() if len(found) == 1 else ""
    return name if len(context.bodies.stores(scope, name)) == 1 else ""


def _together(context: Context, scope: Scope, clipped: str, logarithm: str) -> ast.expr | None:
    """Return the tuple, dict or record that holds two variables, or the call that stores them."""
    for node in context.bodies.nodes(scope):
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.Tuple):
            parts = [*node.elts]
        elif isinstance(node, ast.Dict):
            parts = [*node.values]
        elif isinstance(node, ast.Call) and last_word(node.func) not in {"print", "info", "debug"}:
            parts = [*node.args, *(one.value for one in node.keywords)]
        names = {one.id for one in parts if isinstance(one, ast.Name)}
        if isinstance(node, ast.expr) and {clipped, logarithm} <= names:
            return node
    return None


_GOOD = """\
import jax
import jax.numpy as jnp


def log_prob(mean, std, action):
    return jnp.sum(-0.5 * ((action - mean) / std) ** 2 - jnp.log(std), axis=-1)


def act(params, obs, key):
    mean, std = obs @ params["w"], jnp.exp(params["log_std"])
    drawn = mean + std * jax.random.normal(key, mean.shape)
    logp = log_prob(mean, std, drawn)
    return drawn, logp


def loss(params, batch):
    logp = log_prob(batch["obs"] @ params["w"], jnp.exp(params["log_std"]), batch["action"])
    ratio = jnp.exp(logp - batch["logp"])
    return -jnp.minimum(ratio * batch["adv"], jnp.clip(ratio, 0.8, 1.2) * batch["adv"]).mean()
"""
RULE = lint_rule(
    "NNX530",
    "clipped-action",
    "clipped actions that are kept with the log-probability of what was drawn",
    why="""\
The loss of PPO compares the log-probability of an action now with that of when it was drawn. If the action is clipped
in between, and the clipped one is kept, the two are of different actions: the ratio is not 1 before the first update,
and may be of any size for actions far outside.
""",
    source="Schulman and others, 2017, proximal policy optimization; measured: ratios beyond 2 before any update",
    check=_check,
    bad=(_GOOD.replace("return drawn, logp", "action = jnp.clip(drawn, -1.0, 1.0)\n    return action, logp"),),
    clean=(_GOOD,),
)
