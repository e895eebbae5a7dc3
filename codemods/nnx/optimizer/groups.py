"""Optimizer groups: all uses of optimizers that value flow connects, which change together or not at all."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound
from codemods.nnx.may.may import Made
from codemods.nnx.optimizer.origins import Constructor, Origins
from codemods.nnx.optimizer.put_by_name import Puts
from codemods.nnx.optimizer.version_switch import for_old_releases
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Class, Const, Free, Loop, Param, Ref, Value

Member = Constructor | Param | ClassFacts
_Place = TypeVar("_Place", CallEvent, AttrEvent, FunctionFacts)


@dataclass(frozen=True, eq=False)
class Update:
    """A call of ``Optimizer.update``.

    Attributes:
        receiver: the expression of the optimizer; None where the bound method was stored before.
        value: the value of the receiver.
        inner: whether it is ``super().update`` or ``self.update`` in a subclass.
    """

    event: CallEvent
    receiver: ast.expr | None
    value: Value
    inner: bool = False

    @property
    def old(self) -> bool:
        """Whether the call has the form of 0.10: gradients, but no model."""
        call = self.event.value
        names = {name for name, _ in call.keywords}
        if "model" in names:
            return False
        return len(call.args) == 1 or (not call.args and "grads" in names)

    @property
    def unclear(self) -> bool:
        """Whether unpacked arguments hide the form of the call."""
        return self.event.value.starred and not (
            len(self.event.value.args) == 1 and not isinstance(self.event.node.args[0], ast.Starred)
        )


@dataclass(frozen=True, eq=False)
class Reason:
    """A use that keeps a group from taking the form with an explicit model.

    Attributes:
        words: what is done there, to follow "because".
        scope: where it stands.
        node: its place.
        open_end: whether the optimizer leaves the project there, so that any update of unknown origin may be its.
        final: whether the compatible class does not help either.
    """

    words: str
    scope: Scope
    node: ast.AST
    open_end: bool = False
    final: bool = False

    def __str__(self) -> str:
        return f"{self.words} (line {self.node.lineno} of {self.scope.module.source.path})"  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False)
class Through:
    """A call of a method through the class, as in ``nnx.Optimizer.update(optimizer, grads)``."""

    node: ast.Call
    scope: Scope


@dataclass(eq=False)
class Group:
    """Optimizers and all their uses.

    Attributes:
        leaves: whether functions that nothing in the project calls return some of them.
        parts: the groups that were joined since an update of unknown origin may be of any of them.
        loose: the updates of unknown origin.
        unbound: the calls of methods through the old class.
    """

    members: set[Member] = field(default_factory=set)
    updates: list[Update] = field(default_factory=list)
    reads: list[AttrEvent] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    leaves: bool = False
    parts: list[Group] = field(default_factory=list)
    loose: list[Update] = field(default_factory=list)
    unbound: list[Through] = field(default_factory=list)

    def join(self, other: Group) -> None:
        """Take in the optimizers of another group."""
        self.loose += other.loose
        self.parts += other.parts or [other]
        self.members |= other.members
        self.updates += other.updates
        self.reads += other.reads
        self.reasons += other.reasons
        self.unbound += other.unbound
        self.leaves = self.leaves or other.leaves

    @property
    def constructors(self) -> list[Constructor]:
        """The calls that make the optimizers, in order of their places."""
        found = [m for m in self.members if isinstance(m, Constructor)]
        return sorted(
            found, key=lambda c: (c.event.scope.module.source.path, c.event.node.lineno, c.event.node.col_offset)
        )

    @property
    def subclasses(self) -> list[ClassFacts]:
        """The project's classes that derive from an optimizer."""
        return sorted((m for m in self.members if isinstance(m, ClassFacts)), key=lambda c: c.node.lineno)

    @property
    def outside(self) -> list[Param]:
        """Parameters that get an optimizer from outside the project."""
        return [m for m in self.members if isinstance(m, Param)]


