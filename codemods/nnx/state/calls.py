"""The calls of a run: into the project's functions, its classes, and through the transforms around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from codemods.nnx.facts import ClassFacts, FunctionFacts, Scope
from codemods.nnx.flow import Callee
from codemods.nnx.frames import Bound, Frame, Round
from codemods.nnx.identity_tests import identified
from codemods.nnx.kinds import Kind
from codemods.nnx.known import GRADIENTS
from codemods.nnx.state.copies import applies
from codemods.nnx.state.events import HANDED, Invoke, Log
from codemods.nnx.state.heap import ANY, KEYWORD, Share, Thing
from codemods.nnx.state.registries import classes_in, table_of
from codemods.nnx.state.relevance import of_train_state
from codemods.nnx.state.replay import Replay
from codemods.nnx.values import Call, Choice, Class, Const, Function, Param, Ref, Sequence

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

Args = list[set[Thing]]
Keywords = dict[str, set[Thing]]
_EQUAL = frozenset({"assertEqual", "assertNotEqual"})  # methods of tests that are asked about ids
_WAYS = 4  # how many functions one call may reach


class Calls:
    """Runs calls: of Flax, of the project or of something unknown."""

    def __init__(self, execution: Execution) -> None:
        self.run = execution
        self._unpacked: dict[ast.expr, set[Thing]] = {}  # what a starred argument unpacked last

    def call(self, node: ast.Call) -> set[Thing]:
        """Run a call."""
        run = self.run
        evaluate = run.expressions.value
        func = node.func
        receiver = evaluate(func.value) if isinstance(func, ast.Attribute) else evaluate(func)
        args = [self._argument(a) for a in node.args]
        keywords = {k.arg or "**": evaluate(k.value) for k in node.keywords}
        if applies(node) and self._graphdef(func, receiver):
            named = [run.attribute(receiver, _text(a)) if _text(a) else set() for a in node.args]
            return run.library.applied(node, receiver, [one | two for one, two in zip(args, named, strict=True)])
        if isinstance(func, ast.Attribute) and func.attr in _EQUAL and len(node.args) > 1:
            asked = [identified(argument) for argument in node.args[:2]]
            if asked[0] is not None and asked[1] is not None:
                run.told_apart(evaluate(asked[0]), evaluate(asked[1]), node)
        found = self._run(node, receiver, args, keywords)
        return run.library.returned(node, receiver, found)

    def _graphdef(self, func: ast.expr, receiver: set[Thing]) -> bool:
        """Say whether a method is one of a ``GraphDef``."""
        run = self.run
        if any(thing.kind is Kind.GRAPHDEF for thing in receiver):
            return True
        value = run.scope.module.values.get(func.value) if isinstance(func, ast.Attribute) else None
        if value is None:
            return False
        if run.context.kinds.only(run.flow.here(value, run.scope)) is Kind.GRAPHDEF:
            return True
        return of_train_state(run.context, run.flow.here(value, run.scope)) is not None

    def _run(self, node: ast.Call, receiver: set[Thing], args: Args, keywords: Keywords) -> set[Thing]:
        run = self.run
        func = node.func
        value = run.scope.module.values.get(node)
        if not isinstance(value, Call):
            return set()
        bound = run.flow.here(value, run.scope)
        name = run.flow.calls.callee_name(bound)
        if name:
            return run.library.call(name, node, args, keywords)
        callee = run.flow.follow(bound, value.callee)
        if isinstance(callee.value, Class):
            return {self.construct(callee.value.facts, self._spread(node, args), keywords, node)}
        made = run.flow.classes.class_of(bound) if isinstance(func, ast.Attribute) and func.attr == "create" else None
        if made is not None:  # a TrainState
            named = dict(zip(["graphdef"], args, strict=False)) | keywords
            return {self.construct(made, [], named, node)}
        classes = self._classes(callee)
        if classes:
            return {self.construct(cls, args, keywords, node) for cls in classes}
        method = func.attr if isinstance(func, ast.Attribute) else "__call__"
        found, known = self._dispatched(node, method, {t for t in receiver if t.function is None}, args, keywords)
        if known:
            return found
        callees = run.flow.calls.callables(callee)
        if callees:
            found = self._resolved(bound, callees, node, receiver, args, keywords)
            if isinstance(func, ast.Attribute) and any(
                callee.args or callee.keywords or _closure(callee.function) for callee in callees
            ):
                held = {thing for thing in receiver if thing.given and thing.cls is not None}
                found |= self.invoke(method, node, held, args, keywords)  # whoever made it has what it holds
            elif isinstance(func, ast.Attribute) and all(self._left_to_heirs(callee.function) for callee in callees):
                found |= self.invoke(method, node, {thing for thing in receiver if thing.unknown}, args, keywords)
            return found
        record = self._record(callee, args, keywords)
        if record is not None:
            return {record}
        if method == "update" and _super(node):
            self._inherited(node, args)
        return self.invoke(method, node, receiver, args, keywords)

    def _inherited(self, node: ast.Call, args: Args) -> None:
        """Note what ``super().update(...)`` changes where the base class is one of Flax."""
        run = self.run
        for thing in run.receiver:
            if thing.kind is Kind.OPTIMIZER:
                model = args[0] if len(args) > 1 else run.attribute({thing}, "model")
                run.mutate({thing} | model, node)
            elif thing.kind is Kind.METRIC:
                run.mutate({thing}, node)

    def _classes(self, callee: Bound) -> list[ClassFacts]:
        """Return the classes of the project that an argument or the variable of a loop may be, if it is no other."""
        table = table_of(self.run.context, callee)
        if table is not None:
            listed = classes_in(self.run.summaries, callee, table)
            if listed or not isinstance(callee.value, Round):
                return listed
        if not isinstance(callee.value, Param | Round | Choice):
            return []
        own = callee.value
        found = self.run.context.sources.all_of(callee, lambda value: isinstance(value, Class) or value == own)
        others = (found or set()) - {callee}
        classes = [source.value.facts for source in others if isinstance(source.value, Class)]
        return classes if len(classes) == len(others) <= _WAYS else []

    def _left_to_heirs(self, method: FunctionFacts) -> bool:
        return method.owner is not None and self.run.summaries.left_to_heirs(method.owner, method)

    def _argument(self, node: ast.expr) -> set[Thing]:
        evaluate = self.run.expressions.value
        if not isinstance(node, ast.Starred):
            return evaluate(node)
        self._unpacked[node] = evaluate(node.value)
        return self.run.elements(self._unpacked[node])

    def _spread(self, node: ast.Call, args: Args) -> Args:
        """Return the arguments of a call with those of a tuple that comes last, all of which are known, one by one."""
        last = node.args[-1] if node.args else None
        whole = [*self._unpacked.get(last, ())] if isinstance(last, ast.Starred) else []
        if len(whole) != 1 or not whole[0].display or len(args) != len(node.args):
            return args
        numbers = sorted(int(key) for key in whole[0].fields if key.isdigit())
        if not numbers or len(numbers) != len(whole[0].fields):
            return args
        return [*args[:-1], *(self.run.item({whole[0]}, str(index)) for index in range(numbers[-1] + 1))]

    def invoke(self, method: str, node: ast.Call, receiver: set[Thing], args: Args, keywords: Keywords) -> set[Thing]:
        """Run a method of objects; of what is given, the caller of the function will know more."""
        run = self.run
        if not receiver and not any(args) and not any(keywords.values()):
            return set()
        found, known = self._dispatched(node, method, receiver, args, keywords, unknown=True)
        if known:
            return found
        if not any(thing.unknown and self._asked(method, thing) for thing in receiver):
            return run.methods.call(method, node, receiver, args, keywords)
        log, run.log = run.log, Log()
        found |= run.methods.call(method, node, receiver, args, keywords)
        run.log = log
        result = log.invoked(Invoke(node, method, receiver, args, keywords, Thing(given=True)))
        return {thing for thing in found if thing.given or thing.fields} | {result}

    def _asked(self, method: str, thing: Thing) -> bool:
        """Say whether it matters what an object is whose method is called; a foreign method only reads."""
        if method in {"__call__", "update", "replace"} or method in self.run.summaries.names:
            return True
        return any(word in thing.key.lower() for word in ("rng", "stream"))

    def _dispatched(
        self,
        node: ast.Call,
        method: str,
        receiver: set[Thing],
        args: Args,
        keywords: Keywords,
        unknown: bool = False,
    ) -> tuple[set[Thing], bool]:
        """Call methods of the project's objects, functions and partial applications; say whether there is one.

        ``unknown`` says that nothing else tells what is called, so that a field of which nothing is known counts.
        """
        run = self.run
        found: set[Thing] = set()
        known = False
        for thing in receiver:
            inner = run.flow.classes.method(thing.cls, method) if thing.cls is not None else None
            if thing.cls is not None and inner is not None and method not in thing.fields:
                known = True
                if thing.given and thing not in run.receiver and run.summaries.left_to_heirs(thing.cls, inner):
                    result = Thing(given=True)  # the caller knows whose it is
                    found.add(run.log.invoked(Invoke(node, method, {thing}, args, keywords, result)))
                found |= self.method(node, inner, args, keywords, {thing} if inner.binding == "instance" else set())
                if method == "__call__" and thing.given and run.summaries.heirs_change(thing.cls):
                    run.mutate({thing}, node, others_only=True)
                continue
            held = {
                inner
                for inner in self._held(thing, method)
                if unknown or inner.kind or inner.cls or inner.name or inner.named
            }
            if held:
                known = True
                found |= self.invoke("__call__", node, held, args, keywords)
            for target in [thing] if method == "__call__" else thing.fields.get(method, ()):
                if target.function is not None:
                    known = True
                    found |= self.enter(node, target.function, args, keywords, set(), target.fields)
                elif target.named is not None:
                    known = True
                    first = target.partial[1] if target.partial is not None else []
                    found |= run.library.mentioned(target.named, [*first, *args])
                elif target.partial is not None:
                    known = True
                    applied = run.flow.resolve(target.partial[0]).value
                    given, named = [*target.partial[1], *args], _prepared(target) | keywords
                    if isinstance(applied, Ref):
                        found |= run.library.call(applied.name, node, given, named)
                    elif isinstance(applied, Class):
                        found.add(self.construct(applied.facts, given, named, node))
                    for callee in run.flow.calls.callables(target.partial[0]):
                        first = [set[Thing]()] if callee.on_instance else []
                        found |= self.enter(node, callee.function, [*first, *given], named, set())
        return found, known

    def method(
        self, site: ast.AST, method: FunctionFacts, args: Args, keywords: Keywords, receiver: set[Thing]
    ) -> set[Thing]:
        """Run a method, or what decorators of the project made of it."""
        callees = self._decorated(method)
        if not callees:
            return self.enter(site, method, args, keywords, receiver)
        given = [receiver, *args] if method.binding == "instance" else args
        found: set[Thing] = set()
        for callee in callees[:_WAYS]:
            around = {k: v for k, v in self._around(callee.closure).items() if k not in callee.function.params}
            found |= self.enter(site, callee.function, given, keywords, set(), around)
        return found

    def _decorated(self, method: FunctionFacts) -> list[Callee]:
        """Return the functions by which decorators replace a method; none if they run it as it is."""
        scope = method.scope.parent
        if not method.decorators or scope is None or method.is_property:
            return []
        values = [value for value in scope.bindings.get(method.name, ()) if isinstance(value, Call)]
        if not values:
            return []
        callees = self.run.flow.calls.callables(self.run.flow.here(values[-1], scope))
        return [] if any(callee.function is method for callee in callees) else callees

    def _held(self, thing: Thing, name: str) -> set[Thing]:
        """Return the objects in a field of an instance that are called by its name, as in ``self.layer(x)``."""
        if name == "__call__" or thing.cls is None:
            return set()
        if name not in thing.fields and not any(name in cls.stores for cls in self.run.flow.classes.mro(thing.cls)[0]):
            return set()
        found = self.run.attribute({thing}, name)
        return {inner for inner in found if inner.function is None and inner.partial is None}

    def _resolved(
        self,
        call: Bound,
        callees: list[Callee],
        node: ast.Call,
        receiver: set[Thing],
        args: Args,
        keywords: Keywords,
    ) -> set[Thing]:
        """Run the project's functions that a call reaches, through the transforms around them."""
        run = self.run
        wrappers = set(self.wrappers(call))
        if any(name.startswith("jax.") for name in wrappers):
            for things in (receiver, *args, *keywords.values()):
                run.read(things, node)
            return {Thing()}  # JAX hands copies in and out
        if any(name.startswith("flax.nnx.") for name in wrappers):
            args = [self.handed(a, things) for a, things in zip(node.args, args, strict=True)]
            keywords = {k.arg or "**": self.handed(k.value, keywords[k.arg or "**"]) for k in node.keywords}
        found: set[Thing] = set()
        captured: Keywords = {}
        if not isinstance(node.func, ast.Attribute):
            captured = {key: things for thing in receiver if thing.function for key, things in thing.fields.items()}
        for callee in callees[:_WAYS]:
            mine: set[Thing] = set()
            if callee.on_instance:
                mine = run.receiver if _super(node) else receiver
                if isinstance(node.func, ast.Attribute) and callee.function.name == "__call__" != node.func.attr:
                    mine = run.attribute(receiver, node.func.attr)
            around = {k: v for k, v in self._around(callee.closure).items() if k not in callee.function.params}
            around |= captured
            given = [*(set() for _ in callee.args), *self._spread(node, args)]  # what `partial` holds comes first
            found |= self.enter(node, callee.function, given, keywords, mine, around)
        if wrappers & GRADIENTS:
            with_value = any(name.endswith("value_and_grad") for name in wrappers)
            grads = {Thing(kind=Kind.GRADIENT, steps=frozenset(args[0]) if args else frozenset())}
            if with_value:
                return {Thing(fields={"0": found, "1": grads})}
            return {Thing(fields={"0": grads, "1": run.item(found, "1")})} if found else grads
        return found

    def _around(self, frame: Frame | None) -> Keywords:
        """Return the functions that the function around a definition was given, as a decorator is."""
        flow = self.run.flow
        found: Keywords = {}
        while frame is not None:
            for name in frame.function.params:
                given = flow.argument(frame, name)
                value = flow.resolve(given).value if given is not None else None
                if isinstance(value, Function):
                    found.setdefault(name, {Thing(function=value.facts)})
            frame = frame.closure
        return found

    def handed(self, node: ast.expr, things: set[Thing], scope: Scope | None = None) -> set[Thing]:
        """Return what a function gets that a transform of NNX runs: up to 0.10 a copy of a state.

        Args:
            node: the argument.
            things: what it holds.
            scope: the scope in which it stands, if that is not the one that runs.
        """
        run, scope = self.run, scope or self.run.scope
        found: set[Thing] = set()
        for thing in things:
            state = thing.kind is Kind.STATE or (thing.unknown and self._state(node, scope))
            if state and thing.given and run.scope.parent is not None:
                later = Thing(kind=Kind.STATE, given=True)  # the caller knows what is in it
                found.add(run.log.invoked(Invoke(node, HANDED, set(), [{thing}], {}, later, scope)))
            elif state:
                run.read({thing}, node)
                inner = run.library.copied(thing)
                inner.kind = Kind.STATE
                run.share(Share(node, scope, False, {thing}, {inner}, handed=True))
                found.add(inner)
            else:
                found.add(thing)
        return found

    def _state(self, node: ast.expr, scope: Scope) -> bool:
        """Say whether an argument is a state, going by all that the project ever puts there."""
        value = scope.module.values.get(node)
        return value is not None and self.run.context.kinds.of(self.run.flow.here(value, scope)) == {Kind.STATE}

    def wrappers(self, call: Bound) -> Iterator[str]:
        """Yield the names of the transforms around the function that a call reaches."""
        assert isinstance(call.value, Call)
        flow = self.run.flow
        callee = flow.follow(call, call.value.callee)
        for _ in range(12):
            value = callee.value
            if not isinstance(value, Call) or not value.args:
                return
            yield flow.calls.wrapper_name(callee, value)
            callee = flow.follow(callee, value.args[0])

    def manages(self, thing: Thing) -> bool:
        """Say whether an object is a context manager of the project."""
        return thing.cls is not None and self.run.flow.classes.method(thing.cls, "__enter__") is not None

    def manage(self, site: ast.AST, manager: Thing, name: str) -> set[Thing]:
        """Call a method of a context manager."""
        method = self.run.flow.classes.method(manager.cls, name) if manager.cls is not None else None
        return self.enter(site, method, [], {}, {manager}) if method is not None else set()

    def construct(self, cls: ClassFacts, args: Args, keywords: Keywords, node: ast.Call) -> Thing:
        """Make an instance of a class of the project."""
        run = self.run
        keywords = _named(keywords)
        made = run.summaries.instance(cls)
        init = run.flow.classes.method(cls, "__init__")
        if init is not None:
            self.enter(node, init, args, keywords, {made})
        else:
            for name, things in run.library.defaults(cls):
                made.hold(name, things)
            for index, (name, things) in enumerate(zip(run.flow.classes.dataclass_fields(cls), args, strict=False)):
                made.hold(name, things, True)
                made.hold(str(index), things)  # of a named tuple
            for name, things in keywords.items():
                made.hold(name, things, True)
        if made.kind is Kind.OPTIMIZER:
            model = args[0] if args else keywords.get("model", set())
            made.steps |= model
            if "model" not in made.fields:
                made.hold("model", model)
        return made

    def _record(self, callee: Bound, args: Args, keywords: Keywords) -> Thing | None:
        """Make a named tuple of a class that ``collections.namedtuple`` made; None if the callee is none."""
        flow = self.run.flow
        if not isinstance(callee.value, Call) or flow.calls.callee_name(callee) != "collections.namedtuple":
            return None
        made = Thing(fields={str(i): things for i, things in enumerate(args)} | keywords, display=True)
        given = callee.value.argument(1, "field_names")
        names: list[str] = []
        if given is not None:
            value = flow.follow(callee, given).value
            if isinstance(value, Const) and isinstance(value.value, str):
                names = value.value.replace(",", " ").split()
            elif isinstance(value, Sequence):
                items = [flow.follow(callee, item).value for item in value.items]
                names = [str(item.value) if isinstance(item, Const) else "" for item in items]
        for name, things in zip(names, args, strict=False):
            made.hold(name, things)
        made.hold(ANY, set())
        return made

    def enter(
        self,
        site: ast.AST,
        function: FunctionFacts,
        args: Args,
        keywords: Keywords,
        receiver: set[Thing],
        captured: Keywords | None = None,
    ) -> set[Thing]:
        """Run a function with arguments, or replay what it did when it was run before."""
        classes = {thing.cls for thing in receiver}
        summary = self.run.summaries.of(function, classes.pop() if len(classes) == 1 else None)
        if summary is None or not (summary.events or summary.results):
            return set()
        keywords = _named(keywords)
        names = list(function.params)
        if function.binding == "instance" and names:
            if receiver:
                args = [receiver, *args]
            elif names[0] in (captured or {}):  # a method that was handed on with its object
                names = names[1:]
        elif function.binding == "class":
            names = names[1:]
        given = {name: things for name, things in (captured or {}).items() if name in function.params}
        given.update(zip(names, args, strict=False))
        given.update({name: things for name, things in keywords.items() if name in function.params})
        extra = args[len(names) :]
        if function.vararg and extra:
            given[function.vararg] = {Thing(fields={str(i): things for i, things in enumerate(extra)})}
        if function.kwarg:
            rest = {name: things for name, things in keywords.items() if name not in function.params and things}
            given[function.kwarg] = {Thing(fields=rest)} if rest else set()
        return Replay(self.run, summary, site, given, captured or {}).results()


def _named(keywords: Keywords) -> Keywords:
    """Return keywords with those that come out of a dict, as ``f(**given)`` hands them."""
    given = {key: things for whole in keywords.get("**", ()) for key, things in whole.fields.items()}
    return {**{key: things for key, things in given.items() if key != ANY}, **keywords} if given else keywords


def _prepared(partial: Thing) -> Keywords:
    """Return the keywords that a partial application holds."""
    held = {key: things for key, things in partial.fields.items() if key.startswith(KEYWORD)}
    return {key.removeprefix(KEYWORD): things for key, things in held.items()}


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _closure(function: FunctionFacts) -> bool:
    """Say whether a function is defined in another one, whose variables it may use."""
    outer = function.scope.parent
    return outer is not None and outer.function is not None


def _super(node: ast.Call) -> bool:
    func = node.func
    return (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Call)
        and isinstance(func.value.func, ast.Name)
        and func.value.func.id == "super"
    )
