"""NNX738: an output layer that gets a copy of an embedding instead of the embedding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test, resolved
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_TURNING = frozenset({"transpose", "swapaxes", "matrix_transpose"})
# what people say where two matrices only begin alike
_APART = re.compile(r"unti|not tie|independ|separate|cop(y|ies)|initiali|start|beg[iau]n", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for function in context.asked.functions():
        source = function.scope.module.source
        if function.name != "__init__" or function.owner is None or b".embedding" not in source.data:
            continue
        if in_test(function.scope):
            continue
        for node in context.bodies.nodes(function.scope):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            copied = _copied(context, function, node)
            if copied is None or _said(function, node):
                continue
            yield finding(
                RULE.code,
                function.scope,
                node.value,
                f"this copies `{ast.unparse(copied)}.embedding`: the two are not tied, and training drives them apart",
                f"use the embedding itself: {ast.unparse(copied)}.attend(x)",
            )


def _said(function: FunctionFacts, node: ast.Assign) -> bool:
    """Say whether the lines of a statement, or the one above, say that the matrices are to be two."""
    source = function.scope.module.source
    lines = range(max(node.lineno - 1, 1), (node.end_lineno or node.lineno) + 1)
    return any(_APART.search(source.line(number).partition("#")[2]) for number in lines)


def _copied(context: Context, function: FunctionFacts, node: ast.Assign) -> ast.expr | None:
    """Return the nnx.Embed whose transposed matrix becomes a Variable of the object that a constructor makes."""
    target, value = node.targets[0], node.value
    scope = function.scope
    held = _variable(target)
    if isinstance(value, ast.Call) and last_word(value.func) == "Param" and value.args:
        made = resolved(context, value, scope)
        if held is not None or made is None or context.flow.calls.callee_name(made) != "flax.nnx.Param":
            return None
        value = value.args[0]
    elif held is not None:
        target = held
    else:
        return None
    while isinstance(target, ast.Attribute):
        target = target.value
    if scope.module.values.get(target) is not function.self_param or function.self_param is None:
        return None
    inner = _turned(value)
    matrix = _variable(inner) or inner if inner is not None else None
    if not isinstance(matrix, ast.Attribute) or matrix.attr != "embedding":
        return None
    layer = resolved(context, matrix.value, scope)
    if layer is None or not isinstance(layer.value, Call):
        return None
    return matrix.value if context.flow.calls.callee_name(layer) == "flax.nnx.Embed" else None


def _variable(node: ast.expr) -> ast.expr | None:
    """Return the Variable whose value an expression is: ``v[...]`` or ``v.value``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value is Ellipsis:
        return node.value
    if isinstance(node, ast.Attribute) and node.attr in {"value", "raw_value"}:
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get_value":
        return node.func.value
    return None


def _turned(node: ast.expr) -> ast.expr | None:
    """Return the matrix of which an expression is the transposed one."""
    if isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}:
        return node.value
    if isinstance(node, ast.Call) and last_word(node.func) in _TURNING:
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
            return node.func.value  # matrix.transpose()
        return node.args[0] if node.args else None
    return None


RULE = lint_rule(
    "NNX738",
    "tied-by-copy",
    "weights that are tied by a copy of the embedding",
    why="""\
`nnx.Param(embed.embedding[...].T)` is a new Variable: it has the values of the embedding when the model is made, and
gradients of its own. The model has the matrix twice, and the two drift apart. `embed.attend(x)` multiplies by the
embedding itself.
""",
    source="Flax documentation of nnx.Embed.attend; measured on Flax 0.12.8: the matrices differ after one step",
    check=_check,
    bad=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 4, rngs=rngs)
        self.out = nnx.Param(self.embed.embedding[...].T)

    def __call__(self, tokens):
        return self.embed(tokens) @ self.out[...]
""",
    ),
    clean=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 4, rngs=rngs)

    def __call__(self, tokens):
        return self.embed.attend(self.embed(tokens))


class Untied(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 4, rngs=rngs)
        # both begin with the same values
        self.out = nnx.Param(self.embed.embedding[...].T)
""",
    ),
)
