"""NNX987: a model that is to predict noise which nothing of its input depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.nodes import last_word

_LIBRARIES = ("jax.", "numpy.", "optax.")
_LOSSES = frozenset({"l2_loss", "squared_error", "huber_loss", "mse", "mse_loss"})


def _check(context: Context) -> Iterator[Finding]:
    draws = [event for event, name in foreign(context, "normal") if name == "jax.random.normal"]
    for event in draws:
        function = event.scope.function
        if function is None or in_test(event.scope) or not event.node.args or event.value.starred:
            continue
        others = [one for one in draws if one.scope is event.scope and one is not event and one.node.args]
        key = ast.unparse(event.node.args[0])
        if not others or any(ast.unparse(one.node.args[0]) == key for one in others):
            continue  # of one key these are the same numbers
        target = _target(event)
        if target is not None and _predicted(context, event, target):
            yield finding(
                RULE.code,
                event.scope,
                target,
                "what is to be predicted is drawn for the loss alone: the input of the model does not depend on it",
                "compare with the noise that was added to the input",
                related=[(event.node, "drawn here")] if target is not event.node else [],
            )


def _target(event: CallEvent) -> ast.expr | None:
    """Return where random numbers are read, if that is one place."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return event.node
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    name = statement.targets[0].id
    named = [n for n in ast.walk(event.scope.node) if isinstance(n, ast.Name) and n.id == name]
    reads = [n for n in named if isinstance(n.ctx, ast.Load)]
    return reads[0] if len(reads) == 1 and len(named) == 2 else None


def _predicted(context: Context, event: CallEvent, target: ast.expr) -> bool:
    """Say whether a place is compared with what a model of the project gives."""
    outer = around(context, event.scope).get(target)
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Sub):
        others = [outer.left if outer.right is target else outer.right]
    elif isinstance(outer, ast.Call) and last_word(outer.func) in _LOSSES:
        others = [one for one in outer.args if one is not target]
    else:
        return False
    made = written(context, others[0], event.scope) if len(others) == 1 else None
    if not isinstance(made, ast.Call) or not made.args:
        return False
    calls = context.bodies.calls.get(event.scope, ())
    return any(one.node is made and not context.flow.calls.name(one).startswith(_LIBRARIES) for one in calls)


_BAD = """\
import jax
import jax.numpy as jnp


def loss_fn(model, key, images, alphas):
    time_key, noise_key, target_key = jax.random.split(key, 3)
    t = jax.random.randint(time_key, (len(images),), 0, len(alphas))
    noise = jax.random.normal(noise_key, images.shape)
    noisy = jnp.sqrt(alphas[t]) * images + jnp.sqrt(1 - alphas[t]) * noise
    target = jax.random.normal(target_key, images.shape)
    return jnp.mean((model(noisy, t) - target) ** 2)
"""

RULE = lint_rule(
    "NNX987",
    "random-target",
    "a loss that compares a prediction with numbers which are drawn for it alone",
    why="""\
A diffusion model learns the noise that was added to its input. Noise that is drawn again with another key has nothing
to do with that: the best prediction is zero, the loss stays at its variance, and samples stay noise.
""",
    source="Ho et al. 2020, algorithm 1; measured: the loss stays at 1",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("- target) ** 2", "- noise) ** 2").replace(
            "    target = jax.random.normal(target_key, images.shape)\n", ""
        ),
    ),
)
