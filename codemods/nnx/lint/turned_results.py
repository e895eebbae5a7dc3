"""What a backward scan gives, in another order than what it is used with; part of NNX931."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.lint.around import around
from codemods.nnx.lint.arrays import batched
from codemods.nnx.lint.places import foreign, in_test, target_of, written
from codemods.nnx.lint.syntax import argument, constant, keyword, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.values import Const, Item, Sequence

_FLIPS = frozenset({"flip", "flipud"})
_LEAVE = "leave the order: reverse=True gives each output in the place of its input"


def turned_results(context: Context) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield the outputs of scans that are turned round once too often, or not at all, with what to write.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "scan"):
        over = argument(event.node, 2, "xs")
        if name != "jax.lax.scan" or over is None or in_test(event.scope):
            continue
        backward = keyword(event.node, "reverse")
        if backward is not None and constant(backward) is not True:
            continue
        turned = _turned_names(over) if backward is None else set()
        if not turned and (backward is None or _may_be_turned(context, over, event.scope)):
            continue
        above = around(context, event.scope)
        for one in _reads(context, event, above):
            outer = above.get(one)
            if backward is not None:
                yield from _by_callers(context, event, one, above)
                if isinstance(outer, ast.expr) and _turned(outer) is one:
                    yield event.scope, outer, _LEAVE
            elif isinstance(outer, ast.BinOp) and isinstance(one, ast.Name):
                other = outer.left if outer.right is one else outer.right
                if isinstance(other, ast.Name) and other.id in turned:
                    help = (
                        f"turn the outputs round, too: {one.id}[::-1], or give reverse=True and the inputs as they are"
                    )
                    yield event.scope, outer, help


def _by_callers(
    context: Context, event: CallEvent, read: ast.expr, above: dict[ast.AST, ast.AST]
) -> Iterator[tuple[Scope, ast.expr, str]]:
    """Yield where the callers of a function turn round what it gives, if that is the output of a backward scan."""
    function, outer = event.scope.function, above.get(read)
    place = outer.elts.index(read) if isinstance(outer, ast.Tuple) and read in outer.elts else None
    if function is None or not _returned(read, above) or len(function.returns) != 1:
        return
    if function in context.shared(batched) or function.generator:
        return
    for caller in context.flow.sites.callers(function):
        if in_test(caller.scope) or caller.scope.module not in context.asked or context.flow.calls.name(caller):
            continue
        given = [*caller.node.args, *(word.value for word in caller.node.keywords)]
        if any(
            _turned(one) is not None or _may_be_turned(context, one, caller.scope) for one in given if names_in(one)
        ):
            continue
        for one in _results(context, caller, place):
            turned = around(context, caller.scope).get(one)
            if isinstance(turned, ast.expr) and _turned(turned) is one:
                yield caller.scope, turned, _LEAVE


def _results(context: Context, caller: CallEvent, place: int | None) -> Iterator[ast.expr]:
    """Yield the expressions that have what a call gives, or one of the parts that it gives."""
    target = target_of(caller)
    if place is None:
        yield caller.node
    elif isinstance(target, ast.Tuple) and place < len(target.elts):
        target = target.elts[place]
    else:
        return
    values = caller.scope.module.values
    names = context.bodies.names(caller.scope).get(target.id, ()) if isinstance(target, ast.Name) else ()
    for one in names:
        value = values.get(one)
        part = isinstance(value, Item) and value.base is caller.value and value.index == Const(place)
        if isinstance(one.ctx, ast.Load) and (part if place is not None else value is caller.value):
            yield one


def returned_turned(context: Context) -> Iterator[CallEvent]:
    """Yield the scans over turned inputs whose outputs a function returns as they are, and turns nowhere.

    Args:
        context: the analysis.
    """
    for event, name in foreign(context, "scan"):
        over = argument(event.node, 2, "xs")
        if name != "jax.lax.scan" or over is None or in_test(event.scope) or event.scope.function is None:
            continue
        if keyword(event.node, "reverse") is not None or not _all_turned(context, over, event.scope):
            continue
        above = around(context, event.scope)
        reads = [*_reads(context, event, above)]
        inputs = _turned_names(over)
        if any(names_in(outer) & inputs for one in reads if isinstance(outer := above.get(one), ast.BinOp)):
            continue  # which is told of there
        if any(_returned(one, above) for one in reads) and all(
            _returned(one, above) or isinstance(above.get(one), ast.BinOp) for one in reads
        ):
            yield event


def _all_turned(context: Context, over: ast.expr, scope: Scope) -> bool:
    """Say whether all that a scan goes over is turned round where it is given, or in the variable it is given by."""
    over = _written(over, scope)
    parts = elements(over, lists=True)
    return bool(parts) and all(_turned(written(context, one, scope)) is not None for one in parts)


def _written(node: ast.expr, scope: Scope) -> ast.expr:
    """Return the tuple that a variable is the name of, or an expression itself."""
    value = scope.module.values.get(node) if isinstance(node, ast.Name) else None
    made = value.node if isinstance(value, Sequence) else None
    return made if isinstance(made, ast.Tuple) else node


def _returned(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Say whether an expression is returned, alone or as a part of a tuple."""
    outer = above.get(node)
    if isinstance(outer, ast.Tuple):
        outer = above.get(outer)
    return isinstance(outer, ast.Return)


def _reads(context: Context, event: CallEvent, above: dict[ast.AST, ast.AST]) -> Iterator[ast.expr]:
    """Yield the expressions that have the outputs of a scan, or one of several: what is read of its variables."""
    part = above.get(event.node)
    if isinstance(part, ast.Subscript) and constant(part.slice) == 1:
        yield part
    for place, target in enumerate(_outputs(event)):
        names = context.bodies.names(event.scope).get(target.id, ())
        once = sum(not isinstance(one.ctx, ast.Load) for one in names) == 1
        for one in names:
            if isinstance(one.ctx, ast.Load) and one.lineno >= event.node.lineno and (once or _of(event, one, place)):
                yield one


def _outputs(event: CallEvent) -> list[ast.Name]:
    """Return the variables that get the outputs of a scan."""
    target = target_of(event)
    last = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
    return [one for one in elements(last) if isinstance(one, ast.Name)]


def _of(event: CallEvent, read: ast.Name, place: int) -> bool:
    """Say whether a variable that is bound several times has outputs of a scan where it is read."""
    value = event.scope.module.values.get(read)
    if isinstance(value, Item) and isinstance(value.base, Item) and value.index == Const(place):
        value = value.base
    return isinstance(value, Item) and value.base is event.value and value.index == Const(1)


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
    parts = elements(over, lists=True)
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
