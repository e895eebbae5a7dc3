"""What transforms make of functions, and where that is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.known import GRADIENTS, TRANSPARENT
from codemods.nnx.lint.syntax import keyword, several
from codemods.nnx.lint.traced import Root
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import is_decoration, last_word
from codemods.nnx.values import Attr, Call, Class, Const, Function, Param, Sequence, Value

# what they make takes the arguments of the function itself
_KEEPING = TRANSPARENT - {"functools.partial", "functools.partialmethod", "flax.nnx.cached_partial"} | GRADIENTS
_KEEPING_WORDS = frozenset(name.rpartition(".")[2] for name in _KEEPING) | {"partial"}
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


class Handed(NamedTuple):
    """What a call hands on to one application of a transform.

    Attributes:
        made: the application.
        name: full name of the transform.
        given: how many positional arguments reach it.
        names: the arguments by name that reach it, with where they stand.
        prepared: whether functools.partial gives some of them.
    """

    made: Bound
    name: str
    given: int
    names: tuple[tuple[str, ast.expr], ...]
    prepared: bool

    @property
    def call(self) -> Call:
        """The application as a call."""
        value = self.made.value
        assert isinstance(value, Call)
        return value

    def option(self, context: Context, name: str, position: int | None = None) -> Bound | None:
        """Return an option of the transform, also one that ``functools.partial`` gives it.

        Args:
            context: the analysis.
            name: its name.
            position: where it may stand behind the function, from 0; None if it has a name only.
        """
        value, flow = self.call, context.flow
        found = value.keyword(name) if position is None else value.argument(position, name)
        if found is not None:
            return flow.follow(self.made, found)
        callee = flow.follow(self.made, value.callee)
        if isinstance(callee.value, Call):
            found = callee.value.keyword(name)
            return flow.follow(callee, found) if found is not None else None
        return None


def constants_of(given: Bound | None) -> tuple[object, ...] | None:
    """Return what an option such as ``argnums`` names; nothing if it is not given, None if not all of it is known.

    Args:
        given: the option, as :meth:`Handed.option` gives it.
    """
    if given is None:
        return ()
    value = given.value
    if isinstance(value, Const):
        return several(value.value)
    parts = value.items if isinstance(value, Sequence) else ()
    found = tuple(part.value for part in parts if isinstance(part, Const))
    return found if parts and len(found) == len(parts) else None


def handed_on(context: Context, event: CallEvent, *, methods: bool = False) -> Iterator[Handed]:
    """Yield the applications of transforms that a call runs, outermost first, with what arguments reach each.

    Args:
        context: the analysis.
        event: the call.
        methods: whether what a decorator made of a method counts, which gets the object as one more argument.
    """
    flow = context.flow
    if event.value.starred:
        return
    count, prepared = len(event.node.args), False
    names = tuple((k.arg, k.value) for k in event.node.keywords if k.arg is not None)
    callee = flow.here(_compiled(event.value.callee), event.scope)
    if isinstance(callee.value, Attr) and callee.value.name in context.shared(_of_classes):
        return  # which an object's call may give the object as well
    for _ in range(_DEPTH):
        callee = flow.resolve(callee)
        if isinstance(callee.value, Param):  # all callers give one
            given = context.sources.originals(callee)
            callee = next(iter(given)) if len(given) == 1 else callee
        value = callee.value
        if not isinstance(value, Call) or value.starred or any(key is None for key, _ in value.keywords):
            return
        if flow.calls.callee_name(callee) == "functools.partial":
            first = value.args[0] if value.args else None
            if first is None:
                return
            count, prepared = count + len(value.args) - 1, True
            names = (*names, *((k.arg, k.value) for k in value.node.keywords if k.arg is not None))
            callee = flow.with_value(callee, first)
            continue
        name = flow.calls.wrapper_name(callee, value)
        if not name or not value.args:
            return
        maker = flow.follow(callee, value.callee).value
        if isinstance(maker, Call) and (maker.starred or any(key is None for key, _ in maker.keywords)):
            return
        if not methods and _decorates(context, value):
            return
        yield Handed(callee, name, count, names, prepared)
        if name not in _KEEPING:
            return
        callee = flow.with_value(callee, value.args[0])


def _of_classes(context: Context) -> frozenset[str]:
    """Return the names that the bodies of classes bind to what calls make."""
    return frozenset(
        name
        for cls in context.project.classes()
        for name, values in cls.scope.bindings.items()
        if any(isinstance(value, Call) and value.node.args and not is_decoration(value.node) for value in values)
    )


def _compiled(callee: Value) -> Value:
    """Return the compiled function whose ``lower`` or ``trace`` is called, with its arguments; others as they are."""
    return callee.base if isinstance(callee, Attr) and callee.name in {"lower", "trace"} else callee


def may_hand_on(made: Made, event: CallEvent) -> bool:
    """Say whether :func:`handed_on` may find a transform, at little cost.

    Args:
        made: what the transforms make.
        event: the call.
    """
    if event.value.starred:
        return False
    callee = _compiled(event.value.callee)
    for _ in range(_DEPTH):
        if made.may_be(callee):
            return True
        if not isinstance(callee, Call) or not callee.args or last_word(callee.node.func) not in _KEEPING_WORDS:
            return False
        callee = callee.args[0]
    return False


def _decorates(context: Context, value: Call) -> bool:
    """Say whether a decorator applies a transform to a method."""
    inner: Value = value.args[0]
    for _ in range(_DEPTH):
        if not isinstance(inner, Call) or not inner.args:
            break
        inner = inner.args[0]
    return isinstance(inner, Function) and inner.facts.self_param is not None and is_decoration(value.node)


def calls_of(context: Context, root: Root) -> Iterator[CallEvent]:
    """Yield the calls of what one application of a transform made."""
    flow = context.flow
    method = root.decorator and root.function.owner is not None and len(root.function.decorators) == 1
    for event in _callers(context, root.function, method):
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


def _callers(context: Context, function: FunctionFacts, method: bool) -> list[CallEvent]:
    """Return the calls of a function; of a decorated method also those of objects that a function is given."""
    found = context.flow.sites.callers(function)
    if not method or function.binding != "instance":
        return found
    return found + [
        event
        for event in context.flow.sites.calls_of(function.name)
        if event not in found and isinstance(callee := event.value.callee, Attr) and isinstance(callee.base, Param)
        if _is_object(context, context.flow.here(callee.base, event.scope), function.owner)
    ]


def _is_object(context: Context, bound: Bound, cls: ClassFacts | None) -> bool:
    """Say whether a value is an object of a class whatever calls there are."""
    found = [*context.sources.originals(bound)]
    return bool(found) and all(context.flow.classes.class_of(one) is cls for one in found)


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
    if event.value.starred or _of_class_body(event, root):
        return None
    if root.transform.startswith("flax."):  # NNX puts arguments by name in their places first
        return len(event.node.args) + len(event.node.keywords) + _own(event, root)
    return len(event.node.args) + _own(event, root)


def _of_class_body(event: CallEvent, root: Root) -> bool:
    """Say whether a class binds what was made of a plain function, which an object's call gives the object as well."""
    plain = root.function.binding == "static" or root.function.owner is None
    bound = root.scope.owner is not None and root.scope.function is None and not root.decorator
    return plain and bound and isinstance(event.node.func, ast.Attribute)


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
