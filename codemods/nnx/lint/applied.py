"""What transforms make of functions, and where that is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS, TRANSPARENT
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Attr, Call, Class, Param

# what they make takes the arguments of the function itself
_KEEPING = TRANSPARENT - {"functools.partial", "functools.partialmethod", "flax.nnx.cached_partial"} | GRADIENTS
_DEPTH = 6  # transforms around transforms


def layers(context: Context, callee: Bound) -> Iterator[Bound]:
    """Yield the applications of transforms behind a callee, outermost first, while they keep its arguments."""
    flow = context.flow
    for _ in range(_DEPTH):
        callee = flow.resolve(callee)
        if isinstance(callee.value, Param):  # all callers give one
            given = context.sources.originals(callee)
            callee = next(iter(given)) if len(given) == 1 else callee
        if not isinstance(callee.value, Call):
            return
        yield callee
        if not callee.value.args or flow.calls.wrapper_name(callee, callee.value) not in _KEEPING:
            return
        callee = flow.with_value(callee, callee.value.args[0])


def calls_of(context: Context, root: Root) -> Iterator[CallEvent]:
    """Yield the calls of what one application of a transform made."""
    flow = context.flow
    method = root.decorator and root.function.owner is not None and len(root.function.decorators) == 1
    for event in flow.sites.callers(root.function):
        if event.node is root.node or _before(event, root):
            continue
        callee = event.value.callee
        if method and isinstance(callee, Attr) and callee.name == root.function.name:
            # an object's method stays an attribute: what is decorated is behind every call of it
            if on_object(context, event):
                yield event
            continue  # by the class, the object is the first of the arguments
        for layer in layers(context, flow.here(event.value.callee, event.scope)):
            assert isinstance(layer.value, Call)
            node = layer.value.node
            if node is root.node or (root.decorator and root.node in (node, node.func)):
                yield event
                break


def _before(event: CallEvent, root: Root) -> bool:
    """Say whether a call at the top of a file stands before what it would call is made there: another one had its name,
    as where the cells of a notebook ran in another order."""
    if event.scope is not root.scope or event.scope.parent is not None or event.loops or root.decorator:
        return False
    return isinstance(root.node, ast.Call) and (event.node.end_lineno or 0) < root.node.lineno


def on_object(context: Context, event: CallEvent) -> bool:
    """Say whether a call calls a method of an object, and not of a class: its arguments are those behind `self`."""
    callee = event.value.callee
    if not isinstance(callee, Attr):
        return False
    return not isinstance(context.flow.resolve(context.flow.here(callee.base, event.scope)).value, Class)


def option(root: Root, name: str, position: int | None = None) -> ast.expr | None:
    """Return an option of a transform: by name, or at a position behind the function where it may stand there."""
    if root.options is None:
        return None
    found = keyword(root.options, name)
    if found is None and position is not None and root.options is root.node and len(root.options.args) > position:
        found = root.options.args[position]
    return found


def skipped(root: Root) -> int:
    """Return how many first parameters the object before the dot fills, where a bound method is transformed."""
    return int(root.bound and root.function.binding in {"instance", "class"})


def arguments(event: CallEvent, root: Root) -> int | None:
    """Return how many positional arguments a call gives the traced function; None if that is not known."""
    if event.value.starred:
        return None
    if root.transform.startswith("flax."):  # NNX puts arguments by name in their places first
        return len(event.node.args) + len(event.node.keywords) + _own(event, root)
    return len(event.node.args) + _own(event, root)


def _own(event: CallEvent, root: Root) -> int:
    """Return how many first parameters a call gets from the object whose method it calls."""
    method = root.function.binding in {"instance", "class"} and not root.bound
    return int(method and not _unbound(event, root))


def _unbound(event: CallEvent, root: Root) -> bool:
    """Say whether a method is called without an object before the dot, as what a transform made of it elsewhere."""
    if root.decorator:
        return False
    # what is kept in an attribute of an object gets no object, what a class body binds does
    return isinstance(event.node.func, ast.Name | ast.Call) or root.scope.owner is None
