"""Which functions run on tracers, and which of their parameters are traced.

Roots are functions that a transform traces: by a decorator, as ``f = jit(g)``, through ``functools.partial``, or as the
body of ``scan``, ``cond``, ``while_loop`` and the like. From there tracing reaches the functions they define and call.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.flow import Callee, Flow
from codemods.nnx.frames import Bound, Frame, Part
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.bodies import Bodies
from codemods.nnx.lint.chains import Way, certain, switched
from codemods.nnx.lint.names import (
    BATCHING,
    BODIES,
    COMPILING,
    HOST_CALLBACKS,
    JITS,
    TRACING_WORDS,
    TREE_MAPS,
    WITH_PATH,
    last,
)
from codemods.nnx.lint.syntax import constant, is_none, keyword, several
from codemods.nnx.lint.traced_branches import at_once, in_other_arm, of_own, on_condition, switched_by, without_tracers
from codemods.nnx.lint.traced_parts import (
    Given,
    Handed,
    body_values,
    for_nothing,
    idle_lambdas,
    means_transform,
    merged,
    names_of,
    possible,
    referred,
    takes,
    takes_named,
    targets_of,
)
from codemods.nnx.lint.untraced import registered, untraced
from codemods.nnx.may.may import Made
from codemods.nnx.nodes import last_word
from codemods.nnx.ordered import OrderedSet
from codemods.nnx.sources import Sources
from codemods.nnx.values import Attr, Call, Choice, Const, Free, Function, Param, Ref, Sequence, Star, Value

BATCHED = 0  # runs at every call, on tracers: vmap
STAGED = 1  # runs once for many rounds: the bodies of scan, cond, while_loop
COMPILED = 2  # runs once for many calls: jit
_HELPERS = 3  # through how many helpers a function is followed to what traces it
_IMPLEMENTING = frozenset({"lower_fun", "def_impl", "def_abstract_eval"})  # what gets functions of a primitive
_CALLBACK_WORDS = frozenset(map(last, HOST_CALLBACKS))


@dataclass(frozen=True, eq=False)
class Root:
    """A function that a transform traces.

    Attributes:
        function: the function.
        transform: full name of the transform.
        node: where the transform is applied.
        scope: the scope in which that is.
        static: parameters that are not traced: static arguments, those bound before, axes of None; all of them where
            the options cannot be read.
        declared: those among them that the options declare static.
        unmapped: those among them that have no axis, which calls give all the same.
        options: the call that holds the transform's keyword arguments; None if there are none.
        bound: whether the function is a bound method.
        decorator: whether the transform is applied as a decorator.
        partial: whether some of its arguments are bound before.
        closure: the activation of the function around it that made it, where that is told.
        certain: whether just this function is given to the transform, and not what callers of another file hand on.
    """

    function: FunctionFacts
    transform: str
    node: ast.AST
    scope: Scope
    static: frozenset[str]
    options: ast.Call | None
    bound: bool = False
    decorator: bool = False
    partial: bool = False
    declared: frozenset[str] = frozenset()
    closure: Frame | None = None
    certain: bool = True
    unmapped: frozenset[str] = frozenset()


@dataclass(eq=False)
class Tracing:
    """What is known of a traced function.

    Attributes:
        level: :data:`BATCHED`, :data:`STAGED` or :data:`COMPILED`, the highest of all transforms that reach it.
        roots: the transforms that trace it.
        sites: activations by calls in traced code.
        ways: how calls and definitions in traced code lead there.
        mapped: for a function given to ``jax.tree.map``, what its parameters get parts of, with the scope of the call.
    """

    function: FunctionFacts
    level: int
    roots: list[Root] = field(default_factory=list)
    sites: list[Frame] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    mapped: list[tuple[str, Value, Scope]] = field(default_factory=list)

    @property
    def staged(self) -> bool:
        """Whether its body runs once per compilation, and not at every call."""
        return self.level >= STAGED


_EXPECTED = (b"raises(", b"assertRaises")


class Traced:
    """All traced functions of a project."""

    def __init__(self, flow: Flow, sources: Sources, bodies: Bodies) -> None:
        self._flow = flow
        self._sources = sources
        self._bodies = bodies
        self.known: dict[FunctionFacts, Tracing] = {}
        self._graded: dict[FunctionFacts, Tracing] | None = None
        self._waiting: dict[FunctionFacts, list[Handed]] = {}
        self._unmade: dict[tuple[FunctionFacts, Value], list[Handed]] = {}
        self._leading: dict[FunctionFacts, set[Frame]] = {}
        self.roots: list[Root] = [one for one in (*self._decorated(), *self._applied()) if not self._failing(one)]
        if self.roots:
            self._spread()

    def __contains__(self, function: FunctionFacts | None) -> bool:
        return function in self.known

    def get(self, function: FunctionFacts | None) -> Tracing | None:
        """Return what is known of a function; None if nothing traces it."""
        return self.known.get(function) if function is not None else None

    def certain(self, function: FunctionFacts) -> bool:
        """Say whether a traced function is traced for certain, see :mod:`codemods.nnx.lint.chains`."""
        return function in self._certain

    def leading(self, function: FunctionFacts) -> set[Frame]:
        """Return the activations by calls that certain ways of tracing lead to."""
        if function not in self._leading:
            self._leading[function] = {
                way.frame
                for way in self.known[function].ways
                if way.frame is not None and way.one and way.by in self._certain and self._leads(way)
            }
        return self._leading[function]

    @cached_property
    def _certain(self) -> frozenset[FunctionFacts]:
        rooted = [function for function, one in self.known.items() if any(root.certain for root in one.roots)]
        return certain(rooted, {function: one.ways for function, one in self.known.items()}, self._leads)

    def _leads(self, way: Way) -> bool:
        """Say whether no condition on types, modes or flags keeps tracing from going on."""
        return not switched(way.node, way.by.scope, self._bodies, self.given)

    def given(self, param: Param) -> bool:
        """Say whether a call gives something else for a parameter than its default."""
        default = param.function.defaults.get(param.name)
        given = [self._flow.argument(frame, param.name) for frame in self._flow.sites.entries(param.function)]
        return any(one is not None and one.value is not default for one in given)

    @property
    def differentiated(self) -> dict[FunctionFacts, Tracing]:
        """Functions that nothing traces but ``grad`` and the like: Python may branch on their values, not more."""
        if self._graded is None:
            self._graded = {}
            for root in self.gradients:
                if root.function not in self.known and root.function not in self._ruled:
                    self._graded.setdefault(root.function, Tracing(root.function, BATCHED)).roots.append(root)
            if self._graded:
                self._spread_gradients(self._graded)
        return self._graded

    def _spread_gradients(self, graded: dict[FunctionFacts, Tracing]) -> None:
        """Add the functions that differentiated ones call, and nothing else traces."""
        queue = list(graded)
        while queue:
            scope = queue.pop().scope
            for event in scope.module.calls_in(scope):
                call = self._flow.here(event.value, event.scope)
                if self._flow.calls.callee_name(call):
                    continue
                for callee, frame in self._flow.calls.invoked(call):
                    called = callee.function
                    if called in self.known or called.generator or called in self._ruled:
                        continue
                    if called not in graded:
                        graded[called] = Tracing(called, BATCHED)
                        queue.append(called)
                    graded[called].sites.append(frame)

    @cached_property
    def gradients(self) -> tuple[Root, ...]:
        """The functions that are differentiated, with the parameters of which no derivative is taken."""
        return tuple(self._gradients())

    def _gradients(self) -> Iterator[Root]:
        flow = self._flow
        for event in flow.project.calls():
            func = event.node.func
            word = last_word(func)
            if word not in {"grad", "value_and_grad"} or not event.value.args:
                continue
            call = flow.here(event.value, event.scope)
            name = flow.calls.callee_name(call)
            if name not in GRADIENTS:
                continue
            numbers = keyword(event.node, "argnums")
            wanted = 0 if numbers is None else constant(numbers)
            for callee in flow.calls.callables(flow.with_value(call, event.value.args[0])):
                skipped = len(callee.args) + (callee.receiver is not None and callee.function.binding != "static")
                params = list(callee.function.params)
                places = several(wanted)
                traced = {params[skipped + p] for p in places if isinstance(p, int) and 0 <= p < len(params) - skipped}
                static = frozenset(params) - traced
                yield Root(
                    callee.function, name, event.node, event.scope, static, event.node, partial=bool(callee.args)
                )

    @cached_property
    def _ruled(self) -> frozenset[FunctionFacts]:
        """The functions that have a derivative of their own: a gradient runs their rules, and these on plain values."""
        found = {function for function in self._flow.project.functions() if has_rule(function)}
        for event in self._flow.project.calls():
            if last_word(event.node.func) in _RULED and event.value.args:
                given = self._flow.here(event.value.args[0], event.scope)
                found |= {callee.function for callee in self._flow.calls.callables(given)}
        return frozenset(found)

    def _skipped(self, callee: Callee) -> bool:
        """Say whether only the rule of a function runs, since a gradient is taken of it, and that calls it no more."""
        function = callee.function
        if not callee.gradient or function not in self._ruled or function.owner is not None:
            return False
        rules = [
            node for node in function.scope.module.source.of_type(ast.FunctionDef)
            if any(last_word(one).startswith(("defjvp", "defvjp")) for one in node.decorator_list)
            and any(isinstance(n, ast.Name) and n.id == function.name for one in node.decorator_list
                    for n in ast.walk(one))
        ]  # fmt: skip
        return bool(rules) and not any(
            isinstance(n, ast.Name) and n.id == function.name
            for rule in rules
            for statement in rule.body
            for n in ast.walk(statement)
        )

    def calls_of(self, root: Root) -> list[CallEvent]:
        """Return the calls of what a transform made of a function; those of the function itself do not count."""
        flow = self._flow
        events = [event for event in flow.sites.callers(root.function) if event.node is not root.node]
        if root.decorator:
            return events
        return [
            event
            for event in events
            if isinstance(callee := flow.resolve(flow.here(event.value.callee, event.scope)).value, Call)
            and root.node in {callee.node, callee.node.func}
        ]

    def _failing(self, root: Root) -> bool:
        """Say whether what a transform makes of a function is only called where an error is expected of it."""
        if not any(word in root.scope.module.source.data for word in _EXPECTED):
            return False
        calls = self.calls_of(root)
        return bool(calls) and all(
            any(
                isinstance(block, ast.With) and arm == "body"
                for block, arm in self._bodies.paths(one.scope).get(one.node, ())
            )
            and self._bodies.guarded(one.node, one.scope)
            for one in calls
        )

    def passes(self, root: Root, name: str) -> bool:
        """Say whether a call in sight gives a parameter, other than None, to what a transform made of its function."""
        function = root.function
        params = [param for param in function.params if param not in root.static - root.declared - root.unmapped]
        if name not in params:
            return False
        place = params.index(name)
        if place and function.binding in {"instance", "class"} and root.decorator:  # the object may take the first
            place -= 1
        by_place = name in list(function.params)[: function.positional]
        return any(
            any(k.arg == name and not is_none(k.value) for k in event.node.keywords)
            or (
                by_place
                and not event.value.starred
                and len(event.node.args) > place
                and not is_none(event.node.args[place])
            )
            for event in self.calls_of(root)
        )

    # -- roots --------------------------------------------------------------------------------------

    def _decorated(self) -> Iterator[Root]:
        for function in self._flow.project.functions():
            if isinstance(function.node, ast.Lambda):
                continue
            outer = function.scope.parent
            assert outer is not None
            for node, value in zip(function.node.decorator_list, function.decorators, strict=True):
                name, options = self._transform(self._flow.here(value, outer))
                if (name in JITS or name in BATCHING) and registered(function, node):
                    continue
                if name in JITS or name in BATCHING:
                    left = untraced(function, name, options, 0, frozenset())
                    yield Root(
                        function, name, node, outer, left.names, options, decorator=True, declared=left.declared,
                        unmapped=left.unmapped,
                    )  # fmt: skip
                    continue
                if isinstance(value, Param | Free) and value.name in self._taking:
                    for name, options in self._given_transforms(self._flow.here(value, outer)):
                        left = untraced(function, name, options, 0, frozenset())
                        yield Root(
                            function, name, node, outer, left.names, options, declared=left.declared, certain=False
                        )
                    continue
                applied = self._own_decorator(self._flow.here(value, outer))
                if applied is not None:
                    name = self._flow.calls.callee_name(applied)
                    assert isinstance(applied.value, Call)
                    left = untraced(function, name, applied.value.node, 0, frozenset())
                    yield Root(function, name, node, outer, left.names, applied.value.node, declared=left.declared)

    def _own_decorator(self, decorator: Bound) -> Bound | None:
        """Return the call of a transform to which a decorator of the project hands the function; None if none."""
        found = self._flow.resolve(decorator)
        if not isinstance(found.value, Function) or len(found.value.facts.returns) != 1:
            return None
        helper = found.value.facts
        made = self._flow.resolve(self._flow.here(helper.returns[0], helper.scope))
        if not isinstance(made.value, Call) or not made.value.args:
            return None
        given = made.value.args[0]
        if (
            not isinstance(given, Param)
            or given.function is not helper
            or given is not next(iter(helper.params.values()))
        ):
            return None
        return made if self._flow.calls.callee_name(made) in JITS | BATCHING else None

    def _transform(self, decorator: Bound) -> tuple[str, ast.Call | None]:
        """Return the name of the transform that a decorator applies, and the call that holds its options."""
        resolved = self._flow.resolve(decorator)
        if isinstance(resolved.value, Call) and self._flow.calls.callee_name(resolved) != "functools.partial":
            name = self._flow.calls.callee_name(resolved)
            return ("" if resolved.value.args else name), resolved.value.node
        return self._given_options(resolved)

    def _given_options(self, transform: Bound, depth: int = 0) -> tuple[str, ast.Call | None]:
        """Return the name of a transform, and the options that ``partial`` gives it, also one around the other."""
        flow, resolved = self._flow, self._flow.resolve(transform)
        value = resolved.value
        if isinstance(value, Ref):
            return value.name, None
        if not isinstance(value, Call) or not value.args or depth > _HELPERS:
            return "", None
        if flow.calls.callee_name(resolved) != "functools.partial":
            return "", None
        name, inner = self._given_options(flow.with_value(resolved, value.args[0]), depth + 1)
        if inner is None:
            return name, value.node
        return (name, merged(inner, value.node)) if self._side_by_side(inner, value.node) else ("", None)

    def _side_by_side(self, held: ast.Call, user: ast.Call) -> bool:
        """Say whether options that are kept in a variable mean the same where they are used."""
        home, scope = self._bodies.home(held), self._bodies.home(user)
        if home is None or scope is None or home.module is not scope.module:
            return False
        return home is scope or home.parent is None

    def _applied(self) -> Iterator[Root]:
        flow = self._flow
        for event in flow.project.calls():
            func = event.node.func
            if isinstance(func, ast.Call):
                yield from self._curried(event, func)
                continue
            word = last_word(func)
            if word not in TRACING_WORDS and not self._renamed(event, word):
                if word in self._prepared:
                    yield from self._of_prepared(event)
                yield from self._by_parameter(event)
                continue
            call = flow.here(event.value, event.scope)
            name = flow.calls.callee_name(call)
            if name in BODIES:
                for value in body_values(event.value, *BODIES[name]):
                    for callee in self._reached(flow.with_value(call, value), event):
                        yield self._root(callee, name, event, None, value)
            elif name in JITS or name in BATCHING:
                given = event.value.argument(0, "fun") or event.value.keyword("f")
                if given is not None and not self._abandoned(event):
                    for callee in self._reached(flow.with_value(call, given), event):
                        yield self._root(callee, name, event, event.node, given)

    def _by_parameter(self, event: CallEvent) -> Iterator[Root]:
        """Yield what a transform traces that callers hand to the function around, as ``make_step(loss, jax.jit)``."""
        callee = event.value.callee
        if not isinstance(callee, Param | Free) or len(event.value.args) != 1 or event.value.starred:
            return
        if callee.name not in self._taking:
            return
        here = self._flow.here(callee, event.scope)
        for name, options in self._given_transforms(here):
            given = self._flow.with_value(self._flow.here(event.value, event.scope), event.value.args[0])
            for reached in self._reached(given, event, handed=False):
                yield self._root(reached, name, event, options or event.node, callee)

    def _given_transforms(self, callee: Bound) -> list[tuple[str, ast.Call | None]]:
        """Return the transforms that a parameter may be, with their options; none if it may be anything else."""
        if not isinstance(callee.value, Param | Free):
            return []
        found = [self._transform(one) for one in self._sources.of(callee)]
        return found if all(name in JITS or name in BATCHING for name, _ in found) else []

    @cached_property
    def _taking(self) -> frozenset[str]:
        """The names of the parameters of functions of the project to which a transform may be handed."""
        taking: set[str] = set()
        for function in self._flow.project.functions():
            node = function.node.args
            positional = [*node.posonlyargs, *node.args]
            places = [
                *zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True),
                *zip(node.kwonlyargs, node.kw_defaults, strict=True),
            ]
            taking |= {one.arg for one, default in places if default is not None and means_transform(default)}
        for event in self._flow.project.calls():
            given = [*event.node.args, *(k.value for k in event.node.keywords)]
            if not any(means_transform(one) for one in given) or last_word(event.node.func) == "partial":
                continue
            call = self._flow.here(event.value, event.scope)
            made = self._flow.classes.class_of(call)
            init = self._flow.classes.method(made, "__init__") if made is not None else None
            for function in [init] if init else [one.function for one in self._flow.calls.reached(call)]:
                taking |= set(function.params)
        return frozenset(taking)

    def _reached(self, given: Bound, event: CallEvent, handed: bool = True) -> list[Callee]:
        """Return the functions that a transform traces, those too that callers hand to the function around it."""
        ways = possible(given.value, event, self._bodies) if isinstance(given.value, Choice) else [given.value]
        found = [one for value in ways for one in self._callables(self._flow.with_value(given, value))]
        if not found and handed and not on_condition(event):
            found = self._handed(given)
        return [
            one
            for one in found
            if takes_named(one.function, dict(one.keywords)) and not in_other_arm(one.function, event, self._bodies)
            if not self._skipped(one)
        ]

    def _abandoned(self, event: CallEvent) -> bool:
        """Say whether something is compiled under a name that nothing reads, and called as it is instead."""
        statement = event.statement
        if not isinstance(statement, ast.Assign) or statement.value is not event.node or not event.node.args:
            return False
        target, method = statement.targets[0], event.node.args[0]
        if isinstance(target, ast.Name) and isinstance(method, ast.Name):
            return target.id != method.id and for_nothing(event, target.id, method.id, self._bodies)
        if not (isinstance(target, ast.Attribute) and isinstance(method, ast.Attribute)) or target.attr == method.attr:
            return False
        if not any(isinstance(e.node.func, ast.Attribute) for e in self._bodies.named(method.attr)):
            return False
        return not any(e.node.attr == target.attr and e.context == "load" for e in self._flow.project.attributes())

    def _curried(self, event: CallEvent, options: ast.Call) -> Iterator[Root]:
        """Yield what ``partial(jit, ...)(function)`` and ``jit(...)(function)`` trace."""
        flow = self._flow
        if len(event.value.args) != 1 or event.value.starred or event.node.keywords:
            return
        call = flow.here(event.value, event.scope)
        name = flow.calls.wrapper_name(call, event.value)
        if name in JITS or name in BATCHING:
            for callee in self._reached(flow.with_value(call, event.value.args[0]), event, handed=False):
                yield self._root(callee, name, event, options, event.value.args[0])

    @cached_property
    def _prepared(self) -> frozenset[str]:
        """The names of variables that hold a transform with some of its options: ``fast = partial(jit, ...)``."""
        names = {
            target.id: last_word(event.node.args[0])
            for event in self._flow.project.calls()
            if last_word(event.node.func) == "partial" and event.node.args
            for target in targets_of(event)
        }
        words = TRACING_WORDS | {name for name, of in names.items() if of in TRACING_WORDS}
        return frozenset(name for name, of in names.items() if of in words)

    def _of_prepared(self, event: CallEvent) -> Iterator[Root]:
        """Yield what ``fast(function)`` traces, where ``fast`` is a transform with some of its options."""
        flow = self._flow
        if len(event.value.args) != 1 or event.value.starred:
            return
        call = flow.here(event.value, event.scope)
        name, options = self._given_options(flow.follow(call, event.value.callee))
        if options is None or not (name in JITS or name in BATCHING) or not self._side_by_side(options, event.node):
            return
        for callee in self._reached(flow.with_value(call, event.value.args[0]), event, handed=False):
            yield self._root(callee, name, event, merged(options, event.node), event.value.args[0])

    def _renamed(self, event: CallEvent, word: str) -> bool:
        """Say whether a plain name was imported under another name, as ``from jax import jit as fast``."""
        if not isinstance(event.node.func, ast.Name):
            return False
        return any(
            alias.asname == word and alias.name in TRACING_WORDS
            for statement in event.scope.module.imports
            for alias in statement.names
        )

    def _callables(self, value: Bound) -> list[Callee]:
        resolved = self._flow.resolve(value)
        if isinstance(resolved.value, Sequence):  # the branches of a switch
            return [c for item in resolved.value.items for c in self._callables(self._flow.with_value(resolved, item))]
        return self._flow.calls.callables(resolved)

    def _handed(self, value: Bound, depth: int = 0) -> list[Callee]:
        """Return the functions that callers give for a parameter of a helper, which applies a transform to it."""
        found = self._callables(value)
        if found or depth == _HELPERS:
            return found
        resolved = self._flow.resolve(value)
        if not isinstance(resolved.value, Param | Attr | Call):
            return []
        param = self._flow.sites.open_param(resolved)
        if param is None:
            return []
        several: dict[FunctionFacts, Callee] = {}
        for frame in self._flow.sites.settlements(param):
            with self._flow.assuming(param.function, frame):
                for callee in self._handed(resolved, depth + 1):
                    several.setdefault(callee.function, callee)
        return list(several.values())

    def _root(self, callee: Callee, name: str, event: CallEvent, options: ast.Call | None, written: Value) -> Root:
        given = frozenset(keyword for keyword, _ in callee.keywords) | _bound_to_name(callee, event.scope)
        taken = callee.receiver is not None and callee.function.binding in {"instance", "class"}
        skipped = len(callee.args) + taken
        left = untraced(callee.function, name, options, skipped, given)
        unpacked = self._unpacks(self._flow.here(written, event.scope))
        partial = bool(callee.args or callee.keywords) or unpacked
        return Root(
            callee.function,
            name,
            event.node,
            event.scope,
            frozenset(callee.function.params) if unpacked else left.names,
            options,
            taken,
            partial=partial,
            declared=left.declared,
            unmapped=left.unmapped,
            closure=callee.closure,
            certain=callee.receiver is not None
            or callee.function.scope.module is event.scope.module
            or not of_param(written),
        )

    def _unpacks(self, given: Bound) -> bool:
        """Say whether ``partial(f, **values)`` binds parameters of a function that cannot be told from the rest."""
        found = self._flow.resolve(given)
        for _ in range(_HELPERS):
            if not isinstance(found.value, Call) or not found.value.args:
                return False
            if any(k.arg is None for k in found.value.node.keywords):
                return True
            found = self._flow.follow(found, found.value.args[0])
        return False

    @cached_property
    def of_primitives(self) -> frozenset[FunctionFacts]:
        """The functions that implement a primitive: what is given to these by name are its parameters, no tracers."""
        found: set[FunctionFacts] = set()
        for event in self._flow.project.calls():
            if last_word(event.node.func) in _IMPLEMENTING and event.value.args:
                given = self._flow.here(event.value.args[0], event.scope)
                found |= {callee.function for callee in self._flow.calls.callables(given)}
        return frozenset(found)

    # -- spreading ----------------------------------------------------------------------------------

    def _spread(self) -> None:
        """Mark everything that traced functions define or call."""
        flow = self._flow
        calls: dict[Scope, list[CallEvent]] = {}
        on_host: set[FunctionFacts] = set()
        for event in flow.project.calls():
            calls.setdefault(event.scope, []).append(event)
            on_host |= self._called_back(event)
        inner: dict[FunctionFacts, list[FunctionFacts]] = {}
        for function in flow.project.functions():
            around = function_of(function.scope.parent)
            if around is not None:
                inner.setdefault(around, []).append(function)
        queue: list[FunctionFacts] = []
        for root in self.roots:
            tracing = self._mark(root.function, _level(root.transform), queue)
            tracing.roots.append(root)
        done: dict[FunctionFacts, int] = {}
        unused: set[FunctionFacts] = set()
        while queue:
            function = queue.pop()
            level = self.known[function].level
            if done.get(function, -1) >= level:
                continue
            first = function not in done
            done[function] = level
            for event in calls.get(function.scope, ()):
                self._follow_call(function, event, level, queue, first)
            named = names_of(function.node) if first and function in inner else Counter[str]()
            unused |= {nested for nested in inner.get(function, ()) if first and not referred(nested, named)}
            if first and any(isinstance(nested.node, ast.Lambda) for nested in inner.get(function, ())):
                idle = idle_lambdas(function.node)
                unused |= {nested for nested in inner[function] if nested.node in idle}
            for nested in inner.get(function, ()):
                if nested in on_host or nested.generator or nested in unused:
                    continue
                if not at_once(nested) and not self._bodies.used_evaluated(nested, function.scope):
                    tracing = self._mark(nested, level, queue)
                    if first:
                        tracing.ways.append(Way(function, nested.node, None, True))

    def _called_back(self, event: CallEvent) -> set[FunctionFacts]:
        """Return the functions that a call has run on the host, with values; also of ``partial(callback, f)``."""
        word = last_word(event.node.func)
        if not event.value.args or (word not in _CALLBACK_WORDS and word != "partial"):
            return set()
        flow = self._flow
        call = flow.here(event.value, event.scope)
        name, place = flow.calls.callee_name(call), 0
        if name == "functools.partial" and len(event.value.args) > 1:
            held, place = flow.follow(call, event.value.args[0]).value, 1
            name = held.name if isinstance(held, Ref) else ""
        if name not in HOST_CALLBACKS:
            return set()
        return {c.function for c in flow.calls.callables(flow.with_value(call, event.value.args[place]))}

    def _follow_call(
        self, by: FunctionFacts, event: CallEvent, level: int, queue: list[FunctionFacts], first: bool
    ) -> None:
        """Mark what a call in traced code reaches."""
        flow = self._flow
        call = flow.here(event.value, event.scope)
        name = flow.calls.callee_name(call)
        if name in TREE_MAPS and first and len(event.value.args) > 1:
            for callee in flow.calls.callables(flow.with_value(call, event.value.args[0])):
                mapped = self._mark(callee.function, level, queue)
                mapped.ways.append(Way(by, event.node, None, not of_param(event.value.args[0])))
                params = free_params(callee)[name in WITH_PATH :]
                mapped.mapped += [
                    (param, tree, event.scope) for param, tree in zip(params, event.value.args[1:], strict=False)
                ]
        if (name and name not in BODIES) or without_tracers(event, self._bodies) or of_own(event, self._bodies):
            return
        reached = [
            (callee.function, frame)
            for callee, frame in flow.calls.invoked(call)
            if not in_other_arm(callee.function, event, self._bodies) and not self._skipped(callee)
        ]
        given, settled = ([], False) if reached else self._given(call, event.scope)
        one = len({function for function, _ in reached}) == 1
        home = event.scope.module
        for handed in given:
            way = Way(by, event.node, handed.frame, handed.function.scope.module is home)
            found = Handed(handed.function, handed.frame, way, handed.giver, level, first and name not in BODIES)
            if handed.maker is not None:
                self._unmade.setdefault(handed.maker, []).append(found)
            elif found.giver is None or found.giver in self.known:
                self._hand(found, queue)
            else:
                self._waiting.setdefault(found.giver, []).append(found)
        methods = [] if reached or given or settled else list(self._methods(call))
        for function, frame in reached or methods:
            named = frame.receiver is not None or not of_param(event.value.callee)  # a method is that of its class
            told = one and named if reached else len(methods) == 1
            way = Way(by, event.node, frame, told or (one and function.scope.module is home))
            self._hand(Handed(function, frame, way, None, level, first and name not in BODIES), queue)

    def _hand(self, handed: Handed, queue: list[FunctionFacts]) -> None:
        """Mark a function that traced code calls."""
        if handed.function.generator or at_once(handed.function) or not takes(handed.function, handed.frame):
            return
        tracing = self._mark(handed.function, handed.level, queue)
        if handed.site:
            tracing.sites.append(handed.frame)
            tracing.ways.append(handed.way)
        closure = handed.frame.closure
        if closure is not None and closure.site is not None:
            for one in self._unmade.pop((handed.function, closure.site), ()):
                self._hand(one, queue)

    def _given(self, call: Bound, scope: Scope) -> tuple[list[Given], bool]:
        """Return the functions that a call of a parameter reaches, where callers give them to the code around it.

        Besides, whether some callers do not count, so that what else they give does not either.

        A helper that only calls from traced code trace runs as it is for the others: what these give it is not traced.
        """
        flow, value = self._flow, call.value
        assert isinstance(value, Call)
        callee = flow.follow(call, value.callee)
        seen: set[Bound] = set()
        while isinstance(callee.value, Call) and callee.value.args:  # what a transform makes of it
            if callee in seen or not flow.calls.callee_name(callee):  # f = jit(f) of an attribute is made of itself
                return [], False
            seen.add(callee)
            callee = flow.follow(callee, callee.value.args[0])
        if not isinstance(callee.value, Param):
            return [], False
        param = flow.sites.open_param(callee)
        if param is None:
            return [], False
        told_apart = param.function in self.known and not self._made_within(scope, param.function)
        makers = self._makers(scope, param.function)
        settled = False
        switches = switched_by(value.node, scope, param.function, self._bodies)
        found: dict[tuple[object, ...], Given] = {}
        frames = list(flow.sites.settlements(param))
        for frame in frames:
            giver = frame.caller.function if frame.caller is not None else None
            if told_apart and self._compiled(frame):
                giver, told = None, False
            else:
                told = told_apart
            if (told and giver is None) or self._switched_off(switches, frame):
                settled = True
                continue  # called at the top of a file, or where a flag is not given
            maker = None
            if makers is not None and frame.site not in makers[1] and len(frames) > 1:
                settled = True
                if frame.site is None:
                    continue
                maker = makers[0], frame.site  # made for another caller, whose tracing decides
            with flow.assuming(param.function, frame):
                for reached, entered in flow.calls.invoked(call):
                    key = reached.function, giver if told else None, maker
                    found.setdefault(key, Given(reached.function, entered, key[1], maker))
        return list(found.values()), settled

    def _switched_off(self, switches: list[tuple[str, bool]], frame: Frame) -> bool:
        """Say whether an activation gives a constant, or leaves its default, so that a place is not reached."""
        for name, off in switches:
            given = self._flow.argument(frame, name)
            if given is not None and isinstance(given.value, Const) and bool(given.value.value) is off:
                return True
        return False

    def _made_within(self, scope: Scope, function: FunctionFacts) -> bool:
        """Say whether a transform traces a function wherever it is called, or one within it that a scope is in."""
        around = function_of(scope)
        while around is not None:
            roots = self.known[around].roots if around in self.known else ()
            if around is function:
                return any(root.decorator for root in roots)
            if roots:
                return True
            around = function_of(around.scope.parent)
        return False

    def _compiled(self, frame: Frame) -> bool:
        """Say whether an activation is one of what a transform made of the function."""
        if not isinstance(frame.site, Call):
            return False
        made = self._flow.follow(Bound(frame.site, frame.caller), frame.site.callee)
        ways = made.value.options if isinstance(made.value, Choice) else (made.value,)
        plain = (self._flow.follow(made, way).value for way in ways)
        return not all(
            isinstance(one, Function) or (isinstance(one, Attr) and one.name == frame.function.name) for one in plain
        )

    def _makers(self, scope: Scope, function: FunctionFacts) -> tuple[FunctionFacts, set[Value]] | None:
        """Return which function in another one is traced, and by which calls it was made; None if all make traced ones.

        What a transform makes of a function that one caller gets back tells nothing of what other callers do with
        theirs.
        """
        inner = function_of(scope)
        if function in self.known or inner is function:
            return None
        while inner is not None and (around := function_of(inner.scope.parent)) is not function:
            inner = around
        tracing = self.known.get(inner) if inner is not None else None
        if inner is None or tracing is None:
            return None
        if any(root.decorator or _within(root.scope, function) for root in tracing.roots):
            return None
        closures = [*(root.closure for root in tracing.roots), *(frame.closure for frame in tracing.sites)]
        made = [one for one in closures if one is not None and one.function is function]
        return inner, {one.site for one in made if one.site is not None}

    def _methods(self, call: Bound) -> Iterator[tuple[FunctionFacts, Frame]]:
        """Yield the methods of the project that a call of a parameter or an attribute reaches, by what callers give."""
        flow, value = self._flow, call.value
        assert isinstance(value, Call)
        written = value.node.func
        if not isinstance(written, ast.Name | ast.Attribute | ast.Subscript):
            return
        if isinstance(written, ast.Attribute) and written.attr not in self._members:
            return  # a method of an array, most likely
        if isinstance(value.callee, Attr) and value.callee.name not in self._stored:
            if not self._objects.may_be(value.callee.base):
                return  # a method that has the same name
        callee = flow.follow(call, value.callee)
        seen: set[FunctionFacts] = set()
        for source in self._sources.originals(callee):
            if isinstance(source.value, Attr):
                name = source.value.name
                owners = self._sources.originals(flow.with_value(source, source.value.base))
            else:
                name, owners = "__call__", OrderedSet((source,))
            for owner in owners:
                cls = flow.classes.class_of(owner)
                method = flow.classes.method(cls, name) if cls is not None else None
                if method is not None and method not in seen and method.binding == "instance":
                    seen.add(method)
                    args = tuple(flow.with_value(call, a) for a in value.args if not isinstance(a, Star))
                    keywords = {k: flow.with_value(call, v) for k, v in value.keywords if k is not None}
                    closure = flow.open_frame(method.scope.parent)
                    yield method, flow.frame(method, value, args, keywords, closure, owner, value.starred, call.frame)

    @cached_property
    def _members(self) -> frozenset[str]:
        """The names of everything that objects of the project's classes are known to have."""
        classes = self._flow.project.classes()
        own = {name for cls in classes for name in (*cls.methods, *cls.scope.bindings)}
        return self._stored | own

    @cached_property
    def _stored(self) -> frozenset[str]:
        """The names of all attributes that are set, in which a function or an object that is called may be."""
        found = {event.node.attr for event in self._flow.project.attributes() if event.context == "store"}
        fields = {name for cls in self._flow.project.classes() for name in cls.fields}
        return frozenset(found | fields)

    @cached_property
    def _objects(self) -> Made:
        """What may be an object of one of the project's classes."""
        return self._flow.may.made_of(self._flow.project.classes())

    def _mark(self, function: FunctionFacts, level: int, queue: list[FunctionFacts]) -> Tracing:
        tracing = self.known.get(function)
        if tracing is None:
            tracing = self.known[function] = Tracing(function, level)
            queue.append(function)
            for handed in self._waiting.pop(function, ()):
                self._hand(handed, queue)
        elif level > tracing.level:
            tracing.level = level
            queue.append(function)
        return tracing


