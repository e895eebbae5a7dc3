"""What callers hand to a parameter that values alone do not tell: one of ``*mods``, of ``**mods``, of ``obj[k] = mod``,
and of calls of a method through a name of which nothing is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.may.may import Made
from codemods.nnx.values import Attr, Call, Const, Each, Item, Param, Star, Unknown, Value

_STORING = "__setitem__"
_PLACE = 2  # of the value among the parameters of `__setitem__`
_VALUES = frozenset({"values", "get", "pop", "setdefault"})  # methods of ``**mods`` that give what it holds
_DEPTH = 6  # how many parts of parts are looked through


class Handed:
    """Answers what the project hands to a function."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow: Flow = context.flow
        self._sites: dict[FunctionFacts, list[CallEvent]] = {}
        self._may: dict[FunctionFacts, Made] = {}

    def calls(self, function: FunctionFacts) -> list[CallEvent]:
        """Return the calls that reach a function; of a method that none is known to reach, those that may do so.

        Such a call has the name of the method and arguments that it takes, and what it is called on may be an object of
        the method's class and is nothing else that is known.
        """
        found = self.flow.sites.callers(function)
        if found or function.owner is None or function.self_param is None or function.name.startswith("__"):
            return found
        if function not in self._sites:
            self._sites[function] = []  # while it is looked for
            events = [event for event in self.flow.sites.calls_of(function.name) if _takes(function, event.value)]
            self._sites[function] = [event for event in events if self._may_reach(function, event)]
        return self._sites[function]

    def _may_reach(self, function: FunctionFacts, event: CallEvent) -> bool:
        callee = event.value.callee
        if not isinstance(callee, Attr) or function.owner is None:
            return False
        if function not in self._may:
            heirs = (function.owner, *self.flow.classes.heirs(function.owner))
            self._may[function] = self.flow.may.made_of(heirs)
        if not self._may[function].may_be(callee.base):
            return False
        base = self.flow.here(callee.base, event.scope)
        sources = self.context.sources.of(base)
        return not self.context.kinds.of(base) and not any(self.flow.classes.class_of(one) for one in sources)

    def given(self, param: Param) -> Iterator[tuple[Value, Scope]]:
        """Yield what a parameter gets that the callers known by themselves do not tell."""
        function = param.function
        if function.owner is None or param is function.self_param or self.flow.sites.callers(function):
            return
        if function.name == _STORING:
            if [*function.params].index(param.name) == _PLACE:
                yield from self._stored(function)
            return
        place = [*function.params].index(param.name) - 1
        for event in self.calls(function):
            value = event.value.argument(place, param.name) if place < function.positional - 1 else None
            value = event.value.keyword(param.name) if value is None else value
            if value is not None:
                yield value, event.scope

    def _stored(self, function: FunctionFacts) -> Iterator[tuple[Value, Scope]]:
        """Yield what ``obj[key] = value`` hands to a method of the object's class."""
        for base, value, scope in self._item_stores:
            cls = self.flow.classes.class_of(self.flow.resolve(self.flow.here(base, scope)))
            if cls is not None and self.flow.classes.method(cls, _STORING) is function:
                yield value, scope

    @cached_property
    def _item_stores(self) -> list[tuple[Value, Value, Scope]]:
        found = []
        for module in self.context.project.modules:
            for store in module.item_stores:
                value = module.values.get(getattr(store.statement, "value", store.node))
                if value is not None:
                    found.append((store.base, value, store.scope))
        return found

    def variadic(self, found: Bound) -> tuple[FunctionFacts, bool] | None:
        """Return the function of which a value is one of ``*args`` or ``**named``, and whether one of the latter."""
        value = found.value
        function = found.frame.function if found.frame is not None else None
        if function is None or not (function.vararg or function.kwarg):
            return None
        for step in range(_DEPTH):
            if isinstance(value, Call) and isinstance(value.callee, Attr):
                if value.callee.name not in {*_VALUES, "items"}:
                    return None
                value = value.callee.base
            elif isinstance(value, Call) and self.flow.calls.callee_name(Bound(value, found.frame)) in _LOOPED:
                value = value.args[0] if value.args else value.callee
            elif isinstance(value, Indexed | Item | Round | Each):
                value = value.base
            elif isinstance(value, Unknown):
                bound = function.scope.bindings
                if value in bound.get(function.vararg or "", ()):
                    return (function, False) if step else None
                named = value in bound.get(function.kwarg or "", ())
                return (function, True) if named and step and not _is_key(found.value) else None
            else:
                return None
        return None

    def is_named(self, whole: Bound) -> bool:
        """Say whether a value is ``**named`` itself."""
        value = self.flow.resolve(whole).value
        function = whole.frame.function if whole.frame is not None else None
        if function is None or not function.kwarg:
            return False
        return value in function.scope.bindings.get(function.kwarg, ())

    def any_given(
        self, function: FunctionFacts, named: bool, one: Callable[[Bound], bool], several: Callable[[Bound], bool]
    ) -> bool:
        """Say whether callers hand something to ``*args`` or ``**named``.

        Args:
            function: the function that has it.
            named: whether that of ``**named`` is meant.
            one: tells whether an argument is meant.
            several: tells whether what is unpacked by ``*`` or ``**`` has such arguments in it.
        """
        skipped = function.positional - (1 if function.owner is not None else 0)
        for event in self.calls(function):
            if named:
                for name, value in event.value.keywords:
                    if name is None or name not in function.params:
                        bound = self.flow.here(value, event.scope)
                        if several(bound) if name is None else one(bound):
                            return True
                continue
            for argument in event.value.args[skipped:]:
                inner = argument.value if isinstance(argument, Star) else argument
                bound = self.flow.here(inner, event.scope)
                if several(bound) if isinstance(argument, Star) else one(bound):
                    return True
        return False


_LOOPED = frozenset({"builtins.enumerate", "builtins.reversed", "builtins.list", "builtins.tuple", "builtins.iter"})


def _is_key(value: Value) -> bool:
    """Say whether a value is a key of ``**named``: of a walk over it, or the first of its ``items()``."""
    if isinstance(value, Round | Each):
        base = value.base
        return not (isinstance(base, Call) and isinstance(base.callee, Attr) and base.callee.name == "values")
    if isinstance(value, Indexed | Item) and isinstance(value.base, Round | Each):
        index = value.index.value if isinstance(value, Indexed) else value.index
        return not (isinstance(index, Const) and index.value == 1)
    return False


def _takes(function: FunctionFacts, call: Call) -> bool:
    """Say whether a method may be called with the arguments of a call."""
    names = [*function.params][1:]
    places, given = names[: max(function.positional - 1, 0)], [name for name, _ in call.keywords]
    if call.starred:
        return True
    if len(call.args) > len(places) and not function.vararg:
        return False
    if not function.kwarg and any(name not in names for name in given):
        return False
    left = set(names[len(call.args) :] if len(call.args) <= len(places) else names[len(places) :])
    return not (left - {*given} - {*function.defaults})
