"""What kind of NNX object a value may be."""

from __future__ import annotations

import enum

from codemods.nnx.facts import ClassFacts
from codemods.nnx.flow import Flow
from codemods.nnx.flow.assumptions import Answers
from codemods.nnx.frames import Bound, Frame, Indexed, Part, Round
from codemods.nnx.known import GRADIENTS, TRANSPARENT
from codemods.nnx.sources import Sources
from codemods.nnx.values import Attr, Call, Choice, Class, Const, Item, Param, Ref, Value


class Kind(enum.Enum):
    """Kinds of objects that the rules tell apart."""

    MODULE = "module"
    OPTIMIZER = "optimizer"
    METRIC = "metric"
    VARIABLE = "variable"
    STATE = "state"
    GRAPHDEF = "graphdef"
    RNGS = "rngs"
    STREAM = "stream"
    GRADIENT = "gradient"  # the state of a gradient, or a tuple that holds one
    ARRAY = "array"
    KEY = "key"
    NUMPY = "numpy"
    TRANSFORM = "transform"  # an optax gradient transformation


# classes of flax.nnx by kind; every other capitalised name of flax.nnx counts as a module
_CLASSES = {
    "Module": Kind.MODULE,
    "Object": Kind.MODULE,
    "Pytree": Kind.MODULE,
    "Optimizer": Kind.OPTIMIZER,
    "ModelAndOptimizer": Kind.OPTIMIZER,
    "MultiMetric": Kind.METRIC,
    "Metric": Kind.METRIC,
    **dict.fromkeys(("Average", "Accuracy", "Welford"), Kind.METRIC),
    "Variable": Kind.VARIABLE,
    "VariableState": Kind.VARIABLE,
    "Param": Kind.VARIABLE,
    "BatchStat": Kind.VARIABLE,
    "Cache": Kind.VARIABLE,
    "Intermediate": Kind.VARIABLE,
    "Perturbation": Kind.VARIABLE,
    "RngState": Kind.VARIABLE,
    "RngKey": Kind.VARIABLE,
    "RngCount": Kind.VARIABLE,
    "LoRAParam": Kind.VARIABLE,
    "MetricState": Kind.VARIABLE,
    "OptState": Kind.VARIABLE,
    "OptArray": Kind.VARIABLE,
    "OptVariable": Kind.VARIABLE,
    "State": Kind.STATE,
    "GraphDef": Kind.GRAPHDEF,
    "Rngs": Kind.RNGS,
    "RngStream": Kind.STREAM,
}
_NOT_OBJECTS = frozenset(
    {
        "All",
        "Any",
        "Carry",
        "Dict",
        "DiffState",
        "Everything",
        "GraphState",
        "List",
        "MergeContext",
        "NodeStates",
        "Not",
        "Nothing",
        "OfType",
        "PathContains",
        "SplitContext",
        "StateAxes",
        "StateSharding",
        "UpdateContext",
        "WithTag",
    }
)
_RESULTS = {
    "flax.nnx.state": Kind.STATE,
    "flax.nnx.variables": Kind.STATE,
    "flax.nnx.pop": Kind.STATE,
    "flax.nnx.filter_state": Kind.STATE,
    "flax.nnx.merge_state": Kind.STATE,
    "flax.nnx.from_flat_state": Kind.STATE,
    "flax.nnx.graphdef": Kind.GRAPHDEF,
    "flax.nnx.bridge.ToNNX": Kind.MODULE,
    "flax.nnx.bridge.lazy_init": Kind.MODULE,
    "jax.random.key": Kind.KEY,
    "jax.random.PRNGKey": Kind.KEY,
    "jax.random.split": Kind.KEY,
    "jax.random.fold_in": Kind.KEY,
    "jax.random.wrap_key_data": Kind.KEY,
    "jax.random.clone": Kind.KEY,
}


# functions of jax.numpy that give a list or tuple of arrays
SEVERAL = frozenset(
    f"jax.numpy.{name}"
    for name in (
        "array_split", "broadcast_arrays", "dsplit", "histogramdd", "hsplit", "ix_", "meshgrid", "split", "unstack",
        "vsplit",
    )
)  # fmt: skip


