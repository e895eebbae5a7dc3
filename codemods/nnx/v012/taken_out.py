"""What is taken out of a container: ``self.layers[0]``, ``models.get(name)``, ``max(self.members, key=loss)``."""

from __future__ import annotations

from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Round, slices
from codemods.nnx.values import Attr, Call, Const, Each, Item

# functions that give one of the elements of their argument, those that give all of them, and methods that give one
_CHOOSING = frozenset({"builtins.max", "builtins.min", "builtins.next", "random.choice"})
_ALL = frozenset({"builtins.iter", "builtins.list", "builtins.reversed", "builtins.sorted", "builtins.tuple"})
_GIVING = frozenset({"get", "pop", "popleft"})
_DEPTH = 4  # how many functions that give all elements are looked through


def elements(flow: Flow, taken: Bound) -> tuple[Bound, ...]:
    """Return what a container holds out of which one value is taken; nothing if a value is no such one.

    Args:
        flow: the flow of values.
        taken: the value.
    """
    value = taken.value
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        numbered = isinstance(index, Const) and isinstance(index.value, int)  # a dict went through `list` before
        return () if slices(value) else _held(flow, flow.with_value(taken, value.base), numbered)
    if isinstance(value, Round):
        return _held(flow, flow.with_value(taken, value.base), True)
    if not isinstance(value, Call) or value.starred:
        return ()
    if flow.calls.callee_name(taken) in _CHOOSING:
        return _held(flow, flow.with_value(taken, value.args[0]), True) if len(value.args) == 1 else ()
    method = flow.follow(taken, value.callee)
    if not isinstance(method.value, Attr) or method.value.name not in _GIVING or len(value.args) > 1:
        return ()  # a second argument is given where nothing is found
    return _held(flow, flow.with_value(method, method.value.base), False)


def _held(flow: Flow, container: Bound, walked: bool) -> tuple[Bound, ...]:
    """Return the elements of a container; nothing of one that is itself taken out of another one.

    Args:
        flow: the flow of values.
        container: the container.
        walked: whether it is gone through, which gives the keys of a dict.
    """
    for _ in range(_DEPTH):
        call = container.value
        if not isinstance(call, Call) or not call.args or flow.calls.callee_name(container) not in _ALL:
            break
        container, walked = flow.with_value(container, call.args[0]), True
    container = flow.resolve(container)
    if isinstance(container.value, Item | Indexed | Round | Each | Call):
        return ()
    return () if walked and flow.containers.is_mapping(container) else flow.containers.elements(container)
