"""Which NNX objects a tree holds."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Changed, Choice, Class, Comprehension, Const, Mapping, Param, Ref, Sequence

#: Classes of ``flax.nnx`` that tell the objects of a kind from everything else in a tree.
TESTS = {
    Kind.MODULE: "Module",
    Kind.OPTIMIZER: "Optimizer",
    Kind.METRIC: "Metric",
    Kind.RNGS: "Rngs",
    Kind.STREAM: "RngStream",
}
_ROOTS = {"flax.nnx.Object", "flax.nnx.Pytree"}
_DEPTH = 6  # how many containers deep a tree is looked into


class Contents:
    """Answers which classes of ``flax.nnx`` the leaves of a tree are instances of, as 0.10 saw the tree."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self._seen: set[Bound] = set()

    def of(self, tree: Bound) -> tuple[str, ...]:
        """Return names of classes of ``flax.nnx``, such as ``Module``; empty if no object is known to be there."""
        self._seen = set()
        with self.flow.questions.one_question():
            return tuple(sorted(self._inside(tree, 0)))

    def bare(self, tree: Bound) -> bool:
        """Say whether the tree is one NNX object and not a container of them."""
        sources = self.context.sources.of(tree)
        return bool(sources) and all(self._object(source) for source in sources)

    def alone(self, tree: Bound) -> bool:
        """Say whether no container holds an NNX object of the tree, which may be something else without any."""
        return not any(self.of(one) for one in self.context.sources.of(tree) if not self._object(one))

    def _inside(self, tree: Bound, depth: int) -> set[str]:
        if depth > _DEPTH:
            return set()
        found: set[str] = set()
        for source in self.context.sources.of(tree):
            if source in self._seen:
                continue
            self._seen.add(source)
            mine = self._object(source)
            whole = self._viewed(source)
            if mine:
                found |= mine
            elif whole is not None:
                found |= self._inside(whole, depth)
            elif self.flow.classes.class_of(source) is not None:
                found |= self._fields(source, depth)
            elif self._holds(source):
                for element in self.flow.containers.elements(source):
                    found |= self._inside(element, depth + 1)
        return found

    def _holds(self, source: Bound) -> bool:
        """Say whether a value is, or may be, a container whose elements are its leaves."""
        return isinstance(source.value, Sequence | Mapping | Comprehension | Changed | Choice | Call | Param | Attr)

    def _viewed(self, source: Bound) -> Bound | None:
        """Return the dict of which a value is a view or copy, such as ``parts.values()``."""
        value = source.value
        if not isinstance(value, Call) or value.args or value.keywords:
            return None
        callee = self.flow.follow(source, value.callee)
        if isinstance(callee.value, Attr) and callee.value.name in {"values", "items", "copy"}:
            return self.flow.with_value(callee, callee.value.base)
        return None

    def _object(self, source: Bound) -> set[str]:
        """Return the class by which an NNX object is told; empty for anything else."""
        cls = self.flow.classes.class_of(source)
        if cls is not None and (self._said(cls) or registered(self.context, cls)):
            return set()
        kinds = self.context.kinds.of(source)
        if kinds & {Kind.STATE, Kind.GRADIENT, Kind.ARRAY}:
            return set()
        if cls is not None and kinds == {Kind.MODULE} and self._only_pytree(cls):
            return {"Pytree"}
        return {TESTS[kind] for kind in kinds if kind in TESTS}

    def _only_pytree(self, cls: ClassFacts) -> bool:
        return self.flow.classes.mro(cls)[1] <= _ROOTS

    def _said(self, cls: ClassFacts) -> bool:
        """Say whether a class says itself if it is a pytree, which then no release changes."""
        return any(k.arg == "pytree" and isinstance(k.value, ast.Constant) for k in cls.node.keywords)

    def _fields(self, source: Bound, depth: int) -> set[str]:
        """Return what the data fields of a dataclass hold that is itself a tree for JAX."""
        cls = self.flow.classes.class_of(source)
        if cls is None or not registered(self.context, cls):
            return set()
        found: set[str] = set()
        for parent in self.flow.classes.mro(cls)[0]:
            for name, annotation in parent.fields.items():
                if static_field(parent, name):
                    continue
                kinds = {
                    kind
                    for named in self.flow.classes.named(annotation, parent.scope)
                    for kind in self.context.kinds.class_kinds(named)
                }
                found |= {TESTS[kind] for kind in kinds if kind in TESTS}
                for value in self.flow.fields.field(source, name):
                    found |= self._inside(value, depth + 1)
        for name in dict.fromkeys(name for one in self._flattening(cls) for name in _children(one)):
            found |= self._inside(self.flow.with_value(source, Attr(source.value, name)), depth + 1)
        return found

    def _flattening(self, cls: ClassFacts) -> list[FunctionFacts]:
        """Return the functions that take instances of a class apart for JAX."""
        found = [
            parent.methods[name]
            for parent in self.flow.classes.mro(cls)[0]
            for name in ("tree_flatten", "tree_flatten_with_keys")
            if name in parent.methods
        ]
        event = self.context.shared(_by_calls).get(cls)
        given = event.value.argument(1, "flatten_func") if event is not None else None
        if event is not None and given is not None:
            reached = self.flow.calls.callables(self.flow.here(given, event.scope))
            found += [one.function for one in reached]
        return found


