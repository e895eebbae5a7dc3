"""NNX821: a Python number made of a traced value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.listed import listed
from codemods.nnx.lint.places import differentiated_calls, of_array, only_tried, traced_bodies, traced_calls
from codemods.nnx.lint.switched_off import switched_off
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const, Item

_BUILTINS = frozenset({"builtins.float", "builtins.int", "builtins.bool", "builtins.complex", "builtins.range"})
_NUMBERS = frozenset({"builtins.float", "builtins.complex"})  # not even known while differentiating, as int is
_METHODS = frozenset({"item", "tolist", "__array__", "tobytes", "block_until_ready"})
_ROUNDS = (
    "use jax.lax.fori_loop(0, n, body, start) (nnx.fori_loop for NNX objects), or make the number static: "
    "static_argnames"
)
_NUMBER = (
    "go on with the array (astype changes its type) and make the number outside, of what the compiled function "
    "returns; or make the argument static"
)
_SHOWN = "use jax.debug.print, or return the array and print it outside"


def _check(context: Context) -> Iterator[Finding]:
    shown = {function for function, tracing in traced_bodies(context, 0) if only_tried(context, tracing)}
    counts: set[ast.AST] = set()  # the ranges that were told of
    for event, name in traced_calls(context, level=0):
        if event.scope.function in shown or context.bodies.guarded(event.node, event.scope):
            continue
        func = event.node.func
        if name in _BUILTINS:
            hit = any(
                context.taint.node(argument, event.scope)
                and not (name == "builtins.bool" and _entry(context, argument, event.scope))
                for argument in event.node.args
            )
        else:
            hit = (
                isinstance(func, ast.Attribute)
                and func.attr in _METHODS
                and not event.node.args
                and of_array(context, func, event.scope)
                and context.taint.node(func.value, event.scope)
            )
        if not hit or switched_off(context, event.node, event.scope):
            continue
        if name == "builtins.range":
            if any(isinstance(loop, ast.For) and loop.iter in counts for loop in event.loops):
                continue  # what mends the loop around it is done to this one too
            counts.add(event.node)
        yield _finding(event, name)
    for event, name in differentiated_calls(context):
        if name in _NUMBERS and not context.bodies.guarded(event.node, event.scope):
            if any(context.taint.array(argument, event.scope) for argument in event.node.args):
                yield _finding(event, name)
    yield from _indices(context)


def _entry(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an entry of a dict may be a dict or list itself, whose truth Python knows."""
    value = scope.module.values.get(node)
    if isinstance(value, Call) and isinstance(value.callee, Attr) and value.callee.name in {"get", "pop"}:
        key = value.args[0] if value.args else None
    else:
        key = value.index if isinstance(value, Item) else None
    return isinstance(key, Const) and isinstance(key.value, str) and not context.taint.array(node, scope)


def _finding(event: CallEvent, name: str) -> Finding:
    if name == "builtins.range":
        message = "a traced value cannot say how often Python repeats: it is known when the compiled function runs"
        return finding(RULE.code, event.scope, event.node, message, _ROUNDS)
    message = "a traced value has no number yet: it is known when the compiled function runs"
    return finding(RULE.code, event.scope, event.node, message, _SHOWN if _shown(event) else _NUMBER)


def _shown(event: CallEvent) -> bool:
    """Say whether a number is made only to be printed or logged."""
    printing = [
        node
        for node in ast.walk(event.statement)
        if isinstance(node, ast.Call) and last_word(node.func) in {"print", "info", "debug", "warning"}
    ]
    return any(part is event.node for node in printing for part in ast.walk(node))


def _indices(context: Context) -> Iterator[Finding]:
    """Yield the items of lists and tuples that a traced value is to choose."""
    for function, _ in traced_bodies(context, 0):
        scope = function.scope
        for node in context.bodies.nodes(scope):
            if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice | ast.Constant):
                continue
            if context.bodies.guarded(node, scope) or not context.taint.array(node.slice, scope):
                continue
            value = scope.module.values.get(node.value)
            if value is not None and listed(context, context.flow.here(value, scope)):
                yield finding(
                    RULE.code,
                    scope,
                    node,
                    "a traced value cannot choose from a list or tuple",
                    "stack the arrays and index the stack, or use jax.lax.switch",
                )


RULE = lint_rule(
    "NNX821",
    "number-of-tracer",
    "float(), int(), bool(), range() or .item() of a traced value",
    why="""\
These need the value, which raises ConcretizationTypeError or TracerIntegerConversionError while the function is
compiled.
""",
    source="JAX tutorial; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


@jax.jit
def total(x):
    return float(x.sum())
""",
    ),
    clean=(
        """\
import jax


@jax.jit
def average(x):
    return x.sum() / float(x.shape[0])
""",
    ),
)
