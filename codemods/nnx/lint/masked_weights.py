"""Masks of later positions that are put on the weights of a softmax, where the scores keep them; part of NNX976."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.mask_meaning import BEHIND, meaning
from codemods.nnx.lint.names import SOFTMAX
from codemods.nnx.lint.places import foreign, in_test, written
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

# what scores of queries and keys are computed by, without hiding any
_PLAIN = frozenset({"einsum", "matmul", "dot", "tensordot", "sqrt", "rsqrt", "swapaxes", "transpose", "moveaxis",
                    "astype", "float", "float32", "asarray", "array", "reshape"})  # fmt: skip
_HIDING = pattern(r"mask|bias|causal|tril|triu")
_AGAIN = pattern(r"^(nan)?sum$|normal|softmax")  # what puts the weights right, as sums of them
_DEPTH = 5


def masked_weights(context: Context) -> Iterator[tuple[Scope, ast.AST, ast.expr]]:
    """Yield where weights that a softmax has given are set to zero for later positions, with the mask."""
    for event, name in foreign(context, "softmax"):
        if name not in SOFTMAX or in_test(event.scope) or not event.node.args or event.value.keyword("where"):
            continue
        source = event.scope.module.source
        if not source.mentions(b"tril") and not source.mentions(b"triu") and not source.mentions(b"arange"):
            continue
        if not _unmasked(context, event.node.args[0], event.scope, 0):
            continue
        for node in _weights(context, event):
            found = _masked(context, node, event.scope)
            if found is not None and not _put_right(context, found[0], event.scope):
                yield event.scope, *found


def _unmasked(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether scores are computed here of queries and keys, and nothing hides some of them."""
    node = written(context, node, scope)
    if depth > _DEPTH:
        return False
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    if any(last_word(one.func) not in _PLAIN for one in calls) or _HIDING.search(ast.unparse(node)):
        return False
    products = [one for one in calls if last_word(one.func) in {"einsum", "matmul", "dot", "tensordot"}]
    if products or any(isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult) for one in ast.walk(node)):
        return True
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    names = [one for one in parts if isinstance(one, ast.Name) and written(context, one, scope) is not one]
    return any(_unmasked(context, one, scope, depth + 1) for one in names)


def _weights(context: Context, event: CallEvent) -> Iterator[ast.expr]:
    """Yield where the weights are read: the call itself, and the reads of the variable that it is assigned to."""
    statement = event.statement
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is event.node else None
    if not isinstance(target, ast.Name):
        yield event.node
        return
    for read in context.bodies.reads(event.scope, target.id):
        if event.scope.module.values.get(read) is event.value:
            yield read


def _masked(context: Context, node: ast.expr, scope: Scope) -> tuple[ast.AST, ast.expr] | None:
    """Return where weights are set to zero, with the mask that does it, if that is one of later positions."""
    whole = around(context, scope).get(node)
    mask: ast.expr | None = None
    if isinstance(whole, ast.Call) and last_word(whole.func) == "where" and len(whole.args) == 3:
        zero = whole.args[2] if node is whole.args[1] else None
        mask = whole.args[0] if zero is not None and constant(zero) == 0 else None
    elif isinstance(whole, ast.BinOp) and isinstance(whole.op, ast.Mult):
        mask = whole.right if whole.left is node else whole.left
    if mask is None or whole is None:
        return None
    value = scope.module.values.get(mask)
    masks = context.sources.originals(context.flow.here(value, scope)) if value is not None else []
    found = {meaning(context, one, scope) for one in masks}
    known = found.pop() if len(found) == 1 else None
    return (whole, mask) if known is not None and known.hides == BEHIND and known.seen else None


def _put_right(context: Context, masked: ast.AST, scope: Scope) -> bool:
    """Say whether something behind the mask divides, or takes sums that may be for that."""
    line = getattr(masked, "lineno", 0)
    for node in context.bodies.nodes(scope):
        if getattr(node, "lineno", 0) < line:
            continue
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            return True
        if isinstance(node, ast.Call) and _AGAIN.search(last_word(node.func)) and node is not masked:
            if not any(one is node for one in ast.walk(masked)):
                return True
    return False
