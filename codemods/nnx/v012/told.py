"""Variables that the code around an access tells: what ``isinstance`` tests let through, and leaves of flat states."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cached_property

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, FunctionFacts, Scope
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.kinds import Kind
from codemods.nnx.known import canonical
from codemods.nnx.patterns import pattern
from codemods.nnx.rng.layers import layer
from codemods.nnx.source import Source
from codemods.nnx.values import Attr, Call, Const, Each, Item, Param, Sequence, Unknown, Value
from codemods.nnx.variables.leaves import Leaves

_TREES = frozenset({Kind.STATE, Kind.GRADIENT})
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_WORDS = (
    b"flat_state",
    b"isinstance(",
    b"cache_index",
    b"cached_",
    b"lora_",
    b"intermediate",
    b"rngs",
    b"is_leaf",
    b"_loop",
    b"hyperparams",
    b"metric(",
    b"metrics.",
)
_SIGNS = pattern(b"(?i)" + b"|".join(map(re.escape, _WORDS)), needs=_WORDS)
_VIEWS = frozenset({"items", "values"})
# what layers of the library keep as Variables besides their parameters
_KEPT = {
    "flax.nnx.MultiHeadAttention": frozenset({"cache_index", "cached_key", "cached_value"}),
    "flax.nnx.LoRA": frozenset({"lora_a", "lora_b"}),
    "flax.nnx.LoRALinear": frozenset({"lora_a", "lora_b"}),
}
_LOOPS = {"flax.nnx.fori_loop": 3, "flax.nnx.while_loop": 2}  # with the position of what is carried
_SPECS = frozenset({"flax.nnx.get_partition_spec", "flax.nnx.get_named_sharding"})
_NAMES = frozenset[str]().union(*_KEPT.values())
# what metrics of the library count in Variables
_METRICS = {
    "flax.nnx.metrics.Average": frozenset({"count", "total"}),
    "flax.nnx.metrics.Accuracy": frozenset({"count", "total"}),
    "flax.nnx.metrics.Welford": frozenset({"count", "m2", "mean"}),
}
_COUNTED = frozenset[str]().union(*_METRICS.values())
_DEPTH = 6  # how many functions over trees are looked through
_BRANCHES = (ast.If, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_LEAVING = (ast.Continue, ast.Return, ast.Raise, ast.Break)


class Told:
    """Answers whether an object that is asked for its ``value`` is a Variable, by more than where it comes from."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow

    def is_variable(self, event: AttrEvent) -> bool:
        """Say whether the object of an access of ``value`` is a Variable."""
        scope, base = event.scope, event.node.value
        if isinstance(event.base, Param) and self._annotated(event.base):
            return True
        if not scope.module.source.matches(_SIGNS):
            return False
        try:
            bound = self.flow.here(event.base, scope)
            if self._leaf(bound) or self._of_layer(bound) or self._of_stream(bound) or self._sown(bound):
                return True
            if self._mapped(bound) or self._after_loop(bound) or self._of_leaves(bound):
                return True
            if self._hyperparameter(bound) or self._of_metric(bound):
                return True
        except RecursionError:  # a value that is made of itself in a long chain: not known
            self.flow.questions.unanswered += 1
            return False
        source = scope.module.source
        if not isinstance(base, ast.Name):
            return False
        if any(self._of_variables(cls, scope) for cls in _declared(source, base)):
            return True
        return source.mentions(b"isinstance(") and any(self._of_variables(cls, scope) for cls in tested(source, base))

    def leaf(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is a leaf out of the flat form of a state: ``for path, leaf in state.flat_state()``."""
        return scope.module.source.mentions(b"flat_state") and self._asked(self._leaf, value, scope)

    def flat(self, value: Value, scope: Scope) -> bool:
        """Say whether going through a value gives leaves of a state, or pairs of a path and a leaf."""
        return scope.module.source.mentions(b"flat_state") and self._asked(
            lambda bound: self._flat(bound) or self._view(bound) is not None, value, scope
        )

    def _asked(self, question: Callable[[Bound], bool], value: Value, scope: Scope) -> bool:
        try:
            return question(self.flow.resolve(self.flow.here(value, scope)))
        except RecursionError:  # a value that is made of itself in a long chain: not known
            self.flow.questions.unanswered += 1
            return False

    def _annotated(self, param: Param) -> bool:
        """Say whether a parameter is declared to be a Variable, and never bound again."""
        declared = self.flow.classes.annotated(param)
        if len(param.function.scope.bindings.get(param.name, ())) > 1:
            return False
        return bool(declared) and all(self.context.kinds.class_kinds(one) == {Kind.VARIABLE} for one in declared)

    def _of_variables(self, cls: ast.expr, scope: Scope) -> bool:
        """Say whether a class, or each of a tuple of them, is one of Variables."""
        if isinstance(cls, ast.Tuple):
            return bool(cls.elts) and all(self._of_variables(one, scope) for one in cls.elts)
        value = scope.module.values.get(cls)
        if value is None:
            return False
        return self.context.kinds.class_kinds(self.flow.here(value, scope)) == {Kind.VARIABLE}

    def _of_layer(self, bound: Bound) -> bool:
        """Say whether a value is what an attention or LoRA layer keeps: ``attention.cache_index``."""
        found = self.flow.resolve(bound)
        value = found.value
        if not isinstance(value, Attr) or value.name not in _NAMES:
            return False
        layers = self.context.sources.of(self.flow.with_value(found, value.base))
        return bool(layers) and all(
            isinstance(one.value, Call) and value.name in _KEPT.get(self.flow.calls.callee_name(one), ())
            for one in layers
        )

    def _of_stream(self, bound: Bound) -> bool:
        """Say whether a value is the key or the counter of a stream: of a Rngs, or of a layer."""
        found = self.flow.resolve(bound)
        value = found.value
        if not isinstance(value, Attr | Item | Indexed) or _name(value) not in {"count", "key"}:
            return False
        if not isinstance(value, Attr):
            return self._in_state(self.flow.resolve(self.flow.with_value(found, value.base)))
        stream = self.flow.resolve(self.flow.with_value(found, value.base))
        if self.context.kinds.only(stream) is Kind.STREAM:
            return True
        if not isinstance(stream.value, Attr | Item | Indexed):
            return False
        holder = self.flow.with_value(stream, stream.value.base)
        if self.context.kinds.only(holder) is Kind.RNGS:
            return not (isinstance(stream.value, Attr) and stream.value.name.startswith("_"))
        if not isinstance(stream.value, Attr) or stream.value.name != "rngs":
            return False
        layers = self.context.sources.of(holder)
        return bool(layers) and all(layer(self.flow, one) is not None for one in layers)

    def _in_state(self, stream: Bound) -> bool:
        """Say whether a value is ``state[...]["rngs"]``, or a stream below that."""
        names: list[object] = []
        while isinstance(stream.value, Attr | Item | Indexed) and len(names) < _DEPTH:
            names.append(_name(stream.value))
            stream = self.flow.resolve(self.flow.with_value(stream, stream.value.base))
        return "rngs" in names[:2] and self.context.kinds.only(stream) in _TREES

    def _of_leaves(self, bound: Bound) -> bool:
        """Say whether a value goes over ``jax.tree.leaves(state, is_leaf=...)``, which keeps Variables whole."""
        found = self.flow.resolve(bound)
        return isinstance(found.value, Each | Round) and self.context.shared(Leaves).leaf(found)

    def _hyperparameter(self, bound: Bound) -> bool:
        """Say whether a value is what an optimizer keeps of ``optax.inject_hyperparams``."""
        found = self.flow.resolve(bound)
        value = found.value
        if not isinstance(value, Item | Indexed) or not isinstance(_name(value), str):
            return False
        found = self.flow.resolve(self.flow.with_value(found, value.base))
        if not isinstance(found.value, Attr) or found.value.name != "hyperparams":
            return False
        for _ in range(_DEPTH):
            value = found.value
            if not isinstance(value, Attr | Item | Indexed):
                return False
            holder = self.flow.resolve(self.flow.with_value(found, value.base))
            if _name(value) == "opt_state":
                return self.context.kinds.of(holder) == {Kind.OPTIMIZER} or self._unknown(holder)
            found = holder
        return False

    def _unknown(self, bound: Bound) -> bool:
        """Say whether a value is a parameter, or a part of one, of which nothing is known."""
        if self.context.kinds.of(bound):
            return False
        if any(self.flow.classes.class_of(one) is not None for one in self.context.sources.of(bound)):
            return False
        while isinstance(bound.value, Attr):
            bound = self.flow.resolve(self.flow.with_value(bound, bound.value.base))
            if self.flow.classes.class_of(bound) is not None:
                return False
        return isinstance(bound.value, Param)

    def _of_metric(self, bound: Bound) -> bool:
        """Say whether a value is what a metric of the library counts: ``metrics.loss.total``."""
        found = self.flow.resolve(bound)
        value = found.value
        if not isinstance(value, Attr) or value.name not in _COUNTED:
            return False
        metrics = self.context.sources.of(self.flow.with_value(found, value.base))
        return bool(metrics) and all(value.name in self._counted(one) for one in metrics)

    def _counted(self, metric: Bound) -> frozenset[str]:
        """Return what a metric counts in Variables, also one of several."""
        value = metric.value
        if isinstance(value, Call):
            return _METRICS.get(canonical(self.flow.calls.callee_name(metric)), frozenset())
        if not isinstance(value, Attr):
            return frozenset()
        holder = self.flow.resolve(self.flow.with_value(metric, value.base))
        given = holder.value.keyword(value.name) if isinstance(holder.value, Call) else None
        if given is None:
            return frozenset()
        if canonical(self.flow.calls.callee_name(holder)) != "flax.nnx.MultiMetric":
            cls = self.flow.classes.class_of(holder)
            own, foreign = self.flow.classes.mro(cls) if cls is not None else ((), frozenset[str]())
            if not {*map(canonical, foreign)} & {"flax.nnx.MultiMetric"} or any("__init__" in c.methods for c in own):
                return frozenset()
        made = self.flow.resolve(self.flow.with_value(holder, given))
        return self._counted(made) if isinstance(made.value, Call) else frozenset()

    def _after_loop(self, bound: Bound) -> bool:
        """Say whether a value is a Variable in what a loop of nnx gives: the objects that it was given."""
        names: list[str] = []
        found = self.flow.resolve(bound)
        while isinstance(found.value, Attr) and len(names) < _DEPTH:
            names.append(found.value.name)
            found = self.flow.resolve(self.flow.with_value(found, found.value.base))
        index = _name(found.value) if isinstance(found.value, Item | Indexed) else None
        if not names or not isinstance(found.value, Item | Indexed) or not isinstance(index, int):
            return False
        loop = self.flow.resolve(self.flow.with_value(found, found.value.base))
        if not isinstance(loop.value, Call) or loop.value.starred:
            return False
        running = _LOOPS.get(self.flow.calls.callee_name(loop))
        given = loop.value.argument(running, "init_val") if running is not None else None
        if given is None:
            return False
        carry = self.flow.resolve(self.flow.with_value(loop, given))
        if not isinstance(carry.value, Sequence) or not 0 <= index < len(carry.value.items):
            return False
        value = carry.value.items[index]
        for name in reversed(names):
            value = Attr(value, name)
        return self.context.kinds.only(self.flow.with_value(carry, value)) is Kind.VARIABLE

    def _mapped(self, bound: Bound) -> bool:
        """Say whether a value is what ``jax.tree.map`` gives a function whose ``is_leaf`` keeps Variables whole."""
        found = self.flow.resolve(bound)
        if isinstance(found.value, Item | Indexed | Each | Round):  # of ``*leaves``
            found = self.flow.resolve(self.flow.with_value(found, found.value.base))
            if isinstance(found.value, Unknown):
                node = found.value.node
                return any(kept and one.node is node and not one.kwarg for one, kept in self._kept_whole.items())
        return isinstance(found.value, Param) and self._kept_whole.get(found.value.function, False)

    @cached_property
    def _kept_whole(self) -> dict[FunctionFacts, bool]:
        """The functions that are applied to trees, and whether each tree is one of Variables by its ``is_leaf``."""
        found: dict[FunctionFacts, bool] = {}
        for event in self.context.project.calls():
            call = event.value
            if len(call.args) < 2 or call.keyword("is_leaf") is None:
                continue
            bound = self.flow.here(call, event.scope)
            if self.flow.calls.callee_name(bound) not in _MAPS:
                continue
            whole = call.keyword("is_leaf")
            assert whole is not None
            tests = list(self.flow.calls.callables(self.flow.with_value(bound, whole)))
            kept = bool(tests) and all(self.tests_variables(test.function) for test in tests)
            for callee in self.flow.calls.callables(self.flow.with_value(bound, call.args[0])):
                found[callee.function] = kept and found.get(callee.function, True)
        # one that is called in another way, too, may get anything
        return {function: kept and not self.flow.sites.callers(function) for function, kept in found.items()}

    def tests_variables(self, function: FunctionFacts) -> bool:
        """Say whether a function is ``lambda x: isinstance(x, nnx.Variable)``."""
        node = function.node
        statement = None if isinstance(node, ast.Lambda) else node.body[-1]
        test = node.body if isinstance(node, ast.Lambda) else getattr(statement, "value", None)
        if test is None or len(function.params) != 1:
            return False
        cls = _let_through(test, next(iter(function.params)))
        return cls is not None and self._of_variables(cls, function.scope)

    def _sown(self, bound: Bound) -> bool:
        """Say whether a value is a part of a state under a name that modules of the project sow."""
        found = self.flow.resolve(bound)
        value = found.value
        if not isinstance(value, Attr | Item | Indexed):
            return False
        if _name(value) not in self._sown_names:
            return False
        return self.context.kinds.only(self.flow.with_value(found, value.base)) in _TREES

    @cached_property
    def _sown_names(self) -> frozenset[object]:
        """The names of what is sown, without those that something else is called by."""
        found: set[object] = set()
        for module in self.context.project.modules:
            if module.source.mentions(b".sow("):
                for call in module.source.of_type(ast.Call):
                    if isinstance(call.func, ast.Attribute) and call.func.attr == "sow" and len(call.args) > 1:
                        found |= {call.args[1].value} if isinstance(call.args[1], ast.Constant) else set()
        for cls in self.context.project.classes() if found else ():
            found -= cls.stores.keys()
        return frozenset(found)

    def _leaf(self, bound: Bound) -> bool:
        """Say whether a value is a leaf out of the flat form of a state: of a pair, or of a dict of such pairs."""
        found = self.flow.resolve(bound)
        value = found.value
        if not isinstance(value, Item | Indexed | Each | Round):
            return False
        base = self.flow.resolve(self.flow.with_value(found, value.base))
        if isinstance(value, Item | Indexed):
            index = value.index.value if isinstance(value, Indexed) else value.index
            if isinstance(base.value, Each | Round):  # a pair
                pairs = self.flow.resolve(self.flow.with_value(base, base.value.base))
                if isinstance(index, Const) and index.value == 1:
                    return self._flat(pairs) or self._view(pairs) == "items"
            return self._flat(base)  # of `dict(state.flat_state())`, which is looked through
        return self._view(base) == "values"

    def _view(self, bound: Bound) -> str | None:
        """Return the method by which a dict of leaves by their paths is walked."""
        value = bound.value
        if not isinstance(value, Call) or value.args:
            return None
        method = self.flow.follow(bound, value.callee)
        if not isinstance(method.value, Attr) or method.value.name not in _VIEWS:
            return None
        walked = self.flow.resolve(self.flow.with_value(method, method.value.base))
        return method.value.name if self._flat(walked) else None

    def _flat(self, bound: Bound) -> bool:
        """Say whether a value is the flat form of a state of Variables."""
        value = bound.value
        if not isinstance(value, Call) or value.starred:
            return False
        if value.args:
            named = self.flow.calls.callee_name(bound) == "flax.nnx.to_flat_state"
            return named and self._is_state(self.flow.with_value(bound, value.args[0]))
        method = self.flow.follow(bound, value.callee)
        if not isinstance(method.value, Attr) or method.value.name != "flat_state":
            return False
        return self._is_state(self.flow.with_value(method, method.value.base))

    def _is_state(self, bound: Bound, depth: int = 0) -> bool:
        """Say whether a value is a state of Variables: known as one, made of one, or something unknown."""
        if self.context.kinds.only(bound) in _TREES:
            return True
        sources = self.context.sources.of(bound)
        return bool(sources) and depth < _DEPTH and all(self._like_a_state(one, depth) for one in sources)

    def _like_a_state(self, source: Bound, depth: int) -> bool:
        value = source.value
        if isinstance(value, Param):
            return not self.context.kinds.of(source) and self.flow.classes.class_of(source) is None
        if isinstance(value, Call) and value.args and self.flow.calls.callee_name(source) in _SPECS:
            return self._is_state(self.flow.with_value(source, value.args[0]), depth + 1)
        if isinstance(value, Call) and len(value.args) > 1 and self.flow.calls.callee_name(source) in _MAPS:
            if value.keyword("is_leaf") is not None:
                return self._replaces(source, value)
            return not value.starred and self._is_state(self.flow.with_value(source, value.args[1]), depth + 1)
        if isinstance(value, Call) and len(value.args) == 1 and isinstance(value.callee, Attr):
            if value.callee.name == "filter":  # of several filters it gives a tuple
                return self._is_state(self.flow.with_value(source, value.callee.base), depth + 1)
        return self.context.kinds.of(source) <= _TREES and bool(self.context.kinds.of(source))

    def _replaces(self, source: Bound, value: Call) -> bool:
        """Say whether Variables are mapped to Variables, by ``lambda v: v.replace(...)``."""
        callees = list(self.flow.calls.callables(self.flow.with_value(source, value.args[0])))
        nodes = [callee.function.node for callee in callees if self._kept_whole.get(callee.function, False)]
        results = [
            node.body if isinstance(node, ast.Lambda) else getattr(node.body[-1], "value", None) for node in nodes
        ]
        return bool(results) and len(results) == len(callees) and all(map(_is_replacement, results))


def _name(part: Attr | Item | Indexed) -> object:
    """Return what a part is called by: the name of an attribute, or an index that is written out."""
    if isinstance(part, Attr):
        return part.name
    index = part.index.value if isinstance(part, Indexed) else part.index
    return index.value if isinstance(index, Const) else None


def _is_replacement(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"copy", "replace"}


def _declared(source: Source, name: ast.Name) -> Iterator[ast.expr]:
    """Yield the annotations that statements without a value give a name before it is read: ``leaf: nnx.Param``."""
    for statement in source.of_type(ast.AnnAssign):
        if statement.value is None and isinstance(statement.target, ast.Name) and statement.target.id == name.id:
            if any(_place(statement) < _place(name) and _within(name, *ends) for ends in _blocks(source, statement)):
                yield statement.annotation


def _blocks(source: Source, statement: ast.stmt) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Yield the first and last statement of each block that a statement stands in itself."""
    for block in source.of_type(ast.For, ast.FunctionDef, ast.If, ast.With, ast.While, ast.Module):
        for body in (block.body, getattr(block, "orelse", [])):  # type: ignore[attr-defined]
            if statement in body:
                yield body[0], body[-1]


def tested(source: Source, name: ast.Name) -> Iterator[ast.expr]:
    """Yield the classes that ``isinstance`` lets through where a name stands, which nothing binds in between."""
    for branch in source.of_type(*_BRANCHES):
        for test in _holding(branch, name):
            cls = _let_through(test, name.id)
            if cls is not None and not _bound(branch, name.id):
                yield cls
    loops, functions = source.of_type(ast.For), source.of_type(ast.FunctionDef)
    for body in (*(loop.body for loop in loops), *(function.body for function in functions)):
        for n, statement in enumerate(body[:-1]):
            if isinstance(statement, ast.If) and _within(name, body[n + 1], body[-1]):
                test = statement.test
                if not isinstance(test, ast.UnaryOp) or not isinstance(test.op, ast.Not) or statement.orelse:
                    continue
                cls = _let_through(test.operand, name.id)
                if cls is not None and isinstance(statement.body[-1], _LEAVING):
                    if not any(_bound(later, name.id) for later in body[n + 1 :]):
                        yield cls


def _holding(branch: ast.AST, node: ast.expr) -> Iterator[ast.expr]:
    """Yield the tests of a branch or comprehension that hold where a node stands."""
    tests: list[ast.expr] = []
    if isinstance(branch, ast.If):
        tests = [branch.test] if _within(node, branch.body[0], branch.body[-1]) else []
    elif isinstance(branch, ast.IfExp):
        tests = [branch.test] if _within(node, branch.body, branch.body) else []
    elif isinstance(branch, ast.BoolOp):
        if isinstance(branch.op, ast.And) and _within(node, branch, branch):
            tests = [test for test in branch.values if _place(test) < _place(node)]
    elif isinstance(branch, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        generators = branch.generators
        results = [branch.key, branch.value] if isinstance(branch, ast.DictComp) else [branch.elt]
        if any(_within(node, result, result) for result in results):
            tests = [test for generator in generators for test in generator.ifs]
    for test in tests:
        yield from test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _let_through(node: ast.expr, name: str) -> ast.expr | None:
    """Return the class, or classes, in ``isinstance(name, cls)``; None for another condition."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and len(node.args) == 2
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id == name
    ):
        return node.args[1]
    return None


def _bound(branch: ast.AST, name: str) -> bool:
    """Say whether a branch, other than a comprehension, gives a name another value."""
    if not isinstance(branch, ast.stmt):
        return any(isinstance(node, ast.NamedExpr) and node.target.id == name for node in ast.walk(branch))
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(branch)
    )


def _place(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _within(node: ast.expr, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> bool:
    """Say whether a node stands between two."""
    return _place(first) <= _place(node) < (last.end_lineno or 0, last.end_col_offset or 0)
