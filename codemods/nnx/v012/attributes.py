"""The attributes of NNX objects: which hold data, in which form, and where that is decided.

From Flax 0.12.0 on, an attribute is data (it holds arrays, Variables or other NNX objects) or static. That is decided
when the attribute is first assigned: modules, Variables and arrays are data by themselves; lists, tuples, dicts and
None are static unless ``nnx.data`` says otherwise; data that is found in them, or assigned over them, raises an error.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts, ItemStore, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Frame, Indexed, Part, Round
from codemods.nnx.kinds import SEVERAL, Kind, result_kind
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import last_word
from codemods.nnx.pytree.contents import registered, static_field
from codemods.nnx.v012.arrays import Arrays
from codemods.nnx.v012.computed_names import taken
from codemods.nnx.v012.handed import Handed
from codemods.nnx.v012.tables import Tables
from codemods.nnx.v012.taken_out import elements
from codemods.nnx.values import (
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
    Param,
    Ref,
    Sequence,
    Star,
    Unknown,
    Value,
    of_display,
)

# kinds of values that are data by themselves
DATA = frozenset(
    {Kind.MODULE, Kind.OPTIMIZER, Kind.METRIC, Kind.VARIABLE, Kind.RNGS, Kind.STREAM, Kind.ARRAY, Kind.KEY, Kind.NUMPY}
)
# kinds of containers of data that are no lists or dicts, and so static by themselves
_HOLDERS = frozenset({Kind.GRADIENT, Kind.STATE})
# kinds of classes whose attributes are looked after
_METHODS_OF_RNGS = frozenset({"fork", "get", "items", "keys", "split", "values"})
_OWNERS = frozenset({Kind.MODULE, Kind.METRIC, Kind.OPTIMIZER, Kind.RNGS})
_MARKS = frozenset({"flax.nnx.data", "flax.nnx.static", "flax.nnx.List", "flax.nnx.Dict"})
_LISTS = frozenset({"flax.nnx.List", "flax.nnx.Dict"})
_LAZY = frozenset(
    {
        "builtins.zip", "builtins.map", "builtins.filter", "builtins.enumerate", "builtins.reversed", "itertools.chain",
    }
)  # fmt: skip
_COPYING = frozenset(
    {
        "builtins.sorted", "builtins.list", "builtins.tuple", "builtins.dict", "builtins.reversed",
        "collections.OrderedDict", "collections.defaultdict",
    }
)  # fmt: skip
_OF_KEYS = frozenset({"builtins.sorted", "builtins.list", "builtins.tuple", "builtins.reversed"})
_COPIED = frozenset({"flax.nnx.clone", "flax.nnx.merge"})
_REDUCING = frozenset({"max", "mean", "min", "prod", "std", "sum", "var"})
_ROWS = frozenset({"builtins.list", "builtins.tuple"})
_PARTIAL = frozenset({"flax.nnx.cached_partial", "functools.partial"})
_NAMED_TUPLES = frozenset({"collections.namedtuple", "typing.NamedTuple"})
# functions that give a tree like the one they get, by the position of that tree, and those that give what is in a state
_TREE_MAPS = {
    "jax.tree.map": 1, "jax.tree_util.tree_map": 1, "jax.tree_map": 1, "jax.device_get": 0, "jax.device_put": 0,
}  # fmt: skip
_OF_STATES = frozenset(
    {
        "flax.nnx.to_pure_dict", "flax.nnx.pure", "flax.nnx.to_flat_state", "jax.tree.leaves",
        "jax.tree_util.tree_leaves",
    }
)  # fmt: skip
# functions that give several arrays in a list, a tuple or a named tuple
_ARRAYS_OF = frozenset(
    {name.removeprefix("jax.numpy.") for name in SEVERAL}
    | {
        "divmod", "frexp", "gradient", "histogram", "histogram2d", "linalg.eig", "linalg.eigh", "linalg.qr",
        "linalg.slogdet", "modf", "nonzero", "triu_indices", "tril_indices", "unravel_index",
    }
)  # fmt: skip
_FLATTENING = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten"})
# what gives nodes or Variables, each behind its path
_WALKS = frozenset({"flax.nnx.iter_children", "flax.nnx.iter_graph", "flax.nnx.iter_modules", "flax.nnx.to_flat_state"})
_WALKING = frozenset({"flat_state", "iter_children", "iter_modules"})
_METHODS_OF_STATES = frozenset({"flat_state", "to_pure_dict"})
# functions that give what their argument holds in another dict, or another one like it
_REARRANGING = frozenset(
    {
        "copy.copy", "copy.deepcopy", "flax.core.FrozenDict", "flax.core.copy", "flax.core.freeze",
        "flax.core.frozen_dict.FrozenDict", "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.unfreeze",
        "flax.core.unfreeze", "flax.traverse_util.flatten_dict", "flax.traverse_util.unflatten_dict",
    }
)  # fmt: skip
_INITIALIZING = frozenset({"init", "init_with_output", "lazy_init"})  # methods of Linen modules that give arrays
_FILLING = frozenset({"extend", "update"})
_ADDING = frozenset({"append", "insert", "setdefault", "appendleft"})
_GIVING = frozenset({"get", "items", "setdefault", "values"})  # give what a dict holds
# generic annotations of containers, and those that name several types of which a value has one
_CONTAINERS = frozenset(
    [
        "Collection", "DefaultDict", "Deque", "Dict", "Iterable", "List", "Mapping", "MutableMapping",
        "MutableSequence", "OrderedDict", "Sequence", "Tuple", "defaultdict", "deque", "dict", "list", "tuple",
    ]
)  # fmt: skip
# annotations of what is an array, and of what is none for certain
_ARRAYS = frozenset({"Array", "ndarray", "PRNGKeyArray"})
_NUMBERS = frozenset({"bool", "bytes", "complex", "float", "int", "str", "Callable"})
_ONE_OF = frozenset({"Annotated", "Final", "Optional", "Union"})
_OF_GETATTR = 2  # arguments, where it has no default
_DEPTH = 6  # how deep containers, calls and arguments are looked into
_STEPS = 1_000  # how many values one search for data may see


@dataclass(frozen=True, eq=False)
class Store:
    """A place where an attribute is assigned, or the container in it is filled.

    Attributes:
        event: the place.
        value: what is stored there.
        filling: whether the container that the attribute holds is changed, instead of the attribute.
        function: the method in which it stands; None outside the class.
    """

    event: AttrEvent
    value: Value
    filling: bool
    function: FunctionFacts | None


@dataclass(eq=False)
class Attribute:
    """One attribute of one class, with every place that stores it.

    Attributes:
        owner: the class that declares it, the outermost one of the project.
        deleted: whether it is deleted again, as what is kept only while an object is being built.
        named: the places where ``setattr`` stores it.
    """

    owner: ClassFacts
    name: str
    deleted: bool = False
    stores: list[Store] = field(default_factory=list)
    named: list[Store] = field(default_factory=list)


class Attributes:
    """All attributes of the project's NNX classes."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow: Flow = context.flow
        self.arrays = Arrays(context.flow, context.kinds)
        self.handed = Handed(context)
        self._handing: set[Bound] = set()  # those whose callers are looked through
        self._owner: dict[ClassFacts, bool] = {}
        self._holding: dict[tuple[Bound, frozenset[Frame]], bool] = {}
        self._taking: set[Value] = set()  # the calls of `getattr` that are looked into
        self._steps = 0  # how many values the present search has seen
        self._cut = 0  # how often a search for data ended before it was through

    def is_owner(self, cls: ClassFacts) -> bool:
        """Say whether instances of a class check their attributes: NNX objects but those with ``pytree=False``."""
        if cls not in self._owner:
            off = any(
                k.arg == "pytree" and isinstance(k.value, ast.Constant) and k.value.value is False
                for k in cls.node.keywords
            )
            kinds = self.context.kinds.class_kinds(Bound(Class(cls)))
            names = self.flow.classes.mro(cls)[1]
            plain = "flax.nnx.Object" in names and "flax.nnx.Pytree" not in names  # not one chosen by the version
            self._owner[cls] = not off and bool(kinds & _OWNERS) and not plain
        return self._owner[cls]

    @cached_property
    def all(self) -> list[Attribute]:
        """The attributes, in order of their first store."""
        return self._found(None)

    @cached_property
    def asked(self) -> list[Attribute]:
        """Those whose names the modules that are asked about store, in order of their first store."""
        if self.context.asked is self.context.project or "all" in self.__dict__:
            return self.all
        return self._found({event.node.attr for event in self.context.asked.attributes() if event.context == "store"})

    def named(self, names: set[str]) -> list[Attribute]:
        """Return those of some names, in order of their first store."""
        found = self.all if "all" in self.__dict__ else self._found(names) if names else []
        return [attribute for attribute in found if attribute.name in names]

    def fillings(self) -> Iterator[Store]:
        """Yield the places where the container of an attribute is changed, whatever the object is."""
        for event in self.context.project.attributes():
            store = self._store(event)
            if store is not None and store.filling:
                yield store
        for event, added in self._extensions():
            yield Store(event, added, True, self._method(event))

    def _found(self, names: set[str] | None) -> list[Attribute]:
        """Return the attributes of some names, and those that ``setattr`` stores; all if no names are given."""
        if not any(self.is_owner(cls) for cls in self.context.project.classes()):
            return []
        found: dict[tuple[ClassFacts, str], Attribute] = {}
        deleted: list[AttrEvent] = []
        by_name = list(self._by_name())
        if names is not None:
            names = names | {store.event.node.attr for _, store in by_name}
        events = (one for one in self.context.project.attributes() if names is None or one.node.attr in names)
        for event in events:
            store = self._store(event)
            if store is None:
                if event.context == "del":
                    deleted.append(event)
                continue
            for cls in self.owners(event.base, event.scope):
                if self.is_owner(cls):
                    root = self._root(cls, event.node.attr)
                    known = found.setdefault((root, event.node.attr), Attribute(root, event.node.attr))
                    known.stores.append(store)
        for event, added in self._extensions():
            if names is not None and event.node.attr not in names:
                continue
            for cls in self.owners(event.base, event.scope):
                place = self._root(cls, event.node.attr), event.node.attr
                field_of = self.flow.classes.dataclass_fields(cls) if place not in found and self.is_owner(cls) else ()
                if event.node.attr in field_of:
                    found[place] = Attribute(*place)  # a field that nothing assigns
                attribute = found.get(place)
                if attribute is not None:
                    attribute.stores.append(Store(event, added, True, self._method(event)))
        for cls, store in by_name:
            key = next((k for k in found if k[1] == store.event.node.attr and self._related(cls, k[0])), None)
            key = key or (cls, store.event.node.attr)
            found.setdefault(key, Attribute(*key)).named.append(store)
        for event in deleted:
            for cls in self.owners(event.base, event.scope):
                attribute = found.get((self._root(cls, event.node.attr), event.node.attr))
                if attribute is not None:
                    attribute.deleted = True
        return list(found.values())

    def _extensions(self) -> Iterator[tuple[AttrEvent, Value]]:
        """Yield the attributes whose container is filled by ``extend`` or ``update``, or under another name, or has a
        container in it that is filled, with an element added."""
        for held, node, place, added in self._put:
            if isinstance(held, Attr):
                env = place.env if isinstance(place, CallEvent) else place.scope.env
                yield AttrEvent(_spelled(held, node), held.base, place.scope, env, place.statement, "store"), added

    @cached_property
    def _put(self) -> list[tuple[Value, ast.expr, CallEvent | ItemStore, Value]]:
        """What is put into containers but by ``self.name.append`` or ``self.name[index] =``: the outermost container,
        how the inner one is written, the place, and what is put."""
        found: list[tuple[Value, ast.expr, CallEvent | ItemStore, Value]] = []
        for call in self.context.project.calls():
            callee, func = call.value.callee, call.node.func
            if not isinstance(callee, Attr) or not isinstance(func, ast.Attribute | ast.Name):
                continue
            node = func.value if isinstance(func, ast.Attribute) else func  # `add = self.layers.append`
            added: list[Value] = []
            if callee.name in _FILLING:
                added = [Each(value, call.node) for value in call.value.args[:1]]
                added += [value for name, value in call.value.keywords if name is not None]
            elif callee.name in _ADDING and not isinstance(node, ast.Attribute):
                added = [*call.value.args]
            if added:
                meant = self._meant(callee.base, call.scope)
                held = dict.fromkeys(one for way in meant for one in self._held(_outermost(way)))
                found += [(one, node, call, value) for one in held for value in added]
        for module in self.context.project.modules:
            for store in module.item_stores:
                augmented = isinstance(store.statement, ast.AugAssign)
                value = module.values.get(getattr(store.statement, "value", store.node))
                if value is not None and (augmented or not isinstance(store.node.value, ast.Attribute)):
                    put = Each(value, store.node) if augmented else value
                    found += [(held, store.node.value, store, put) for held in self._held(_outermost(store.base))]
        return found

    def _meant(self, container: Value, scope: Scope, depth: int = 0) -> list[Value]:
        """Return the containers that one may be: of a choice each, of ``for l in (self.a, self.b)`` each attribute, and
        what ``getattr`` gives under names that are known."""
        plain = container
        while isinstance(plain, Changed | Loop):
            plain = plain.before
        ways: tuple[Value, ...] = ()
        if isinstance(plain, Choice):
            ways = plain.options
        elif isinstance(plain, Each) and isinstance(plain.base, Sequence):
            ways = plain.base.items
            if not all(isinstance(way, Attr) for way in ways):
                return [container]
        elif isinstance(plain, Call) and isinstance(plain.callee, Ref | Free) and len(plain.args) == _OF_GETATTR:
            if plain.callee.name.rpartition(".")[2] == "getattr":
                ways = tuple(Attr(plain.args[0], name) for name in dict.fromkeys(self._texts(plain.args[1], scope)))
        if not ways or depth > _DEPTH:
            return [container]
        return [one for way in ways for one in self._meant(way, scope, depth + 1)]

    def _held(self, container: Value) -> list[Value]:
        """Return a container, and what callers give for it if it is a parameter."""
        if not isinstance(container, Param) or container is container.function.self_param:
            return [container]
        callers = self.flow.sites.callers(container.function)
        given = [self._given(container.function, caller, container) for caller in callers]
        return [_outermost(one) for one in given if one is not None]

    @cached_property
    def _put_into(self) -> dict[Value, list[tuple[Value, Scope]]]:
        """What is put into displays, and into containers in them."""
        found: dict[Value, list[tuple[Value, Scope]]] = {}
        for held, _, place, added in self._put:
            if not isinstance(held, Attr):
                found.setdefault(held, []).append((added, place.scope))
        return found

    def put_into(self, container: Value) -> list[tuple[Value, Scope]]:
        """Return what is put into a display, or into containers in it, each with the body in which that is done.

        Args:
            container: the display, or the call that makes the container.
        """
        return self._put_into.get(container, [])

    def _by_name(self) -> Iterator[tuple[ClassFacts, Store]]:
        """Yield what ``setattr`` stores under names that are known, also those that callers give a helper."""
        for event in self.context.bodies.named("setattr"):
            call = event.value
            if not isinstance(call.callee, Ref | Free) or len(call.args) != 3 or call.starred:
                continue
            target, name, value = call.args
            function = name.function if isinstance(name, Param) else None
            if function is None or not isinstance(target, Param) or target.function is not function:
                ways = [(target, event.scope, name, value)]
            else:
                ways = []
                for caller in self.flow.sites.callers(function):
                    given = [self._given(function, caller, one) for one in (target, name, value)]
                    if given[0] is not None and given[1] is not None:
                        ways.append((given[0], caller.scope, given[1], given[2] or value))
            for owner, scope, spelled, stored in ways:
                where = scope if stored is not value or scope is event.scope else event.scope
                texts = set(self._texts(spelled, scope))
                for cls in self.owners(owner, scope) if texts else ():
                    if self.is_owner(cls):
                        for text in sorted(texts):
                            node = ast.Attribute(event.node.args[0], text, ast.Store())
                            ast.copy_location(node, event.node)
                            made = AttrEvent(node, owner, where, event.env, event.statement, "store", stored)
                            yield cls, Store(made, stored, False, self._method(made))

    def _texts(self, value: Value, scope: Scope) -> Iterator[str]:
        for source in self.context.sources.of(self.flow.here(value, scope)):
            if isinstance(source.value, Const) and isinstance(source.value.value, str):
                yield source.value.value

    def _given(self, function: FunctionFacts, caller: CallEvent, value: Value) -> Value | None:
        """Return what a call gives for a parameter; None for another value, and where that is not known."""
        call = caller.value
        if not isinstance(value, Param) or value.function is not function or call.starred:
            return None
        bound = isinstance(call.callee, Attr) and function.self_param is not None
        if bound and value is function.self_param:
            assert isinstance(call.callee, Attr)
            return call.callee.base
        place = list(function.params).index(value.name) - bound
        return call.argument(place, value.name) if place >= 0 else None

    def _related(self, cls: ClassFacts, other: ClassFacts) -> bool:
        return other in self.flow.classes.mro(cls)[0]

    def _store(self, event: AttrEvent) -> Store | None:
        if event.context != "store" or event.stored is None:
            return None
        augmented = isinstance(event.statement, ast.AugAssign) and event.statement.target is event.node
        if augmented:
            added = event.scope.module.values.get(event.statement.value)  # type: ignore[attr-defined]
            return Store(event, Each(added, event.node), True, self._method(event)) if added is not None else None
        if isinstance(event.stored, Unknown) and isinstance(event.stored.node, ast.Starred):
            rest = event.scope.module.values.get(event.stored.node)
            return Store(event, rest, False, self._method(event)) if rest is not None else None
        filling = isinstance(event.stored, Changed) and _changes(event.stored, event)
        value = event.stored.value if filling and isinstance(event.stored, Changed) else event.stored
        return Store(event, value, filling, self._method(event))

    def _method(self, event: AttrEvent) -> FunctionFacts | None:
        base = event.base
        return base.function if isinstance(base, Param) and base is base.function.self_param else None

    def owners(self, base: Value, scope: Scope) -> Iterator[ClassFacts]:
        """Yield the classes that an object may be of whose attribute is stored; ``self`` is of its method's class.

        Classes whose instances do not check their attributes may be left out.
        """
        if isinstance(base, Param) and base is base.function.self_param:
            if base.function.owner is not None:
                yield from self._users(base.function.owner)
            return
        if isinstance(base, Ref) or not self._objects.may_be(base):
            return
        seen: set[ClassFacts] = set()
        for source in self.context.sources.of(self.flow.here(base, scope)):
            cls = self.flow.classes.class_of(source)
            if cls is not None and cls not in seen:
                seen.add(cls)
                yield cls

    @cached_property
    def _objects(self) -> Made:
        """What may be an instance of a class that checks its attributes: others need not be told apart."""
        return self.flow.may.made_of(cls for cls in self.context.project.classes() if self.is_owner(cls))

    def _users(self, cls: ClassFacts) -> tuple[ClassFacts, ...]:
        """Return the classes whose instances run the methods of a class: itself, or those that mix it in."""
        if self.is_owner(cls):
            return (cls,)
        heirs = [heir for heir in self.flow.classes.heirs(cls) if heir is not cls]
        last = [heir for heir in heirs if self.flow.classes.heirs(heir) == (heir,)]
        # nnx.data(...) says nothing to an instance that is no NNX object
        return tuple(last) if last and all(self.is_owner(heir) for heir in last) and not self._made(cls) else ()

    def _made(self, cls: ClassFacts) -> bool:
        """Say whether the project makes instances of a class itself, and not of those that derive from it."""
        return any(call.value.callee == Class(cls) for call in self.context.bodies.named(cls.name))

    def _root(self, cls: ClassFacts, name: str) -> ClassFacts:
        """Return the outermost class of the project that stores an attribute."""
        return next((c for c in reversed(self.flow.classes.mro(cls)[0]) if name in c.stores), cls)

    # -- what is stored ---------------------------------------------------------------------------

    def is_data(self, bound: Bound) -> bool:
        """Say whether a value is known to be an array, a Variable or an NNX object."""
        if self.context.kinds.of(bound) & DATA or self.arrays.is_array(bound):
            return True
        found = self.flow.resolve(bound)
        if self._is_copied(bound) or self._is_handed(found, self.is_data):
            return True
        if isinstance(found.value, Call) and self._makes(self.flow.with_value(found, found.value.callee)):
            return True
        if isinstance(found.value, Call) and (self._is_drawn(found, found.value) or self._is_taken(found)):
            return True
        if isinstance(found.value, Attr | Item | Indexed) and self._is_stream(found, found.value):
            return True
        if isinstance(found.value, Attr) and self._declared(found, found.value, _names_data):
            return True
        if self._is_element(bound if isinstance(bound.value, Item | Indexed) else found):
            return True
        if not isinstance(bound.value, Param | Call):
            return False
        return any(self.arrays.is_array(source) for source in self.context.sources.of(bound) - {bound})

    def _is_copied(self, bound: Bound) -> bool:
        """Say whether a value is what ``nnx.clone`` or ``nnx.merge`` makes: an NNX object, whatever was copied; or what
        a method of an array gives that is taken of a module's result."""
        call = bound.value
        if not isinstance(call, Call):
            return False
        if isinstance(call.callee, Attr) and call.callee.name in _REDUCING:
            made = call.callee.base
            if isinstance(made, Call):
                return Kind.MODULE in self.context.kinds.of(self.flow.with_value(bound, made.callee))
        return self.flow.calls.callee_name(bound) in _COPIED

    def _is_handed(self, found: Bound, says: Callable[[Bound], bool]) -> bool:
        """Say whether callers hand data over for a parameter, or for one of ``*args`` and ``**named``.

        Args:
            found: the value.
            says: tells data, or what holds it.
        """
        value = found.value
        if not isinstance(value, Param | Indexed | Item | Round | Each) or (found in self._handing):
            return False
        self._handing.add(found)
        try:
            if isinstance(value, Param):
                given = [self.flow.here(one, scope) for one, scope in self.handed.given(value)]
                return any(map(says, given)) and all(self.is_data(one) or self.holds_data(one, 3) for one in given)
            of = self.handed.variadic(found)
            return of is not None and self.handed.any_given(*of, says, lambda several: self.holds_data(several, 3))
        finally:
            self._handing.discard(found)

    def _declared(self, found: Bound, attr: Attr, says: Callable[[Context, ast.expr, Scope], bool]) -> bool:
        """Say whether the class of an object declares an attribute of which nothing else is known, as dataclasses do.

        Args:
            found: the attribute.
            attr: its value.
            says: tells an annotation of data from others.
        """
        cls = self.flow.classes.class_of(self.flow.follow(found, attr.base))
        if cls is None or self.flow.fields.field(self.flow.follow(found, attr.base), attr.name):
            return False
        for parent in self.flow.classes.mro(cls)[0]:
            for statement in parent.node.body:
                if isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", "") == attr.name:
                    return says(self.context, statement.annotation, parent.scope.parent or parent.scope)
        return False

    def _is_drawn(self, found: Bound, call: Call) -> bool:
        """Say whether a call draws a key from a stream: ``rngs.noise()`` or ``rngs()``."""
        callee = self.flow.follow(found, call.callee)
        if self.context.kinds.only(callee) in {Kind.RNGS, Kind.STREAM}:
            return True
        return isinstance(callee.value, Attr | Item | Indexed) and self._is_stream(callee, callee.value)

    def _is_taken(self, found: Bound) -> bool:
        """Say whether ``getattr`` takes data, under whatever of the names that its code may put together."""
        if found.value in self._taking:  # an attribute that is taken from among others of its kind
            return False
        self._taking.add(found.value)
        try:
            named = taken(self.context, found)
            return bool(named) and all(map(self.is_data, named))
        finally:
            self._taking.discard(found.value)

    def _is_element(self, found: Bound) -> bool:
        """Say whether a value is taken out of a container that holds nothing but data."""
        if found.value in self._taking:
            return False
        self._taking.add(found.value)
        try:
            held = elements(self.flow, found)
            return bool(held) and all(map(self.is_data, held))
        finally:
            self._taking.discard(found.value)

    def _is_stream(self, found: Bound, value: Attr | Item | Indexed) -> bool:
        """Say whether a value is a stream of a Rngs: ``rngs.noise`` or ``rngs["noise"]``."""
        if isinstance(value, Attr) and value.name in _METHODS_OF_RNGS:
            return False
        return self.context.kinds.only(self.flow.with_value(found, value.base)) is Kind.RNGS

    def _makes(self, callee: Bound, depth: int = 0) -> bool:
        """Say whether calling a value makes data: a class of NNX, a partial application of one, what may hold one."""
        callee = self.flow.resolve(callee)
        value = callee.value
        if isinstance(value, Class | Ref):
            array = isinstance(value, Ref) and value.name.startswith("jax.numpy.") and result_kind(value.name) in DATA
            return array or bool(self.context.kinds.class_kinds(callee) & DATA)
        if depth > _DEPTH or isinstance(value, Function):
            return False
        if isinstance(value, Call) and value.args and self.flow.calls.wrapper_name(callee, value) in _PARTIAL:
            return self._makes(self.flow.with_value(callee, value.args[0]), depth + 1)
        of = _like(value)
        if of is not None and self.context.kinds.of(self.flow.with_value(callee, of)) & DATA:
            return True
        if not isinstance(value, Param | Attr | Item | Indexed | Round | Choice | Loop | Call):
            return False
        held = self.context.sources.of(callee) - {callee}
        if any(self._makes(one, depth + 1) for one in held):
            return True
        if not isinstance(value, Param):
            tables = self.context.shared(Tables)
            return any(self._makes(one, depth + 1) or self._returns_data(one) for one in tables.held(callee))
        default, node = value.function.defaults.get(value.name), value.function.annotations.get(value.name)
        scope = value.function.scope.parent
        if scope is None:
            return False
        if default is not None and not held and self._makes(self.flow.here(default, scope), depth + 1):
            return True
        return node is not None and _annotates_class(self.context, node, scope)

    def _returns_data(self, function: Bound) -> bool:
        """Say whether a function of the project returns data."""
        facts = function.value.facts if isinstance(function.value, Function) else None
        return facts is not None and any(self.is_data(self.flow.here(given, facts.scope)) for given in facts.returns)

    def gives_data(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is data, or a container of data."""
        bound = self.flow.here(value, scope)
        return self.is_data(bound) or self.holds_data(bound) or self._is_built(bound)

    def _is_built(self, bound: Bound) -> bool:
        """Say whether a value is made by something unknown that gets streams: ``make(4, rngs=rngs)``."""
        call = self.flow.resolve(bound).value
        rngs = call.keyword("rngs") if isinstance(call, Call) else None
        if rngs is None or not isinstance(call, Call):
            return False
        found = self.flow.resolve(bound)
        made = self.flow.follow(found, call.callee).value
        if self.flow.calls.callee_name(found) or isinstance(made, Class | Function):
            return False
        return self.context.kinds.only(self.flow.with_value(found, rngs)) is Kind.RNGS

    def names_mark(self, bound: Bound) -> bool:
        """Say whether a value is made by ``nnx.data``, ``nnx.List`` and the like."""
        return self.flow.calls.callee_name(bound) in _MARKS

    def is_marked(self, store: Store) -> bool:
        """Say whether a store says itself what the attribute is: by ``nnx.data``, ``nnx.List`` and the like."""
        value = of_display(store.value)  # one of several targets
        return self._made_marked(self.flow.here(value, store.event.scope), 0) or self._is_filled_list(store)

    def _made_marked(self, bound: Bound, depth: int) -> bool:
        """Say whether a value is made by a mark on some way: here, by a function that returns it, or by a caller."""
        value = bound.value
        if depth > _DEPTH:
            return False
        if isinstance(value, Choice):
            return any(self._made_marked(self.flow.with_value(bound, way), depth + 1) for way in value.options)
        if depth and isinstance(value, Changed | Loop):  # filled before it was returned
            return self._made_marked(self.flow.with_value(bound, value.before), depth + 1)
        if isinstance(value, Call):
            if self.names_mark(bound):
                return True
            if self.flow.calls.callee_name(bound):
                return False
            return any(
                self._made_marked(Bound(result, frame), depth + 1)
                for callee, frame in self.flow.calls.invoked(bound)
                if not callee.gradient and not callee.function.generator
                for result in callee.function.returns
            )
        if isinstance(value, Param) and value is not value.function.self_param:
            entries = self.flow.sites.entries(value.function)
            given = (self.flow.argument(entry, value.name) for entry in entries)
            return any(self._made_marked(one, depth + 1) for one in given if one is not None)
        return False

    def _is_filled_list(self, store: Store) -> bool:
        """Say whether a variable is stored that was made as ``nnx.List`` or ``nnx.Dict`` and filled then."""
        value, steps = store.value, 0
        while isinstance(value, Changed | Loop) and steps < _STEPS:
            value, steps = value.before, steps + 1
        return self.flow.calls.callee_name(self.flow.here(value, store.event.scope)) in _LISTS

    def may_be_none(self, store: Store) -> bool:
        """Say whether a store puts an argument that may be left out and is None then, and no number or text; or data or
        None, as a condition says."""
        if isinstance(store.value, Choice):
            ways = [self.flow.here(way, store.event.scope) for way in _ways(store.value)]
            some = [way for way in ways if not _is_none(way.value)]
            return len(some) < len(ways) and bool(some) and all(map(self.is_data, some))
        bound = self.flow.resolve(self.flow.here(store.value, store.event.scope))
        value = bound.value
        if not isinstance(value, Param) or not _is_none(value.function.defaults.get(value.name)):
            return False
        node = value.function.annotations.get(value.name)
        if node is not None and any(last_word(part) in _NUMBERS for part in ast.walk(node) if _named(part)):
            return False
        given = self.context.sources.of(bound) - {bound}
        return all(self.is_data(source) or _is_none(source.value) for source in given)

    def may_be_array(self, store: Store) -> bool:
        """Say whether a store puts an argument that is annotated as an array or an NNX object, and may be None."""
        value = self.flow.resolve(self.flow.here(store.value, store.event.scope)).value
        node = value.function.annotations.get(value.name) if isinstance(value, Param) else None
        scope = value.function.scope.parent if isinstance(value, Param) else None
        if node is None or scope is None:
            return False
        parts = [part for part in ast.walk(node) if _named(part)]
        return any(last_word(part) in _ARRAYS or _names_data(self.context, part, scope) for part in parts)

    def holds_data(self, bound: Bound, depth: int = 0) -> bool:
        """Say whether a value is a list, tuple, dict or the like with data in it, at any depth."""
        if self._lists_rows(bound):
            return True
        if self._lists_keys(bound):
            return False
        found = self.flow.resolve(bound)
        key = (found, self.flow.assumptions.all)
        if key in self._holding:
            return self._holding[key]
        self._steps = self._steps + 1 if depth else 0
        if depth > _DEPTH or self._steps > _STEPS:
            self._cut += 1
            return False
        cut = self._cut
        self._holding[key] = False  # what holds itself is no data for that
        holds = self._looked_into(found, depth)
        if holds or depth == 0 or self._cut == cut:
            self._holding[key] = holds
        else:  # a search from nearer may come further
            del self._holding[key]
        return holds

    def _lists_rows(self, bound: Bound) -> bool:
        """Say whether a value is made by ``list(array)`` or ``tuple(array)``, which are taken for their argument."""
        value = bound.value
        if not isinstance(value, Call) or len(value.args) != 1 or self.flow.calls.callee_name(bound) not in _ROWS:
            return False
        return self.arrays.is_array(self.flow.with_value(bound, value.args[0]))

    def _lists_keys(self, bound: Bound) -> bool:
        """Say whether a value is made by ``list(d)`` or ``sorted(d)`` of a dict, which gives its keys."""
        value = bound.value
        if not isinstance(value, Call) or len(value.args) != 1 or self.flow.calls.callee_name(bound) not in _OF_KEYS:
            return False
        given = self.flow.with_value(bound, value.args[0])
        return any(map(self.flow.containers.is_mapping, (given, *self.context.sources.of(given))))

    def _looked_into(self, found: Bound, depth: int) -> bool:
        value = found.value
        if isinstance(value, Item | Indexed) and isinstance(value.base, Call) and _place(value) == 0:
            base = self.flow.with_value(found, value.base)
            if self.flow.calls.callee_name(base) in _FLATTENING:
                return any(self.holds_data(self.flow.with_value(base, a), depth + 1) for a in value.base.args[:1])
        if isinstance(value, Item | Indexed) and self._unzipped(found, value, depth):
            return True
        if isinstance(value, Sequence) and any(
            isinstance(item, Star) and self._unpacks(self.flow.with_value(found, item.value), depth)
            for item in value.items
        ):
            return True
        if self.context.kinds.of(found) & _HOLDERS:
            return True
        if isinstance(value, Unknown):
            return self._unknown(found, value, depth)
        if isinstance(value, Part):
            return self.holds_data(self.flow.resolve(value.of), depth + 1)
        if isinstance(value, Item | Indexed) and self._initialized(self.flow.with_value(found, value.base)):
            return True
        if isinstance(value, Indexed):
            index = value.index.value
            sliced = isinstance(index, Unknown) and isinstance(index.node, ast.Slice)
            return sliced and self.holds_data(self.flow.with_value(found, value.base), depth + 1)
        if isinstance(value, Choice | Loop):
            ways = value.options if isinstance(value, Choice) else (value.before, value.again)
            return any(self.holds_data(self.flow.with_value(found, way), depth + 1) for way in ways if way is not None)
        if isinstance(value, Attr):
            return self._on_some_way(found, depth) or self._declared(found, value, _annotates)
        if isinstance(value, Call):
            return self._result(found, value, depth)
        if isinstance(value, Param):
            return self._argument(found, value, depth)
        if not isinstance(value, Sequence | Mapping | Comprehension | Changed):
            return False
        return any(self._is_or_holds(element, depth) for element in self.flow.containers.elements(found))

    def _unpacks(self, whole: Bound, depth: int) -> bool:
        """Say whether ``*whole`` gives data: the rows of an array, or what is handed to ``*args``."""
        if self.arrays.is_array(whole):
            return True
        return isinstance(self.flow.resolve(whole).value, Unknown) and self.holds_data(whole, depth + 1)

    def _unzipped(self, found: Bound, value: Item | Indexed, depth: int) -> bool:
        """Say whether a value is what ``zip(*pairs)`` gives of one place of pairs, and that is data."""
        zipped, place = self.flow.follow(found, value.base), _place(value)
        call = zipped.value
        if not isinstance(call, Call) or len(call.args) != 1 or not isinstance(call.args[0], Star):
            return False
        if not isinstance(place, int) or self.flow.calls.callee_name(zipped) != "builtins.zip":
            return False
        rows = self.flow.containers.elements(self.flow.with_value(zipped, call.args[0].value))
        known = [self.flow.resolve(row) for row in rows]
        return any(
            self._is_or_holds(self.flow.with_value(row, row.value.items[place]), depth)
            for row in known
            if isinstance(row.value, Sequence) and 0 <= place < len(row.value.items)
        )

    def _is_or_holds(self, bound: Bound, depth: int) -> bool:
        if self.is_data(bound) or self.holds_data(bound, depth + 1) or self._drawn(bound, depth):
            return True
        if self._is_built(bound):
            return True
        return self._is_walked(self.flow.resolve(bound).value)

    def _is_walked(self, value: Value) -> bool:
        """Say whether a value is a node or Variable that comes with its path, or a layer of ``nnx.Sequential``."""
        if isinstance(value, Round):
            layers = value.base if isinstance(value.base, Attr) and value.base.name == "layers" else None
            names = [
                self.flow.calls.callee_name(source)
                for source in (self.context.sources.originals(Bound(layers.base, value.frame)) if layers else ())
            ]
            return bool(names) and all(name == "flax.nnx.Sequential" for name in names)
        if not isinstance(value, Indexed) or _place(value) != 1 or not isinstance(value.base, Round):
            return False
        walk = self.flow.resolve(Bound(value.base.base, value.base.frame))
        if not isinstance(walk.value, Call):
            return False
        callee = self.flow.follow(walk, walk.value.callee).value
        return self.flow.calls.callee_name(walk) in _WALKS or (isinstance(callee, Attr) and callee.name in _WALKING)

    def _drawn(self, bound: Bound, depth: int) -> bool:
        """Say whether a value is an element of a parameter annotated ``list[nnx.Module]`` that only a user gives."""
        value = self.flow.resolve(bound).value
        if not isinstance(value, Round) or not isinstance(value.base, Param):
            return False
        whole = Bound(value.base, value.frame)
        return not self.context.sources.of(whole) - {whole} and self._argument(whole, value.base, depth + 1)

    def _result(self, found: Bound, value: Call, depth: int) -> bool:
        """Follow the results of the project's functions, and look into what keeps its argument's elements."""
        name = self.flow.calls.callee_name(found)
        if name == "flax.nnx.split" or _gives_several(name):
            return True
        if name == "builtins.dict.fromkeys":
            return any(self._is_or_holds(self.flow.with_value(found, a), depth) for a in value.args[1:])
        if name in _COPYING:
            keywords = (v for k, v in value.keywords if k is not None and k != "key")
            if any(self._is_or_holds(self.flow.with_value(found, v), depth) for v in keywords):
                return True
            return any(self._iterated(self.flow.with_value(found, a), depth) for a in value.args)
        if name in _LAZY:  # list(zip(...)): the list around it makes no difference to what is in it
            return self._iterated(found, depth)
        if name in _REARRANGING:
            return any(self.holds_data(self.flow.with_value(found, a), depth + 1) for a in value.args[:1])
        if name == "builtins.sum" and len(value.args) == 2:  # of lists
            lists = self.flow.containers.elements(self.flow.with_value(found, value.args[0]))
            return any(self.holds_data(one, depth + 1) for one in lists)
        position = 0 if name in _OF_STATES else _TREE_MAPS.get(name)
        if position is not None and position < len(value.args):  # a leaf of a state is a Variable, or was one
            given = self.flow.with_value(found, value.args[position])
            if self.context.kinds.only(given) in _HOLDERS:
                return True
            if name.endswith("leaves") and self.holds_data(given, depth + 1):
                return True
            if position == 1 and self._gives(self.flow.with_value(found, value.args[0])):
                display = isinstance(self.flow.resolve(given).value, Sequence | Mapping | Comprehension)
                return display or self.holds_data(given, depth + 1)
            return position == 0 and name not in _OF_STATES and self.holds_data(given, depth + 1)
        if name:
            return False
        callee = self.flow.follow(found, value.callee)
        if isinstance(callee.value, Call) and self.flow.calls.callee_name(callee) in _NAMED_TUPLES:
            fields = value.given
            return any(self._is_or_holds(self.flow.with_value(found, v), depth) for v in fields)
        if isinstance(callee.value, Attr) and callee.value.name in {"_make", "_replace"}:
            return self._retupled(callee, found, value, depth)
        if isinstance(callee.value, Attr) and callee.value.name in _METHODS_OF_STATES:
            return self.context.kinds.only(Bound(callee.value.base, callee.frame)) in _HOLDERS
        if isinstance(callee.value, Attr) and callee.value.name == "init":  # the state of an optax transformation
            if Kind.TRANSFORM in self.context.kinds.of(Bound(callee.value.base, callee.frame)):
                return True
        if self._initialized(found):
            return True
        if isinstance(callee.value, Class):
            return registered(self.context, callee.value.facts) and self._record(found, callee.value.facts, depth)
        return self._on_some_way(found, depth)

    def _initialized(self, bound: Bound) -> bool:
        """Say whether a value is what ``init`` of a Linen module gives."""
        found = self.flow.resolve(bound)
        callee = self.flow.follow(found, found.value.callee) if isinstance(found.value, Call) else None
        if callee is None or not isinstance(callee.value, Attr) or callee.value.name not in _INITIALIZING:
            return False
        module = Bound(callee.value.base, callee.frame)
        return all(self._of_linen(source) for source in self.context.sources.of(module) or {module})

    def _of_linen(self, source: Bound) -> bool:
        cls = self.flow.classes.class_of(source)
        if cls is not None:
            return bool({"flax.linen.Module", "flax.linen.module.Module"} & {*self.flow.classes.mro(cls)[1]})
        name = self.flow.calls.callee_name(source) if isinstance(source.value, Call) else ""
        return name.startswith("flax.linen.") and name.rpartition(".")[2][:1].isupper()

    def _gives(self, function: Bound) -> bool:
        """Say whether a function makes data of whatever it is handed: a class, a lambda that calls one."""
        made = [
            self.flow.here(result, callee.function.scope)
            for callee in self.flow.calls.callables(function)
            for result in callee.function.returns
        ]
        return self._makes(function) or (bool(made) and all(map(self.is_data, made)))

    def _on_some_way(self, found: Bound, depth: int) -> bool:
        """Say whether a value holds data on some way, and is nothing on the others that must not become data."""
        sources = self.context.sources.of(found) - {found}
        held = [source for source in sources if self.holds_data(source, depth + 1)]
        # a number that another way returns must not become data, which is traced under nnx.jit
        return bool(held) and all(source in held or self._harmless(source) for source in sources)

    def _record(self, made: Bound, cls: ClassFacts, depth: int) -> bool:
        """Say whether an instance of a class that JAX looks into is made with data in a field that it sees."""
        assert isinstance(made.value, Call)
        value = made.value
        if self._unpacked(made, value, depth):
            return True
        given = itertools.takewhile(lambda one: not isinstance(one, Star), value.args)
        named = zip(self.flow.classes.dataclass_fields(cls), given, strict=False)
        return any(
            self._is_or_holds(self.flow.with_value(made, value), depth)
            for name, value in (*named, *made.value.keywords)
            if name is not None and not any(static_field(c, name) for c in self.flow.classes.mro(cls)[0])
        )

    def _unpacked(self, made: Bound, value: Call, depth: int) -> bool:
        """Say whether a named tuple gets data out of what is unpacked: ``Pair(*build(2))``."""
        if not self._is_tuple(self.flow.follow(made, value.callee)):
            return False
        stars = [self.flow.with_value(made, one.value) for one in value.args if isinstance(one, Star)]
        rest = [self.flow.with_value(made, given) for name, given in value.keywords if name is None]
        if any(self.holds_data(one, depth + 1) for one in rest):
            return True
        return any(self._iterated(one, depth + 1) or self.holds_data(one, depth + 1) for one in stars)

    def _is_tuple(self, cls: Bound) -> bool:
        return isinstance(cls.value, Class) and "typing.NamedTuple" in self.flow.classes.mro(cls.value.facts)[1]

    def _retupled(self, callee: Bound, found: Bound, value: Call, depth: int) -> bool:
        """Say whether ``Pair._make(parts)`` or ``pair._replace(first=part)`` gives a named tuple with data in it."""
        assert isinstance(callee.value, Attr)
        base = self.flow.resolve(self.flow.with_value(callee, callee.value.base))
        if callee.value.name == "_make":
            given = self.flow.with_value(found, value.args[0]) if len(value.args) == 1 else None
            return (
                given is not None
                and self._is_tuple(base)
                and (self._iterated(given, depth + 1) or self.holds_data(given, depth + 1))
            )
        cls = self.flow.classes.class_of(base)
        if cls is None or "typing.NamedTuple" not in self.flow.classes.mro(cls)[1]:
            return False
        changed = (self.flow.with_value(found, given) for _, given in value.keywords)
        return any(self._is_or_holds(one, depth) for one in changed) or self.holds_data(base, depth + 1)

    def _harmless(self, source: Bound) -> bool:
        """Say whether a value may be marked as data as well as a container of data: None, or a container."""
        value = source.value
        if isinstance(value, Const):
            return value.value is None
        return isinstance(value, Sequence | Mapping | Comprehension | Changed)

    def yields_data(self, bound: Bound) -> bool:
        """Say whether the elements that an iterable gives are data, or containers of data."""
        return self._iterated(bound, 0)

    def _iterated(self, bound: Bound, depth: int) -> bool:
        """Say whether the elements that an iterable gives are data."""
        found = self.flow.resolve(bound)
        name = self.flow.calls.callee_name(found) if isinstance(found.value, Call) else ""
        if isinstance(found.value, Call) and name in _LAZY:
            arguments = [self.flow.with_value(found, a) for a in found.value.args]
            if name == "builtins.map" and arguments:
                made = [
                    Bound(result, found.frame)
                    for callee in self.flow.calls.callables(self.flow.resolve(arguments[0]))
                    for result in callee.function.returns
                ]
                return any(self._is_or_holds(result, depth) for result in made) or self._makes(arguments[0])
            kept = arguments[1:] if name == "builtins.filter" else arguments
            return depth <= _DEPTH and any(self._iterated(a, depth + 1) for a in kept)
        if self.arrays.is_array(found):  # gives its rows
            return True
        if isinstance(found.value, Unknown | Param | Sequence) and self.holds_data(found, depth + 1):  # `*args`
            return True
        return any(self._is_or_holds(element, depth) for element in self.flow.containers.elements(found))

    def _argument(self, found: Bound, value: Param, depth: int) -> bool:
        """Look at what the project passes, and at annotations such as ``list[nnx.Module]``."""
        sources = self.context.sources.of(found) - {found}
        if sources:
            return any(self.holds_data(source, depth + 1) for source in sources)
        if self._is_handed(found, lambda given: self.holds_data(given, depth + 1)):
            return True
        node = value.function.annotations.get(value.name)
        scope = value.function.scope.parent
        return node is not None and scope is not None and _annotates(self.context, node, scope)

    def _unknown(self, found: Bound, value: Unknown, depth: int) -> bool:
        """Look into sums and repetitions of containers, into ``*args``, and into what ``first, *rest =`` leaves."""
        node = value.node
        if isinstance(node, ast.Starred):
            module = self._module(found, node)
            return module is not None and self.holds_data(self.flow.with_value(found, module[node]), depth + 1)
        function = found.frame.function if found.frame is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult | ast.BitOr):
            module = self._module(found, node)
            parts = [module.get(side) for side in (node.left, node.right)] if module is not None else []
            return any(self.holds_data(self.flow.with_value(found, p), depth + 1) for p in parts if p is not None)
        if (
            function is not None
            and node is function.node
            and value in function.scope.bindings.get(function.kwarg or "", ())
        ):
            return self._keywords(function)
        if function is not None and node is function.node and function.vararg:
            return self._variadic(function)
        return False

    def _module(self, found: Bound, node: ast.AST) -> dict[ast.AST, Value] | None:
        return next((m.values for m in self.context.project.modules if node in m.values), None)

    def _annotated(self, function: FunctionFacts, argument: ast.arg | None) -> bool:
        annotation, outer = argument.annotation if argument is not None else None, function.scope.parent
        return annotation is not None and outer is not None and _names_data(self.context, annotation, outer)

    def _keywords(self, function: FunctionFacts) -> bool:
        """Say whether data is passed to ``**named``, or its annotation names an NNX class."""
        if self._annotated(function, function.node.args.kwarg):
            return True
        return self.handed.any_given(function, True, self.is_data, lambda several: self.holds_data(several, 3))

    def keyword_holds(self, bound: Bound) -> bool:
        """Say whether a value is one of ``for name, value in named.items()``, and a caller gives containers of data."""
        found = self.flow.resolve(bound)
        value, function = found.value, found.frame.function if found.frame is not None else None
        if not isinstance(value, Indexed) or not isinstance(value.index.value, Round) or function is None:
            return False
        if value.base not in function.scope.bindings.get(function.kwarg or "", ()):
            return False
        return any(
            name is not None and name not in function.params and self.holds_data(self.flow.here(given, event.scope))
            for event in self.flow.sites.callers(function)
            for name, given in event.value.keywords
        )

    def _variadic(self, function: FunctionFacts) -> bool:
        """Say whether data is passed to ``*args``, or its annotation names an NNX class."""
        if self._annotated(function, function.node.args.vararg):
            return True
        return self.handed.any_given(function, False, self.is_data, lambda several: self.holds_data(several, 3))


def _like(value: Value) -> Value | None:
    """Return the object whose class ``type(obj)`` or ``obj.__class__`` is."""
    if isinstance(value, Attr):
        return value.base if value.name == "__class__" else None
    named = isinstance(value, Call) and isinstance(value.callee, Ref | Free)
    if isinstance(value, Call) and named and len(value.args) == 1 and not value.starred:
        return value.args[0] if getattr(value.callee, "name", "").rpartition(".")[2] == "type" else None
    return None


def _gives_several(name: str) -> bool:
    """Say whether a function gives several arrays, by its full name."""
    home = next((home for home in ("jax.numpy.", "numpy.") if name.startswith(home)), "")
    return name == "jax.lax.top_k" or (bool(home) and name.removeprefix(home) in _ARRAYS_OF)


def _place(value: Item | Indexed) -> object:
    """Return the constant that an index is; None for another one."""
    index = value.index if isinstance(value, Item) else value.index.value
    return index.value if isinstance(index, Const) else None


def _named(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.Name | ast.Attribute)


def _ways(value: Value) -> Iterator[Value]:
    """Yield what a value may be, as conditions say."""
    if isinstance(value, Choice):
        for option in value.options:
            yield from _ways(option)
    else:
        yield value


def _is_none(value: Value | None) -> bool:
    return isinstance(value, Const) and value.value is None


def _outermost(container: Value) -> Value:
    """Return the container that holds another one, as in ``self.towers["a"].append(...)``, as it was made."""
    seen: set[Value] = set()
    while container not in seen:
        seen.add(container)
        if isinstance(container, Changed | Loop):
            container = container.before
        elif isinstance(container, Item) and isinstance(container.base, Sequence):  # of the pairs of `items()`
            place, items = container.index.value if isinstance(container.index, Const) else None, container.base.items
            inside = items[place] if isinstance(place, int) and -len(items) <= place < len(items) else None
            container = inside if isinstance(inside, Item | Each) else container.base
        elif isinstance(container, Item | Each):
            container = container.base
        elif isinstance(container, Call) and isinstance(container.callee, Attr) and container.callee.name in _GIVING:
            container = container.callee.base
    return container


def _spelled(held: Attr, node: ast.expr) -> ast.Attribute:
    """Return the attribute in the spelling of a container in it; one made for it if a variable holds that."""
    inner = node
    while not isinstance(inner, ast.Attribute) or inner.attr != held.name:
        if isinstance(inner, ast.Subscript):
            inner = inner.value
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            inner = inner.func.value
        else:
            return ast.copy_location(ast.Attribute(node, held.name, ast.Store()), node)
    return inner


def _changes(stored: Changed, event: AttrEvent) -> bool:
    """Say whether a stored value is the attribute's own container with something put into it."""
    node = stored.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value is event.node
    return isinstance(node, ast.Subscript) and node.value is event.node


def _annotates(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an annotation is a list, tuple, dict or the like of an NNX class, or may be one among others."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return False
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _annotates(context, node.left, scope) or _annotates(context, node.right, scope)
    if not isinstance(node, ast.Subscript):
        return False
    generic = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    members = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if generic in _ONE_OF:
        return any(_annotates(context, m, scope) for m in members)
    if generic not in _CONTAINERS:  # type[nnx.Variable], Callable[..., nnx.Module]
        return False
    return any(_names_data(context, m, scope) or _annotates(context, m, scope) for m in members)


def _annotates_class(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an annotation is ``type[...]`` of an NNX class, or ``Callable`` that gives its instances."""
    if not isinstance(node, ast.Subscript):
        return False
    generic, given = last_word(node.value), node.slice
    if generic == "Callable" and isinstance(given, ast.Tuple):
        return _names_data(context, given.elts[-1], scope)
    return generic in {"Type", "type"} and _names_data(context, given, scope)


def _names_data(context: Context, node: ast.expr, scope: Scope) -> bool:
    if not isinstance(node, ast.Name | ast.Attribute | ast.Constant):
        return False
    return any(context.kinds.class_kinds(found) & DATA for found in context.flow.classes.named(node, scope))


def is_plain(flow: Flow, store: Store) -> bool:
    """Say whether a store puts None, a number, a string or a bool."""
    return isinstance(flow.resolve(flow.here(store.value, store.event.scope)).value, Const)
