"""NNX640: gradients, or steps made of them, that take the place of a model's weights."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.applied import layers
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import foreign, in_test, kinds_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Param

# a model that only holds something of the shape of its weights
_HOLDING = pattern(r"grad|step|update|delta|direction|accum|moment|velocity|tangent|cotangent|perturb|noise", re.I)
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "update"):
        if name != "flax.nnx.update" or len(event.value.args) != 2 or event.value.starred or in_test(event.scope):
            continue
        if kinds_of(context, event.value.args[0], event.scope) != {Kind.MODULE}:
            continue
        if _HOLDING.search(last_word(event.node.args[0])) or context.bodies.guarded(event.node, event.scope):
            continue
        what = _step(context, context.flow.here(event.value.args[1], event.scope), 0)
        if what:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"nnx.update puts {what} in the place of the weights, and does not move the weights by them",
                "add them: nnx.update(model, jax.tree.map(lambda p, g: p - lr * g, params, grads)), or let an "
                "nnx.Optimizer do it",
            )


def _step(context: Context, bound: Bound, depth: int) -> str:
    """Return what gradients or steps a value certainly is; empty if it may be weights."""
    sources = list(context.sources.originals(bound)) if depth < _DEPTH else []
    found = {_made(context, one, depth) for one in sources}
    return found.pop() if len(found) == 1 else ""


def _made(context: Context, one: Bound, depth: int) -> str:
    value = one.value
    if _gradient(context, one):
        return "gradients"
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        whole = context.flow.resolve(context.flow.with_value(one, value.base))
        updated = whole.value
        if index != Const(0) or not isinstance(updated, Call) or not isinstance(updated.callee, Attr):
            return ""
        base = context.flow.with_value(whole, updated.callee.base)
        made = updated.callee.name == "update" and context.kinds.of(base) == {Kind.TRANSFORM}
        return "the updates of optax" if made else ""
    if not isinstance(value, Call) or value.starred or context.flow.calls.callee_name(one) not in TREE_MAPS:
        return ""
    callees = context.flow.calls.callables(context.flow.with_value(one, value.args[0])) if value.args else []
    trees = value.args[1:]
    for callee in callees if len(callees) == 1 else ():
        params = list(callee.function.params.values())
        scaled = _scaled(callee.function)
        if scaled is None or scaled not in params or len(params) != len(trees):
            return ""
        tree = context.flow.with_value(one, trees[params.index(scaled)])
        return "scaled gradients" if _step(context, tree, depth + 1) else ""
    return ""


def _gradient(context: Context, one: Bound) -> bool:
    """Say whether a value is a gradient, and not what a loss returns beside its value."""
    value, place = one.value, None
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        place = index.value if isinstance(index, Const) else -1
        one = context.flow.resolve(context.flow.with_value(one, value.base))
        value = one.value
    if not isinstance(value, Call):
        return False
    for layer in layers(context, context.flow.with_value(one, value.callee)):
        made = layer.value
        name = last(context.flow.calls.wrapper_name(layer, made)) if isinstance(made, Call) else ""
        if name in {"grad", "value_and_grad"} and isinstance(made, Call):
            known = not made.starred and all(word is not None for word, _ in made.keywords)
            pair = made.keyword("has_aux") is not None
            wanted = 1 if name == "value_and_grad" else 0 if pair else None
            return known and place == wanted and len(made.args) < 2 and made.keyword("argnums") is None
        if name not in {"jit", "remat", "checkpoint"}:
            return False
    return False


def _scaled(function: FunctionFacts) -> Param | None:
    """Return the one parameter of which a function gives a multiple, and that is all it reads of its parameters."""
    node = function.node
    if isinstance(node, ast.Lambda):
        body: ast.expr | None = node.body
    else:
        statements = [one for one in node.body if not isinstance(one, ast.Expr)]
        only = statements[0] if len(statements) == 1 else None
        body = only.value if isinstance(only, ast.Return) else None
    if body is None:
        return None
    read = [n.id for n in ast.walk(body) if isinstance(n, ast.Name) and n.id in function.params]
    allowed = (ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute, ast.Constant, ast.Mult, ast.Div, ast.USub, ast.Load)
    if len(read) != 1 or not all(isinstance(n, allowed) for n in ast.walk(body)):
        return None
    return function.params[read[0]]


_RIGHT = """\
import jax
import jax.numpy as jnp
from flax import nnx


def loss_fn(model, x):
    return jnp.mean(model(x) ** 2)


@nnx.jit
def step(model, x, rate):
    params = nnx.state(model, nnx.Param)
    grads = nnx.grad(loss_fn)(model, x)
    nnx.update(model, jax.tree.map(lambda p, g: p - rate * g, params, grads))


step(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), jnp.ones((4, 2)), 0.1)
"""

RULE = lint_rule(
    "NNX640",
    "step-for-state",
    "nnx.update gets gradients, or steps made of them, where it wants new weights",
    why="""\
`nnx.update(model, state)` writes the values of a state over those of the model; it is no update of an optimizer. With
gradients, with `-lr * grads` or with what `tx.update(...)` of optax gives, the weights become that, and all that was
learned is gone, without any error.
""",
    source="flax discussions on training without nnx.Optimizer; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(_RIGHT.replace("p - rate * g", "-rate * g"),),
    clean=(_RIGHT,),
)
