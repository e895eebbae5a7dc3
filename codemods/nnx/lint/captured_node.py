"""NNX584: transforms of NNX that are given an object from outside of what a transform around them traces."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import COMPILING, last
from codemods.nnx.lint.places import by_reference, in_test, jit_of, kinds_of
from codemods.nnx.lint.syntax import root_of
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Call, Free

_TAKING = frozenset({"flax.nnx.grad", "flax.nnx.value_and_grad", "flax.nnx.vmap", "flax.nnx.scan"})
_OBJECTS = ({Kind.MODULE}, {Kind.OPTIMIZER}, {Kind.METRIC})
_TREES = (b"graph_mode", b"graph_updates", b"graph=")  # objects as plain trees have no identity that could be lost
_LOOPS = {"map": "scan", "checkpoint": "remat"}  # what NNX calls otherwise


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(one.source.mentions(b"nnx") for one in modules):
        return
    if any(by_reference(one) or any(word in one.source.data for word in _TREES) for one in modules):
        return
    seen: set[ast.AST] = set()
    for root in (*context.traced.roots, *context.traced.gradients):
        scope = root.function.scope
        if root.transform in COMPILING or not root.certain or scope.module not in context.asked or in_test(scope):
            continue  # of what compiled code captures NNX801 speaks
        for event in context.bodies.calls.get(scope, ()):
            if event.node in seen or event.value.starred:
                continue
            held = _captured(context, event)
            word = _transform(context, event) if held else ""
            if held and word and not context.bodies.guarded(event.node, scope):
                seen.add(event.node)
                yield finding(
                    RULE.code,
                    scope,
                    event.node,
                    f"`{ast.unparse(held)}` comes from outside of what {_named(root)} traces: {word} refuses an object "
                    "of another trace level",
                    _help(root, held),
                    related=[(root.node, "traced here")] if root.scope.module is scope.module else [],
                )


def _named(root: Root) -> str:
    return root.transform.replace("jax.numpy.", "jnp.").replace("flax.nnx.", "nnx.")


def _help(root: Root, held: ast.expr) -> str:
    word = last(root.transform)
    own = f"nnx.{_LOOPS.get(word, word)}"
    return f"give `{ast.unparse(held)}` to {own} as an argument, or split it and merge a copy inside"


def _captured(context: Context, event: CallEvent) -> ast.expr | None:
    """Return what a call is given of the objects around the function that it stands in."""
    values = event.scope.module.values
    for node in (*event.node.args, *(word.value for word in event.node.keywords)):
        if not isinstance(node, ast.Name | ast.Attribute) or node not in values:
            continue
        if isinstance(values.get(root_of(node)), Free) and kinds_of(context, values[node], event.scope) in _OBJECTS:
            return node
    return None


def _transform(context: Context, event: CallEvent) -> str:
    """Return the transform of NNX whose function a call calls; empty for other calls."""
    callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope))
    name = context.flow.calls.callee_name(callee) if isinstance(callee.value, Call) else ""
    if name in _TAKING:
        return name.replace("flax.nnx.", "nnx.")
    roots = jit_of(context, event)
    return "nnx.jit" if roots and all(one.transform == "flax.nnx.jit" for one in roots) else ""


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


def loss_fn(model, x):
    return jnp.mean(model(x) ** 2)


def total_loss(model, batches):
    def body(total, batch):
        loss, grads = nnx.value_and_grad(loss_fn)(model, batch)
        return total + loss, grads

    return jax.lax.scan(body, 0.0, batches)


print(total_loss(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((4, 2, 3))))
"""

RULE = lint_rule(
    "NNX584",
    "captured-node",
    "nnx.grad and the like, given a model from outside of the loop or vmap that they stand in",
    why="""\
`nnx.grad`, `nnx.vmap`, `nnx.scan` and `nnx.jit` write back what has changed in the objects that they are given. In the
body of `jax.lax.scan`, or in what `jax.vmap` maps, they cannot: the object is from outside. Flax raises a ValueError
(`Cannot extract graph node from different trace level`) or a TraceContextError, whether the model has state or not. The
object has to come in as an argument of a transform of NNX, or as a state that is merged inside.
""",
    source="JAX issue 30092, Flax issue 5113; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "    def body",
            "    graphdef, state = nnx.split(model)\n\n    def body",
        ).replace("        loss,", "        model = nnx.merge(graphdef, state, copy=True)\n        loss,"),
        _BAD.replace("nnx.value_and_grad(loss_fn)(model, batch)", "loss_fn(model, batch), 0.0"),
    ),
)
