"""What the project's functions do to objects, each found out once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, FunctionFacts, FunctionNode, ModuleFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.patterns import pattern
from codemods.nnx.state.events import Put, Summary, flat, visible
from codemods.nnx.state.heap import Change, Thing
from codemods.nnx.state.parts import Parts, updated
from codemods.nnx.state.relevance import defaults
from codemods.nnx.state.stateful import class_may_change
from codemods.nnx.values import Attr, Call, Class, ModuleRef

if TYPE_CHECKING:
    from codemods.nnx.state.execution import Execution

_DEPTH = 30  # how many calls deep functions are followed
_SET = pattern(rb"(?m)^[ \t]*([A-Za-z_][\w.]*(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*)*)[ \t]*(?::[^=\n]+)?=(?!=)")
_OF_CLASS = pattern(rb"(?<![\w.])(?:cls|_*[A-Z]\w*)\.(\w+)")
_WORDS = (b"nnx", b"flax", b".value", b".update(", b"state", b"model")  # one of which stands where Variables are used
_FROM_TABLE = pattern(rb"\w\]\(")  # TABLE[name](...)


class Summaries:
    """Runs functions on demand.

    Attributes:
        reads: what was read after it had changed unasked, in all runs.
        names: the names of the project's methods, and of fields that hold ``nnx.state`` as a function.
        of_classes: the names of attributes that code sets on what is called as a class is.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.reads: list[tuple[Change, ast.AST]] = []
        self._known: dict[tuple[FunctionFacts, ClassFacts | None], Summary | None] = {}
        self._kinds: dict[ClassFacts, Kind | None] = {}
        self._functions: dict[ModuleFacts, dict[ast.AST, FunctionFacts]] = {}
        self.names = {function.name for function in context.project.functions() if function.owner is not None}
        self.names |= {name for cls in context.project.classes() for name, _ in defaults(cls)}
        self.of_classes = {name for module in context.project.modules for name in _set_on_classes(module.source.data)}
        self._heirs: dict[ClassFacts, bool] = {}
        self._decorated: dict[FunctionFacts, list[ClassFacts]] | None = None
        self._plain: dict[ModuleFacts, bool] = {}
        self.unpacked: set[ast.AST] = set()  # calls whose result is taken apart
        self._updated: dict[ast.Call, Parts] = {}
        self._deep = 0

    def of(self, function: FunctionFacts, cls: ClassFacts | None = None) -> Summary | None:
        """Return what a function does; None while it is being run, as a recursive one asks.

        Args:
            function: the function.
            cls: the class of the instance that a method is called on.
        """
        if self._silent(function.scope.module):
            return None
        key = function, cls if cls is not function.owner else None
        if key in self._known:
            return self._known[key]
        if self._deep > _DEPTH:
            self.context.flow.questions.unanswered += 1
            return None
        self._known[key] = None
        self._deep += 1
        try:
            made = self._known[key] = self._run(function, cls or function.owner)
        finally:
            self._deep -= 1
        return made

    def _silent(self, module: ModuleFacts) -> bool:
        """Say whether nothing in a module can have to do with Variables, going by its text."""
        if module not in self._plain:
            self._plain[module] = not _speaks(module) and not self._makes(module)
        return self._plain[module]

    def _makes(self, module: ModuleFacts) -> bool:
        """Say whether a module may make instances of classes that it only names: imported ones, or those in a table."""
        if _FROM_TABLE.search(module.source.data):
            return True
        project = self.context.flow.project
        imported = [value for values in module.scope.bindings.values() for value in values if isinstance(value, Attr)]
        homes = [(project.find(v.base.name, v.base.importer), v) for v in imported if isinstance(v.base, ModuleRef)]
        return any(
            home is not None
            and _speaks(home)
            and any(isinstance(v, Class) for v in home.scope.bindings.get(one.name, ()))
            for home, one in homes
        )

    def _run(self, function: FunctionFacts, cls: ClassFacts | None) -> Summary:
        run = self.start(function)
        summary = Summary()
        node = function.node
        names = [*function.params, *filter(None, (function.vararg, function.kwarg))]
        for index, name in enumerate(names):
            if index == 0 and function.binding == "instance":
                thing = Thing(given=True)
                thing.cls, thing.kind = cls, self.kind(cls) if cls is not None else None
                run.receiver = {thing}
            elif index == 0 and function.binding == "class":
                continue
            else:
                thing = self.parameter(function, name)
            summary.params[name] = thing
            run.names[run.scope, name] = {thing}
        self.complete(run, lambda: self._body(run, node))
        stored = {thing for event in flat(run.log.events) if isinstance(event, Put) for thing in event.things}
        leaving = {part for thing in run.results | stored for part in thing.inside()}
        for inner in {part for part in leaving if part.function is not None}:
            self._capture(run, inner)
        summary.results = run.results
        visible(summary, run.log.events)
        return summary

    def _body(self, run: Execution, node: FunctionNode) -> None:
        if isinstance(node, ast.Lambda):
            run.results |= run.expressions.value(node.body)
        else:
            run.statements.block(node.body)

    def complete(self, run: Execution, body: Callable[[], object]) -> None:
        """Run a body, and keep what was read in it; a body that is too large is left where it is."""
        from codemods.nnx.state.execution import Exhausted

        try:
            body()
        except (Exhausted, RecursionError):
            self.context.flow.questions.unanswered += 1
        run.branches = 0
        run.finish()
        self.reads += run.reads.items()

    def start(self, function: FunctionFacts) -> Execution:
        """Return a run of a function that has not begun."""
        from codemods.nnx.state.execution import Execution

        return Execution(self, function.scope)

    def parameter(self, function: FunctionFacts, name: str) -> Thing:
        """Return what stands for an argument, of the kind that its annotation tells."""
        thing = Thing(given=True, key=name)
        if name in function.params and name in function.annotations:
            named = self.context.flow.classes.annotated(function.params[name])
            if len(named) == 1:
                value = named[0].value
                kinds = self.context.kinds.class_kinds(named[0])
                thing.kind = next(iter(kinds)) if len(kinds) == 1 else None
                if isinstance(value, Class):
                    thing.cls = value.facts
        return thing

    def _capture(self, run: Execution, thing: Thing) -> None:
        """Give a function that leaves the one around it the variables that it uses."""
        assert thing.function is not None
        if thing.function.scope.parent is not run.scope:
            return
        for node in ast.walk(thing.function.node):
            if isinstance(node, ast.Name) and (run.scope, node.id) in run.names:
                thing.hold(node.id, run.names[run.scope, node.id])

    def instance(self, cls: ClassFacts) -> Thing:
        """Return a new instance of a class."""
        return Thing(kind=self.kind(cls), cls=cls)

    def kind(self, cls: ClassFacts) -> Kind | None:
        """Return the kind of the instances of a class."""
        if cls not in self._kinds:
            kinds = self.context.kinds.class_kinds(Bound(Class(cls)))
            self._kinds[cls] = next(iter(kinds)) if len(kinds) == 1 else None
        return self._kinds[cls]

    def decorated(self, function: FunctionFacts) -> list[ClassFacts]:
        """Return the classes that a function decorates, or that it decorates for the function around it."""
        if self._decorated is None:
            self._decorated = {}
            flow = self.context.flow
            for cls in self.context.project.classes():
                for decorator in cls.decorators:
                    made = decorator.callee if isinstance(decorator, Call) else decorator
                    for callee in flow.calls.callables(flow.here(made, cls.scope.parent or cls.scope)):
                        self._decorated.setdefault(callee.function, []).append(cls)
        outer = function.scope.parent
        around = outer.function if outer is not None else None
        functions = [one for one in (function, around) if one is not None]
        return [cls for one in functions for cls in self._decorated.get(one, ())]

    def left_to_heirs(self, cls: ClassFacts, method: FunctionFacts) -> bool:
        """Say whether a method of an object that is declared to be of a class may be that of a class derived from it.

        Of a protocol that says nothing itself, each class that has such a method may be meant.
        """
        classes = self.context.flow.classes
        if any(method.name in heir.methods for heir in classes.heirs(cls) if heir is not cls):
            return True
        if not any(name.endswith(".Protocol") for name in classes.mro(cls)[1]):
            return False
        summary = self.of(method)
        return summary is not None and not summary.events and not summary.results and method.name in self.names

    def heirs_change(self, cls: ClassFacts) -> bool:
        """Say whether some class that overrides how objects of a class are called changes Variables when it is."""
        if cls not in self._heirs:
            classes = self.context.flow.classes
            heirs = [c for c in self.context.project.classes() if c is not cls and cls in classes.mro(c)[0]]
            overriding = [c for c in heirs if "__call__" in c.methods]
            self._heirs[cls] = any(class_may_change(self.context, c, frozenset(), shown=True) for c in overriding)
        return self._heirs[cls]

    def updated(self, scope: Scope, node: ast.Call) -> Parts:
        """Return the parts of splits that a call of ``nnx.update`` in a scope puts values into."""
        if node not in self._updated:
            self._updated[node] = updated(self.context, scope, node)
        return self._updated[node]

    def defined(self, module: ModuleFacts, node: ast.AST) -> FunctionFacts | None:
        """Return the function that a definition defines."""
        if module not in self._functions:
            self._functions[module] = {function.node: function for function in module.functions}
        return self._functions[module].get(node)


def _speaks(module: ModuleFacts) -> bool:
    return any(word in module.source.data for word in _WORDS)


def _set_on_classes(text: bytes) -> Iterator[str]:
    """Yield the attributes that a text sets in lines such as ``Best.state = nnx.state(model)``."""
    for targets in _SET.findall(text):
        for name in _OF_CLASS.findall(targets):
            yield name.decode()
