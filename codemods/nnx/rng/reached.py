"""Calls that reach a function by way of a class: ``self.build(rngs)`` of a base class, ``MODELS[name](rngs)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.v012.tables import Tables
from codemods.nnx.values import Attr, Call, Class, Item, Param

_DEPTH = 4  # through how many functions ``**named`` is followed


class Reached:
    """Answers who may call a function of which the flow of values knows no caller."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self._looked_up: dict[ClassFacts, list[CallEvent]] | None = None

    def callers(self, function: FunctionFacts) -> list[CallEvent]:
        """Return the calls that reach a function; where none is known to, those of what it stands in for."""
        found = self.flow.sites.callers(function)
        if found or function.owner is None or function.self_param is None:
            return found
        return self._of_class(function.owner) if function.name == "__init__" else self._of_bases(function)

    def handed(self, function: FunctionFacts, name: str, depth: int = 0) -> Iterator[tuple[CallEvent, ast.expr]]:
        """Yield the calls that give a parameter something, with what they write, also by way of ``**named``.

        Args:
            function: the function.
            name: the parameter.
            depth: through how many functions ``**named`` was followed.
        """
        for caller in self.callers(function):
            given = written(function, caller, name)
            if given is not None:
                yield caller, given
                continue
            outer = caller.scope.function
            unpacked = [k.value for k in caller.node.keywords if k.arg is None]
            if outer is None or not outer.kwarg or outer.kwarg == name or depth == _DEPTH:
                continue
            if any(isinstance(one, ast.Name) and one.id == outer.kwarg for one in unpacked):
                for event, one in self.handed(outer, name, depth + 1):
                    if any(keyword.value is one for keyword in event.node.keywords):
                        yield event, one

    def _of_bases(self, function: FunctionFacts) -> list[CallEvent]:
        """Return the calls ``self.method(...)`` in the classes whose method is overridden."""
        assert function.owner is not None
        family = [cls for cls in self.flow.classes.mro(function.owner)[0] if cls is not function.owner]
        return [
            event
            for event in (self.flow.sites.calls_of(function.name) if family else ())
            if isinstance(event.value.callee, Attr)
            and isinstance(event.value.callee.base, Param)
            and event.value.callee.base is event.value.callee.base.function.self_param
            and event.value.callee.base.function.owner in family
        ]

    def _of_class(self, cls: ClassFacts) -> list[CallEvent]:
        """Return the calls of what is taken out of a table that has the class in it, and no other one."""
        if self._looked_up is None:
            self._looked_up = {}
            for event in self.context.project.calls():
                made = dict.fromkeys(self._classes(event))
                if len(made) == 1:
                    self._looked_up.setdefault(next(iter(made)), []).append(event)
        return self._looked_up.get(cls, [])

    def _classes(self, event: CallEvent) -> list[ClassFacts]:
        """Return the classes in the table out of which is taken what is called."""
        callee = event.value.callee
        taken = isinstance(callee, Item | Indexed)
        if isinstance(callee, Call) and isinstance(callee.callee, Attr):
            taken = callee.callee.name == "get"
        if not taken:
            return []
        item = self.flow.here(callee, event.scope)
        held = [*self.context.shared(Tables).held(item)]
        if isinstance(callee, Item | Indexed):
            held += self.flow.containers.elements(Bound(callee.base, item.frame))
        return [made.facts for one in held if isinstance(made := self.flow.resolve(one).value, Class)]


def written(function: FunctionFacts, caller: CallEvent, name: str) -> ast.expr | None:
    """Return what a call writes for a parameter.

    Args:
        function: the function that is called.
        caller: the call.
        name: the parameter.
    """
    by_name = next((k.value for k in caller.node.keywords if k.arg == name), None)
    if by_name is not None:
        return by_name
    names = [*function.params]
    if function.binding == "instance":
        names = names[1:]
    index = names.index(name) if name in names else len(caller.node.args)
    given = caller.node.args[: index + 1]
    if len(given) <= index or any(isinstance(argument, ast.Starred) for argument in given):
        return None
    return given[index]
