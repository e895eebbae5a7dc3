"""The graph along which objects may flow through a project: flow-insensitive, fields by name, about linear in its text.

A node stands for a parameter, a variable of a scope, all attributes of one name, what a function returns, what a call
gives, or the instances of a class. Containers are one with their elements, but for the place that an element has in a
tuple: ``step(...)[1]`` is not what ``return model, loss`` has first. Lists and dicts change, in ways that nobody notes.
Functions and classes are followed while the graph is made, since they say where arguments go; everything else is
followed afterwards, along the edges.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.frames import Bound, Indexed, Part, Round
from codemods.nnx.known import GRADIENTS, REPLACING, TRANSPARENT
from codemods.nnx.may.names import PARTIAL, Names, last_name
from codemods.nnx.project import Project
from codemods.nnx.values import (
    Assigned,
    Attr,
    Call,
    Changed,
    Choice,
    Class,
    Comprehension,
    Const,
    Each,
    Free,
    Function,
    Item,
    Loop,
    Mapping,
    ModuleRef,
    Param,
    Sequence,
    Star,
    Value,
)

NOTHING = -1  # the node of literals, and of what nothing is known of

#: The 0-based place of something in a tuple; None for an object itself, or one that may be at any place of a container.
Place = int | None
#: Nodes, and at which places of a tuple what was sought may be there; None for itself, or at any.
Reached = dict[int, set[int] | None]
NOWHERE: frozenset[int] = frozenset()

# Functions that are not the project's and hand on what they get, or take it out of what they get, by last name.
_HANDING_ON = frozenset(
    {
        "Dict", "List", "Sequential", "__setattr__", "_asdict", "_make", "_replace", "asdict", "astuple", "cast",
        "chain", "clone", "copy", "cycle", "data", "deepcopy", "defaultdict", "deque", "dict", "enumerate",
        "frozenset", "get", "getattr", "graphdef", "islice", "items", "iter", "list", "merge", "next", "pop",
        "popitem", "product", "replace", "reversed", "set", "setattr", "setdefault", "sorted", "split", "tuple",
        "union", "values", "vars", "zip",
    }
)  # fmt: skip
# Functions that give a function which calls the one that they get, by last name.
_WRAPPING = frozenset(name.rpartition(".")[2] for name in TRANSPARENT | GRADIENTS)
# Methods that objects of Python have as well: a call means the project's only if it may be on one of its objects.
_COMMON = frozenset(name for kind in (dict, list, set, str) for name in dir(kind) if not name.startswith("_"))
# Builtins that neither give back nor keep what they get.
_BUILT_IN = frozenset({"abs", "all", "any", "bool", "float", "hasattr", "int", "isinstance", "len", "max", "min",
                       "print", "range", "repr", "round", "str", "sum", "super", "type"})  # fmt: skip
MANY_PLACES = 8  # at how many places of a tuple something is told apart
_MANY = 16  # functions in one field or container that are no longer told apart
_IMPORTS = 8  # through how many modules a name is followed to its definition
_NO_WAYS: list[int] = []  # of nodes that nothing leads out of, for all of them; never changed
# Functions that make classes of records, and classes whose fields are the keywords that they are made with.
_RECORDS = frozenset({"NamedTuple", "make_dataclass", "namedtuple"})
_NAMESPACES = frozenset({"Namespace", "SimpleNamespace"})
_RUNNING = frozenset({"cond", "eval_shape", "fori_loop", "scan", "switch", "while_loop"})


class Graph:
    """Nodes and edges, made once for a project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.names = Names(project)
        self.edges: list[list[int]] = []  # where everything of a node flows
        self.placed: dict[int, list[tuple[int, Place]]] = {}  # the containers that it is put into, and at which place
        self.taken: dict[int, list[tuple[int, Place]]] = {}  # where what is in it flows; at which place, or None
        self.functions: dict[int, list[int]] = {}  # where only its functions flow: through jit, partial, decorators
        self.holders: dict[int, list[ClassFacts]] = {}  # the classes whose instances hold it, by the nodes of fields
        self.instances: dict[ClassFacts, list[int]] = {}  # what gives an instance of a class: calls, and selves
        self.sites: dict[int, list[Call]] = {}  # calls by the node of what is called
        self.unnamed: dict[int, list[Call]] = {}  # those whose name does not tell what is called
        self.passed: dict[int, list[Call]] = {}  # the same calls by the nodes of their arguments
        self.deferred: dict[str, list[tuple[Call, Attr]]] = {}  # calls of methods of common names, by these
        self.defined: dict[int, list[FunctionFacts | ClassFacts]] = {}  # functions and classes by their nodes
        self._nodes: dict[object, int] = {}
        self._known: dict[int, int] = {}  # the nodes of values, by the identities of these
        self._alive: list[Value] = []  # the values, so that no other one gets the identity
        self._fields: set[int] = set()
        self._parts: list[tuple[Value, int]] = []
        self._decorated: list[Call] = []
        self._records: list[Call] = []  # what makes classes of records
        self._remade: list[Call] = []  # records made of containers: ``Record._make(values)``
        self._joined: set[tuple[Call, FunctionFacts | ClassFacts]] = set()
        self._callers: list[list[int]] | None = None
        self._reached: dict[int, tuple[FunctionFacts | ClassFacts, ...]] = {}
        self._built = False
        self._calling: dict[FunctionFacts | ClassFacts, list[Call]] | None = None
        self._build()

    # -- nodes ----------------------------------------------------------------------------------------

    def _new(self, key: object) -> int:
        node = self._nodes.get(key)
        if node is None:
            node = self._nodes[key] = len(self.edges)
            self.edges.append(_NO_WAYS)
        return node

    def variable(self, scope: Scope, name: str) -> int:
        """Return the node of a variable."""
        node = self._nodes.get((scope, name))
        return self._new((scope, name)) if node is None else node

    def field(self, name: str) -> int:
        """Return the node of all attributes of a name."""
        node = self._nodes.get(name)
        if node is None:
            node = self._new(name)
            self._fields.add(node)
        return node

    def find(self, key: object) -> int:
        """Return the node of something that the project mentions, or :data:`NOTHING`."""
        return self._nodes.get(key, NOTHING)

    def node(self, value: Value) -> int:
        """Return the node of a value, making it and its edges if need be."""
        known = self._known.get(id(value))
        if known is not None:
            return known
        inner, place, taken = peeled(value)
        kind = type(inner)
        if taken:
            node = self._element(inner, place)
        elif kind is Param:
            node = self._new(inner)
        elif kind is Free:
            assert isinstance(inner, Free)
            node = self._free(inner)
        elif kind is Attr:
            assert isinstance(inner, Attr)
            node = self._attribute(inner)
        elif kind is Call:
            assert isinstance(inner, Call)
            node = self._new(inner)
            if len(inner.node.args) != len(inner.args):  # what a decorator makes is no call of the text
                self._decorated.append(inner)
        elif isinstance(inner, Function | Class):
            node = self._define(inner.facts)
        elif isinstance(inner, Choice | Loop | Changed | Sequence | Mapping | Comprehension):
            node = self._new(inner)
            self._parts.append((inner, node))
        else:
            node = NOTHING
        self._known[id(value)] = node
        self._alive.append(value)
        return node

    def _element(self, container: Value, place: Place) -> int:
        """Return the node of what is taken out of a container."""
        whole = self.node(container)
        if whole < 0:
            return NOTHING
        known = self._nodes.get((whole, place, None))
        if known is None:
            known = self._new((whole, place, None))
            self.taken.setdefault(whole, []).append((known, place))
        return known

    def _define(self, facts: FunctionFacts | ClassFacts) -> int:
        node = self._new(facts.node)
        self.defined.setdefault(node, [facts])
        return node

    def _free(self, value: Free) -> int:
        scope = value.scope
        if value.name not in scope.bindings and scope.module.stars:
            for star in scope.module.stars:
                found = self.project.find(star, scope.module.name)
                if found is not None and found.scope is not scope and value.name in found.scope.bindings:
                    return self.variable(found.scope, value.name)
            return self.field(value.name)  # from flax.nnx import *
        return self.variable(scope, value.name)

    def _attribute(self, value: Attr) -> int:
        modules = self.names.modules(value.base)
        for module in modules:
            if value.name in module.scope.bindings:
                return self.variable(module.scope, value.name)
            if module.stars:
                return self._free(Free(module.scope, value.name))
        return self.field(value.name)

    def _edge(self, source: int, to: int) -> None:
        if source >= 0 and to >= 0 and source != to:
            _add(self.edges, source, to)

    def flow(self, value: Value, to: int) -> None:
        """Let a value flow to a node."""
        if type(value) is not Const:
            self._edge(self.node(value), to)

    def _put(self, value: Value, to: int, place: Place) -> None:
        """Let a value flow into a container, at a place; None if it is not known."""
        source = NOTHING if type(value) is Const else self.node(value)
        if source >= 0 and to >= 0:
            self.placed.setdefault(source, []).append((to, place))

    def _hand(self, value: Value, to: int) -> None:
        """Let a value, or what is in it, flow to a node, at whatever place."""
        source = NOTHING if type(value) is Const else self.node(value)
        if source >= 0 and to >= 0 and source != to:
            self.taken.setdefault(source, []).append((to, None))

    # -- building -------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._stored = {event.node.attr for event in self.project.attributes() if event.stored is not None}
        self._stored |= {
            name
            for cls in self.project.classes()
            for name in (*cls.fields, *cls.scope.bindings)
            if name not in cls.methods
        }
        self._methods = {name for cls in self.project.classes() for name in cls.methods}
        for module in self.project.modules:
            if self.project.poll is not None:
                self.project.poll()
            for name, values in module.scope.bindings.items():
                node = self.variable(module.scope, name)
                for value in values:
                    self.flow(value, node)
                if not all(isinstance(stripped(v), Function | Class | Attr | ModuleRef) for v in values):
                    self._edge(node, self.field(name))  # of a module that is passed on as a value
            for cls in module.classes:
                self._class(cls)
            for function in module.functions:
                self._function(function)
            for event in module.attributes:
                if event.stored is not None:
                    self.flow(event.stored, self.field(event.node.attr))
            for called in module.calls:
                self._call(called.value, called.scope)
        self._settle()
        for maker in self._records:
            self._fill_records(maker)
        self._settle()
        self._built = True

    def _class(self, cls: ClassFacts) -> None:
        instances = self.instances.setdefault(cls, [])
        for name, values in cls.scope.bindings.items():
            node, field = self.variable(cls.scope, name), self.field(name)
            for value in values:
                self.flow(value, node)
                if not isinstance(stripped(value), Function):
                    self._edge(node, field)
        for name, method in cls.methods.items():  # also those whose decorator hides them
            if method.is_property:
                self._edge(self._new(method), self.field(name))
            else:
                self._hub(name, method)
        for parent in self.names.family(cls):
            instances += [self._new(m.self_param) for m in parent.methods.values() if m.self_param is not None]
            for name in (*parent.fields, *parent.stores):
                self.holders.setdefault(self.field(name), []).append(cls)

    def _hub(self, name: str, method: FunctionFacts) -> None:
        """Join the parameters and result of a method with those of all methods of its name."""
        field = self.field(name)
        self.defined.setdefault(field, []).append(method)
        self._give(method, self._new(("result", name)), self.names.plainly_decorated(method))
        params = list(method.params.values())
        if method.binding in {"instance", "class"}:
            params = params[1:]
        rest = self._new(("any", name))
        for index, param in enumerate(params):
            node = self._new(param)
            self._edge(self._new((index, name)), node)
            self._edge(self._new((param.name, name, "")), node)
            self._edge(rest, node)
        for extra in (method.vararg, method.kwarg):
            if extra:
                more = self.variable(method.scope, extra)
                self.placed.setdefault(self._new(("more", name)), []).append((more, None))
                self.placed.setdefault(rest, []).append((more, None))

    def _function(self, function: FunctionFacts) -> None:
        scope = function.scope
        result = self._new(function)
        for name, values in scope.bindings.items():
            node = self.variable(scope, name)
            for value in values:
                self.flow(value, node)
        for value in function.returns:
            if function.generator:
                self._put(value, result, None)
            else:
                self.flow(value, result)
        for name, default in function.defaults.items():
            self.flow(default, self._new(function.params[name]))

    def _call(self, call: Call, scope: Scope | None) -> None:
        result = self._new(call)
        callee = self.node(call.callee)
        word = last_name(call.callee)
        if callee >= 0:
            self.sites.setdefault(callee, []).append(call)
        if not self._known_by_name(call, scope, word):
            self._pass(call, callee)
        first = NOTHING
        if call.args and type(call.args[0]) is not Const:
            first = self.node(call.args[0])
        if first >= 0 and (word in _WRAPPING or not word or len(call.node.args) != len(call.args)):
            self.functions.setdefault(first, []).append(result)
            if word in PARTIAL and len(call.args) + len(call.keywords) > 1:
                known = self.names.definitions(call.args[0])
                for facts, bound in known:
                    self.connect(call, facts, bound, call.args[1:])
                if not known:
                    self._pass(call, first)
        if word in _HANDING_ON:
            self._hand_on(call, word, result)
        if word in _RUNNING:
            self._run(call, word, result)
        if word in _RECORDS and len(call.args) + len(call.keywords) > 1:
            self._records.append(call)
        elif word in _NAMESPACES:
            for name, argument in call.keywords:
                if name is not None:
                    self.flow(argument, self.field(name))
        elif word == "_make":
            self._remade.append(call)

    def _known_by_name(self, call: Call, scope: Scope | None, word: str) -> bool:
        """Connect a call with what its name means; say whether it can mean nothing else."""
        callee = call.callee
        own = self._own_methods(callee, scope)
        if own:
            for method in own:
                self.connect(call, method, whole=self.names.plainly_decorated(method))
            return True
        known = self.names.definitions(callee)
        whole = bool(known) and self.names.plain(callee)
        for facts, bound in known:
            self.connect(call, facts, bound, whole=whole)
        if isinstance(callee, Free | Attr) and word in _BUILT_IN and not known:
            return True
        if isinstance(callee, Attr) and not known:
            if self.names.module_like(callee.base):
                return True
            if callee.name in self._methods and callee.name in _COMMON and not self._built:
                self.deferred.setdefault(callee.name, []).append((call, callee))
            else:
                self.by_name(call, callee)
            return callee.name not in self._stored
        if isinstance(callee, Free):
            bound_to = callee.scope.bindings.get(callee.name, ())
            return all(self._told(b) for b in bound_to)
        return self._told(callee)

    def _told(self, value: Value, depth: int = 0) -> bool:
        """Say whether a value is a function or class that its name tells, also one that a library's decorator wraps."""
        if isinstance(value, Call):
            wrapped = not any(isinstance(d.facts, FunctionFacts) for d in self.names.definitions(value.callee))
            return wrapped and bool(value.args) and self._told(value.args[0], depth)
        if isinstance(value, Attr):
            if not self.names.definitions(value):
                return self.names.module_like(value)
            bound = [b for m in self.names.modules(value.base) for b in m.scope.bindings.get(value.name, ())]
            return depth <= _IMPORTS and all(self._told(b, depth + 1) for b in bound)
        return isinstance(value, Function | Class | ModuleRef)

    def by_name(self, call: Call, callee: Attr) -> None:
        """Let the arguments of a call of a method flow to all methods of its name."""
        name = callee.name
        if name not in self._methods:
            return
        self._edge(self._new(("result", name)), self._new(call))
        for index, argument in enumerate(call.args):
            if isinstance(argument, Star):
                self.flow(argument, self._new(("any", name)))
            else:
                self.flow(argument, self._new((index, name)))
                self.flow(argument, self._new(("more", name)))
        for keyword, argument in call.keywords:
            if keyword is None:
                self._hand(argument, self._new(("any", name)))
            else:
                self.flow(argument, self._new((keyword, name, "")))
                self.flow(argument, self._new(("more", name)))

    def _pass(self, call: Call, callee: int) -> None:
        """Note what a call passes to a function that its name does not tell."""
        if callee < 0:
            return
        self.unnamed.setdefault(callee, []).append(call)
        for argument in call.given:
            if type(argument) is not Const:
                node = self.node(argument)
                if node >= 0:
                    self.passed.setdefault(node, []).append(call)

    def _hand_on(self, call: Call, word: str, result: int) -> None:
        if isinstance(call.callee, Attr) and not self.names.modules(call.callee.base):
            self._hand(call.callee.base, result)
        for argument in call.args:
            self._hand(argument, result)
        for name, argument in call.keywords:
            self._hand(argument, result)
            if word in REPLACING and name is not None:
                self.flow(argument, self.field(name))
        if word in {"getattr", "setattr", "__setattr__"} and len(call.args) > 1:
            key = call.args[1]
            if isinstance(key, Const) and isinstance(key.value, str):
                if word == "getattr":
                    self._edge(self.field(key.value), result)
                elif len(call.args) > 2:
                    self.flow(call.args[2], self.field(key.value))

    def _run(self, call: Call, word: str, result: int) -> None:
        """Let the operands of a loop or branch flow into its body."""
        given = list(call.given)
        bodies = [item for value in given for item in (value.items if isinstance(value, Sequence) else (value,))]
        for body in bodies:
            for facts, _ in self.names.definitions(body):
                for function in self.entered(facts):
                    if word == "eval_shape":
                        self._edge(self._new(function), result)
                    for param in function.params.values():
                        for operand in given:
                            self._hand(operand, self._new(param))

    def _own_methods(self, callee: Value, scope: Scope | None) -> list[FunctionFacts]:
        """Return the methods that ``self.name``, ``super().name`` or ``Class.__name__`` means; none where unsure."""
        if not isinstance(callee, Attr):
            return []
        base = callee.base
        related: tuple[ClassFacts, ...] = ()
        if isinstance(base, Param) and base is base.function.self_param and base.function.owner is not None:
            related = self.names.related(base.function.owner)
            if any(callee.name in cls.stores or callee.name in cls.fields for cls in related):
                return []
        elif isinstance(base, Call) and isinstance(base.callee, Free) and base.callee.name == "super":
            owner = _owner(scope)
            related = self.names.related(owner) if owner is not None else ()
        elif callee.name.startswith("__"):
            related = tuple(
                c
                for d in self.names.definitions(base)
                if isinstance(d.facts, ClassFacts)
                for c in self.names.family(d.facts)
            )
        return list(dict.fromkeys(cls.methods[callee.name] for cls in related if callee.name in cls.methods))

    def entered(self, facts: FunctionFacts | ClassFacts) -> tuple[FunctionFacts, ...]:
        """Return the functions that run when a function or class is called."""
        if isinstance(facts, FunctionFacts):
            return (facts,)
        wanted = ("__init__", "__new__", "__post_init__")
        return tuple(c.methods[name] for c in self.names.family(facts) for name in wanted if name in c.methods)

    def _give(self, function: FunctionFacts, to: int, whole: bool) -> None:
        """Let what a function returns flow to a node: as it is, or as some part of what is there."""
        if whole:
            self._edge(self._new(function), to)
        else:
            self.taken.setdefault(self._new(function), []).append((to, None))

    def connect(
        self,
        call: Call,
        facts: FunctionFacts | ClassFacts,
        bound: int = 0,
        args: tuple[Value, ...] | None = None,
        whole: bool = False,
    ) -> bool:
        """Let the arguments of a call flow into what it may reach, and the result back; say whether that is new.

        Args:
            call: the call.
            facts: the function, or the class that it makes an instance of.
            bound: how many positional arguments the function has been given before.
            args: the positional arguments, if the call only binds them.
            whole: whether it gives what the function returns, and not something around it, as a gradient does.
        """
        key = (call, facts)
        if key in self._joined:
            return False
        self._joined.add(key)
        result = self._new(call)
        if isinstance(facts, ClassFacts):
            self._construct(call, facts, result)
        for function in self.entered(facts):
            if not isinstance(facts, ClassFacts) and args is None:
                self._give(function, result, whole)
            self._arguments(call, function, bound, call.args if args is None else args)
        self._settle()
        return True

    def _construct(self, call: Call, cls: ClassFacts, result: int) -> None:
        self.instances.setdefault(cls, []).append(result)
        family = self.names.family(cls)
        for name, argument in call.keywords:
            if name is not None:
                self.flow(argument, self.field(name))
            else:
                self._to_fields(argument, family)
        if any(_named_tuple(base) for parent in family for base in parent.bases):
            for argument in call.given:
                self._put(argument, result, None)  # its fields are elements, too
        names = list(dict.fromkeys(name for parent in reversed(family) for name in parent.fields))
        for index, argument in enumerate(call.args):
            if isinstance(argument, Star):
                self._to_fields(argument, family)
            elif index < len(names):
                self.flow(argument, self.field(names[index]))
        if any("__call__" in parent.methods for parent in family):
            self.defined.setdefault(result, []).append(cls)

    def _fill_records(self, maker: Call) -> None:
        """Let what the records of a class that is made by a call are made of flow into their fields."""
        names = _field_names(maker)
        for node in self.reached([self._new(maker)]):
            for call in self.sites.get(node, ()):
                result = self._new(call)
                for index, argument in enumerate(call.args):
                    self._put(argument, result, index if not call.starred else None)  # fields are elements, too
                    if isinstance(argument, Star):
                        for name in names:
                            self._hand(argument, self.field(name))
                    elif index < len(names):
                        self.flow(argument, self.field(names[index]))
                for keyword, argument in call.keywords:
                    if keyword is not None:
                        self._put(argument, result, None)
                        self.flow(argument, self.field(keyword))
                    else:
                        for name in names:
                            self._hand(argument, self.field(name))
        for call in self._remade:
            for argument in call.args:
                for name in names:
                    self._hand(argument, self.field(name))

    def _to_fields(self, argument: Value, family: tuple[ClassFacts, ...]) -> None:
        for parent in family:
            for name in parent.fields:
                self._hand(argument, self.field(name))

    def _arguments(self, call: Call, function: FunctionFacts, bound: int, args: tuple[Value, ...]) -> None:
        params = list(function.params.values())
        method = function.binding in {"instance", "class"}
        starts = [params[1:] if method else params]
        if method and args and _of_class(call.callee):  # Class.method(instance, ...)
            starts.append(params)
        for names in starts:
            for index, argument in enumerate(args, bound):
                if isinstance(argument, Star):
                    for param in names[index:]:
                        self.flow(argument, self._new(param))
                elif index < len(names):
                    self.flow(argument, self._new(names[index]))
                    continue
                if function.vararg:
                    self._put(argument, self.variable(function.scope, function.vararg), None)
        for name, argument in call.keywords:
            if name is None:
                for param in params:
                    self._hand(argument, self._new(param))
                if function.kwarg:
                    self.flow(argument, self.variable(function.scope, function.kwarg))
            elif name in function.params:
                self.flow(argument, self._new(function.params[name]))
            elif function.kwarg:
                self._put(argument, self.variable(function.scope, function.kwarg), None)

    # -- functions whose names do not tell them ---------------------------------------------------------

    def reaching(self, node: int) -> tuple[FunctionFacts | ClassFacts, ...]:
        """Return the functions, classes and callable instances that may flow to a node, or none if they are very many.

        Through a field or container that holds very many functions no exact question finds the one that is called.
        """
        known = self._reached.get(node)
        if known is None:
            known = self._reached[node] = self._reaching(node)
        return known if len(known) <= _MANY else ()

    def _reaching(self, node: int) -> tuple[FunctionFacts | ClassFacts, ...]:
        """Look for what flows to a node, until it is found or too many are."""
        if self._callers is None:
            self._callers = [_NO_WAYS] * len(self.edges)
            for source, ways in enumerate(self.edges):
                for to in (*ways, *self.functions.get(source, ())):
                    _add(self._callers, to, source)
            for table in (self.placed, self.taken):
                for source, places in table.items():
                    for to, _ in places:
                        _add(self._callers, to, source)
        callers, answered = self._callers, self._reached
        own = node in self._fields  # methods of the name are connected already
        found = {} if own else dict.fromkeys(self.defined.get(node, ()))
        seen, work = {node}, [node]
        while work and len(found) <= _MANY:
            inner = work.pop()
            for source in callers[inner] if inner < len(callers) else ():
                if source in seen:
                    continue
                seen.add(source)
                if not own and source in answered and source not in self._fields:
                    found.update(dict.fromkeys(answered[source]))
                    continue
                if source in self.defined:
                    found.update(dict.fromkeys(self.defined[source]))
                work.append(source)
        return tuple(found)

    def calling(self, function: FunctionFacts | ClassFacts) -> list[Call]:
        """Return the calls that may reach a function by another name than its own, where that can be told apart."""
        if self._calling is None:
            self._calling = {}
            for call in dict.fromkeys(call for calls in self.unnamed.values() for call in calls):
                for reached in self.reaching(self.callee(call)):
                    self._calling.setdefault(reached, []).append(call)
        return self._calling.get(function, [])

    def callee(self, call: Call) -> int:
        """Return the node of what a call calls; of the function that is bound, for a partial application."""
        inner = call.args[0] if last_name(call.callee) in PARTIAL and call.args else call.callee
        return self.node(inner)

    def _settle(self) -> None:
        """Make the edges of the parts of values that got a node."""
        while self._parts or self._decorated:
            while self._parts:
                value, node = self._parts.pop()
                self._fill(value, node)
            while self._decorated:
                self._call(self._decorated.pop(), None)

    def _fill(self, value: Value, node: int) -> None:
        """Let the parts of a value flow to its node: as itself, or as what it holds."""
        if isinstance(value, Sequence):
            told = _ordered(value)  # and no element before has an unknown number of its own
            for index, item in enumerate(value.items):
                told = told and type(item) is not Star
                self._put(item, node, index if told else None)
        elif isinstance(value, Mapping):
            for _, item in value.items:
                self._put(item, node, None)
        elif isinstance(value, Comprehension):
            self._put(value.element, node, None)
        elif isinstance(value, Changed):
            self.flow(value.before, node)
            self._put(value.value, node, None)
        else:
            for part, _ in parts(value) or ():
                self.flow(part, node)

    # -- answers --------------------------------------------------------------------------------------

    def reached(self, seeds: Iterable[int] | Reached, functions: bool = False) -> Reached:
        """Return the nodes that what is in some nodes may flow to, these included, and at which places it is there.

        Args:
            seeds: where it is.
            functions: also along the ways of functions and classes only.
        """
        found: Reached = dict(seeds) if isinstance(seeds, dict) else dict.fromkeys(seeds)
        work: list[tuple[int, Place]] = []
        for node, places in found.items():
            work += [(node, None)] if places is None else [(node, place) for place in places]
        edges, placed, taken = self.edges, self.placed, self.taken
        while work:
            node, place = work.pop()
            if place is not None and found[node] is None:
                continue  # it was found to be there at any place since
            ways = edges[node]
            if functions and node in self.functions:
                ways = ways + self.functions[node]
            for to in ways:
                if _arrived(found, to, place):
                    work.append((to, found[to] and place))  # type: ignore[arg-type]
            for to, put in placed.get(node, ()):  # of one in another, only the place of that is kept
                if _arrived(found, to, put):
                    work.append((to, found[to] and put))  # type: ignore[arg-type]
            for to, wanted in taken.get(node, ()):
                if (place is None or wanted is None or place == wanted) and _arrived(found, to, None):
                    work.append((to, None))
        return found