# and those that give something of Python
_NO_ARRAYS = frozenset(
    f"jax.numpy.{name}"
    for name in (
        "can_cast", "dtype", "finfo", "iinfo", "iscomplexobj", "isdtype", "isrealobj", "isscalar", "issubdtype",
        "iterable", "ndim", "promote_types", "result_type", "shape", "size",
    )
)  # fmt: skip


# functions whose result has the structure that a function they are given returns, or is a reference, or comes from a
# file, which may hold several arrays under their names
_ANYTHING = frozenset(
    f"jax.lax.{name}" for name in ("scan", "while_loop", "fori_loop", "cond", "switch", "map", "associative_scan")
) | {"jax.lax.stop_gradient", "jax.lax.optimization_barrier", "jax.numpy.load"}


_WRAPPED = 6  # how many transforms around a function are looked through


class Kinds:
    """Answers what kinds of objects a value may be, from constructors, results of known functions and annotations."""

    def __init__(self, flow: Flow, sources: Sources) -> None:
        self.flow = flow
        self.sources = sources
        self._copies = 0  # how many copies deep the present question is
        self._asked: dict[tuple[Bound, frozenset[Frame]], frozenset[Kind]] = {}  # answers within the present question
        self._known: Answers[Bound, frozenset[Kind]] = Answers(flow.assumptions)

    def of(self, bound: Bound) -> frozenset[Kind]:
        """Return every kind that a source of a value has; empty if nothing is known of it."""
        bound = self.flow.resolve(bound)
        known = self._known.find(bound)
        if known is not None:
            return known.value
        key = (bound, self.flow.assumptions.all)
        if key in self._asked:
            return self._asked[key]
        outermost = not self._asked
        self._asked[key] = frozenset()  # a copy of itself adds nothing
        found, asked = self.flow.assumptions.noting(lambda: self._of(bound))
        self._asked[key] = found
        if outermost:
            self._asked.clear()
            if self.flow.questions.at_rest:  # an answer within another question may have been cut short
                self._known.keep(bound, found, asked)
        return found

    def _of(self, bound: Bound) -> frozenset[Kind]:
        found: set[Kind] = set()
        with self.flow.questions.one_question():
            for source in self.sources.of(bound):
                found |= self._kinds(source)
        return frozenset(found)

    def only(self, bound: Bound) -> Kind | None:
        """Return the kind of a value if every source of it has the same one."""
        kinds: set[Kind] = set()
        with self.flow.questions.one_question():
            for source in self.sources.all_of(bound, may_have_kind) or ():
                mine = self._kinds(source)
                if len(mine) != 1:
                    if isinstance(source.value, Const) and source.value.value is None:
                        continue
                    return None
                kinds |= mine
        return kinds.pop() if len(kinds) == 1 else None

    def _kinds(self, source: Bound, depth: int = 0) -> frozenset[Kind]:
        value = source.value
        if depth > 8:
            return frozenset()
        if isinstance(value, Part):
            if self._copies > 40:  # a copy of a copy of ... in a loop
                return frozenset()
            self._copies += 1
            try:
                return self.of(value.of)
            finally:
                self._copies -= 1
        if isinstance(value, Call):
            return self._result(source, value, depth)
        if isinstance(value, Param):
            cls = self.flow.classes.class_of(source)
            if cls is not None:
                return self._class(cls)
            return frozenset(k for b in self.flow.classes.annotated(value) for k in self._named(b))
        if isinstance(value, Indexed | Item | Round):
            return self._element(source, value, depth)
        if isinstance(value, Attr):
            return self._attribute(source, value, depth)
        return frozenset()

    def _named(self, bound: Bound) -> frozenset[Kind]:
        value = bound.value
        if isinstance(value, Class):
            return self._class(value.facts)
        if isinstance(value, Ref):
            kind = class_kind(value.name)
            return frozenset({kind}) if kind is not None else frozenset()
        return frozenset()

    def _class(self, cls: ClassFacts) -> frozenset[Kind]:
        kinds = {class_kind(name) for name in self.flow.classes.mro(cls)[1]}
        return frozenset(k for k in kinds if k is not None)

    def class_kinds(self, bound: Bound) -> frozenset[Kind]:
        """Return the kinds of the instances of a class."""
        return self._named(self.flow.resolve(bound))

    def _result(self, source: Bound, value: Call, depth: int) -> frozenset[Kind]:
        flow = self.flow
        callee = flow.follow(source, value.callee)
        inner = callee.value
        if isinstance(inner, Class):
            return self._class(inner.facts)
        if isinstance(inner, Ref):
            return frozenset(k for k in (result_kind(inner.name),) if k is not None)
        if isinstance(inner, Call) and self._takes_gradient(callee):
            return frozenset({Kind.GRADIENT})
        if isinstance(inner, Call) and flow.calls.callee_name(callee) in _INJECTED:
            return frozenset({Kind.TRANSFORM})
        if isinstance(inner, Attr):
            if inner.name == "state" and Kind.VARIABLE in self.class_kinds(Bound(inner.base, callee.frame)):
                return frozenset({Kind.VARIABLE})  # nnx.Param.state(value) of Flax 0.10
            holder = self._kinds(Bound(inner.base, callee.frame), depth + 1)
            if inner.name in {"copy", "replace"} and holder == {Kind.VARIABLE}:
                return holder
            if inner.name in {"fork", "split"} and holder & {Kind.RNGS, Kind.STREAM}:
                return holder
            if Kind.RNGS in holder:
                return frozenset({Kind.KEY})
        if isinstance(inner, Item | Indexed) and isinstance(inner.base, Ref):  # nnx.Optimizer[Model](...)
            kind = class_kind(inner.base.name)
            return frozenset({kind}) if kind is not None else frozenset()
        if isinstance(inner, Choice):  # a name that is bound to several classes, as by the cells of a notebook
            ways = [self._named(way) for way in self.sources.of(callee)]
            return frozenset().union(*ways) if all(ways) else frozenset()
        return frozenset()

    def _takes_gradient(self, function: Bound) -> bool:
        """Say whether a function is one of gradients, also one that is compiled or mapped: ``nnx.jit(nnx.grad(f))``."""
        for _ in range(_WRAPPED):
            value = function.value
            if not isinstance(value, Call):
                return False
            name = self.flow.calls.wrapper_name(function, value)
            if name in GRADIENTS or name not in TRANSPARENT or not value.args:
                return name in GRADIENTS
            function = self.flow.follow(function, value.args[0])
        return False

    def _element(self, source: Bound, value: Indexed | Item | Round, depth: int) -> frozenset[Kind]:
        base = self.flow.resolve(self.flow.with_value(source, value.base))
        if isinstance(base.value, Call) and self.flow.calls.callee_name(base) == "flax.nnx.split":
            index = None
            if isinstance(value, Indexed):
                index = self.flow.resolve(value.index).value
            elif isinstance(value, Item):
                index = value.index
            first = isinstance(index, Const) and index.value == 0
            return frozenset({Kind.GRAPHDEF if first else Kind.STATE})
        kinds = self._kinds(base, depth + 1)
        return kinds & {Kind.GRADIENT, Kind.KEY, Kind.ARRAY, Kind.STATE}

    def _attribute(self, source: Bound, value: Attr, depth: int) -> frozenset[Kind]:
        holder = self.flow.resolve(self.flow.with_value(source, value.base))
        base = self._kinds(holder, depth + 1)
        if value.name in _LIBRARY_VARIABLES and (Kind.MODULE in base or self._is_layer(holder, depth)):
            return frozenset({Kind.VARIABLE})
        if Kind.VARIABLE in base and value.name in {"value", "raw_value"}:
            return frozenset({Kind.ARRAY})
        if Kind.OPTIMIZER in base and value.name == "model":
            return frozenset({Kind.MODULE})
        if Kind.OPTIMIZER in base and value.name == "step":
            return frozenset({Kind.VARIABLE})
        return self._field(holder, value.name)

    def _field(self, holder: Bound, name: str) -> frozenset[Kind]:
        """Return what the class of an object says of a transformation that it keeps: ``tx: GradientTransformation``,
        or the one of a TrainState."""
        if not isinstance(holder.value, Param):
            return frozenset()
        classes = self.flow.classes
        cls = classes.class_of(holder)
        if cls is None:
            foreign = {b.value.name for b in classes.annotated(holder.value) if isinstance(b.value, Ref)}
            return frozenset({Kind.TRANSFORM}) if name == "tx" and foreign == {_TRAIN_STATE} else frozenset()
        own, others = classes.mro(cls)
        for one in own:
            if name in one.fields:
                named = classes.named(one.fields[name], one.scope)
                return frozenset(k for b in named for k in self._named(b)) & {Kind.TRANSFORM}
        return frozenset({Kind.TRANSFORM}) if name == "tx" and _TRAIN_STATE in others else frozenset()

    def _is_layer(self, holder: Bound, depth: int) -> bool:
        """Say whether an element of a list or of ``nnx.Sequential`` is a module, whichever it is."""
        if not isinstance(holder.value, Indexed | Item | Round):
            return False
        elements = self.sources.of(holder)
        return holder not in elements and all(Kind.MODULE in self._kinds(e, depth + 1) for e in elements)


