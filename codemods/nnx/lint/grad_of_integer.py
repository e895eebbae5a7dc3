"""NNX851: the gradient at an integer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.grad_arguments import gradient_calls
from codemods.nnx.lint.syntax import keyword


def _check(context: Context) -> Iterator[Finding]:
    for event, made, name in gradient_calls(context):
        if not event.node.args or keyword(made.node, "allow_int") is not None:
            continue
        node = event.node.args[0]
        number = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(number, ast.Constant) and type(number.value) is int:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{name} needs a floating point number",
                f"write {event.scope.module.source.text(node)}.0",
                _fix(event, node),
            )


def _fix(event: CallEvent, node: ast.expr) -> Fix | None:
    source = event.scope.module.source
    _, end = source.span(node)
    if not source.text(node).lstrip("-").isdecimal():
        return None
    return Fix(((source.path, Edit(end, end, b".0")),))


RULE = lint_rule(
    "NNX851",
    "grad-of-integer",
    "the gradient with respect to an integer",
    why="Only real numbers can be differentiated: an integer raises a TypeError.",
    source="JAX tutorial, section on gradients; measured on JAX 0.6.2, 0.7.2 and 0.10.2",
    check=_check,
    mended=(
        (
            """\
import jax

slope = jax.grad(lambda v: 2 * v)(5)
""",
            """\
import jax

slope = jax.grad(lambda v: 2 * v)(5.0)
""",
        ),
    ),
    clean=(
        """\
import jax

slope = jax.grad(lambda v, n: n * v)(5.0, 2)
""",
    ),
    safety=Safety.SAFE,
)
