"""NNX738: an output layer that gets a copy of an embedding instead of the embedding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import in_test, resolved
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_TURNING = frozenset({"transpose", "swapaxes", "matrix_transpose"})
# what people say where two matrices only begin alike
_APART = pattern(r"unti|not tie|independ|separate|cop(y|ies)|initiali|start|beg[iau]n", re.I)

_UNTIED = pattern(r"unti(e|ed)\b|unti(e|ed)(?=[A-Z_])|not (be )?tied", re.I)


def _check(context: Context) -> Iterator[Finding]:
    for function in context.asked.functions():
        source = function.scope.module.source
        if function.name != "__init__" or function.owner is None or not source.mentions(b".embedding"):
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
    """Say whether the lines of a statement, the one above, or the class say that the matrices are to be two."""
    source = function.scope.module.source
    if function.owner is not None and _UNTIED.search(
        function.owner.name + (ast.get_docstring(function.owner.node) or "")
    ):
        return True
    lines = range(max(node.lineno - 1, 1), (node.end_lineno or node.lineno) + 1)
    return any(_APART.search(source.line(number).partition("#")[2]) for number in lines)


def _copied(context: Context, function: FunctionFacts, node: ast.Assign) -> ast.expr | None:
    """Return the nnx.Embed whose matrix is copied into the object that a constructor makes, to multiply by it.

    That is a transposed matrix in a Variable, or one that a method multiplies by.
    """
    target, value = node.targets[0], node.value
    scope = function.scope
    held = _variable(target)
    plain = False
    if isinstance(value, ast.Call) and last_word(value.func) == "Param" and value.args:
        made = resolved(context, value, scope)
        if held is not None or made is None or context.flow.calls.callee_name(made) != "flax.nnx.Param":
            return None
        value = value.args[0]
    elif held is not None:
        target = held
    else:
        plain = True
    own = target
    while isinstance(own, ast.Attribute):
        own = own.value
    if scope.module.values.get(own) is not function.self_param or function.self_param is None:
        return None
    value = _same_array(value)
    inner = _turned(value)
    if isinstance(inner, ast.Name):
        inner = made_by(context, inner, scope) or inner
    straight = inner is None
    matrix = _variable(inner if inner is not None else value)
    if matrix is None:
        matrix = inner  # a Variable has these methods, too
    if not isinstance(matrix, ast.Attribute) or matrix.attr != "embedding":
        return None
    if (plain or straight) and not _multiplied(context, function, target, straight):
        return None
    layer = resolved(context, matrix.value, scope)
    if layer is None or not isinstance(layer.value, Call):
        return None
    return matrix.value if context.flow.calls.callee_name(layer) == "flax.nnx.Embed" else None


def _same_array(node: ast.expr) -> ast.expr:
    """Return the array that is made an array again, or one of another type."""
    while isinstance(node, ast.Call):
        if last_word(node.func) in {"array", "asarray"} and node.args:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            node = node.func.value
        else:
            break
    return node


def _multiplied(context: Context, init: FunctionFacts, target: ast.expr, turned: bool) -> bool:
    """Say whether a method multiplies by an attribute of its object, transposed if that is asked for."""
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name) or init.owner is None:
        return False
    for method in init.owner.methods.values():
        above = around(context, method.scope)
        for node in context.bodies.nodes(method.scope) if method is not init and method.self_param is not None else ():
            if not isinstance(node, ast.Attribute) or node.attr != target.attr or not isinstance(node.ctx, ast.Load):
                continue
            if method.scope.module.values.get(node.value) is method.self_param and _factor(node, above, turned):
                return True
    return False


def _factor(node: ast.expr, above: dict[ast.AST, ast.AST], turned: bool) -> bool:
    """Say whether an expression, or the array that it holds, is the second factor of a product of matrices."""
    found = not turned
    current: ast.AST = node
    while (outer := above.get(current)) is not None:
        if isinstance(outer, ast.BinOp):
            return isinstance(outer.op, ast.MatMult) and outer.right is current and found
        if isinstance(outer, ast.Call) and last_word(outer.func) in {"dot", "matmul", "einsum"}:
            return outer.args[-1:] == [current] and (found or last_word(outer.func) == "einsum")
        if not isinstance(outer, ast.expr):
            return False
        if _turned(outer) is current or (isinstance(outer, ast.Call) and _turned(outer) is not None):
            found = not found if turned else found
        elif not (
            _variable(outer) is current
            or (isinstance(outer, ast.Attribute) and outer.attr in {"transpose", "swapaxes", "get_value", "astype"})
            or (isinstance(outer, ast.Call) and (_same_array(outer) is not outer or _variable(outer) is not None))
        ):
            return False
        current = outer
    return False


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
gradients of its own. The model has the matrix twice, and the two drift apart. So does `nnx.Param(embed.embedding[...])`
by whose transpose a method multiplies; an array in an attribute stays as it was. `embed.attend(x)` multiplies by the
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