def may_have_kind(value: Value) -> bool:
    """Say whether something is known of values that stand there so; what is None has no kind, and stands in no way."""
    if isinstance(value, Const):
        return value.value is None
    if isinstance(value, Param):
        return value is value.function.self_param or value.name in value.function.annotations
    return isinstance(value, Call | Part | Indexed | Item | Round) or (isinstance(value, Attr) and value.name in _TOLD)


_INJECTED = frozenset({"optax.inject_hyperparams", "optax.inject_stateful_hyperparams"})
_LIBRARY_VARIABLES = frozenset({"kernel", "bias", "scale", "embedding", "mean", "var"})
_TOLD = _LIBRARY_VARIABLES | {"value", "raw_value", "model", "step"}  # attributes of which something is known


_TRANSFORMATIONS = frozenset({"optax.GradientTransformation", "optax.GradientTransformationExtraArgs"})
_TRAIN_STATE = "flax.training.train_state.TrainState"


def class_kind(name: str) -> Kind | None:
    """Return the kind of the instances of a class of Flax, or of a transformation of optax, by its full name."""
    if name.startswith("flax.nnx.metrics."):
        return Kind.VARIABLE if name == "flax.nnx.metrics.MetricState" else Kind.METRIC
    if name in _TRANSFORMATIONS:
        return Kind.TRANSFORM
    home, _, last = name.rpartition(".")
    if home != "flax.nnx" or last in _NOT_OBJECTS:
        return None
    return _CLASSES.get(last) or (Kind.MODULE if last[:1].isupper() else None)


def names_of(kind: Kind) -> frozenset[str]:
    """Return the last names of the classes and functions of Flax that are known to give objects of a kind."""
    known = (*_CLASSES.items(), *((name.rpartition(".")[2], found) for name, found in _RESULTS.items()))
    return frozenset(name for name, found in known if found is kind)


def result_kind(name: str) -> Kind | None:
    """Return the kind of what a foreign function or class gives, by its full name."""
    known = _RESULTS.get(name) or class_kind(name)
    if known is not None:
        return known
    if name.endswith(".state") and class_kind(name.removesuffix(".state")) is Kind.VARIABLE:
        return Kind.VARIABLE  # nnx.Param.state(value) of Flax 0.10
    if name in SEVERAL or name in _NO_ARRAYS or name in _ANYTHING:
        return None
    if name.startswith(("jax.numpy.", "jax.nn.", "jax.random.", "jax.lax.")):
        return Kind.ARRAY
    if name.startswith("numpy."):
        return Kind.NUMPY
    return Kind.TRANSFORM if name.startswith("optax.") else None
