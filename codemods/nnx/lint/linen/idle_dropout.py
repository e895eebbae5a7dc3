"""NNX548: training steps that give a Linen model a key for its dropout, and turn the dropout off."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.linen.modules import wanted
from codemods.nnx.lint.syntax import constant, keyword, names_in
from codemods.nnx.lint.traced import function_of
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_OFF = {"deterministic": True, "train": False, "training": False, "is_training": False}
_STEPS = frozenset({"apply_gradients", "apply_updates"})


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"rngs") for module in context.asked.modules):
        return
    steps = context.shared(_stepping)
    for event in context.bodies.named("apply", "apply_fn"):
        function = event.scope.function
        flag = _turned_off(event.node)
        if flag is None or function not in steps or _dropout_key(event.node) is None or not wanted(context, event):
            continue
        if event.node.args and set(list(function.params)[:1]) & names_in(event.node.args[0]):
            yield _found(event.scope, flag)
    for event in context.asked.calls():
        flag = _turned_off(event.node)
        if flag is None or flag.arg is None or not _steps(event.scope.function) or not wanted(context, event):
            continue
        made = context.flow.follow(context.flow.here(event.value, event.scope), event.value.callee)
        if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) not in GRADIENTS:
            continue
        if _loss_alone(event):
            continue
        losses = context.flow.calls.callables(context.flow.with_value(made, made.value.args[0]))
        if losses and all(_hands_on(one.function, flag.arg) for one in losses):
            yield _found(event.scope, flag)


def _found(scope: Scope, flag: ast.keyword) -> Finding:
    return finding(
        RULE.code,
        scope,
        flag,
        f"the step gives a key for the dropout, and turns it off with `{ast.unparse(flag)}`: nothing is dropped",
        f"a step trains with {flag.arg}={flag.arg != 'deterministic'}",
    )


def _turned_off(call: ast.Call) -> ast.keyword | None:
    """Return the argument that tells a model to drop nothing, written out: ``train=False``."""
    for one in call.keywords:
        if one.arg in _OFF and isinstance(one.value, ast.Constant) and one.value.value is _OFF[one.arg]:
            return one
    return None


def _dropout_key(call: ast.Call) -> ast.expr | None:
    """Return the key that a call gives for dropout: ``rngs={"dropout": key}``."""
    given = keyword(call, "rngs")
    if not isinstance(given, ast.Dict):
        return None
    return next((v for k, v in zip(given.keys, given.values, strict=True) if constant(k) == "dropout"), None)


def _stepping(context: Context) -> frozenset[FunctionFacts]:
    """Return the losses with whose gradients parameters are updated where these are computed."""
    return frozenset(
        root.function
        for root in context.traced.gradients
        if _steps(root.scope.function) and root.function.params and root.static == frozenset()
    )


def _steps(function: FunctionFacts | None) -> bool:
    """Say whether a function makes new parameters of gradients."""
    while function is not None:
        if any(isinstance(n, ast.Call) and last_word(n.func) in _STEPS for n in ast.walk(function.node)):
            return True
        function = function_of(function.scope.parent)
    return False


def _loss_alone(event: CallEvent) -> bool:
    """Say whether the loss alone is taken of what a call gives: ``loss, _ = value_and_grad(f)(params)``."""
    target = event.statement.targets[0] if isinstance(event.statement, ast.Assign) else None
    last = target.elts[-1] if isinstance(target, ast.Tuple) else target
    return not isinstance(last, ast.Name) or not last.id.strip("_")


def _hands_on(function: FunctionFacts, flag: str) -> bool:
    """Say whether a loss hands a flag on, and gives one of its other parameters as the key for dropout."""
    own = set(function.params)
    if flag not in own:
        return False
    calls = [n for n in ast.walk(function.node) if isinstance(n, ast.Call)]
    keys = [key for call in calls if (key := _dropout_key(call)) is not None]
    handed = any(
        one.arg is not None and isinstance(one.value, ast.Name) and one.value.id == flag
        for call in calls
        for one in call.keywords
    )
    chosen = any(isinstance(n, ast.If | ast.IfExp) and flag in names_in(n.test) for n in ast.walk(function.node))
    return bool(keys) and handed and not chosen and all(isinstance(key, ast.Name) and key.id in own for key in keys)


_BAD = """\
import jax
import optax


@jax.jit
def train_step(state, batch, key):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["x"], train=False, rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss
"""

RULE = lint_rule(
    "NNX548",
    "idle-dropout",
    "a training step that gives a Linen model a key for its dropout, and turns the dropout off",
    why="""\
A Dropout of Linen looks at its key only where it is not deterministic. A step that is given a key for the dropout, and
calls its model with `deterministic=True` or `train=False`, trains without any: no error tells of it, and the model
learns the examples by heart. The rule is silent where the parameters are not updated with the gradient.
""",
    source="Flax guide to dropout; measured on Flax 0.10.7, 0.11.2 and 0.12.8: the same loss for every key",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("train=False", "train=True"),
        _BAD.replace(', rngs={"dropout": key}', ""),
    ),
)
