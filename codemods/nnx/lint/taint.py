"""Which values are traced arrays, which are known while compiling, and of which nothing is known.

A traced function is looked at once for every combination of what its parameters are (:class:`Activation`): by the
transform that traces it, or by what a call in traced code gives. Within one, every value has a
:class:`~codemods.nnx.lint.status.Status`. Rules ask for all activations at once and report only what is traced in one
of them for certain.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from codemods.nnx.facts import FunctionFacts, Scope
from codemods.nnx.flow import Callee, Flow
from codemods.nnx.frames import Bound, Frame
from codemods.nnx.kinds import Kind, Kinds
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint import status as states
from codemods.nnx.lint.bodies import Bodies
from codemods.nnx.lint.called import known_result, leaf
from codemods.nnx.lint.chains import asks_for_type
from codemods.nnx.lint.dict_keys import by_keys, keyed
from codemods.nnx.lint.names import (
    ARRAY_ATTRIBUTES,
    ARRAY_METHODS,
    BATCHING,
    BODIES,
    COMPILING,
    JITS,
    STATIC_ATTRIBUTES,
    TREE_MAPS,
    WITH_PATH,
)
from codemods.nnx.lint.records import Records
from codemods.nnx.lint.results import PYTHON_RESULTS, STAGED_RESULTS
from codemods.nnx.lint.status import ARRAY, NOTHING, OBJECT, PYTHON, SHAPE, TREE, UNKNOWN, Grade, Status, join
from codemods.nnx.lint.traced import Root, Traced, Tracing, free_params, function_of, original, root_param
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
    Ref,
    Sequence,
    Star,
    Unknown,
    Value,
    of_display,
)

_MAKERS = frozenset(
    {f"{home}.{name}" for home in ("jax.numpy", "numpy") for name in
     ("array", "asarray", "zeros", "ones", "full", "arange", "eye", "linspace", "zeros_like", "ones_like")}
)  # fmt: skip
_PYTHON = frozenset({"int", "bool", "str", "float"})  # annotations of what is no array
_COUNTING = frozenset({"jax.lax.fori_loop", "flax.nnx.fori_loop"})
_ACTIVATIONS = 12  # how many activations of one function are told apart
_CALLS = 10  # how many calls deep results are followed
_NUMBERS = frozenset({"inf", "nan", "pi", "e", "euler_gamma"})  # of jax.numpy, numpy and math
_OPEN = frozenset({Grade.TREE, Grade.OBJECT, Grade.UNKNOWN})  # what may be an object
_STEPS = 20_000  # how many values one question may look at
_DEPTH = 200  # how deep values may be nested in each other
_ROUNDS = 4  # how often a loop is gone through until its variables stay what they are


@dataclass(eq=False)
class Activation:
    """One way in which a traced function runs.

    Attributes:
        params: what each parameter is.
        level: see :mod:`codemods.nnx.lint.traced`.
        closure: the activation of the function around it, if that is traced too.
        root: whether a transform makes it, and not a call in traced code.
        handed: the functions that parameters are, as far as they are known.
        own: whether the object that a method belongs to is, or is a part of, what a transform traces.
        known: what was found of values so far, by identity; the value is kept alive with it.
        asked: values whose status is being found, with their depth.
    """

    function: FunctionFacts
    params: dict[str, Status]
    level: int
    closure: Activation | None = None
    root: bool = False
    handed: dict[str, FunctionFacts] = field(default_factory=dict)
    own: bool = False
    known: dict[int, tuple[Value, Status]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)


class Taint:
    """Answers what values are under tracing."""

    def __init__(self, flow: Flow, kinds: Kinds, traced: Traced, bodies: Bodies, records: Records) -> None:
        self._flow = flow
        self._records = records
        self._kinds = kinds
        self._traced = traced
        self._bodies = bodies
        self._activations: dict[FunctionFacts, list[Activation]] = {}
        self._made: dict[tuple[object, ...], Activation] = {}
        self._results: dict[Activation, Status] = {}
        self._depth = 0
        self._stack: list[Value] = []
        self._lowest = 0  # depth of the outermost unfinished value that the present answer depends on
        self._steps = 0
        self._assumed = 0  # how often something was assumed of a loop

    # -- what rules ask -----------------------------------------------------------------------------

    def statuses(self, value: Value, scope: Scope) -> list[Status]:
        """Return what a value of a scope is in each way in which the function around it is traced."""
        return [self.status(value, activation) for activation in self.activations(function_of(scope))]

    def of(self, value: Value, scope: Scope) -> bool:
        """Say whether a value of a scope is a traced array, or a tree of them, in some activation."""
        return any(status.traced for status in self.statuses(value, scope))

    def holds(self, value: Value, scope: Scope) -> bool:
        """Say whether a value is traced or a container with something traced in it."""
        return any(status.holds for status in self.statuses(value, scope))

    def node(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether an expression is a traced array or a tree of them, in an activation that reaches it."""
        return any(status.traced for status in self.at(node, scope))

    def array(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether an expression is a traced array for certain, and no tree."""
        found = self.at(node, scope)
        if any(status.grade is Grade.ARRAY for status in found):
            return True
        value = scope.module.values.get(node)
        if not any(status.traced for status in found):
            return False
        if isinstance(node, ast.Compare) and all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            return any(self.array(operand, scope) for operand in (node.left, *node.comparators))
        return self._filled(value) if isinstance(value, Param) else self._held(value, node, scope)

    def _held(self, value: Value | None, node: ast.expr, scope: Scope) -> bool:
        """Say whether a value is what a traced Variable holds that was made of an array or a number."""
        if not isinstance(value, Attr | Item) or not (_read_whole(value) or _named_value(value)):
            return False
        ways = self.activations(function_of(scope))
        if not any(self.reached(node, scope, one) and _hangs_on(value.base, one) for one in ways):
            return False
        found = self._kinds.sources.originals(self._flow.here(value.base, scope))
        made = [one for one in found if not isinstance(one.value, Changed)]  # the same one, with another value
        return bool(made) and all(self._array_variable(one) for one in made)

    def _array_variable(self, made: Bound) -> bool:
        """Say whether a value is a Variable that was made of an array or a number."""
        if not isinstance(made.value, Call) or len(made.value.args) != 1 or made.value.starred:
            return False
        if self._kinds.of(made) != {Kind.VARIABLE}:
            return False
        return self._makes_array(self._flow.with_value(made, made.value.args[0]))

    def _filled(self, param: Param) -> bool:
        """Say whether every call of a traced function gives an array or a number for a parameter."""
        tracing = self._traced.get(param.function)
        given = [self._flow.argument(frame, param.name) for frame in self._flow.sites.entries(param.function)]
        if tracing is not None and list(param.function.params)[1:2] == [param.name]:
            scans = [root for root in tracing.roots if root.transform == "jax.lax.scan"]
            if scans:  # a slice of what is scanned over
                calls = [root.scope.module.values.get(root.node) for root in scans]
                slices = [call.argument(2, "xs") for call in calls if isinstance(call, Call)]
                given = [
                    None if value is None else self._flow.here(value, root.scope)
                    for value, root in zip(slices, scans, strict=True)
                ]
        return bool(given) and all(bound is not None and self._makes_array(original(bound)) for bound in given)

    def _makes_array(self, bound: Bound) -> bool:
        """Say whether a value outside of traced code is an array, or a number, which becomes one."""
        found = self._flow.resolve(bound)
        if isinstance(found.value, Const):
            return isinstance(found.value.value, bool | int | float)
        name = self._flow.calls.callee_name(found)
        return name in STAGED_RESULTS or name in _MAKERS

    def node_holds(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether an expression is traced or holds something traced, f-strings included."""
        if isinstance(node, ast.JoinedStr):
            return any(isinstance(v, ast.FormattedValue) and self.node(v.value, scope) for v in node.values)
        if isinstance(node, ast.Starred):
            return self.node_holds(node.value, scope)
        return any(status.holds for status in self.at(node, scope))

    def at(self, node: ast.expr, scope: Scope) -> list[Status]:
        """Return what an expression is in each activation that reaches it."""
        value = scope.module.values.get(node)
        if value is None or self._bodies.untraced(node, scope):
            return []
        return [
            self.status(value, activation)
            for activation in self.activations(function_of(scope))
            if self.reached(node, scope, activation)
        ]

    def never(self, node: ast.AST, scope: Scope) -> bool:
        """Say whether the arguments of every way to trace a function decide that a node of it is not reached."""
        ways = self.activations(function_of(scope))
        return bool(ways) and all(self._decided_against(node, scope, activation) for activation in ways)

    def _decided_against(self, node: ast.AST, scope: Scope, activation: Activation) -> bool:
        """Say whether conditions that are decided while compiling keep an activation from a node, or from the place
        where its function is made."""
        for block, arm in self._bodies.paths(scope).get(node, ()):
            if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}:
                if self._truth(block.test, scope, activation) is (arm == "orelse"):
                    return True
        if any(
            self._truth(test, scope, activation) is (not wanted) for test, wanted in self._bodies.in_front(node, scope)
        ):
            return True
        closure, made = activation.closure, activation.function
        if closure is None or made.scope is not scope or made.scope.parent is not closure.function.scope:
            return False
        return self._decided_against(made.node, closure.function.scope, closure)

    def reached(self, node: ast.AST, scope: Scope, activation: Activation) -> bool:
        """Say whether conditions that are decided while compiling let an activation reach a node."""
        if self._decided_against(node, scope, activation):
            return False
        for block, arm in self._bodies.paths(scope).get(node, ()):
            if isinstance(block, ast.If | ast.IfExp) and arm in {"body", "orelse"}:
                truth = self._truth(block.test, scope, activation)
                if truth is None and (
                    self._open(block.test, activation) or asks_for_type(block.test, holds=arm == "body")
                ):
                    return False
                if truth and arm == "body" and self._left_out(block.test, scope):
                    return False
        for test, wanted in self._bodies.in_front(node, scope):
            named = test.operand if isinstance(test, ast.UnaryOp) else test  # a comparison, as of types, may well hold
            if wanted and self._left_out(test, scope):
                return False
            if self._truth(test, scope, activation) is None and self._flag(named, activation):
                return False
        guards = self._bodies.behind(node, scope)
        if any(self._turned_back(guard.test, scope, activation) for guard in guards):
            return False
        return not (guards and self._kept_before(guards, scope, activation))

    def _kept_before(self, guards: tuple[ast.If, ...], scope: Scope, activation: Activation) -> bool:
        """Say whether a function keeps what it made of its object alone, as a rule before something is compiled."""
        if any(status.holds for status in activation.params.values()):
            return False
        return any(self._bodies.gives_back(guard, scope) for guard in guards)

    def _turned_back(self, test: ast.expr, scope: Scope, activation: Activation) -> bool:
        """Say whether a condition that ends the function holds, or asks for an argument left out."""
        if self._truth(test, scope, activation) is True:
            return True
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
            return False
        if not isinstance(test.ops[0], ast.Is | ast.IsNot) or not self._at(test.comparators[0], activation).none:
            return False
        truth = self._truth(test, scope, activation)
        asked = isinstance(scope.module.values.get(test.left), Param)
        return asked and (truth is True or (truth is None and self._open(test, activation)))

    def _open(self, test: ast.expr, activation: Activation) -> bool:
        """Say whether a flag decides that is known while compiling, but not here: the branch may never be traced."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._open(test.operand, activation)
        if isinstance(test, ast.BoolOp):
            return any(self._open(value, activation) for value in test.values)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            other = test.comparators[0]
            if isinstance(test.ops[0], ast.Is | ast.IsNot) and self._at(other, activation).none:
                left = self._at(test.left, activation)
                return left.const is None and left.grade in {Grade.UNKNOWN, Grade.PYTHON}
            plain = isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn)
            return plain and self._flag(test.left, activation)
        return self._flag(test, activation)

    def _left_out(self, test: ast.expr, scope: Scope) -> bool:
        """Say whether a test asks for an argument left out: what stands in for it is, as a rule, for calls from host
        code, where values are known."""
        if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is)):
            return False
        param = scope.module.values.get(test.left)
        default = param.function.defaults.get(param.name) if isinstance(param, Param) else None
        return default == Const(None)

    def _flag(self, node: ast.expr, activation: Activation) -> bool:
        """Say whether a name's truth is not known here; what a transform is told to be static may have any."""
        if not isinstance(node, ast.Name | ast.Attribute):
            return False
        grade = self._at(node, activation).grade
        return grade is Grade.UNKNOWN or (grade is Grade.PYTHON and not activation.root)

    # -- activations --------------------------------------------------------------------------------

    def activations(self, function: FunctionFacts | None) -> list[Activation]:
        """Return the ways in which a function is traced; none if it is not."""
        if function is None:
            return []
        found = self._activations.get(function)
        if found is None:
            tracing = self._traced.get(function) or self._traced.differentiated.get(function)
            found = self._activations[function] = []  # ends recursion
            if tracing is not None:
                found += dict.fromkeys(self._all(function, tracing))
                del found[_ACTIVATIONS:]
        return found

    def _all(self, function: FunctionFacts, tracing: Tracing) -> list[Activation]:
        outer = function_of(function.scope.parent)
        closures: list[Activation | None] = [*self.activations(outer)] or [None]
        found: list[Activation] = []
        graded = function not in self._traced
        if not graded and not self._traced.certain(function):
            return []
        leading = self._traced.leading(function) if not graded else set()
        for closure in closures:
            for root in tracing.roots:
                if not root.certain:
                    continue
                params = {name: self._rooted(root, param) for name, param in function.params.items()}
                own = function.self_param is not None and params[function.self_param.name].grade is Grade.OBJECT
                found.append(self._activation(function, params, tracing.level, closure, root=True, own=own))
        for frame in tracing.sites:
            if not graded and frame not in leading:
                continue
            caller = frame.caller.function if frame.caller is not None else None
            site = frame.site.node if isinstance(frame.site, Call) and caller is not None else None
            found += [
                self._entered(frame, activation, tracing.level)
                for activation in self.activations(caller)
                if site is None or caller is None or self.reached(site, caller.scope, activation)
                if not _calls_another(frame, function, activation)
            ]
        for name, tree, scope in tracing.mapped:
            for activation in self.activations(function_of(scope)):
                part = leaf(self.status(tree, activation))
                params = {p: part if p == name else UNKNOWN for p in function.params}
                found.append(self._activation(function, params, tracing.level, activation))
        if not found and not tracing.sites:  # defined in traced code and called by what cannot be seen
            found = [self._activation(function, {}, tracing.level, closure) for closure in closures]
        return found

    def _activation(
        self,
        function: FunctionFacts,
        params: dict[str, Status],
        level: int,
        closure: Activation | None,
        root: bool = False,
        handed: dict[str, FunctionFacts] | None = None,
        own: bool = False,
    ) -> Activation:
        key = (function, tuple(params.items()), level, closure, root, tuple(handed.items()) if handed else (), own)
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = Activation(function, params, level, closure, root, handed or {}, own)
        return made

    def _entered(self, frame: Frame, caller: Activation, level: int) -> Activation:
        """Return the activation that a call in traced code makes."""
        function = frame.function
        params: dict[str, Status] = {}
        unpacked = self._unpacked(frame, caller) if frame.partial else {}
        declared = self._own_static(function)
        handed: dict[str, FunctionFacts] = {}
        for name, param in function.params.items():
            if name in unpacked:
                given = unpacked[name]
            else:
                argument = self._flow.argument(frame, name)
                given = UNKNOWN if argument is None else self._bound(original(argument), caller)
                if argument is not None and (one := _function(argument, caller)) is not None:
                    handed[name] = one
            note = function.annotations.get(name)
            if isinstance(note, ast.Name) and note.id in _PYTHON and given.const is None:
                given = UNKNOWN
            elif given.traced and self._is_object(param):
                given = OBJECT
            elif given.traced and name in declared:
                given = PYTHON
            params[name] = given
        closure: Activation | None = caller
        around = function_of(function.scope.parent)
        while closure is not None and closure.function is not around:
            closure = closure.closure
        own = (
            function.self_param is not None and isinstance(site := frame.site, Call) and _hangs_on(site.callee, caller)
        )
        return self._activation(function, params, level, closure, handed=handed, own=own)

    def _own_static(self, function: FunctionFacts) -> set[str]:
        """Return the parameters that decorators of a function declare static: no tracer gets into these."""
        known = self._traced.get(function)
        roots = [root for root in known.roots if root.decorator] if known is not None else []
        named = list(function.params)[function.positional :]
        own = named if named and function in self._traced.of_primitives else ()
        return {*own, *(name for root in roots for name in root.declared)}

    def _unpacked(self, frame: Frame, caller: Activation) -> dict[str, Status]:
        """Return what the parameters are that an argument ``*container`` fills, and those behind it."""
        call = frame.site
        if not isinstance(call, Call) or frame.caller is None or frame.caller.function is not caller.function:
            return {}
        place = next((i for i, one in enumerate(call.args) if isinstance(one, Star)), None)
        if place is None:
            return {}
        function = frame.function
        taken = frame.receiver is not None and function.binding in {"instance", "class"}
        names = list(function.params)[taken + frame.prepared + place : function.positional]
        star = call.args[place]
        whole = self.status(star.value, caller) if isinstance(star, Star) else UNKNOWN
        alone = place == len(call.args) - 1 and whole.each is None
        return {
            name: whole.part(i) if alone or whole.traced else UNKNOWN
            for i, name in enumerate(names)
            if name not in frame.keywords
        }

    def _bound(self, bound: Bound, caller: Activation) -> Status:
        """Return what an argument is that was given in an activation or in one around it."""
        function = bound.frame.function if bound.frame is not None else None
        activation: Activation | None = caller
        while activation is not None and activation.function is not function:
            activation = activation.closure
        if activation is None:
            others = self.activations(function)
            if not others:
                return self._untraced(bound.value)
            activation = others[0]
        return self.status(bound.value, activation)

    def _untraced(self, value: Value) -> Status:
        """Return what a value is outside of traced code."""
        if isinstance(value, Const):
            return states.python(value.value)
        return PYTHON if isinstance(value, Ref | ModuleRef | Function | Class) else UNKNOWN

    def _rooted(self, root: Root, param: Param) -> Status:
        """Return what a transform makes of a parameter."""
        function = root.function
        if param.name in root.declared or param.name in self._own_static(function):
            return PYTHON
        if param.name in root.static:
            return UNKNOWN
        if param is function.self_param or self._is_object(param):
            return OBJECT
        default = function.defaults.get(param.name)
        if default is not None and (root.transform not in COMPILING or not self._traced.passes(root, param.name)):
            return self._untraced(default)
        evidence = self._bodies.evidence(function).get(param.name, "")
        note = function.annotations.get(param.name)
        if root.transform in _COUNTING and not root.partial and param is next(iter(function.params.values())):
            return ARRAY  # the counter
        if evidence == "object":
            return OBJECT
        if default == Const(None):
            return TREE if evidence == "array" else UNKNOWN
        certain = evidence == "array" or (note is not None and _array_note(note))
        return ARRAY if certain else TREE

    def _is_object(self, param: Param) -> bool:
        """Say whether a parameter is annotated as something that is no array."""
        if param.name not in param.function.annotations:
            return False
        for bound in self._flow.classes.annotated(param):
            kinds = self._kinds.class_kinds(bound)
            if kinds and not kinds & {Kind.ARRAY, Kind.KEY}:
                return True
        return False

    # -- values -------------------------------------------------------------------------------------

    def status(self, value: Value, activation: Activation) -> Status:
        """Return what a value of a function is in one of its activations."""
        known = activation.known
        key = id(value)
        found = known.get(key)
        if found is not None:
            return found[1]
        depth = activation.asked.get(key)
        if depth is not None:  # depends on itself
            self._lowest = min(self._lowest, depth)
            return NOTHING
        depth = len(self._stack)
        self._steps = 0 if not depth else self._steps + 1
        if self._steps > _STEPS:  # what follows is kept: else the next question would go all these ways again
            self._flow.questions.unanswered += self._steps == _STEPS + 1
            return UNKNOWN
        if depth > _DEPTH:
            self._lowest = -1  # what follows is not kept
            return UNKNOWN
        lowest, self._lowest = self._lowest, depth
        size, assumed = len(known), self._assumed
        activation.asked[key] = depth
        self._stack.append(value)
        try:
            status = self._status(value, activation)
        finally:
            self._stack.pop()
            del activation.asked[key]
        if status is NOTHING and not depth:
            status = UNKNOWN
        if self._lowest < depth:  # the answer depends on one that is not found yet
            while len(known) > size and self._assumed > assumed:  # what was found for a loop that does
                known.popitem()
        if self._lowest >= depth or not depth:
            known[key] = (value, status)
        self._lowest = min(lowest, self._lowest)
        return status

    def _status(self, value: Value, activation: Activation) -> Status:
        if isinstance(value, Param):
            return self._param(value, activation)
        if isinstance(value, Call):
            return self._call(value, activation)
        if isinstance(value, Attr):
            return self._attribute(value, activation)
        if isinstance(value, Item):
            return self._item(value, activation)
        if isinstance(value, Unknown):
            return self._expression(value.node, activation)
        if isinstance(value, Free):
            return self._free(value, activation)
        if isinstance(value, Choice):
            return join(self.status(option, activation) for option in self._taken(value, activation))
        if isinstance(value, Loop):
            return self._looped(value, activation)
        if isinstance(value, Each):
            return self._each(value, activation)
        if isinstance(value, Changed):
            return self._changed(value, activation)
        if isinstance(value, Sequence):
            return self._sequence(value, activation)
        if isinstance(value, Mapping):
            return self._mapping(value, activation)
        if isinstance(value, Comprehension):
            return states.many(self.status(value.element, activation))
        if isinstance(value, Assigned):
            return UNKNOWN
        return self._untraced(value)

    def _taken(self, value: Choice, activation: Activation) -> tuple[Value, ...]:
        """Return what a value may be: one way alone if the condition between two is decided while compiling."""
        node, scope = value.node, activation.function.scope
        if not isinstance(node, ast.If | ast.IfExp) or len(value.options) != 2:
            return value.options
        if node.test not in self._bodies.paths(scope):  # of a function around it
            return value.options
        truth = self._truth(node.test, scope, activation)
        return value.options if truth is None else value.options[:1] if truth else value.options[1:]

    def _looped(self, value: Loop, activation: Activation) -> Status:
        """Return what a variable is over all rounds of a loop."""
        assumed = self.status(value.before, activation)
        if value.again is None:
            return assumed
        known, size = activation.known, len(activation.known)
        for _ in range(_ROUNDS):
            known[id(value)] = (value, assumed)
            self._assumed += 1
            joined = join((assumed, self.status(value.again, activation)), rounds=True)
            if joined == assumed:
                return assumed
            while len(known) > size:  # what was found for the rounds before does not hold for all
                known.popitem()
            assumed = joined
        return UNKNOWN

    def _sequence(self, value: Sequence, activation: Activation) -> Status:
        parts = [self.status(item.value if isinstance(item, Star) else item, activation) for item in value.items]
        first = next((i for i, item in enumerate(value.items) if isinstance(item, Star)), None)
        if first:  # the parts before the unpacked one have their places
            rest = [
                part.any_part() if isinstance(item, Star) else part
                for part, item in zip(parts[first:], value.items[first:], strict=True)
            ]
            return states.bounded(Status(Grade.CONTAINER, None, tuple(enumerate(parts[:first])), join(rest)))
        if first is not None:
            return states.many(
                join(
                    part.any_part() if isinstance(item, Star) else part
                    for part, item in zip(parts, value.items, strict=True)
                )
            )
        return states.sequence(parts)

    def _mapping(self, value: Mapping, activation: Activation) -> Status:
        items: dict[object, Status] = {}
        rest: list[Status] = []
        for key, item in value.items:
            part = self.status(item, activation)
            if isinstance(key, Const):
                items[key.value] = part
            elif key is None:
                rest.append(part.any_part() if part.grade is Grade.CONTAINER else part)
            else:
                rest.append(part)
        return states.bounded(Status(Grade.CONTAINER, None, tuple(items.items()), join(rest) if rest else None))

    def _changed(self, value: Changed, activation: Activation) -> Status:
        before = self.status(value.before, activation)
        if isinstance(value.node, ast.AugAssign):
            added = value.value.base if isinstance(value.value, Each) else value.value
            return _arithmetic(before, self.status(added, activation))
        if before.traced:
            return before
        part = self.status(value.value, activation)
        if isinstance(value.node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp):
            return states.many(part)
        if before.grade is not Grade.CONTAINER:
            return UNKNOWN
        return states.many(join((*before.parts, part)))

    def _each(self, value: Each, activation: Activation) -> Status:
        base = self.status(value.base, activation)
        if any(isinstance(key, str) for key, _ in base.items) or keyed(value.base):
            return PYTHON  # a round through a dict, or what it gives by items(), begins with a key
        if by_keys(value, activation.function.scope):
            return PYTHON
        return base.any_part()

    def _param(self, value: Param, activation: Activation) -> Status:
        around: Activation | None = activation
        while around is not None and around.function is not value.function:
            around = around.closure
        return around.params.get(value.name, UNKNOWN) if around is not None else UNKNOWN

    def _free(self, value: Free, activation: Activation) -> Status:
        scope = value.scope
        bindings = scope.bindings.get(value.name, ())
        function = function_of(scope)
        if function is None:
            if len(bindings) == 1 and value.name not in scope.rebound and value.name not in scope.remote:
                return self._untraced(bindings[0])
            return UNKNOWN
        around: Activation | None = activation
        while around is not None and around.function is not function:
            around = around.closure
        if around is None:
            return UNKNOWN
        return join(self.status(bound, around) for bound in bindings)

    def _item(self, value: Item, activation: Activation) -> Status:
        if isinstance(value.base, Attr) and value.base.name == "at":
            return UNKNOWN  # what `set` is called on; of a reference of Pallas a part that can be written to
        base = self.status(value.base, activation)
        index = self.status(value.index, activation)
        if base.grade is Grade.OBJECT:
            return TREE if _read_whole(value) else UNKNOWN
        if base.grade is Grade.UNKNOWN and _read_whole(value) and _hangs_on(value.base, activation):
            return self._of_variable(value, activation)
        if base.grade is Grade.CONTAINER:
            if index.const is not None:
                return base.part(index.const[0])
            if isinstance(value.index, Unknown) and isinstance(value.index.node, ast.Slice):
                return states.many(base.any_part())
            return base.any_part()
        if index.traced and base.grade is Grade.UNKNOWN:
            return ARRAY  # only an array takes one
        return base if base.traced else UNKNOWN

    def _attribute(self, value: Attr, activation: Activation) -> Status:
        if value.name in _NUMBERS:
            found = self._flow.resolve(self._flow.here(value, activation.function.scope)).value
            if isinstance(found, Ref) and found.name.partition(".")[0] in {"jax", "numpy", "math"}:
                return PYTHON
        base = self.status(value.base, activation)
        if value.name in STATIC_ATTRIBUTES:
            return SHAPE if value.name == "shape" else PYTHON
        if base.grade in {Grade.TREE, Grade.OBJECT}:
            leaf = self._records.leaf(value, activation.function.scope)
            if leaf == "record":
                return OBJECT
            if leaf == "array" or (leaf == "number" and activation.root and isinstance(value.base, Param)):
                return ARRAY
        if base.traced:
            return ARRAY if value.name in ARRAY_ATTRIBUTES else UNKNOWN
        if base.grade is Grade.OBJECT:
            return self._field(value, activation)
        return self._of_variable(value, activation) if _named_value(value) else UNKNOWN

    def _of_variable(self, value: Attr | Item, activation: Activation) -> Status:
        """Return what is read of an attribute that may be a Variable, of an object of which nothing else is known."""
        param = root_param(value.base)
        if param is not None and param.function in self._traced and isinstance(value.base, Attr):
            scope = activation.function.scope
            return TREE if Kind.VARIABLE in self._kinds.of(self._flow.here(value.base, scope)) else UNKNOWN
        return UNKNOWN

    def _field(self, value: Attr, activation: Activation) -> Status:
        """Return what an attribute of an object is whose Variables are traced."""
        if _named_value(value):
            return TREE
        if not isinstance(value.base, Param) or value.base is not value.base.function.self_param:
            return UNKNOWN
        owner = value.base.function.owner
        stores = owner.stores.get(value.name, ()) if owner is not None else ()
        found = []
        for writer, stored in stores:
            name = (
                self._flow.calls.callee_name(self._flow.here(stored, writer.scope)) if isinstance(stored, Call) else ""
            )
            if name.startswith("flax.nnx.") and name[9:10].isupper():
                found.append(OBJECT)
            elif writer is activation.function:
                found.append(self.status(stored, activation))
            else:
                found.append(PYTHON if isinstance(stored, Const) and stored.value is not None else UNKNOWN)
        return join(found) if found else UNKNOWN

    # -- expressions --------------------------------------------------------------------------------

    def _expression(self, node: ast.AST, activation: Activation) -> Status:
        if isinstance(node, ast.BinOp):
            return self._binary(node, activation)
        if isinstance(node, ast.UnaryOp):
            operand = self._at(node.operand, activation)
            if isinstance(node.op, ast.Not):
                return PYTHON
            return ARRAY if self._is_variable(operand) else operand if operand.traced else _plain(operand)
        if isinstance(node, ast.Compare):
            return self._compare(node, activation)
        if isinstance(node, ast.AugAssign):
            return _arithmetic(self._at(node.target, activation), self._at(node.value, activation))
        if isinstance(node, ast.JoinedStr):
            return PYTHON
        return UNKNOWN

    def _at(self, node: ast.expr, activation: Activation) -> Status:
        value = activation.function.scope.module.values.get(node)
        return UNKNOWN if value is None else self.status(value, activation)

    @staticmethod
    def _is_variable(status: Status) -> bool:
        return status.grade is Grade.OBJECT or status.traced

    def _binary(self, node: ast.BinOp, activation: Activation) -> Status:
        left, right = self._at(node.left, activation), self._at(node.right, activation)
        if left.const is not None and isinstance(left.const[0], str):
            return PYTHON
        found = _arithmetic(left, right, isinstance(node.op, ast.Mult))
        if found is ARRAY and {left.grade, right.grade} & _OPEN and self._bodies.overloaded:
            return TREE  # an object of a class that overloads operators makes what it wants
        return found

    def _compare(self, node: ast.Compare, activation: Activation) -> Status:
        nodes = [node.left, *node.comparators]
        if any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            return PYTHON
        operands = [self._at(o, activation) for o in nodes]
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            within = isinstance(node.comparators[-1], ast.Tuple | ast.List | ast.Set) and operands[0].traced
            return ARRAY if within else UNKNOWN
        if any(o.const is not None and (o.const[0] is None or isinstance(o.const[0], str)) for o in operands):
            return PYTHON
        if any(o.grade is Grade.CONTAINER for o in operands):
            return PYTHON if all(o.static for o in operands) else UNKNOWN  # containers are compared
        if any(self._is_variable(o) for o in operands):
            equal = all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
            if equal and all(o.grade is not Grade.ARRAY for o in operands):
                return TREE if any(o.grade is Grade.TREE for o in operands) else UNKNOWN  # of objects: a bool
            objects = all(o.grade in {Grade.TREE, Grade.UNKNOWN} for o in operands)
            return TREE if objects and self._bodies.overloaded else ARRAY
        return PYTHON if all(o.static for o in operands) else UNKNOWN

    def _truth(self, test: ast.expr, scope: Scope, activation: Activation) -> bool | None:
        """Return the truth of a condition that is decided while compiling; None if it is not known."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self._truth(test.operand, scope, activation)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            parts = [self._truth(value, scope, activation) for value in test.values]
            decisive = isinstance(test.op, ast.Or)
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            left, right = self._at(test.left, activation), self._at(test.comparators[0], activation)
            op = test.ops[0]
            if isinstance(op, ast.Is | ast.IsNot) and right.none:
                if left.const is not None or left.grade not in {Grade.UNKNOWN, Grade.PYTHON}:
                    return left.none is isinstance(op, ast.Is)
                return None
            if isinstance(op, ast.Eq | ast.NotEq) and left.const is not None and right.const is not None:
                return (left.const == right.const) is isinstance(op, ast.Eq)
            return None
        found = self._at(test, activation)
        return bool(found.const[0]) if found.const is not None else None

    # -- calls --------------------------------------------------------------------------------------

    def _call(self, value: Call, activation: Activation) -> Status:
        flow = self._flow
        call = flow.here(value, activation.function.scope)
        name = flow.calls.callee_name(call)
        args = [self.status(a.value if isinstance(a, Star) else a, activation) for a in value.args]
        keywords = {k: self.status(v, activation) for k, v in value.keywords if k is not None}
        if name in TREE_MAPS:
            return self._mapped(value, call, args, activation)
        if name in BODIES:
            return TREE
        if name == "jax.lax.stop_gradient" and activation.function not in self._traced:
            return UNKNOWN  # under a gradient alone it gives back the array behind the tracer
        if name:
            return known_result(name, value, args, keywords, activation.level)
        holding = any(status.holds for status in (*args, *keywords.values()))
        method = value.callee
        if isinstance(method, Attr):
            base = self.status(method.base, activation)
            # a tree of arrays may be an object of the project with a method of the same name
            known = base.grade is Grade.ARRAY or method.name not in self._bodies.own_methods or _items(method.base)
            found = _method(method.name, base, args) if known else None
            if found is not None:
                return found
        callee = flow.follow(call, value.callee)
        if isinstance(callee.value, Call):
            wrapper = flow.calls.wrapper_name(callee, callee.value)
            if wrapper in GRADIENTS:
                return _gradient(wrapper, callee.value)
            if (wrapper in JITS or wrapper in BATCHING) and holding:
                return TREE
            if wrapper.startswith("flax.nnx.") and self._kinds.of(callee) == {Kind.MODULE}:  # a layer of the library
                return TREE if holding else UNKNOWN
        invoked = flow.calls.invoked(call)
        if invoked:
            return self._invoked(invoked, activation)
        if isinstance(method, Attr):
            param = root_param(method.base)
            own = param is not None and param.function in self._traced
            return TREE if own and holding and not isinstance(method.base, Param) else UNKNOWN
        own = isinstance(method, Param) and method.function in self._traced
        if isinstance(method, Param) and method.function in self._traced.differentiated:
            return TREE if self.status(method, activation).grade is Grade.OBJECT else UNKNOWN
        return TREE if own and holding else UNKNOWN

    def _invoked(self, invoked: list[tuple[Callee, Frame]], activation: Activation) -> Status:
        """Return what functions of the project return."""
        if self._depth > _CALLS:
            return UNKNOWN
        results = []
        for callee, frame in invoked:
            if callee.function.generator or callee.function.is_property:
                return UNKNOWN
            entered = self._entered(frame, activation, activation.level)
            if entered not in self._results:
                results.append(self._result(callee.function, entered))
            else:
                results.append(self._results[entered])
        return join(results)

    def _result(self, function: FunctionFacts, entered: Activation) -> Status:
        """Return what a function returns, and keep it."""
        self._results[entered] = NOTHING  # a function that calls itself
        self._depth += 1
        try:
            found = self._returned(function, entered)
        finally:
            self._depth -= 1
        if self._lowest < len(self._stack):
            del self._results[entered]
        else:
            self._results[entered] = found
        return found

    def _returned(self, function: FunctionFacts, entered: Activation) -> Status:
        returns = [value for value in function.returns if value != Const(None)]
        return join(self.status(value, entered) for value in returns) if returns else states.python(None)

    def _mapped(self, value: Call, call: Bound, args: list[Status], activation: Activation) -> Status:
        """Return what ``jax.tree.map`` makes of trees."""
        trees = args[1:]
        if not trees:
            return UNKNOWN
        function = self._flow.follow(call, value.args[0]).value
        if isinstance(function, Ref) and function.name in PYTHON_RESULTS:
            return UNKNOWN  # a tree of shapes and the like, which are known while it compiles
        results = []
        with_path = self._flow.calls.callee_name(call) in WITH_PATH
        for callee in self._flow.calls.callables(self._flow.with_value(call, value.args[0])):
            params = dict(zip(free_params(callee)[with_path:], map(leaf, trees), strict=False))
            entered = self._activation(callee.function, params, activation.level, activation)
            results.append(self._returned(callee.function, entered) if self._depth < _CALLS else UNKNOWN)
        if results:
            made = join(results)
            return TREE if made.traced else UNKNOWN if made.grade is Grade.UNKNOWN else states.many(made)
        return TREE if any(tree.holds for tree in trees) else UNKNOWN


def _function(argument: Bound, caller: Activation) -> FunctionFacts | None:
    """Return the function that an argument is; None if that is not known."""
    value = argument.value
    if isinstance(value, Function):
        return value.facts
    return _handed(value, caller) if isinstance(value, Param) else None


def _handed(param: Param, activation: Activation) -> FunctionFacts | None:
    """Return the function that a parameter is in an activation, or in the one around it."""
    around: Activation | None = activation
    while around is not None and around.function is not param.function:
        around = around.closure
    return around.handed.get(param.name) if around is not None else None


def _calls_another(frame: Frame, function: FunctionFacts, caller: Activation) -> bool:
    """Say whether a call of a parameter calls another function in this activation of the code around it."""
    callee = frame.site.callee if isinstance(frame.site, Call) else None
    handed = _handed(callee, caller) if isinstance(callee, Param) else None
    return handed is not None and handed is not function


def _plain(status: Status) -> Status:
    return PYTHON if status.grade is Grade.PYTHON else UNKNOWN


def _arithmetic(left: Status, right: Status, repeats: bool = False) -> Status:
    """Return what an arithmetic operator gives."""
    grades = {left.grade, right.grade}
    if Grade.CONTAINER in grades and not repeats and grades <= {Grade.CONTAINER, Grade.TREE}:
        if Grade.TREE in grades:
            return TREE
        if left.each is None and right.each is None:
            return states.sequence((*(part for _, part in left.items), *(part for _, part in right.items)))
        if left.each is None:  # the first parts of `(steps, *shape)` stay what they are
            rest = join(right.parts) if right.parts else UNKNOWN
            return states.bounded(Status(Grade.CONTAINER, None, left.items, rest))
        return states.many(join((*left.parts, *right.parts))) if (*left.parts, *right.parts) else left
    if grades & {Grade.ARRAY, Grade.TREE, Grade.OBJECT}:
        return ARRAY
    if left is NOTHING or right is NOTHING:
        return NOTHING
    if Grade.CONTAINER in grades and Grade.PYTHON in grades and repeats:
        return states.many((left if left.grade is Grade.CONTAINER else right).any_part())
    return PYTHON if grades == {Grade.PYTHON} else UNKNOWN


def _hangs_on(value: Value, activation: Activation) -> bool:
    """Say whether an object is, or is a part of, one that an activation, or one around it, got traced."""
    for param in _roots(value):
        around: Activation | None = activation
        while around is not None and around.function is not param.function:
            around = around.closure
        if around is None:
            continue
        if param is param.function.self_param:
            if around.own:
                return True
        elif (given := around.params.get(param.name, UNKNOWN)).traced or given.grade is Grade.OBJECT:
            return True
    return False


def _roots(value: Value) -> list[Param]:
    """Return the parameters that an object may be a part of, or an element of one of their lists."""
    found: list[Param] = []
    pending, seen = [value], 0
    while pending and seen < _DEPTH:
        one, seen = pending.pop(), seen + 1
        if isinstance(one, Param):
            found.append(one)
        elif isinstance(one, Free):
            bindings = one.scope.bindings.get(one.name, ())
            pending += bindings if len(bindings) == 1 else ()
        elif isinstance(one, Item) and isinstance(one.base, Sequence):
            pending.append(of_display(one))
        elif isinstance(base := getattr(one, "base", None), Value):
            pending.append(base)
    return found


def _named_value(value: Value) -> bool:
    """Say whether a value is ``variable.value``."""
    return isinstance(value, Attr) and value.name in {"value", "raw_value"}


def _read_whole(value: Value) -> bool:
    """Say whether a value is ``variable[...]``."""
    return isinstance(value, Item) and isinstance(value.index, Const) and value.index.value is Ellipsis


def _items(base: Value) -> bool:
    """Say whether a value is the items of an array that are to change: ``x.at[i]``."""
    return isinstance(base, Item) and isinstance(base.base, Attr) and base.base.name == "at"


def _method(name: str, base: Status, args: list[Status]) -> Status | None:
    """Return what a method gives that arrays, lists and dicts have; None if it is another one."""
    if base.traced:
        if name in {"get", "pop", "copy"}:
            return base
        if name in ARRAY_METHODS:
            return ARRAY
        if name == "values" and base.grade is Grade.TREE:
            return TREE
        if name in {"items", "keys"} and base.grade is Grade.TREE:  # what has them is no array, and its keys are none
            return states.many(states.sequence((PYTHON, TREE)) if name == "items" else PYTHON)
        return None
    if base.grade is Grade.OBJECT:
        return ARRAY if name in {"sum", "mean", "astype", "reshape", "max", "min", "any", "all"} else None
    if base.grade is Grade.CONTAINER:
        if name in {"get", "pop"}:
            index = args[0].const if args else None
            return base.part(index[0]) if index is not None else base.any_part()
        if name == "copy":
            return base
        if name == "values":
            return states.many(base.any_part())
        if name == "items":
            return states.many(states.sequence((PYTHON, base.any_part())))
        if name in {"index", "count"}:
            return PYTHON
    return None


def _gradient(wrapper: str, made: Call) -> Status:
    """Return what a function gives that ``grad`` or ``value_and_grad`` made."""
    aux = made.keyword("has_aux")
    plain = aux is None or (isinstance(aux, Const) and aux.value is False)
    if not wrapper.endswith("value_and_grad"):
        return TREE
    return states.sequence((ARRAY if plain else states.sequence((ARRAY, TREE)), TREE))


def _array_note(note: ast.expr) -> bool:
    """Say whether an annotation means an array, or a number, which a transform makes one."""
    text = ast.unparse(note)
    return text in {"bool", "int", "float"} or text.rpartition(".")[2] in {"Array", "ndarray", "ArrayLike"}
