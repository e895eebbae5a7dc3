"""Means of batches that are added up and divided by the number of examples; part of NNX544."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.object_calls import method_of
from codemods.nnx.lint.places import position, written
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.lint.whole_mean import is_batch_mean
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_AROUND = frozenset({"enumerate", "tqdm", "trange", "track", "prefetch"})
_BARE = frozenset({"float", "asarray", "array", "item", "device_get", "sum"})


def over_examples(context: Context, loop: ast.For, scope: Scope) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the means of batches that a loop adds up, with the number of examples that the sum is divided by.

    Args:
        context: the analysis.
        loop: a loop over batches, or over the places where they begin.
        scope: the body that it stands in.
    """
    for given, total in _sums(loop):
        shares = list(_shares(context, total, loop, scope))
        counts = _counts(context, loop, scope) if shares else set()
        for share in shares:
            if _text(context, share, scope) in counts and is_batch_mean(context, given, scope):
                yield given, share


def _sums(loop: ast.For) -> Iterator[tuple[ast.expr, str]]:
    """Yield what each round adds to a sum or a list, with the text of that."""
    for node in loop.body:
        target: ast.expr | None = None
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            target, given = node.target, node.value
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.value, ast.BinOp):
            target, given = node.targets[0], node.value.right
            if not isinstance(node.value.op, ast.Add) or ast.unparse(node.value.left) != ast.unparse(target):
                continue
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and len(node.value.args) == 1:
            func = node.value.func
            if isinstance(func, ast.Attribute) and func.attr == "append":
                target, given = func.value, node.value.args[0]
        if target is not None:
            yield given, ast.unparse(target)


def _shares(context: Context, total: str, loop: ast.For, scope: Scope) -> Iterator[ast.expr]:
    """Yield what a sum is divided by behind a loop."""
    end = loop.end_lineno or loop.lineno
    above = around(context, scope)
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div) and node.lineno > end:
            if ast.unparse(node.target) == total:
                yield node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and node.lineno > end:
            left, scaled = node.left, above.get(node)
            while isinstance(left, ast.Call) and last_word(left.func) in _BARE:
                inner = left.args[0] if left.args else getattr(left.func, "value", None)
                if not isinstance(inner, ast.expr):
                    break
                left = inner
            # a product may hold the size of a batch
            if ast.unparse(left) == total and not (isinstance(scaled, ast.BinOp) and isinstance(scaled.op, ast.Mult)):
                yield node.right


def _counts(context: Context, loop: ast.For, scope: Scope) -> set[str]:
    """Return the texts that stand for how many examples there are in all batches of a loop."""
    over = loop.iter
    while isinstance(over, ast.Call) and last_word(over.func) in _AROUND and over.args:
        over = over.args[0]
    if isinstance(over, ast.Name | ast.Attribute):
        return {f"len({ast.unparse(over)}.dataset)"}  # a loader of PyTorch
    if not isinstance(over, ast.Call):
        return set()
    if last_word(over.func) == "range":
        end = _end(over)
        sliced = any(isinstance(n, ast.Slice) for statement in loop.body for n in ast.walk(statement))
        return _same(context, end, scope) if end is not None and sliced else set()
    value = scope.module.values.get(over)
    if not isinstance(value, Call) or value.starred:
        return set()
    invoked = context.flow.calls.invoked(context.flow.here(value, scope))
    function = invoked[0][0].function if len(invoked) == 1 else None
    if not invoked:
        function = method_of(context, value.callee, scope)
    return _of_generator(context, function, over) if function is not None and function.generator else set()


def _of_generator(context: Context, function: FunctionFacts, call: ast.Call) -> set[str]:
    """Return the texts, where a generator is called, for the length of what it cuts into batches."""
    loops = [n for n in context.bodies.nodes(function.scope) if isinstance(n, ast.For)]
    over = loops[0].iter if len(loops) == 1 else None
    if not isinstance(over, ast.Call) or last_word(over.func) != "range":
        return set()
    end = _end(over)
    if end is None or not any(isinstance(n, ast.Slice) for n in ast.walk(loops[0])):
        return set()
    found: set[str] = set()
    for text in _same(context, end, function.scope):
        measured = text.removeprefix("len(").removesuffix(")") if text.startswith("len(") else ""
        if function.owner is not None and measured == "self" and isinstance(call.func, ast.Attribute):
            found.add(f"len({ast.unparse(call.func.value)})")
        elif measured in function.params:
            one = function.params[measured]
            given = argument(call, position(one), one.name)
            if given is not None:
                found |= {f"len({ast.unparse(given)})", f"{ast.unparse(given)}.shape[0]"}
    return found


def _end(over: ast.Call) -> ast.expr | None:
    """Return where a range ends that goes from 0 on by the size of a batch."""
    if len(over.args) != 3 or over.keywords or constant(over.args[0]) != 0 or constant(over.args[2]) == 1:
        return None
    end = over.args[1]
    while isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add | ast.Sub):  # without a short batch at the end
        end = end.left
    return end


def _same(context: Context, end: ast.expr, scope: Scope) -> set[str]:
    """Return the texts of a length: ``len(x)`` is ``x.shape[0]``."""
    text = _text(context, end, scope)
    found = {text}
    if text.startswith("len(") and text.endswith(")"):
        found.add(f"{text[4:-1]}.shape[0]")
    elif text.endswith(".shape[0]"):
        found.add(f"len({text.removesuffix('.shape[0]')})")
    return found


def _text(context: Context, node: ast.expr, scope: Scope) -> str:
    return ast.unparse(written(context, node, scope))
