"""NNX629: training steps whose dropout draws with a key of the state that no step changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import SAME
from codemods.nnx.lint.linen.modules import wanted
from codemods.nnx.lint.names import TRAIN_STATE
from codemods.nnx.lint.origins import bound_once
from codemods.nnx.lint.syntax import argument, constant, keyword
from codemods.nnx.nodes import last_word

_CHANGING = ("replace", "_replace", "apply_gradients")
_DROPPING = (b"Dropout", b"dropout_rate", b"make_rng")


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(m.source.mentions(b"apply_gradients") for m in modules):
        return
    if not any(m.source.mentions(word) for m in modules for word in _DROPPING):
        return
    for event in context.bodies.named("apply", "apply_fn"):
        given = keyword(event.node, "rngs")
        if not isinstance(given, ast.Dict) or not wanted(context, event):
            continue
        for name, node in zip(given.keys, given.values, strict=True):
            found = _part(context, node, event.scope) if constant(name) != "params" else None
            if found is None:
                continue
            step, part = found
            state = part.value.id if isinstance(part.value, ast.Name) else ""
            if _steps(context, step, state) and _never_changed(context, part.attr):
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"no step changes `{ast.unparse(part)}`, and the dropout draws the same masks in each",
                    f"jax.random.fold_in({ast.unparse(part)}, {state}.step)",
                )


def _part(context: Context, node: ast.expr, scope: Scope) -> tuple[FunctionFacts, ast.Attribute] | None:
    """Return the attribute of a parameter that a key is, or is split from, with the function that has the parameter."""
    at: Scope | None = scope
    while at is not None and at.function is not None:
        if isinstance(node, ast.Name):
            if node.id in at.function.params:
                return None
            node = bound_once(context, at, node) or _unpacked(context, at, node) or node
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            node = node.value
        if isinstance(node, ast.Call) and last_word(node.func) == "split":
            node = argument(node, 0, "key") or node
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in at.function.params:
                return at.function, node
        elif not isinstance(node, ast.Name):
            return None
        at = at.parent
    return None


def _unpacked(context: Context, scope: Scope, name: ast.Name) -> ast.expr | None:
    """Return the call of ``split`` of whose keys the only assignment of a variable takes one."""
    stores = context.bodies.stores(scope, name.id)
    above = around(context, scope)
    target = above.get(stores[0]) if len(stores) == 1 else None
    statement = above.get(target) if isinstance(target, ast.Tuple | ast.List) else None
    made = statement.value if isinstance(statement, ast.Assign) else None
    return made if isinstance(made, ast.Call) and last_word(made.func) == "split" else None


def _steps(context: Context, function: FunctionFacts, state: str) -> bool:
    """Say whether a function takes a step with a state that it is given, and does not bind its name before."""
    for event in context.bodies.calls.get(function.scope, ()):
        func = event.node.func
        if isinstance(func, ast.Attribute) and func.attr == "apply_gradients":
            if isinstance(func.value, ast.Name) and func.value.id == state:
                stores = context.bodies.stores(function.scope, state)
                return all(one.lineno >= event.statement.lineno for one in stores)
    return False


def _never_changed(context: Context, name: str) -> bool:
    """Say whether an attribute is a field of a TrainState that nothing in the project ever replaces."""
    if SAME.search(name):
        return False
    owners = [cls for cls in context.project.classes() if name in cls.fields]
    if not owners or any(TRAIN_STATE not in context.flow.classes.mro(cls)[1] for cls in owners):
        return False
    if any("apply_gradients" in cls.methods for cls in owners):
        return False
    for event in context.bodies.named(*_CHANGING):
        if any(key is None or key == name for key, _ in event.value.keywords):
            return False
    return True


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax.training import train_state


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dropout(0.5, deterministic=False)(nn.Dense(4)(x))


class State(train_state.TrainState):
    key: jax.Array


@jax.jit
def step(state, x):
    def loss(params):
        return state.apply_fn({"params": params}, x, rngs={"dropout": state.key}).mean()

    return state.apply_gradients(grads=jax.grad(loss)(state.params))


net, x = Net(), jnp.ones((1, 3))
params = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x)["params"]
state = State.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(2))
for _ in range(3):
    state = step(state, x)
"""

RULE = lint_rule(
    "NNX629",
    "linen-same-masks",
    "a key of the training state that is the same at every step, for dropout",
    why="""\
A key in a TrainState stays as it is: `apply_gradients` changes the parameters, the state of the optimizer and the
count of steps. A dropout that draws with it drops the same units in every step, and these never learn. Fold the number
of the step into the key, or put a new key into the state.
""",
    source="Flax guide to dropout, which folds in the step; measured on Flax 0.10.7 and 0.12.8: equal masks",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace('"dropout": state.key', '"dropout": jax.random.fold_in(state.key, state.step)'),),
)