def has_rule(function: FunctionFacts) -> bool:
    """Say whether the decorators of a function say that it has a derivative of its own.

    Args:
        function: the function.
    """
    if isinstance(function.node, ast.Lambda):
        return False
    return any(last_word(n) in _RULED for decorator in function.node.decorator_list for n in ast.walk(decorator))


_RULED = frozenset({"custom_vjp", "custom_jvp", "custom_gradient"})


def free_params(callee: Callee) -> list[str]:
    """Return the parameters that are not bound before a call."""
    taken = callee.receiver is not None and callee.function.binding in {"instance", "class"}
    bound = {name for name, _ in callee.keywords}
    return [name for name in list(callee.function.params)[len(callee.args) + taken :] if name not in bound]


def _level(transform: str) -> int:
    return COMPILED if transform in COMPILING else BATCHED if transform in BATCHING else STAGED


def _bound_to_name(callee: Callee, scope: Scope | None) -> frozenset[str]:
    """Return the parameters that ``f = partial(f, n=3)`` binds where a function is taken by its name, in a scope or one
    around it, which has the bare function too."""
    name = callee.function.name
    while scope is not None and not callee.args and not callee.keywords:
        for value in scope.bindings.get(name, ()):
            made = value.node if isinstance(value, Call) else None
            if made is not None and made.args and last_word(made.func) == "partial" and last_word(made.args[0]) == name:
                return frozenset(word.arg for word in made.keywords if word.arg is not None)
        scope = scope.parent
    return frozenset()


