"""NNX987: a model that is to predict noise which nothing of its input depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, functions_called, in_test
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Item

_LIBRARIES = ("jax.", "numpy.", "optax.")
_LOSSES = frozenset({"l2_loss", "squared_error", "huber_loss", "mse", "mse_loss"})


def _check(context: Context) -> Iterator[Finding]:
    draws = [event for event, name in foreign(context, "normal") if name == "jax.random.normal"]
    for event in draws:
        function = event.scope.function
        if function is None or in_test(event.scope) or not event.node.args or event.value.starred:
            continue
        homes = {*_around(event.scope)}
        others = [one for one in draws if one.scope in homes and one is not event and one.node.args]
        if any(_one_key(event, one) for one in others):
            continue  # of one key these are the same numbers
        if not others and not _drawn_by_helper(context, event, {one.scope for one in draws}):
            continue
        target = _target(context, event)
        if target is not None and _predicted(context, event, target):
            yield finding(
                RULE.code,
                event.scope,
                target,
                "what is to be predicted is drawn for the loss alone: the input of the model does not depend on it",
                "compare with the noise that was added to the input",
                related=[(event.node, "drawn here")] if target is not event.node else [],
            )


def _around(scope: Scope) -> Iterator[Scope]:
    """Yield the scopes of a function and those around it, without that of the module."""
    inner: Scope | None = scope
    while inner is not None and inner.function is not None:
        yield inner
        inner = inner.parent


def _one_key(one: CallEvent, two: CallEvent) -> bool:
    """Say whether two calls draw with the same key; one that is bound again, or comes of streams, is another."""
    values = [event.value.args[0] if event.value.args else None for event in (one, two)]
    if values[0] is None or values[1] is None:
        return True
    texts = {ast.unparse(event.node.args[0]) for event in (one, two)}
    return values[0] == values[1] or (len(texts) == 1 and not all(isinstance(v, Call | Item) for v in values))


def _drawn_by_helper(context: Context, event: CallEvent, drawing: set[Scope]) -> bool:
    """Say whether functions that are called beside a draw add noise, and none may get its key."""
    names, found = names_in(event.node.args[0]), False
    for other in context.bodies.calls.get(event.scope, ()):
        if other is event or context.flow.calls.name(other):
            continue
        for function in functions_called(context, other):
            if function.scope in drawing:
                if names & names_in(other.node):
                    return False
                found = True
    return found


def _target(context: Context, event: CallEvent) -> ast.expr | None:
    """Return where random numbers are read, or a multiple of them, if that is one place."""
    statement = event.statement
    node: ast.AST | None = event.node
    if isinstance(statement, ast.Assign):
        parents = around(context, event.scope)
        while node is not statement.value:
            node = parents.get(node) if node is not None else None
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
                continue
            if not isinstance(node, ast.UnaryOp):
                return event.node
    if not isinstance(statement, ast.Assign):
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
    value = event.scope.module.values.get(others[0]) if len(others) == 1 else None
    made = value.node if isinstance(value, Call) else None
    if made is None or not made.args:
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
