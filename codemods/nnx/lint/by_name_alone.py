"""NNX549: arguments by place for methods of a TrainState, which take them by name alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TRAIN_STATE
from codemods.nnx.lint.places import error_wanted, in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr

_NAMES = {"create": "apply_fn=..., params=..., tx=...", "apply_gradients": "grads=..."}
# what has a method of this name besides, and takes pairs of gradients and variables
_OPTIMIZER = pattern(r"opt(im|imi[sz]er)?$")


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"TrainState") for module in context.project.modules):
        return
    own = {name for cls in context.project.classes() for name in _NAMES if name in cls.methods}
    for event in context.bodies.named(*_NAMES):
        word = last_word(event.node.func)
        if event.scope.module not in context.asked or word in own or not event.node.args or in_test(event.scope):
            continue
        if not isinstance(event.node.func, ast.Attribute) or isinstance(event.node.args[0], ast.Starred):
            continue
        if not _of_state(context, event, word) or error_wanted(context, event):
            continue
        text = ast.unparse(event.node.func)
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{text}` takes its arguments by name alone, and gets {_number(event)} by place",
            f"write {text}({_NAMES[word]})",
        )


def _of_state(context: Context, event: CallEvent, word: str) -> bool:
    """Say whether a method is that of a TrainState, or of a class derived from it."""
    assert isinstance(event.node.func, ast.Attribute)
    if word == "apply_gradients":
        named = _OPTIMIZER.search(last_word(event.node.func.value).lower()) is not None
        return not named and len(event.node.args) == 1 and not isinstance(event.node.args[0], ast.Call)
    callee = event.value.callee
    if context.flow.calls.name(event) == f"{TRAIN_STATE}.create":
        return True
    if not isinstance(callee, Attr):
        return False
    made = context.flow.resolve(context.flow.here(callee.base, event.scope)).value
    cls = getattr(made, "facts", None)
    return cls is not None and TRAIN_STATE in context.flow.classes.mro(cls)[1]


def _number(event: CallEvent) -> str:
    return "one" if len(event.node.args) == 1 else str(len(event.node.args))


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState


def train_step(state, x):
    grads = jax.grad(lambda params: jnp.mean((x @ params["w"]) ** 2))(state.params)
    return state.apply_gradients(grads)


state = TrainState.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.sgd(0.1))
state = train_step(state, jnp.ones((2, 3)))
"""

RULE = lint_rule(
    "NNX549",
    "by-name-alone",
    "methods of a TrainState with arguments by place",
    why="""\
`TrainState.create(apply_fn=..., params=..., tx=...)` and `state.apply_gradients(grads=...)` take their arguments by
name alone: by place they raise a TypeError.
""",
    source="Flax documentation of TrainState; measured on Flax 0.10.7, 0.11.2 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("apply_gradients(grads)", "apply_gradients(grads=grads)"),),
)