def function_of(scope: Scope | None) -> FunctionFacts | None:
    """Return the function whose body a scope is in."""
    while scope is not None and scope.function is None:
        scope = scope.parent
    return scope.function if scope is not None else None


def original(bound: Bound) -> Bound:
    """Return what a value is a copy of: ``jax.jit`` and the like hand on copies of their arguments."""
    while isinstance(bound.value, Part):
        bound = bound.value.of
    return bound


def of_param(value: Value) -> bool:
    """Say whether a function comes from a parameter, also by way of a transform: callers say what it is."""
    while isinstance(value, Call) and value.args:
        value = value.args[0]
    if isinstance(value, Free) and len(bound := value.scope.bindings.get(value.name, [])) == 1:
        value = bound[0]
    param = root_param(value)
    return param is not None and param is not param.function.self_param


def _within(scope: Scope, function: FunctionFacts) -> bool:
    """Say whether a body is that of a function, or of one in it."""
    around = function_of(scope)
    while around is not None and around is not function:
        around = function_of(around.scope.parent)
    return around is function


def root_param(value: Value) -> Param | None:
    """Return the parameter that a chain of attributes and items starts at."""
    while True:
        if isinstance(value, Param):
            return value
        base = getattr(value, "base", None)
        if not isinstance(base, Value):
            return None
        value = base
