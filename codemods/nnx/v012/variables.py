"""Which expressions are Variables, and what is read and written through their ``value``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, Scope
from codemods.nnx.frames import Bound, Indexed, Part
from codemods.nnx.kinds import Kind, may_have_kind, names_of
from codemods.nnx.known import GRADIENTS
from codemods.nnx.may.may import Made
from codemods.nnx.v012.abstract import may_be_abstract
from codemods.nnx.v012.arrays import Arrays, keeps
from codemods.nnx.values import Attr, Class, Const, Item, ModuleRef, Ref, Value

# names under which the layers of the library keep their Variables; leaves of a state with these names are Variables
_LEAVES = frozenset({"kernel", "bias", "scale", "embedding", "mean", "var"})
_TREES = frozenset({Kind.STATE, Kind.GRADIENT})
# what gives Variables, or things that hold them
_MAKERS = names_of(Kind.VARIABLE) | names_of(Kind.STATE) | names_of(Kind.OPTIMIZER) | {
    "eval_shape", "flatten", "from_pure_dict", "split", "to_flat_state", "variable_type_from_name",
}  # fmt: skip
_GRADIENTS = frozenset(name.rpartition(".")[2] for name in GRADIENTS)
_FIELDS = _LEAVES | {"step", "count", "key"}


def of_own_classes(context: Context) -> Made:
    """Return what may be a Variable of a class that the project derives."""
    own = (cls for cls in context.project.classes() if "flax.nnx.Variable" in context.flow.classes.mro(cls)[1])
    return context.flow.may.made_of(own)


def _made(context: Context) -> tuple[Made, ...]:
    """Return what may be a Variable, a state of Variables, or a part of one."""
    return context.flow.may.made_by(_MAKERS, _FIELDS, _GRADIENTS), of_own_classes(context)


def _may_be_told(value: Value) -> bool:
    """Say whether a value that stands there so may be a Variable, or what an operator left of one."""
    return keeps(value) or may_have_kind(value)


class Variables:
    """Answers what is known of Variables."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self.arrays = Arrays(context.flow, context.kinds)

    def is_variable(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is a Variable on every way."""
        if not self._may_be(value):
            return False
        try:
            return self._is_variable(self.flow.here(value, scope))
        except RecursionError:  # a value that is made of itself in a long chain: not known
            self.flow.questions.unanswered += 1
            return False

    def holds_variable(self, value: Value, scope: Scope) -> bool:
        """Say whether going through a container gives a Variable."""
        bound = self.flow.here(value, scope)
        try:
            if self.flow.containers.is_mapping(bound):
                return False
            return any(
                self._may_be(element.value) and self._is_variable(element)
                for element in self.flow.containers.elements(bound)
            )
        except RecursionError:
            self.flow.questions.unanswered += 1
            return False

    def _may_be(self, value: Value) -> bool:
        """Say whether a value may be a Variable, as far as what flows where tells that."""
        return any(made.may_be(value) for made in self.context.shared(_made))

    def may_hold(self, value: Value) -> bool:
        """Say whether a value may be a container with a Variable in it, as far as what flows where tells that."""
        return any(made.may_hold(value) for made in self.context.shared(_made))

    def _is_variable(self, bound: Bound) -> bool:
        if self.context.kinds.only(bound) is Kind.VARIABLE or self._is_leaf(bound) or self._in_state(bound):
            return True
        made = self.flow.resolve(bound)
        if isinstance(made.value, Part):  # a copy is what it is a copy of
            return self._is_variable(made.value.of)
        sources = self.context.sources.all_of(bound, _may_be_told)
        others = [source for source in sources or () if not keeps(source.value)]
        if not sources or not others or len(others) == len(sources):
            return False
        return all(self.context.kinds.only(source) is Kind.VARIABLE for source in others)

    def may_be_variable(self, event: AttrEvent) -> bool:
        """Say whether the object of an access may be a Variable: whether nothing tells that it is something else."""
        if not event.scope.module.source.mentions(b"nnx"):
            return False
        bound = self.flow.here(event.base, event.scope)
        try:
            kinds, sources = self.context.kinds.of(bound), self.context.sources.of(bound)
            classes = [self.flow.classes.class_of(source) for source in sources]
        except RecursionError:
            self.flow.questions.unanswered += 1
            return True
        if kinds:
            return Kind.VARIABLE in kinds or (bool(kinds & _TREES) and self._taken(bound))
        if all(cls is not None for cls in classes):
            return False
        return not any(isinstance(self._root(source), Class | ModuleRef | Const | Ref) for source in sources)

    def _taken(self, bound: Bound) -> bool:
        """Say whether a value is a part of a state, which may be a leaf."""
        found = self.flow.resolve(bound)
        return isinstance(found.value, Attr | Item | Indexed) and bool(
            self.context.kinds.of(self.flow.with_value(found, found.value.base)) & _TREES
        )

    def _root(self, bound: Bound) -> Value:
        """Return what a part of a part ... belongs to: members of an enumeration belong to its class."""
        value = bound.value
        while isinstance(value, Attr | Item | Indexed):
            bound = self.flow.resolve(self.flow.with_value(bound, value.base))
            value = bound.value
        return value

    def _is_leaf(self, bound: Bound) -> bool:
        """Say whether a value is the leaf of a state, reached by the name of a layer's Variable."""
        value = self.flow.resolve(bound).value
        if isinstance(value, Attr):
            name: object = value.name
        elif isinstance(value, Item | Indexed):
            index = value.index.value if isinstance(value, Indexed) else value.index
            name = index.value if isinstance(index, Const) else None
        else:
            return False
        if name not in _LEAVES:
            return False
        while isinstance(value, Attr | Item | Indexed):
            bound = self.flow.with_value(self.flow.resolve(bound), value.base)
            if self.context.kinds.of(bound) & _TREES:
                return True
            value = self.flow.resolve(bound).value
        return False

    def _in_state(self, bound: Bound) -> bool:
        """Say whether a value is a leaf of a state: under a name which the project's modules give to Variables only."""
        found = self.flow.resolve(bound)
        if not isinstance(found.value, Attr | Item | Indexed):
            return False
        kept = self._kept(found.value)
        if not kept or not all(self.context.kinds.only(one) is Kind.VARIABLE for one in kept):
            return False
        return self.context.kinds.only(self.flow.with_value(found, found.value.base)) in _TREES

    def _kept(self, value: Attr | Item | Indexed) -> list[Bound]:
        """Return what the classes of the project keep under the name of a part."""
        index = value.index.value if isinstance(value, Indexed) else getattr(value, "index", None)
        name = value.name if isinstance(value, Attr) else index.value if isinstance(index, Const) else None
        return self._stores.get(name, []) if isinstance(name, str) else []

    @cached_property
    def _stores(self) -> dict[str, list[Bound]]:
        found: dict[str, list[Bound]] = {}
        for cls in self.context.project.classes():
            for name, stores in cls.stores.items():
                found.setdefault(name, []).extend(self.flow.here(stored, method.scope) for method, stored in stores)
        return found

    def holds_array(self, value: Value, scope: Scope) -> bool:
        """Say whether a Variable holds an array from its constructor on, whatever the project assigns to it."""
        bound = self.flow.here(value, scope)
        try:
            return self._holds_array(bound) and not may_be_abstract(self.context, value, scope)
        except RecursionError:
            self.flow.questions.unanswered += 1
            return False

    def _holds_array(self, bound: Bound) -> bool:
        if self._is_leaf(bound):
            return True
        if self._in_state(bound):
            found = self.flow.resolve(bound).value
            assert isinstance(found, Attr | Item | Indexed)
            return all(self._holds_array(one) for one in self._kept(found))
        return self.arrays.holds_array(bound) and not self.context.sources.originals(bound) & self.reassigned

    def values(self) -> Iterator[AttrEvent]:
        """Yield every access of ``value`` and ``raw_value``."""
        return (e for e in self.context.project.attributes() if e.node.attr in {"value", "raw_value"})

    @cached_property
    def reassigned(self) -> frozenset[Bound]:
        """The Variables to which something is assigned that is not known to be an array."""
        found: set[Bound] = set()
        for event in self.values():
            if event.context != "store" or event.stored is None or isinstance(event.statement, ast.AugAssign):
                continue  # an operator gives an array if one side is one
            if not self._may_be(event.base):
                continue
            stored = self.flow.here(event.stored, event.scope)
            if not self.arrays.is_array(stored):
                found |= self.context.sources.originals(self.flow.here(event.base, event.scope))
        return frozenset(found)