def _add(ways: list[list[int]], source: int, to: int) -> None:
    """Add a way out of a node."""
    if ways[source] is _NO_WAYS:
        ways[source] = [to]
    else:
        ways[source].append(to)


def _arrived(found: Reached, node: int, place: Place) -> bool:
    """Note that something is in a node, at a place; say whether that is new."""
    if node not in found:
        found[node] = None if place is None else {place}
        return True
    places = found[node]
    if places is None or (place is not None and place in places):
        return False
    if place is None or len(places) >= MANY_PLACES:
        found[node] = None
    else:
        places.add(place)
    return True


def _of_class(callee: Value) -> bool:
    """Say whether a method may be called of its class, by the way that classes are written."""
    base = stripped(callee.base) if isinstance(callee, Attr) else None
    name = base.name if isinstance(base, Attr | Free) else ""
    return name.lstrip("_")[:1].isupper() or name == "cls"


def _field_names(maker: Call) -> list[str]:
    """Return the names of the fields in ``namedtuple("Pair", "a b")`` and the like; nothing if they are not written."""
    given = maker.argument(1, "field_names") or maker.argument(1, "fields")
    if isinstance(given, Free):
        bound = given.scope.bindings.get(given.name, ())
        given = bound[0] if len(bound) == 1 else None
    if isinstance(given, Const) and isinstance(given.value, str):
        return given.value.replace(",", " ").split()
    names: list[str] = []
    for item in given.items if isinstance(given, Sequence) else ():
        first = item.items[0] if isinstance(item, Sequence) and item.items else item
        if isinstance(first, Const) and isinstance(first.value, str):
            names.append(first.value)
    return names


