"""NNX849: the gradient with respect to one argument, used for another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grad_arguments import gradient_calls
from codemods.nnx.lint.names import TREE_MAPS
from codemods.nnx.lint.places import in_test
from codemods.nnx.values import Attr, Const, Item, Param, Value

_GRADS = re.compile(r"^(d_?)?g(rad(ient)?s?)?(_tree)?$")
_PARAMS = re.compile(r"^(params?|parameters|weights|theta|w)$")


def _check(context: Context) -> Iterator[Finding]:
    for event, _, name in gradient_calls(context):
        args = event.value.args
        if len(args) < 2 or event.value.starred or in_test(event.scope) or name.startswith("flax."):
            continue
        gradient: Value = Item(event.value, Const(1)) if name.endswith("value_and_grad") else event.value
        for other in context.bodies.calls.get(event.scope, ()):
            if other is event or args[0] in other.value.args:
                continue
            used = _used(context, other, gradient, args[1:])
            if used is not None:
                place = args.index(used)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the gradient is taken with respect to the first argument, and used for number {place + 1}",
                    f"give argnums={place}, or put what is learned first",
                    related=[(other.node, "used here")],
                )
                break
        else:
            yield from _subtracted(context, event, gradient)


def _subtracted(context: Context, event: CallEvent, gradient: Value) -> Iterator[Finding]:
    """Yield a gradient that is subtracted from a later argument, or an entry of it, that is called parameters."""
    values = event.scope.module.values
    named = {n.id for n in event.node.args[1:] if isinstance(n, ast.Name) and _PARAMS.search(n.id)}
    first = event.node.args[0]
    if not named or not isinstance(first, ast.Name) or _PARAMS.search(first.id):
        return
    for node in context.bodies.nodes(event.scope):
        if not isinstance(node, ast.BinOp | ast.AugAssign) or not isinstance(node.op, ast.Sub):
            continue
        whole, step = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        while isinstance(whole, ast.Subscript | ast.Attribute):
            whole = whole.value
        if not isinstance(whole, ast.Name) or whole.id not in named:
            continue
        if any(isinstance(n, ast.Name) and values.get(n) == gradient for n in ast.walk(step)):
            place = [getattr(n, "id", "") for n in event.node.args].index(whole.id)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the gradient is taken with respect to `{first.id}`, and used for `{whole.id}`",
                f"give argnums={place}, or put what is learned first",
                related=[(node, "used here")],
            )
            return


def _used(context: Context, other: CallEvent, gradient: Value, later: tuple[Value, ...]) -> Value | None:
    """Return the argument of a loss that a call brings together with its gradient, as an update of parameters does."""
    given = other.value.args
    if gradient not in given or other.value.starred:
        return None
    name = context.flow.calls.name(other)
    if name in TREE_MAPS:
        return next((one for one in given[1:] if one in later), None)
    callee = other.value.callee
    if isinstance(callee, Attr) and callee.name == "update" and given[0] == gradient and len(given) == 3:
        return given[2] if given[2] in later else None
    if name:
        return None
    invoked = context.flow.calls.invoked(context.flow.here(other.value, other.scope))
    if len(invoked) != 1 or invoked[0][0].gradient:
        return None
    callee_, frame = invoked[0]
    named: dict[str, Param] = dict(callee_.function.params)
    found: dict[str, Value] = {}
    for one in named:
        argument = context.flow.argument(frame, one)
        if argument is not None:
            found[one] = argument.value
    grads = [one for one, value in found.items() if value == gradient and _GRADS.search(one)]
    params = [value for one, value in found.items() if value in later and _PARAMS.search(one)]
    return params[0] if grads and params else None


RULE = lint_rule(
    "NNX849",
    "gradient-of-other-argument",
    "a gradient is taken with respect to one argument and used to update another",
    why="""\
`jax.grad` differentiates with respect to the first argument. Where the parameters come later, the gradient has the
shape of the data, and the update raises, or goes wrong silently where the shapes agree.
""",
    source="Stack Overflow questions on argnums; measured: errors about tree structures",
    check=_check,
    bad=(
        """\
import jax


def loss(x, params):
    return ((x @ params["w"]) ** 2).sum()


def step(x, params):
    grads = jax.grad(loss)(x, params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
    ),
    clean=(
        """\
import jax


def loss(x, params):
    return ((x @ params["w"]) ** 2).sum()


def step(x, params):
    grads = jax.grad(loss, argnums=1)(x, params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def attacked(x, params):
    return x + 0.1 * jax.grad(loss)(x, params)
""",
    ),
)
