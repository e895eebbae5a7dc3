"""One run of a module or function over abstract objects: its variables, its objects, and what happens to them.

Control flow is in :mod:`statements`, evaluation in :mod:`expressions`, calls in :mod:`calls`. What a function did is
noted, so that a second call replays it (:mod:`replay`) instead of running it again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.state.calls import Calls
from codemods.nnx.state.events import Bind, Log, Mutate, Overwrite, Put, Read, Renewed, Shared, Taken, Told, Ways
from codemods.nnx.state.expressions import Expressions
from codemods.nnx.state.giving_back import to_let_go
from codemods.nnx.state.heap import ANY, Change, Heap, Share, Thing, may_be_variable, narrowed
from codemods.nnx.state.library import Library
from codemods.nnx.state.methods import Methods
from codemods.nnx.state.parts import Parts
from codemods.nnx.state.statements import Statements
from codemods.nnx.state.summaries import Summaries
from codemods.nnx.values import Attr, Class, Const, Function, ModuleRef, Ref, Value


class Exhausted(Exception):
    """A function or module is too large to be followed."""


class Execution:
    """The state of a run.

    Attributes:
        scope: the scope that runs.
        receiver: what the first parameter of a method holds.
        heap: the shares and changes so far.
        reads: changes that were read, with the code that read them first.
        results: what the function may return.
        log: what happened so far on the present way.
        returned: the changes at the returns that were passed.
        steps: how much was done.
        mutations: how many changes of Variables there were.
        branches: how many branches that may not be taken the run is in.
        bodies: what runs each time a generator hands something out, by the call that made the generator.
    """

    def __init__(self, summaries: Summaries, scope: Scope) -> None:
        self.summaries = summaries
        self.context = summaries.context
        self.flow = summaries.context.flow
        self.scope = scope
        self.receiver: set[Thing] = set()
        self.heap = Heap()
        self.reads: dict[Change, ast.AST] = {}
        self.results: set[Thing] = set()
        self.steps = 0
        self.mutations = 0
        self.log = Log()
        self.branches = 0
        self.bodies: dict[ast.AST, Callable[[set[Thing]], None]] = {}
        self.names: dict[tuple[Scope, str], set[Thing]] = {}
        self.returned: frozenset[Change] = frozenset()
        self._noted: set[tuple[Thing, ...]] = set()  # reads since the last change
        self._methods: dict[tuple[Thing, FunctionFacts], Thing] = {}
        self._copies: dict[tuple[Thing, ast.AST], list[Thing]] = {}
        self.statements = Statements(self)
        self.expressions = Expressions(self)
        self.calls = Calls(self)
        self.library = Library(self)
        self.methods = Methods(self)
        to_let_go(self)

    def let_go(self) -> None:
        """Hold nothing any more, since nobody asks again."""
        vars(self).clear()

    # -- variables ----------------------------------------------------------------------------------

    def enter(self, scope: Scope) -> None:
        """Go on in another module."""
        self.scope = self.library.scope = scope

    def variable(self, name: str) -> tuple[Scope, str]:
        """Return the variable that a name means where it is bound."""
        scope = self.scope
        if name in scope.globals:
            outer = scope.parent
            while outer is not None and outer.parent is not None and name not in outer.bindings:
                outer = outer.parent
            scope = outer or scope
        return scope, name

    def bind(self, variable: tuple[Scope, str], things: set[Thing]) -> None:
        """Set a variable."""
        if variable[0] is not self.scope:
            self.log.append(Bind(variable, things))
            if self.branches:
                things = things | self.names.get(variable, set())
        self.names[variable] = things

    def name(self, name: str) -> set[Thing]:
        """Return what a name holds."""
        scope: Scope | None = self.scope
        while scope is not None:
            found = self.names.get((scope, name))
            if found is not None:
                return found
            if name in scope.bindings and name not in scope.globals:
                origin = self.imported((scope, name))
                return self.around(origin) if scope is not self.scope or origin[0] is not scope else set()
            scope = scope.parent
        return set()

    def imported(self, variable: tuple[Scope, str]) -> tuple[Scope, str]:
        """Return the variable of another module that a name was imported from; the variable itself otherwise."""
        for _ in range(_IMPORTS):
            scope, name = variable
            values = scope.bindings.get(name, ())
            origin = self.of_module(values[0]) if len(values) == 1 else None
            if origin is None:
                break
            variable = origin
        return variable

    def of_module(self, value: Value | None) -> tuple[Scope, str] | None:
        """Return the global of another module that a value is, as ``module.name`` or imported; None for others."""
        if not isinstance(value, Attr) or not isinstance(value.base, ModuleRef):
            return None
        module = self.flow.project.find(value.base.name, value.base.importer)
        return (module.scope, value.name) if module is not None and value.name in module.scope.bindings else None

    def of_class(self, node: ast.Attribute) -> set[Thing]:
        """Return what holds the attributes of the class that a name means; nothing if it means no class.

        As functions share it, it is kept like a variable of the module.
        """
        if not isinstance(node.value, ast.Name) or node.attr not in self.summaries.of_classes:
            return set()
        name, scope, function = node.value.id, self.scope, self.scope.function
        outer: Scope | None = scope
        if function is not None and function.binding == "class" and name == next(iter(function.params), None):
            if function.owner is None or function.owner.scope.parent is None:
                return set()
            name, outer = function.owner.name, function.owner.scope.parent
        while outer is not None and name not in outer.bindings:
            outer = outer.parent
        if outer is None:
            return set()
        home, name = self.imported((outer, name))
        values = home.bindings.get(name, ())
        if len(values) != 1 or not isinstance(values[0], Class):
            return set()
        if self.flow.classes.method(values[0].facts, node.attr) is not None:
            return set()
        variable = home, f"{name}."
        if variable not in self.names:
            self.names[variable] = {Thing(given=home is not self.scope, variable=variable)}
        return self.names[variable]

    def around(self, variable: tuple[Scope, str]) -> set[Thing]:
        """Return what a variable of a scope around the function holds, which only the caller knows."""
        variable = self.imported(variable)
        found = self.names.get(variable)
        if found is None and variable[1].endswith("."):
            found = self.names[variable] = {Thing(given=variable[0] is not self.scope, variable=variable)}
        if found is None:
            values = variable[0].bindings.get(variable[1], ())
            plain = all(isinstance(value, Class | Const | ModuleRef | Ref) for value in values)
            plain = plain and variable[1] not in variable[0].remote
            if len(values) == 1 and isinstance(values[0], Function):
                found = {Thing(function=values[0].facts)}
            else:
                found = set() if plain else {Thing(given=True, variable=variable)}
            self.names[variable] = found
        return found

    def copies(self, thing: Thing, site: ast.AST) -> list[Thing]:
        """Return what stands here for an object that a function made when it was called at a place."""
        return self._copies.setdefault((thing, site), [])

    # -- fields -------------------------------------------------------------------------------------

    def attribute(self, things: set[Thing], name: str) -> set[Thing]:
        """Return what an attribute of objects holds."""
        if name == "__dict__":
            return things
        found: set[Thing] = set()
        for thing in things:
            if ANY in thing.fields and thing.cls is not None:  # set under a name that is not known
                found |= thing.fields[ANY]
            found |= self._taken(thing, name, True)
        return found

    def item(self, things: set[Thing], key: str) -> set[Thing]:
        """Return what objects hold under a key."""
        if key == ANY:
            return self.elements(things)
        found: set[Thing] = set()
        for thing in things:
            if ANY in thing.fields:
                found |= thing.fields[ANY]
            if key in thing.fields or not (thing.display or ANY in thing.fields):
                found |= self._taken(thing, key, False)
        return found

    def elements(self, things: set[Thing]) -> set[Thing]:
        """Return everything that containers hold; of an object that is no known container a part stands for all."""
        found: set[Thing] = set()
        for thing in things:
            if thing.cls is not None:
                method = self.flow.classes.method(thing.cls, "__iter__")
                if method is not None:
                    found |= self.elements(self.calls.enter(method.node, method, [], {}, {thing}))
                    continue
            for values in thing.fields.values():
                found |= values
            if not thing.fields or (ANY not in thing.fields and (thing.given or thing.kind in _TREES)):
                found |= self._taken(thing, ANY, False)
        return narrowed(found)

    def _taken(self, thing: Thing, name: str, attribute: bool) -> set[Thing]:
        """Return a field, or a new object for a part of which nothing is known."""
        if name in thing.fields:
            return thing.fields[name]
        if thing.cls is not None and attribute:
            method = self.flow.classes.method(thing.cls, name)
            if method is not None:
                if method.is_property:
                    found = self.calls.enter(method.node, method, [], {}, {thing})
                else:
                    found = self._method(thing, method)
                if method.is_cached:
                    self.put({thing}, name, found)
                return found
            found = self._delegated(thing, name)
            if found:
                return found
        if name in _PLAIN:
            return set()
        if thing.depth > _DEPTH:  # of what is so far inside, one object stands for all
            return {thing}
        part = Thing(parent=thing, given=thing.given, key=name, attribute=attribute, depth=thing.depth + 1)
        if thing.kind in _PARTS:
            part.kind = _PARTS[thing.kind]
        thing.fields[name] = {part}
        part.held_by(thing)
        if thing.given:
            self.log.append(Taken(part))
        return {part}

    def _delegated(self, thing: Thing, name: str) -> set[Thing]:
        """Return what ``__getattr__`` gives for an attribute that no method of the class sets."""
        assert thing.cls is not None
        method = self.flow.classes.method(thing.cls, "__getattr__")
        if method is None or method.binding != "instance":
            return set()
        if any(name in cls.stores or name in cls.fields for cls in self.flow.classes.mro(thing.cls)[0]):
            return set()
        return self.calls.enter(method.node, method, [set()], {}, {thing})

    def _method(self, thing: Thing, method: FunctionFacts) -> set[Thing]:
        """Return a method as a value, which holds its object."""
        first = next(iter(method.params), None)
        if first is None or method.binding != "instance" or method.decorators:
            return set()
        key = thing, method
        if key not in self._methods:
            self._methods[key] = Thing(function=method, fields={first: {thing}})
        return {self._methods[key]}

    def put(self, base: set[Thing], key: str, things: set[Thing], anew: bool = False) -> None:
        """Set a field; it is replaced only where it is sure which object's it is and that it happens.

        Args:
            base: the objects whose field it is.
            key: its name or key.
            things: what it holds.
            anew: whether it holds something also where there are no ``things``: a new value of which nothing is known.
        """
        if not base:
            return
        sure = len(base) == 1 and not self.branches and key != ANY
        self.log.append(Put(base, key, things, sure and (anew or bool(things))))
        for thing in base:
            thing.hold(key, things, sure)

    def forget(self, base: set[Thing], key: str) -> None:
        """Set a field to a new value of which nothing is known, where it is sure whose it is and that it happens."""
        if len(base) == 1 and not self.branches:
            self.log.append(Put(base, key, set(), True))
            for thing in base:
                thing.forget(key)

    # -- effects ------------------------------------------------------------------------------------

    def step(self, cost: int = 1) -> None:
        """Count work.

        Raises:
            Exhausted: if the run is too large to be followed.
        """
        self.steps += cost
        if self.steps > _STEPS:
            raise Exhausted

    def read(self, things: set[Thing], node: ast.AST) -> None:
        """Note that code looks at the Variables of objects."""
        if not things:
            return
        self.step(1 + len(things) // 4)
        key = tuple(things)
        if key in self._noted:
            return
        self._noted.add(key)
        self.log.append(Read(things, node))
        read = list(self.heap.unasked(things))
        if read:
            self.reads.update((change, node) for change in read)
            self.heap.changes -= frozenset(read)

    def told_apart(self, one: set[Thing], two: set[Thing], node: ast.AST) -> None:
        """Note that code asks whether Variables are the same object, which those of a share are since 0.11."""
        first, second = ({thing for thing in things if may_be_variable(thing)} for things in (one, two))
        if not first or not second:
            return
        self.log.append(Told(first, second, node))
        change = self.heap.same(first, second, node)
        if change is not None:
            self.reads[change] = node

    def mutate(
        self,
        things: set[Thing],
        node: ast.AST,
        others_only: bool = False,
        given: Iterable[Thing] = (),
        parts: Parts = frozenset(),
    ) -> None:
        """Note that code changes Variables of objects, to the values of ``given`` ones if there are any."""
        if things:
            self.step(1 + len(things) + len(self.heap.shares))
            self._noted.clear()
            self.mutations += 1
            self.log.append(Mutate(things, node, others_only, set(given), parts))
            self.heap.mutate(things, node, others_only, given, parts)
            if self.reads:
                self.heap.changes -= self.reads.keys()

    def overwritten(self, things: set[Thing]) -> None:
        """Note that objects got new values as a whole."""
        if things:
            self.log.append(Overwrite(things))
            self.heap.overwritten(things)

    def renewed(self, things: set[Thing]) -> None:
        """Note that objects stand for new ones from now on, which a later round of a loop made."""
        if self.heap.shares:
            self._noted.clear()
            self.log.append(Renewed(things))
            self.heap.renewed(things)

    def share(self, share: Share) -> None:
        """Note that two handles share Variables from now on."""
        self._noted.clear()
        self.log.append(Shared(share))
        self.heap.shares.append(share)
        self.heap.carry(share)

    # -- control flow -------------------------------------------------------------------------------

    def leave(self) -> None:
        """Note that control leaves the function here."""
        self.returned |= self.heap.changes

    def ways(self, first: Callable[[], bool], second: Callable[[], bool]) -> bool:
        """Run two branches apart and join what they leave; say whether both leave the function."""
        names, changes, log = dict(self.names), self.heap.changes, self.log
        self.branches += 1
        self.log = log.branch()
        one_left = first()
        mine, self.log = self.log.events, log.branch()
        one = (self.names, self.heap.changes)
        self.names, self.heap.changes = names, changes
        self._noted.clear()
        two_left = second()
        self._noted.clear()
        self.branches -= 1
        other, self.log = self.log.events, log
        if mine or other:
            log.events.append(Ways(mine, other, (one_left, two_left)))
        if two_left and not one_left:
            self.names, self.heap.changes = one
        elif not one_left:
            for key, things in one[0].items():
                if self.names.get(key) is not things:
                    self.names[key] = self.names.get(key, set()) | things
            self.heap.changes |= one[1]
        return one_left and two_left

    def finish(self) -> None:
        """Join what the returns of the function left."""
        self.heap.changes |= self.returned
        self.returned = frozenset()

    def closure(self, function: FunctionFacts) -> Thing:
        """Return a function that is defined here, with the variables that it uses."""
        made = Thing(function=function)
        arguments = function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
        for argument, default in [*pairs, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]:
            if default is not None:
                made.hold(argument.arg, self.expressions.value(default))
        return made


_DEPTH = 5  # how deep in an unknown object its parts are told apart
_IMPORTS = 5  # through how many modules a name is followed to where it is bound
_STEPS = 3_000  # how much work one function or module may take
#: Attributes that are no objects.
_PLAIN = frozenset({"shape", "dtype", "ndim", "size", "sharding", "addressable_shards", "devices", "platform"})
_TREES = frozenset({Kind.STATE, Kind.MODULE})
#: What attributes and elements of objects are.
_PARTS = {Kind.RNGS: Kind.STREAM, Kind.STREAM: Kind.VARIABLE}
