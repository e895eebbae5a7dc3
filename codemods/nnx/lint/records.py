"""What the fields of records are: named tuples and registered dataclasses, by the annotations of their classes."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.lint.field_options import static
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.sources import Sources
from codemods.nnx.values import Attr, Call, Ref

_REGISTER = "jax.tree_util.register_dataclass"
_DECORATORS = frozenset({"flax.struct.dataclass", "chex.dataclass", _REGISTER})
_BASES = frozenset({"flax.struct.PyTreeNode", "typing.NamedTuple", "flax.training.train_state.TrainState"})
_ARRAYS = frozenset({"Array", "ndarray", "ArrayLike", "PRNGKey"})
_TYPED = frozenset({"Float", "Int", "Bool", "UInt", "Num", "Shaped", "Float32", "Int32"})  # of jaxtyping
_NUMBERS = frozenset({"bool", "int", "float"})
_DEPTH = 6


class Records:
    """Tells which leaf of a record an attribute is.

    Args:
        flow: the flow of values.
        sources: where values may come from.
    """

    def __init__(self, flow: Flow, sources: Sources) -> None:
        self._flow = flow
        self._sources = sources
        self._classes: dict[ClassFacts, dict[str, ast.expr]] = {}

    def leaf(self, value: Attr, scope: Scope) -> str:
        """Return what an attribute is, which ``jit`` and the like trace with the record that it belongs to.

        Args:
            value: the attribute.
            scope: the scope that it was read in.

        Returns:
            "array" or "number", "record" for a record in the record, or nothing where that is not known.
        """
        if value.name not in self._names:
            return ""
        cls = self._class(value, scope, 0)
        note = self._fields(cls).get(value.name) if cls is not None else None
        if note is None or cls is None:
            return ""
        if is_array(note):
            return "array"
        if isinstance(note, ast.Name) and note.id in _NUMBERS:
            return "number"
        return "record" if self._named(note, cls) is not None else ""

    def _class(self, value: Attr, scope: Scope, depth: int) -> ClassFacts | None:
        """Return the class of the object that an attribute is read from, if it is one of records."""
        base = value.base
        if isinstance(base, Attr) and depth < _DEPTH and base.name in self._names:
            outer = self._class(base, scope, depth + 1)
            note = self._fields(outer).get(base.name) if outer is not None else None
            if outer is not None and note is not None:
                return self._named(note, outer)
        bound = self._flow.resolve(self._flow.here(base, scope))
        cls = self._flow.classes.class_of(bound)
        if cls is None:
            found = {self._flow.classes.class_of(one) for one in self._sources.originals(bound)}
            cls = found.pop() if len(found) == 1 else None
        return cls

    def _named(self, note: ast.expr, cls: ClassFacts) -> ClassFacts | None:
        """Return the class of records that the annotation of a field names."""
        named = {getattr(one.value, "facts", None) for one in self._flow.classes.named(note, cls.scope)}
        one = named.pop() if len(named) == 1 and isinstance(note, ast.Name | ast.Attribute) else None
        return one if isinstance(one, ClassFacts) and self._fields(one) else None

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of all fields of records of the project."""
        return frozenset(name for cls in self._flow.project.classes() for name in self._fields(cls))

    def _fields(self, cls: ClassFacts) -> dict[str, ast.expr]:
        """Return the fields of a class that are leaves or trees, with their annotations; none if it is no record."""
        found = self._classes.get(cls)
        if found is None:
            found = self._classes[cls] = {}
            kept = self._kept(cls)
            for parent in reversed(self._flow.classes.mro(cls)[0]) if kept is not None else ():
                for statement in parent.node.body:
                    if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                        continue
                    name, made = statement.target.id, statement.value
                    if isinstance(made, ast.Call) and (static(made) or self._made_static(made, parent)):
                        found.pop(name, None)  # whatever it is in a base class
                    elif not kept or name in kept:
                        found[name] = statement.annotation
        return found

    def _made_static(self, made: ast.Call, cls: ClassFacts) -> bool:
        """Say whether what describes a field is a function of the project, or one that ``functools.partial`` gave
        options, which may leave it out of the leaves: ``static = partial(struct.field, pytree_node=False)``."""
        value = cls.scope.module.values.get(made)
        if not isinstance(value, Call):
            return False
        called = self._flow.follow(self._flow.here(value, cls.scope), value.callee)
        if isinstance(called.value, Ref):
            return False
        bound = called.value
        if not isinstance(bound, Call) or self._flow.calls.callee_name(called) != "functools.partial":
            return True
        first = self._flow.follow(called, bound.args[0]).value if bound.args else None
        field = isinstance(first, Ref) and last(first.name) == "field"
        return not field or any(one.arg in {None, "pytree_node", "static", "metadata"} for one in bound.node.keywords)

    def _kept(self, cls: ClassFacts) -> tuple[str, ...] | None:
        """Return the fields of a registered class that are no part of its structure.

        Returns:
            Their names; nothing for all fields that are not marked, None if the class is not known to be registered.
        """
        if self._flow.classes.mro(cls)[1] & _BASES:
            return ()
        outer = cls.scope.parent
        for decorator in cls.decorators if outer is not None else ():
            assert outer is not None
            bound = self._flow.resolve(self._flow.here(decorator, outer))
            made = bound.value
            if isinstance(made, Ref) and made.name in _DECORATORS:
                return ()
            name = self._flow.calls.callee_name(bound) if isinstance(made, Call) else ""
            if isinstance(made, Call) and name == "functools.partial" and made.args:
                first = self._flow.follow(bound, made.args[0]).value
                if isinstance(first, Ref) and first.name in _DECORATORS:
                    data = keyword(made.node, "data_fields")
                    names = constant(data)
                    if data is None and first.name != _REGISTER:
                        return ()
                    return tuple(map(str, names)) if isinstance(names, list | tuple) and names else None
            if name in _DECORATORS and last(name) == "dataclass":
                return ()
        return None


def is_array(note: ast.expr) -> bool:
    """Say whether an annotation means an array, and nothing else.

    Args:
        note: the annotation.
    """
    if isinstance(note, ast.Constant) and isinstance(note.value, str):
        return re.fullmatch(r"(\w+\.)*(Array|ndarray)", note.value) is not None
    if isinstance(note, ast.Subscript):
        parts = elements(note.slice)
        return last_word(note.value) in _TYPED and bool(parts) and is_array(parts[0])
    return isinstance(note, ast.Name | ast.Attribute) and last_word(note) in _ARRAYS