def _named_tuple(base: Value) -> bool:
    """Say whether a class that derives from something is one of named tuples."""
    return last_name(base.callee if isinstance(base, Call) else base) in {"NamedTuple", "namedtuple"}


def _owner(scope: Scope | None) -> ClassFacts | None:
    """Return the class in one of whose methods a scope is."""
    while scope is not None:
        if scope.function is not None and scope.function.owner is not None:
            return scope.function.owner
        scope = scope.parent
    return None


def stripped(value: Value) -> Value:
    """Return the container or object that a value is taken out of."""
    while True:
        inner, _, taken = peeled(value)
        if not taken:
            return inner
        value = inner


def peeled(value: Value) -> tuple[Value, Place, bool]:
    """Return what a value is, or the container that it is taken out of, at which place, and whether it is."""
    while True:
        kind = type(value)
        if kind is Item or kind is Indexed:
            index = value.index  # type: ignore[attr-defined]
            return value.base, fixed_place(index.value if isinstance(index, Bound) else index), True  # type: ignore[attr-defined]
        if kind is Each or kind is Round:
            return value.base, None, True  # type: ignore[attr-defined]
        if kind is Star:
            return value.value, None, True  # type: ignore[attr-defined]
        if kind is Assigned:
            value = value.value  # type: ignore[attr-defined]
        elif kind is Part:
            value = value.of.value  # type: ignore[attr-defined]
        else:
            return value, None, False