class Groups:
    """Collects the uses of optimizers and joins what belongs together."""

    def __init__(self, origins: Origins) -> None:
        self.origins = origins
        self.flow: Flow = origins.flow
        self._parent: dict[Member, Member] = {}
        self._groups: dict[Member, Group] = {}
        self._uses: list[tuple[set[Member], object]] = []
        self._old_forms: dict[ModuleFacts, frozenset[ast.Call]] = {}  # what stands beside the form of later releases
        self.unanswered: dict[ModuleFacts, ast.AST] = {}  # modules with places whose values could not be followed

    def collect(self) -> list[Group]:
        """Return the groups of the project."""
        named: dict[object, Constructor] = {}
        for constructor in self.origins.constructors.values():
            members: set[Member] = {constructor}
            name = _name_of_class(constructor)
            if name is not None:  # what is renamed for one is renamed for the others
                members.add(named.setdefault(name, constructor))
            if constructor.cls is not None:
                members |= set(self._optimizer_classes(constructor.cls))
            self._join(members)
        for cls in self.flow.project.classes():
            if self.origins.optimizer_base(cls):
                self._join(set(self._optimizer_classes(cls)))
        self._collect_overrides()
        self._collect_calls()
        self._collect_reads()
        if self.origins.constructors:  # what is not made here can leave nowhere
            self._collect_returns()
            self._collect_stores()
            self._collect_patterns()
            for put in Puts(self.origins).all():
                self._use(self._plain(put.made), Reason(put.words, put.scope, put.node))
        for members, use in self._uses:
            group = self._groups.setdefault(self._root(next(iter(members))), Group())
            if isinstance(use, Update):
                group.updates.append(use)
            elif isinstance(use, AttrEvent):
                group.reads.append(use)
            elif isinstance(use, Reason):
                group.reasons.append(use)
            elif isinstance(use, Through):
                group.unbound.append(use)
            elif use is _LEAVES:
                group.leaves = True
        for member in self._parent:
            self._groups.setdefault(self._root(member), Group()).members.add(member)
        return list(self._groups.values())

    def _collect_overrides(self) -> None:
        """Join what methods return, or put into an attribute, that override each other: one place may get all of it."""
        flow = self.flow
        for cls in flow.project.classes():
            heirs = [heir for heir in flow.classes.heirs(cls) if heir is not cls]
            for name, method in cls.methods.items() if heirs else ():
                others = [heir.methods[name] for heir in heirs if name in heir.methods]
                if others:
                    self._join_made((value, one.scope) for one in (method, *others) for value in one.returns)
            for name, stores in cls.stores.items() if heirs else ():
                others_ = [store for heir in heirs for store in heir.stores.get(name, ())]
                if others_:
                    self._join_made((value, function.scope) for function, value in (*stores, *others_))

    def _join_made(self, values: Iterable[tuple[Value, Scope]]) -> None:
        made: set[Member] = set()
        for value, scope in values:
            made |= self._plain(self.origins.of(self.flow.here(value, scope)))
        if len(made) > 1:
            self._join(made)

    def updates_and_reads(self) -> tuple[list[Update], list[AttrEvent]]:
        """Return the updates of optimizers and the reads of their model, whatever else is done with them."""
        updates = self.flow.may.made_by({"update"})
        for event in self.flow.project.calls():
            self._updated(event, updates)
        for read in self.flow.project.attributes():
            if read.node.attr == "model":
                self._read_model(read)
        uses = [use for _, use in self._uses]
        return [u for u in uses if isinstance(u, Update)], [u for u in uses if isinstance(u, AttrEvent)]

    def _optimizer_classes(self, cls: ClassFacts) -> Iterator[ClassFacts]:
        for parent in self.flow.classes.mro(cls)[0]:
            if self.origins.optimizer_base(parent):
                yield parent

    # -- joining ----------------------------------------------------------------------------------

    def _root(self, member: Member) -> Member:
        self._parent.setdefault(member, member)
        while self._parent[member] is not member:
            self._parent[member] = self._parent[self._parent[member]]
            member = self._parent[member]
        return member

    def _join(self, members: Iterable[Member]) -> None:
        roots = [self._root(m) for m in members]
        for other in roots[1:]:
            self._parent[self._root(other)] = self._root(roots[0])

    def _use(self, members: Iterable[Member], use: object) -> None:
        every = set(members)
        if every:
            self._join(every)
            self._uses.append((every, use))

    # -- uses -------------------------------------------------------------------------------------

    @cached_property
    def _relevant(self) -> bool:
        """Whether the project makes optimizers, or derives from their class."""
        classes = self.flow.project.classes()
        return bool(self.origins.constructors) or any(self.origins.optimizer_base(cls) for cls in classes)

    def _collect_calls(self) -> None:
        updates = self.flow.may.made_by({"update"})  # its makers: what may be a method of that name
        for event in self._watched(self.flow.project.calls()):
            self._updated(event, updates)
            if self._relevant:
                self._consider(event)

    def _updated(self, event: CallEvent, updates: Made) -> None:
        """Note a call of the update method of an optimizer, also by another name; without arguments it always fails."""
        callee = event.value.callee
        if not event.node.args and not event.node.keywords:
            return
        if isinstance(event.node.func, ast.Attribute) and isinstance(callee, Attr) and callee.name == "update":
            self._update(event, callee)
        elif self._relevant and isinstance(event.node.func, ast.Name) and updates.may_make(callee):
            resolved = self.flow.follow(self.flow.here(event.value, event.scope), callee)
            if isinstance(resolved.value, Attr) and resolved.value.name == "update":
                members = self.origins.of(self.flow.with_value(resolved, resolved.value.base))
                self._use(self._plain(members), Update(event, None, callee))

    def _watched(self, places: Iterable[_Place]) -> Iterator[_Place]:
        """Yield places, and note those whose questions ran out of steps while they were looked at."""
        questions = self.flow.questions
        for place in places:
            before = questions.unanswered
            yield place
            if questions.unanswered > before:
                self.unanswered.setdefault(place.scope.module, place.node)

    def _update(self, event: CallEvent, callee: Attr) -> None:
        if event.node in self._for_old(event.scope.module):
            return
        base = self.flow.here(callee.base, event.scope)
        assert isinstance(event.node.func, ast.Attribute)
        cls = self._inside(callee.base, event.scope)
        if cls is not None:
            self._use([cls], Update(event, event.node.func.value, callee.base, inner=True))
            return
        members = self._plain(self.origins.of(base))
        self._use(members, Update(event, event.node.func.value, callee.base))
        if not members and event.value.args and self.origins.may.may_hold(event.value.args[0]):
            self._unbound(event, base)

    def _for_old(self, module: ModuleFacts) -> frozenset[ast.Call]:
        known = self._old_forms.get(module)
        if known is None:
            known = self._old_forms[module] = for_old_releases(module)
        return known

    def _unbound(self, event: CallEvent, base: Bound) -> None:
        """Note ``type(optimizer).update(optimizer, grads)`` and the like."""
        found = self.flow.resolve(base)
        named = isinstance(found.value, Ref) and found.value.name == "flax.nnx.Optimizer"
        of_type = isinstance(found.value, Call) and self.flow.calls.callee_name(found) == "builtins.type"
        if named or of_type or (isinstance(found.value, Attr) and found.value.name == "__class__"):
            members = self._plain(self.origins.of(self.flow.with_value(base, event.value.args[0])))
            words = "its update method is called through its class"
            old = named and not any(name == "model" for name, _ in event.value.keywords)
            if old and len(event.value.args) == 2:
                self._use(members, Through(event.node, event.scope))
            final = old and len(event.value.args) == 1
            self._use(members, Reason(words, event.scope, event.node, final=final))

    def _plain(self, members: Iterable[Constructor | Param]) -> set[Member]:
        """Leave out optimizers whose class has an ``update`` of its own."""
        return {
            m
            for m in members
            if not (
                isinstance(m, Constructor)
                and m.cls is not None
                and self.flow.classes.method(m.cls, "update") is not None
            )
        }

    def _inside(self, base: Value, scope: Scope) -> ClassFacts | None:
        """Return the subclass whose inherited ``update`` a ``super().update`` or ``self.update`` calls."""
        function = scope.function
        outer: Scope | None = scope
        while outer is not None and (function is None or function.owner is None):
            outer = outer.parent
            function = outer.function if outer is not None else None
        if function is None or function.owner is None or not self.origins.optimizer_base(function.owner):
            return None
        cls = function.owner
        if isinstance(base, Call) and self.flow.calls.callee_name(self.flow.here(base, scope)) == "builtins.super":
            return cls if not any("update" in p.methods for p in self.flow.classes.mro(cls)[0][1:]) else None
        resolved = self.flow.resolve(self.flow.here(base, scope)).value
        if resolved is function.self_param and self.flow.classes.method(cls, "update") is None:
            return cls
        return None

    def _collect_reads(self) -> None:
        called = {e.node.func for e in self.flow.project.calls() if getattr(e.node.func, "attr", None) == "update"}
        for event in self._watched(self.flow.project.attributes()):
            if event.node.attr == "update" and event.context == "load" and event.node not in called:
                members = self._plain(self.origins.of(self.flow.here(event.base, event.scope)))
                self._use(members, Reason("its update method is used as a value", event.scope, event.node))
            if event.node.attr == "__dict__":
                held = self.origins.of(self.flow.here(event.base, event.scope))
                self._use(held, Reason("its attributes are reached through __dict__", event.scope, event.node))
            if event.node.attr == "model":
                self._read_model(event)

    def _read_model(self, event: AttrEvent) -> None:
        function = event.scope.function
        if function is not None and function.owner is not None and event.base is function.self_param:
            if self.origins.optimizer_base(function.owner):
                self._use([function.owner], event)
            return
        self._use(self.origins.of(self.flow.here(event.base, event.scope)), event)

    def _collect_patterns(self) -> None:
        """Note optimizers that are matched against patterns or are keys, which gives them further names."""
        for module in self.flow.project.modules:
            for node in module.source.of_type(ast.Match):
                value = module.values.get(node.subject)
                if value is not None and self.origins.may.may_be(value):
                    scope = _around(module, node)
                    members = self.origins.contained(self.flow.here(value, scope))
                    self._use(members, Reason("it is matched against a pattern", scope, node))
            for key in _keys(module):
                value = module.values.get(key)
                if value is not None and self.origins.may.may_be(value):
                    scope = _around(module, key)
                    members = self.origins.of(self.flow.here(value, scope))
                    self._use(members, Reason("it is the key of a dict, which gives it again", scope, key))

    # -- uses that need the model inside ------------------------------------------------------------

    def _consider(self, event: CallEvent) -> None:
        """Note calls that see an optimizer as a whole."""
        held = self.origins.may.may_hold
        if not any(held(v) for v in event.value.args) and not any(held(v) for _, v in event.value.keywords):
            return
        call = self.flow.here(event.value, event.scope)
        callee = self.flow.follow(call, event.value.callee)
        name = getattr(callee.value, "name", "") if isinstance(callee.value, Ref) else ""
        values = list(event.value.given)
        if name in {"builtins.hasattr", "builtins.getattr", "builtins.setattr", "builtins.delattr"}:
            given = self.flow.follow(call, values[1]).value if len(values) > 1 else None
            asked = given.value if isinstance(given, Const) else None
            short = name.partition(".")[2]
            if asked == "model":
                members = self.origins.of(self.flow.with_value(call, values[0]))
                self._use(members, Reason(f"the model is reached through {short}()", event.scope, event.node))
            elif given is not None and short != "hasattr" and asked in {"update", None}:
                plain = self._plain(self.origins.of(self.flow.with_value(call, values[0])))
                words = "its update method is reached through" if asked else "one of its attributes is reached through"
                self._use(plain, Reason(f"{words} {short}()", event.scope, event.node))
            return
        if name in CONTENT:
            if values and not only_optimizer_state(self.flow, call, event.value.args[1:]):
                members = self.origins.contained(self.flow.with_value(call, values[0]))
                if members and not self.carries_model(call, values[0]):
                    short = name.removeprefix("flax.")
                    self._use(
                        members, Reason(f"{short}() sees the optimizer without its model", event.scope, event.node)
                    )
            return
        if name in _COPYING:
            for value in values[:1]:
                members = self.origins.contained(self.flow.with_value(call, value))
                self._use(members, Reason("the optimizer is copied together with its model", event.scope, event.node))
            return
        if name == "builtins.vars":
            members = self.origins.of(self.flow.with_value(call, values[0]))
            self._use(members, Reason("its attributes are reached through vars()", event.scope, event.node))
            return
        if self._harmless(name, call, callee):
            return
        for value in values:
            if isinstance(value, Const):
                continue
            members = self.origins.contained(self.flow.with_value(call, value))
            self._use(members, Reason("it is passed to code outside the project", event.scope, event.node))
            if members:
                self._handed(call, callee, members)

    def _handed(self, call: Bound, callee: Bound, members: Iterable[Constructor | Param]) -> None:
        """Join optimizers with the others that a function gets which may be called there, being an argument itself."""
        if not isinstance(callee.value, Param):
            return
        for source in self.origins.sources.of(callee) - {callee}:
            for reached in self.flow.calls.callables(source):
                frame, function = self.flow.calls.enter(reached, call), reached.function
                for param in function.params.values():
                    mine = self.origins.of(self.flow.resolve(Bound(param, frame))) & frozenset(members)
                    if mine:
                        others = self.origins.of(self.flow.here(param, function.scope))
                        self._join(self._plain(mine | others))

    def _harmless(self, name: str, call: Bound, callee: Bound) -> bool:
        if self.flow.fields.record(call) is not None:
            return True
        if name:
            return name.startswith(_HARMLESS_PREFIXES) or name in _HARMLESS
        value = callee.value
        if isinstance(value, Class):
            return True
        if isinstance(value, Attr) and value.name in _CONTAINER_METHODS:
            return True
        if isinstance(value, Attr) and value.name == "update" and self.origins.of(Bound(value.base, callee.frame)):
            return True
        if isinstance(value, Attr) and (value.name == "replace" or _ASSERTION.match(value.name)):
            return True
        if self.flow.calls.invoked(call):
            return True
        # a transform given its options first: nnx.jit(donate_argnums=0)(step)
        outer = self.flow.calls.callee_name(callee) if isinstance(value, Call) else ""
        return (
            isinstance(value, Call)
            and outer not in _BY_NAME
            and not outer.startswith(("collections.", "dataclasses.", "typing."))  # a class that is made at run time
            and bool(self.flow.calls.wrapper_name(callee, value) or outer)
        )

    def carries_model(self, call: Bound, value: Value) -> bool:
        """Say whether a container or object holds, before each optimizer, the model of it."""
        from codemods.nnx.optimizer.identity import Identity

        identity = Identity(self.origins)
        slots = self._slots(self.flow.with_value(call, value))
        held = [(i, s) for i, s in enumerate(slots) if self.origins.of(s)]
        if not held:
            return False
        return all(any(identity.proven(m, o) for m in slots[:i]) for i, o in held)

    def _slots(self, whole: Bound) -> list[Bound]:
        whole = self.flow.resolve(whole)
        if self.origins.of(whole):
            return [whole]
        names = sorted(self.origins.fields(whole))
        if names:
            found = []
            for name in names:
                values = self.flow.fields.field(whole, name)
                if len(values) == 1:
                    found.append(self.flow.resolve(values[0]))
            return found
        return [self.flow.resolve(e) for e in self.flow.containers.elements(whole)]

    def _collect_returns(self) -> None:
        """Note optimizers that leave the project through functions that nothing in it calls."""
        for function in self._watched(self.flow.project.functions()):
            unnamed = function.name == "<lambda>"
            if self.flow.sites.callers(function) or (unnamed and function.node not in self._kept):
                continue
            for value in function.returns:
                returned = self.flow.here(value, function.scope)
                made = {m for m in self.origins.contained(returned) if isinstance(m, Constructor)}
                words = f"{function.name}() returns it without its model and nothing in the project calls that"
                alone = [m for m in made if not self._within_reach(m, function, returned)]
                self._use(made, _LEAVES)
                self._use(() if unnamed else alone, Reason(words, function.scope, function.node, open_end=True))

    @cached_property
    def _kept(self) -> frozenset[ast.AST]:
        """The functions without a name that dicts and lists hold, from where others may call them."""
        found: set[ast.AST] = set()
        for module in self.flow.project.modules:
            for held in module.source.of_type(ast.Dict):
                found |= {value for value in held.values if isinstance(value, ast.Lambda)}
            rows = [row.elts for row in module.source.of_type(ast.List)]
            rows += [row.elts for row in module.source.of_type(ast.Tuple)]
            found |= {value for row in rows for value in row if isinstance(value, ast.Lambda)}
            for store in module.item_stores:
                found.add(getattr(store.statement, "value", store.node))
        return frozenset(found)

    def _within_reach(self, made: Constructor, function: FunctionFacts, returned: Bound) -> bool:
        """Say whether those who get an optimizer from a function have its model too."""
        from codemods.nnx.optimizer.identity import Identity

        identity = Identity(self.origins)
        at = self.flow.here(made.event.value, made.event.scope)
        model = identity.model_argument(made, at)
        if model is None:
            return False
        model = self.flow.resolve(model)
        opened = self.flow.sites.open_param(model)
        if opened is not None and opened.function is function:  # they gave it
            return True
        if model.frame is None:  # a global
            return not isinstance(model.value, Call) or model.value is not self.flow.resolve(at).value
        slots = self._slots(returned)
        slots += [inner for slot in slots if not self.origins.of(slot) for inner in self._slots(slot)]
        return any(self.flow.identity.same(slot, model) for slot in slots)

    def _collect_stores(self) -> None:
        """Note optimizers that are stored in objects whose class is not known."""
        for event in self._watched(self.flow.project.attributes()):
            if event.context != "store" or event.stored is None or not self.origins.may.may_be(event.stored):
                continue
            base = self.flow.resolve(self.flow.here(event.base, event.scope))
            if self.flow.classes.class_of(base) is not None:
                continue
            members = self.origins.of(self.flow.here(event.stored, event.scope))
            self._use(members, Reason("it is stored in an object of unknown class", event.scope, event.node))
        for module in self.flow.project.modules:
            for store in module.item_stores:
                stored = module.values.get(getattr(store.statement, "value", store.node))
                if stored is not None:
                    self._put_in(store.base, stored, store.scope, store.node)
        for call in self.flow.project.calls():
            func, callee = call.node.func, call.value.callee
            if isinstance(func, ast.Attribute) and func.attr in _FILLING and isinstance(callee, Attr):
                for given in call.value.given:
                    self._put_in(callee.base, given, call.scope, call.node)

    def _put_in(self, container: Value, stored: Value, scope: Scope, node: ast.AST) -> None:
        """Note an optimizer that a function puts into a container it is given: who reads it there is not followed."""
        while isinstance(container, Changed | Loop):
            container = container.before
        function = scope.function
        if not isinstance(container, Param) or function is None or container is function.self_param:
            return
        if not self.origins.may.may_be(stored):
            return
        made = self.origins.of(self.flow.here(stored, scope))
        if any(isinstance(one, Constructor) and one.event.scope is scope for one in made):
            before = self.origins.contained(self.flow.here(container, scope))
            words = "it is put into a container that the function is given"
            self._use({*made, *before}, Reason(words, scope, node, open_end=True))