def _children(function: FunctionFacts) -> list[str]:
    """Return the attributes that a function makes children of, which takes an object apart for JAX."""
    node, first = function.node, next(iter(function.params), None)
    if isinstance(node, ast.Lambda):
        results: list[ast.expr | None] = [node.body]
    else:
        results = [made.value for made in ast.walk(node) if isinstance(made, ast.Return)]
    parts = [one.elts[0] for one in results if isinstance(one, ast.Tuple) and one.elts]
    written = all(isinstance(part, ast.Tuple | ast.List) for part in parts)
    return [
        read.attr
        for part in (parts if written else [node])
        for read in ast.walk(part)
        if isinstance(read, ast.Attribute) and isinstance(read.value, ast.Name) and read.value.id == first
    ]


_REGISTERING = {
    "flax.struct.dataclass",
    "chex.dataclass",
    "jax.tree_util.register_dataclass",
    "jax.tree_util.register_pytree_node_class",
    "jax.tree_util.register_pytree_with_keys_class",
}
_REGISTER = frozenset({"register_pytree_node", "register_pytree_with_keys", "register_dataclass"})
_TREE_BASES = {"flax.struct.PyTreeNode", "typing.NamedTuple", "flax.training.train_state.TrainState"}


def _by_calls(context: Context) -> dict[ClassFacts, CallEvent]:
    """Return the classes that calls of ``jax.tree_util.register_pytree_node`` and the like register, with the call."""
    found: dict[ClassFacts, CallEvent] = {}
    for event in context.project.calls():
        if last_word(event.node.func) not in _REGISTER or not event.value.args:
            continue
        call = context.flow.here(event.value, event.scope)
        cls = context.flow.follow(call, event.value.args[0]).value
        if isinstance(cls, Class) and context.flow.calls.callee_name(call).startswith("jax."):
            found[cls.facts] = event
    return found


def registered(context: Context, cls: ClassFacts) -> bool:
    """Say whether instances of a class are pytrees that are no NNX objects."""
    flow = context.flow
    if flow.classes.mro(cls)[1] & _TREE_BASES:
        return True
    if cls in context.shared(_by_calls):
        return True
    for decorator in cls.decorators:
        bound = flow.resolve(flow.here(decorator, cls.scope))
        value = bound.value
        name = value.name if isinstance(value, Ref) else ""
        if isinstance(value, Call):
            name = flow.calls.callee_name(bound)
            if name == "functools.partial" and value.args:
                first = flow.follow(bound, value.args[0]).value
                name = first.name if isinstance(first, Ref) else ""
        if name in _REGISTERING:
            return True
    return False


def static_field(cls: ClassFacts, name: str) -> bool:
    """Say whether a field is kept out of the tree with ``pytree_node=False`` or ``metadata={"static": True}``."""
    value = cls.scope.env.get(name)
    if not isinstance(value, Call):
        return False
    node = value.keyword("pytree_node")
    if isinstance(node, Const) and node.value is False:
        return True
    metadata = value.keyword("metadata")
    return isinstance(metadata, Mapping) and any(
        isinstance(k, Const) and k.value in {"static", "pytree_node"} for k, _ in metadata.items
    )