def _ordered(value: Sequence) -> bool:
    """Say whether elements stay where they were put: lists are sorted, reversed and inserted into."""
    return not isinstance(value.node, ast.List | ast.Set)


def fixed_place(index: Value) -> Place:
    """Return the place that an index means for certain; None for any other, and for one from the end."""
    place = index.value if isinstance(index, Const) else None
    return place if type(place) is int and place >= 0 else None


def parts(value: Value, places: tuple[Place, ...] = ()) -> list[tuple[Value, tuple[Place, ...]]] | None:
    """Return the values that a value is one of, or holds; None if it is neither.

    Args:
        value: the value.
        places: the places at which it is looked into; those of each of its parts are returned with it.
    """
    if isinstance(value, Choice):
        return [(option, places) for option in value.options]
    if isinstance(value, Loop):
        return [(value.before, places)] if value.again is None else [(value.before, places), (value.again, places)]
    place, rest = (places[0], places[1:]) if places else (None, ())
    if isinstance(value, Changed):
        return [(value.before, places), (value.value, rest)]
    if isinstance(value, Comprehension):
        return [(value.element, rest)]
    if isinstance(value, Sequence):
        if type(place) is int and place < len(value.items) and _ordered(value):
            if not any(type(item) is Star for item in value.items[: place + 1]):
                return [(value.items[place], rest)]
        return [(item, rest) for item in value.items]
    return [(item, rest) for _, item in value.items] if isinstance(value, Mapping) else None