def _keys(module: ModuleFacts) -> Iterator[ast.expr]:
    """Yield what objects are kept under in dicts."""
    for display in module.source.of_type(ast.Dict):
        yield from (key for key in display.keys if key is not None and not isinstance(key, ast.Constant))
    for made in module.source.of_type(ast.DictComp):
        yield made.key
    for store in module.item_stores:
        if not isinstance(store.node.slice, ast.Constant):
            yield store.node.slice


def _around(module: ModuleFacts, node: ast.AST) -> Scope:
    """Return the scope that a node stands in."""
    inner = (f.scope for f in reversed(module.functions) if any(node is n for n in ast.walk(f.node)))
    return next(inner, module.scope)


def _name_of_class(constructor: Constructor) -> object:
    """Return what the project calls the class at a constructor: a partial, variable, argument or attribute."""
    event = constructor.event
    node, callee = event.node.func, event.value.callee
    if constructor.partial is not None:
        return constructor.partial
    if isinstance(callee, Param):
        return callee
    if isinstance(callee, Free) and isinstance(node, ast.Name):
        bound = callee.scope.bindings.get(callee.name, ())
        return bound[0].node if len(bound) == 1 and isinstance(bound[0], Attr) else None
    if isinstance(callee, Attr) and callee.name != "Optimizer":
        return callee.name
    return callee.node if isinstance(callee, Attr) and isinstance(node, ast.Name) else None


