"""Optimizers that get into a field by other ways than a constructor's plain arguments or an assignment.

``dataclasses.replace(exp, opt=...)``, ``exp._replace(opt=...)``, ``Exp(**dict(opt=...))``, ``Exp(*(model, opt))``,
``functools.partial(Exp, opt=...)``, ``vars(exp)["opt"] = ...`` and ``exp.__dict__.update(opt=...)`` fill the field that
the methods of the class read, so that such an optimizer belongs to all others of the field.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.optimizer.origins import Constructor, Origins
from codemods.nnx.values import Attr, Call, Class, Const, Free, Mapping, Param, Ref, Star, Value

Made = Constructor | Param

_REPLACING = frozenset({"copy.replace", "dataclasses.replace"})
_OF_RECORDS = frozenset({"_replace", "_make"})
_DATACLASS = "replace"  # the method of classes of `flax.struct`
_PARTIAL = "functools.partial"


@dataclass(frozen=True)
class Put:
    """Optimizers that get into fields.

    Attributes:
        made: the optimizers, with those that the fields hold otherwise.
        words: how that is done, to follow "because".
    """

    made: frozenset[Made]
    words: str
    scope: Scope
    node: ast.AST


class Puts:
    """Finds what is put into fields by name."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.flow: Flow = origins.flow
        self._fields: dict[tuple[ClassFacts, str], frozenset[Made]] = {}

    def all(self) -> Iterator[Put]:
        """Yield every such place of the project."""
        for event in self.flow.project.calls():
            yield from self._called(event)
        for module in self.flow.project.modules:
            for store in module.item_stores:
                base = self._object(store.base, store.scope)
                value = module.values.get(getattr(store.statement, "value", store.node))
                key = module.values.get(store.node.slice)
                if base is not None and value is not None and isinstance(key, Const | None):
                    names = [key.value] if key is not None and isinstance(key.value, str) else None
                    yield from self._put(base, names, value, store.scope, store.node, "through a dict of attributes")

    def _called(self, event: CallEvent) -> Iterator[Put]:
        call, callee = event.value, event.value.callee
        holds = self.origins.may.may_hold
        if not any(holds(value.value if isinstance(value, Star) else value) for value in call.given):
            return
        name = callee.name if isinstance(callee, Attr) else ""
        if isinstance(callee, Attr) and name in {"update", "__setitem__", "setdefault"}:
            base = self._object(callee.base, event.scope)
            if base is not None:
                yield from self._keywords(base, event, call.keywords, "through a dict of attributes", call.args[:1])
            return
        if isinstance(callee, Attr) and (name in _OF_RECORDS or name == _DATACLASS):
            base = self.flow.here(callee.base, event.scope)
            if name != _DATACLASS or not self.flow.calls.name(event):
                if self._class(base) is not None:
                    yield from self._keywords(base, event, call.keywords, f"by {name}()", call.args)
                    return
        found = self.flow.calls.callee_name(self.flow.here(call, event.scope))
        if found in _REPLACING and call.args:
            base = self.flow.here(call.args[0], event.scope)
            yield from self._keywords(base, event, call.keywords, "by replace()", ())
        elif found == _PARTIAL and call.args:
            base = self.flow.here(call.args[0], event.scope)
            if isinstance(self.flow.resolve(base).value, Class):
                yield from self._keywords(base, event, call.keywords, "by a partial application", call.args[1:])
        elif call.starred:
            base = self.flow.follow(self.flow.here(call, event.scope), callee)
            if isinstance(base.value, Class):
                starred = [one.value for one in call.args if isinstance(one, Star)]
                named = [(key, value) for key, value in call.keywords if key is None]
                yield from self._keywords(base, event, named, "by unpacked arguments", starred)

    def _keywords(
        self,
        base: Bound,
        event: CallEvent,
        keywords: Iterable[tuple[str | None, Value]],
        words: str,
        others: Iterable[Value],
    ) -> Iterator[Put]:
        """Yield what keywords, and what is unpacked or given by position, put into the fields of an object or class."""
        for name, value in keywords:
            yield from self._put(base, None if name is None else [name], value, event.scope, event.node, words)
        for value in others:
            if isinstance(value, Mapping):
                for key, held in value.items:
                    named = [key.value] if isinstance(key, Const) and isinstance(key.value, str) else None
                    yield from self._put(base, named, held, event.scope, event.node, words)
            else:
                yield from self._put(base, None, value, event.scope, event.node, words)

    def _put(
        self, base: Bound, names: list[str] | None, value: Value, scope: Scope, node: ast.AST, words: str
    ) -> Iterator[Put]:
        if not self.origins.may.may_hold(value):
            return
        mine = self.origins.contained(self.flow.here(value, scope))
        if not mine:
            return
        cls = self._class(base)
        classes = [cls] if cls is not None else list(self.flow.project.classes())
        held = {made for one in classes for name in names or self._names(one) for made in self._held(one, name)}
        if held and not mine <= held:  # else it is followed
            yield Put(frozenset({*mine, *held}), f"it gets into a field {words}", scope, node)

    def _names(self, cls: ClassFacts) -> list[str]:
        parents = self.flow.classes.mro(cls)[0]
        names = dict.fromkeys(name for parent in parents for name in (*parent.fields, *parent.stores))
        return [name for name in names if self.origins.may.field_may_be(name)]

    def _held(self, cls: ClassFacts, name: str) -> frozenset[Made]:
        """Return the optimizers that a field of the instances of a class holds, as far as that is followed."""
        if (cls, name) not in self._fields:
            found: set[Made] = set()
            if self.origins.may.field_may_be(name) and name in self._names(cls):
                for event in self.flow.sites.constructions(cls):
                    found |= self.origins.of(self.flow.here(Attr(event.value, name), event.scope))
                for parent in self.flow.classes.mro(cls)[0]:
                    for method in parent.methods.values():
                        if method.self_param is not None:
                            found |= self.origins.of(self.flow.here(Attr(method.self_param, name), method.scope))
            self._fields[cls, name] = frozenset(found)
        return self._fields[cls, name]

    def _class(self, base: Bound) -> ClassFacts | None:
        """Return the class of an object, or the class that is given itself."""
        found = self.flow.resolve(base)
        if isinstance(found.value, Class):
            return found.value.facts
        cls = self.flow.classes.class_of(found)
        if cls is not None:
            return cls
        classes = {self.flow.classes.class_of(one) for one in self.origins.sources.of(base)}
        return classes.pop() if len(classes) == 1 else None

    def _object(self, value: Value, scope: Scope) -> Bound | None:
        """Return the object of ``vars(object)`` and ``object.__dict__``."""
        while not isinstance(value, Attr | Call) and hasattr(value, "before"):
            value = value.before
        if isinstance(value, Attr):
            return self.flow.here(value.base, scope) if value.name == "__dict__" else None
        if isinstance(value, Call) and isinstance(value.callee, Ref | Free) and len(value.args) == 1:
            if value.callee.name.rpartition(".")[2] == "vars":
                return self.flow.here(value.args[0], scope)
        return None
