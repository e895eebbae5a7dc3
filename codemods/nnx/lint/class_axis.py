"""NNX980: log-probabilities whose classes are looked for along another axis, or in every row."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, resolved, written
from codemods.nnx.lint.syntax import argument, constant, entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Param

_MAKING = frozenset(
    f"{home}.{word}" for home in ("jax.nn", "flax.nnx", "flax.linen") for word in ("softmax", "log_softmax")
)
_LABELS = re.compile(r"(\w+_)?(labels?|targets?|actions?|classes|ys?)")
_REDUCING = frozenset({"mean", "sum"})


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "take_along_axis"):
        if name not in {"jax.numpy.take_along_axis", "numpy.take_along_axis"} or in_test(event.scope):
            continue
        given = event.node.args[0] if event.node.args else None
        axis = constant(argument(event.node, 2, "axis"))
        made = _made(context, event.scope, given)
        if made is None or not isinstance(axis, int):
            continue
        along = argument(made.node, 1, "axis")
        number = -1 if along is None else constant(along)
        if isinstance(number, int) and number != axis and (number < 0) == (axis < 0):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"the probabilities add up to 1 along axis {number}, and the classes are taken along axis {axis}",
                "use the axis of the classes in both places: axis=-1",
                related=[(made.node, "made here")],
            )
    yield from _of_rows(context)
    for module in context.asked.modules:
        if not module.source.mentions(b"softmax"):
            continue
        for scope in (module.scope, *(function.scope for function in module.functions)):
            if not in_test(scope):
                yield from _every_row(context, scope)


def _of_rows(context: Context) -> Iterator[Finding]:
    """Yield the sums over the classes of one-hot labels times probabilities that add up to 1 along the examples."""
    for event, name in foreign(context, "sum"):
        if name not in {"jax.numpy.sum", "numpy.sum"} or not event.node.args or in_test(event.scope):
            continue
        axis = constant(argument(event.node, 1, "axis"))
        factors = operands(written(context, event.node.args[0], event.scope), ast.Mult)
        if axis not in (-1, 1) or len(factors) != 2:
            continue
        for chances, labels in (factors, factors[::-1]):
            made, found = _made(context, event.scope, chances), resolved(context, labels, event.scope)
            if made is None or constant(argument(made.node, 1, "axis")) != 0:
                continue
            name = context.flow.calls.callee_name(found) if found and isinstance(found.value, Call) else ""
            if last(name) == "one_hot":
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"the probabilities add up to 1 along axis 0, and the classes are taken along axis {axis}",
                    "use the axis of the classes in both places: axis=-1",
                )


def _made(context: Context, scope: Scope, node: ast.expr | None) -> Call | None:
    """Return the call of a softmax that an expression is the result of."""
    found = resolved(context, node, scope) if node is not None else None
    if found is None or not isinstance(found.value, Call) or context.flow.calls.callee_name(found) not in _MAKING:
        return None
    return found.value


def _every_row(context: Context, scope: Scope) -> Iterator[Finding]:
    """Yield ``log_probabilities[:, labels]``: the entries of all labels in each row, not of the row's own."""
    reduced = _reduced(context, scope)
    for node in reduced:
        if isinstance(node, ast.Call):
            yield from _taken(context, scope, node)
            continue
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(parts) != 2 or not isinstance(parts[0], ast.Slice):
            continue
        whole = parts[0]
        if whole.lower is not None or whole.upper is not None or not _LABELS.fullmatch(entry_word(parts[1])):
            continue
        if _of_argument(scope, parts[1]) and _made(context, scope, node.value) is not None:
            text = ast.unparse(parts[1])
            yield finding(
                RULE.code,
                scope,
                node,
                f"each row gives its entries for all of `{text}`, and not the one for its own",
                f"pick one of each row: [jnp.arange(len({text})), {text}]",
            )


def _of_argument(scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression is an argument, or a named entry of one: ``batch["labels"]``."""
    if isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(constant(node.slice), str)):
        node = node.value
    return isinstance(node, ast.Name) and isinstance(scope.module.values.get(node), Param)


def _taken(context: Context, scope: Scope, node: ast.Call) -> Iterator[Finding]:
    """Yield ``jnp.take(log_probabilities, labels, axis=1)``: the entries of all labels in each row."""
    value = scope.module.values.get(node)
    if not isinstance(value, Call) or value.starred or len(node.args) < 2:
        return
    if context.flow.calls.callee_name(context.flow.here(value, scope)) != "jax.numpy.take":
        return
    labels, axis = node.args[1], constant(argument(node, 2, "axis"))
    if not isinstance(labels, ast.Name) or not _LABELS.fullmatch(labels.id) or axis not in (1, -1):
        return
    if isinstance(scope.module.values.get(labels), Param) and _made(context, scope, node.args[0]) is not None:
        yield finding(
            RULE.code,
            scope,
            node,
            f"each row gives its entries for all of `{labels.id}`, and not the one for its own",
            f"pick one of each row: jnp.take_along_axis(..., {labels.id}[:, None], axis=-1)",
        )


def _reduced(context: Context, scope: Scope) -> list[ast.Subscript | ast.Call]:
    """Return what is indexed and then averaged or summed up."""
    found: list[ast.Subscript | ast.Call] = []
    for event in context.bodies.calls.get(scope, ()):
        if last_word(event.node.func) not in _REDUCING:
            continue
        func = event.node.func
        name = context.flow.calls.name(event)
        given: ast.expr | None = func.value if isinstance(func, ast.Attribute) and not name else None
        if last(name) in _REDUCING and name.startswith("jax.numpy.") and event.node.args:
            given = event.node.args[0]
        while given is not None:
            given = written(context, given, scope)
            if isinstance(given, ast.UnaryOp):
                given = given.operand
            elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add) and _small(given.right):
                given = given.left
            elif isinstance(given, ast.Call) and last_word(given.func) == "log" and len(given.args) == 1:
                given = given.args[0]
            else:
                break
        if isinstance(given, ast.Subscript | ast.Call):
            found.append(given)
    return found


def _small(node: ast.expr) -> bool:
    return isinstance(constant(node), float) or "eps" in last_word(node)


_BAD = """\
import jax
import jax.numpy as jnp


def loss(logits, labels):
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(logp[:, labels])
"""
_AXIS = """\
import jax
import jax.numpy as jnp


def loss(logits, labels):
    logp = jax.nn.log_softmax(logits, axis=0)
    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], axis=1))
"""

RULE = lint_rule(
    "NNX980",
    "class-of-other-row",
    "probabilities of other classes or along another axis than those of the labels",
    why="""\
`logp[:, labels]` has a row for each example and a column for each label: its mean takes the labels of all examples for
each of them, and the model learns how often a label comes. Probabilities that add up to 1 along the examples are none
of their classes.
""",
    source="Stack Overflow, on indexing log-probabilities by labels; measured: another loss",
    severity="error",
    check=_check,
    bad=(_BAD, _AXIS),
    clean=(_BAD.replace("[:, labels]", "[jnp.arange(len(labels)), labels]"), _AXIS.replace("axis=0", "axis=1")),
)