_FILLING = frozenset({"append", "insert", "setdefault", "update"})
_LEAVES = object()  # the use of leaving the project together with the model
#: functions that give what an object holds
CONTENT = frozenset(
    f"flax.nnx.{name}"
    for name in ("split", "state", "variables", "graphdef", "pop", "update", "iter_graph", "to_tree", "to_pure_dict")
)
_COPYING = frozenset({"flax.nnx.clone", "copy.deepcopy", "copy.copy"})
_HARMLESS_PREFIXES = (
    *("flax.nnx.", "jax.", "optax.", "chex.", "functools.", "typing.", "dataclasses.", "contextlib.", "collections."),
    *("itertools.", "operator.", "inspect.", "logging.", "absl.logging.", "warnings.", "unittest.", "mock.", "pytest."),
)
_HARMLESS = frozenset(
    {
        "builtins.bool",
        "builtins.callable",
        "builtins.dict",
        "builtins.dir",
        "builtins.enumerate",
        "builtins.hash",
        "builtins.id",
        "builtins.isinstance",
        "builtins.issubclass",
        "builtins.iter",
        "builtins.len",
        "builtins.list",
        "builtins.next",
        "builtins.print",
        "builtins.range",
        "builtins.repr",
        "builtins.reversed",
        "builtins.set",
        "builtins.sorted",
        "builtins.str",
        "builtins.super",
        "builtins.tuple",
        "builtins.type",
        "builtins.vars",
        "builtins.zip",
    }
)
_CONTAINER_METHODS = frozenset(
    {"append", "extend", "insert", "add", "items", "keys", "values", "get", "pop", "setdefault", "update"}
)
_ASSERTION = pattern(r"assert(_[a-z]|[A-Z])")  # methods of test cases and mocks, which only compare
_BY_NAME = frozenset({"operator.methodcaller", "operator.attrgetter"})  # make functions that use what they are given
_OPTIMIZER_STATE = frozenset({"OptState", "OptArray", "OptVariable"})


def only_optimizer_state(flow: Flow, call: Bound, filters: tuple[Value, ...]) -> bool:
    """Say whether filters select nothing of the model."""
    names = {getattr(flow.follow(call, f).value, "name", "").rpartition(".")[2] for f in filters}
    return bool(names) and names <= _OPTIMIZER_STATE
