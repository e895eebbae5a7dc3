"""NNX964: an array or a dict where jax.jvp takes a tuple of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import TREE_MAPS, gives_arrays
from codemods.nnx.lint.places import foreign
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Mapping, Param, Unknown, Value

_NAMES = ("primals", "tangents")
_DEPTH = 6


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "jvp"):
        if name != "jax.jvp" or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        for place, word in enumerate(_NAMES, 1):
            node, value = argument(event.node, place, word), event.value.argument(place, word)
            if node is None or value is None or isinstance(node, ast.Tuple | ast.List):
                continue
            text = ast.unparse(node)
            if (
                _bare(context, context.flow.here(value, event.scope), 0)
                or _computed_with(context, event.scope, node)
                or (word == "primals" and _whole_argument(context, event, node))
            ):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{text}` stands where jvp takes a tuple, with one entry for each argument of the function",
                    f"write ({text},)",
                )
                break


def _bare(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a value is an array, a number or a dict for certain, whatever it comes from."""
    sources = context.sources.originals(bound) if depth <= _DEPTH else ()
    return bool(sources) and all(_one(context, source, depth + 1) for source in sources)


def _one(context: Context, source: Bound, depth: int) -> bool:
    value = source.value
    if isinstance(value, Mapping):
        return True
    if isinstance(value, Const):
        return isinstance(value.value, int | float)
    if isinstance(value, Unknown) and isinstance(value.node, ast.BinOp):
        return isinstance(value.node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult)
    if isinstance(value, Param):
        return False
    if isinstance(value, Call) and not value.starred:
        name = context.flow.calls.callee_name(source)
        if name in TREE_MAPS:  # as its argument
            return len(value.args) > 1 and _bare(context, context.flow.with_value(source, value.args[1]), depth)
        if name.startswith(("jax.numpy.", "jax.random.")) and gives_arrays(name):
            return name not in {"jax.random.split", "jax.numpy.split"}
        if not name and isinstance(value.callee, Attr) and value.callee.name == "init":
            return False
    return Arrays(context, {}).of_bound(source).axes is not None


def _computed_with(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether the function computes with a variable of its own as with an array, not with a tuple of them."""
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Name) or not isinstance(value, Param):
        return False
    within = value.function.scope
    return any(
        isinstance(one, ast.BinOp) and any(_alone(within, one, *sides, value) for sides in _sides(one))
        for one in context.bodies.nodes(within)
    )


def _sides(node: ast.BinOp) -> tuple[tuple[ast.expr, ast.expr], ...]:
    return (node.left, node.right), (node.right, node.left)


def _alone(scope: Scope, operation: ast.BinOp, side: ast.expr, other: ast.expr, value: Value) -> bool:
    """Say whether an operation that has a value on one side would fail for a tuple."""
    if not isinstance(side, ast.Name) or scope.module.values.get(side) is not value:
        return False
    if isinstance(operation.op, ast.Mult):
        return not isinstance(constant(other), int) and isinstance(other, ast.Attribute | ast.Constant | ast.Name)
    if isinstance(operation.op, ast.Add):
        return isinstance(other, ast.BinOp)
    return isinstance(operation.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult)


def _whole_argument(context: Context, event: CallEvent, node: ast.expr) -> bool:
    """Say whether the same function is called elsewhere with the variable as its one argument."""
    function = event.node.args[0] if event.node.args else None
    if function is None or not isinstance(node, ast.Name) or not isinstance(function, ast.Name | ast.Attribute):
        return False
    value, called = event.scope.module.values.get(node), ast.unparse(function)
    return any(
        isinstance(one, ast.Call)
        and not one.keywords
        and [ast.unparse(a) for a in one.args] in ([node.id], [called, node.id])
        and event.scope.module.values.get(one.args[-1]) is value
        and (ast.unparse(one.func) == called if len(one.args) == 1 else last_word(one.func) in {"vjp", "linearize"})
        for one in context.bodies.nodes(event.scope)
    )


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w):
    return jnp.sum(jnp.tanh(w) ** 2)


w = jnp.ones(3)
direction = jnp.array([1.0, 0.0, 0.0])
value, slope = jax.jvp(loss, w, direction)
"""

RULE = lint_rule(
    "NNX964",
    "bare-primals",
    "an array or a dict where jax.jvp takes a tuple",
    why="""\
`jax.jvp(f, primals, tangents)` calls `f(*primals)`: both are tuples with one entry for each argument, also for a
function of one argument. An array alone, or a dict of parameters, raises a TypeError. `jax.vjp(f, *primals)` and
`jax.linearize` take the arguments one after the other.
""",
    source="jax issue 1310 and flax issue 580; measured: TypeError",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("w, direction)", "(w,), (direction,))"),),
)
