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
from codemods.nnx.lint.places import foreign, in_test, resolved
from codemods.nnx.lint.syntax import argument, constant
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
    for module in context.asked.modules:
        if not module.source.mentions(b"softmax"):
            continue
        for scope in (module.scope, *(function.scope for function in module.functions)):
            if not in_test(scope):
                yield from _every_row(context, scope)


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
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if len(parts) != 2 or not isinstance(parts[0], ast.Slice) or not isinstance(parts[1], ast.Name):
            continue
        whole = parts[0]
        if whole.lower is not None or whole.upper is not None or not _LABELS.fullmatch(parts[1].id):
            continue
        if isinstance(scope.module.values.get(parts[1]), Param) and _made(context, scope, node.value) is not None:
            text = ast.unparse(parts[1])
            yield finding(
                RULE.code,
                scope,
                node,
                f"each row gives its entries for all of `{text}`, and not the one for its own",
                f"pick one of each row: [jnp.arange(len({text})), {text}]",
            )


def _reduced(context: Context, scope: Scope) -> list[ast.Subscript]:
    """Return what is indexed and then averaged or summed up."""
    found: list[ast.Subscript] = []
    for event in context.bodies.calls.get(scope, ()):
        if last_word(event.node.func) not in _REDUCING:
            continue
        func = event.node.func
        name = context.flow.calls.name(event)
        given: ast.expr | None = func.value if isinstance(func, ast.Attribute) and not name else None
        if last(name) in _REDUCING and name.startswith("jax.numpy.") and event.node.args:
            given = event.node.args[0]
        while isinstance(given, ast.UnaryOp):
            given = given.operand
        if isinstance(given, ast.Subscript):
            found.append(given)
    return found


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
