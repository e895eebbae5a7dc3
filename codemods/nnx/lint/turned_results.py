"""What a backward scan gives, in another order than what it is used with; part of NNX931."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import argument, constant, keyword, names_in
from codemods.nnx.nodes import last_word

_FLIPS = frozenset({"flip", "flipud"})


def turned_results(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the outputs of scans that are turned round once too often, or not at all, with what to write.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "scan"):
        over, outputs = argument(event.node, 2, "xs"), _outputs(event)
        if name != "jax.lax.scan" or over is None or outputs is None or in_test(event.scope):
            continue
        names = context.bodies.names(event.scope).get(outputs.id, ())
        reads = [one for one in names if isinstance(one.ctx, ast.Load) and one.lineno >= event.node.lineno]
        if sum(not isinstance(one.ctx, ast.Load) for one in names) != 1 or not reads:
            continue
        above = around(context, event.scope)
        backward = keyword(event.node, "reverse")
        if backward is not None:
            if constant(backward) is not True or _may_be_turned(context, over, event.scope):
                continue
            for one in reads:
                outer = above.get(one)
                if isinstance(outer, ast.expr) and _turned(outer) is one:
                    yield (
                        event.scope,
                        outer,
                        "leave the order: reverse=True gives each output in the place of its input",
                    )
            continue
        turned = _turned_names(over)
        for one in reads if turned else ():
            outer = above.get(one)
            if not isinstance(outer, ast.BinOp):
                continue
            other = outer.left if outer.right is one else outer.right
            if isinstance(other, ast.Name) and other.id in turned:
                help = (
                    f"turn the outputs round, too: {outputs.id}[::-1], or give reverse=True and the inputs as they are"
                )
                yield event.scope, outer, help


def _outputs(event: CallEvent) -> ast.Name | None:
    """Return the variable that gets the outputs of a scan."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    last = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    return last if isinstance(last, ast.Name) else None


def _turned(node: ast.expr) -> ast.expr | None:
    """Return what an expression is along the first axis the other way round."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        part = node.slice
        return node.value if part.lower is None and part.upper is None and constant(part.step) == -1 else None
    if isinstance(node, ast.Call) and last_word(node.func) in _FLIPS and node.args:
        along = argument(node, 1, "axis")
        first = constant(along) == 0 or last_word(node.func) == "flipud"
        return node.args[0] if first or along is None else None
    return None


def _turned_names(over: ast.expr) -> set[str]:
    """Return the variables that a scan goes over the other way round, if it does so with all."""
    parts = over.elts if isinstance(over, ast.Tuple | ast.List) else [over]
    inner = [_turned(one) for one in parts]
    names = {one.id for one in inner if isinstance(one, ast.Name)}
    return names if all(one is not None for one in inner) else set()


def _may_be_turned(context: Context, over: ast.expr, scope: Scope) -> bool:
    """Say whether anything that a scan goes over may have been turned round before, or is no data, but counts."""
    read = names_in(over)
    if not read:
        return True
    made = [
        one.value
        for one in context.bodies.nodes(scope)
        if isinstance(one, ast.Assign) and any(names_in(target) & read for target in one.targets)
    ]
    return any(
        isinstance(n, ast.expr) and (_turned(n) is not None or last_word(n) == "arange")
        for one in (over, *made)
        for n in ast.walk(one)
    )
