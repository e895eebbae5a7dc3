"""Which functions and modules may have to do with shared Variables; everything else is never run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Indexed, Round
from codemods.nnx.kinds import Kind
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.project import enclosing_function
from codemods.nnx.source import Source
from codemods.nnx.spellings import original, spellings
from codemods.nnx.state.copies import applies
from codemods.nnx.values import Attr, Call, Choice, Class, Each, Item, Loop, Ref, Value

SHARING = frozenset({"flax.nnx.state", "flax.nnx.split", "flax.nnx.merge"})
#: Those of them that take an object alone, so that code may hand them on: ``map(nnx.state, models)``.
_HANDED_ON = frozenset({"flax.nnx.state", "flax.nnx.split"})
_SHORT = frozenset(name.rpartition(".")[2] for name in SHARING)

Part = FunctionFacts | ModuleFacts  # a function, or the body of a module


class Relevance:
    """Answers by names alone, so that it never says no where the exact answer is yes.

    Attributes:
        sharing: the functions and modules with a call that makes two handles on the same Variables.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.sharing: dict[Part, None] = dict.fromkeys(
            part(event) for module in context.project.modules for event in module.calls if self._shares(event)
        )
        fields = {
            name
            for cls in context.project.classes()
            for name, node in defaults(cls)
            if handed_on(context.flow, node, cls.scope)
        }
        self._users: dict[str, dict[Part, None]] | None = None
        self._derived: dict[str, set[str]] | None = None
        self._tables: set[str] | None = None
        self._decorated: dict[str, set[str]] | None = None
        self._choosing: dict[Part, None] | None = None
        if fields:
            self.sharing |= self.users(fields)

    def _shares(self, event: CallEvent) -> bool:
        flow = self.context.flow
        if _may_share(event.node.func, event.scope) and flow.calls.name(event) in SHARING:
            return True
        given = (*event.node.args, *(k.value for k in event.node.keywords))
        return applied(self.context, event) or any(handed_on(flow, node, event.scope) for node in given)

    def users(self, names: Iterable[str]) -> dict[Part, None]:
        """Return the functions and modules that call a name, or hand it on."""
        if self._users is None:
            self._users = {}
            for module in self.context.project.modules:
                for event in module.calls:
                    user = part(event)
                    for node in (event.node.func, *event.node.args, *(k.value for k in event.node.keywords)):
                        name = original(module.source, short(node))
                        if name:
                            self._users.setdefault(name, {})[user] = None
        return {user: None for name in names for user in self._users.get(name, ())}

    def called(self, function: FunctionFacts) -> set[str]:
        """Return the names that assignments give a lambda."""
        source, found = function.scope.module.source, set[str]()
        for statement in source.of_type(ast.Assign):
            if statement.value is function.node:
                found |= {short(target) for target in statement.targets}
        return found

    def listing(self, function: FunctionFacts) -> list[Part]:
        """Return the modules that know a function which a decorator or a table of functions may hand out."""
        if not function.decorators and not self._listed(function):
            return []
        word = function.name.encode()
        return [m for m in self.context.project.modules if m is function.scope.module or word in m.source.data]

    def choosing(self, cls: ClassFacts) -> list[Part]:
        """Return the functions and modules that may make instances of a class without its name, as from a table."""
        names = self.named(cls)
        project = self.context.project
        known = any(self._in_table(name) for name in names)
        known = known or any(c.decorators and c.name in names for c in project.classes())
        if not known and not any(_FILLED.search(module.source.data) for module in project.modules):
            return []
        if self._choosing is None:
            self._choosing = dict.fromkeys(
                part(event) for module in project.modules for event in module.calls if _chosen(event.value.callee)
            )
        return [*self._choosing]

    def _listed(self, function: FunctionFacts) -> bool:
        return self._in_table(function.name)

    def _in_table(self, name: str) -> bool:
        """Say whether a list or dictionary of the project has a name among its elements."""
        if self._tables is None:
            self._tables = set()
            for module in self.context.project.modules:
                for node in module.values:
                    if isinstance(node, ast.Dict):
                        self._tables |= {original(module.source, short(value)) for value in node.values}
                    elif isinstance(node, ast.List | ast.Tuple | ast.Set):
                        self._tables |= {original(module.source, short(value)) for value in node.elts}
        return name in self._tables

    def named(self, cls: ClassFacts) -> set[str]:
        """Return the names of a class and of those that derive from it."""
        if self._derived is None:
            self._derived = {}
            for other in self.context.project.classes():
                for base in other.node.bases:
                    self._derived.setdefault(original(other.scope.module.source, short(base)), set()).add(other.name)
        found, todo = {cls.name}, [cls.name]
        while todo:
            new = self._derived.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return found

    def decorated(self, name: str) -> set[str]:
        """Return the names of the functions that a function of this name decorates."""
        if self._decorated is None:
            self._decorated = {}
            for function in self.context.project.functions():
                for node in () if isinstance(function.node, ast.Lambda) else function.node.decorator_list:
                    decorator = short(node.func if isinstance(node, ast.Call) else node)
                    decorator = original(function.scope.module.source, decorator)
                    self._decorated.setdefault(decorator, set()).add(function.name)
        return self._decorated.get(name, set())


_FILLED = pattern(rb"__init_subclass__|__subclasses__|\][ \t]*=[ \t]*[A-Z]")  # tables that code fills with classes


def _chosen(callee: Value) -> bool:
    """Say whether what is called is taken out of a container, or given by a call."""
    return isinstance(callee, Item | Indexed | Each | Round | Call | Choice | Loop)


def applied(context: Context, event: CallEvent) -> bool:
    """Say whether a call is ``graphdef.apply(state)``."""
    callee = event.value.callee
    if not applies(event.node) or not isinstance(callee, Attr):
        return False
    if context.kinds.only(context.flow.here(callee.base, event.scope)) is Kind.GRAPHDEF:
        return True
    if fields(context, callee.base, event.scope):
        return True
    return of_train_state(context, context.flow.here(callee.base, event.scope)) is not None


def fields(context: Context, base: Value, scope: Scope) -> list[Bound]:
    """Return the graph definitions that an attribute of an unknown object is: what calls give by its name, if that is
    always one, as in ``TrainState.create(graphdef=graphdef, ...)``."""
    flow = context.flow
    if not isinstance(base, Attr) or not isinstance(flow.resolve(flow.here(base, scope)).value, Attr):
        return []
    given = [
        flow.here(value, event.scope)
        for module in context.project.modules
        if base.name.encode() in module.source.data
        for event in module.calls
        for name, value in event.value.keywords
        if name == base.name
    ]
    return given if all(context.kinds.only(one) is Kind.GRAPHDEF for one in given) else []


def of_train_state(context: Context, bound: Bound) -> list[Bound] | None:
    """Return the graph definitions, as far as they are known, of a ``nnx.TrainState`` or of its ``graphdef``.

    None if a value is neither. What has an ``apply`` of its own counts for nothing.
    """
    if not any(module.source.mentions(b"TrainState") for module in context.project.modules):
        return None
    if isinstance(bound.value, Attr) and bound.value.name == "graphdef":
        return of_train_state(context, Bound(bound.value.base, bound.frame))
    found: list[Bound] = []
    # no other class has `apply_gradients`, if the module of that of Flax for linen is not named
    other = any(m.source.mentions(b"train_state") or m.source.mentions(b"def apply(") for m in context.project.modules)
    known, todo, seen = False, [bound], set[Bound]()
    while todo:
        for source in context.sources.originals(todo.pop()):
            if source in seen:
                continue
            seen.add(source)
            value = source.value
            cls = value.facts if isinstance(value, Class) else context.flow.classes.class_of(source)
            if cls is not None and _trains(context.flow, cls):
                known = True
            if not isinstance(value, Call):
                continue
            callee = context.flow.classes.uncopied(context.flow.follow(source, value.callee))
            given = value.argument(0, "graphdef")
            if isinstance(callee.value, Ref) and callee.value.name in _MADE:
                known = True
            elif isinstance(callee.value, Class) and _trains(context.flow, callee.value.facts):
                given = value.keyword("graphdef")
            elif isinstance(callee.value, Attr) and callee.value.name in _RENEWING:
                todo.append(Bound(callee.value.base, callee.frame))
                known |= callee.value.name == "apply_gradients" and not other
                continue
            elif isinstance(callee.value, Attr) and callee.value.name == "create":
                maker = context.flow.follow(callee, callee.value.base).value
                if not isinstance(maker, Class) or not _trains(context.flow, maker.facts):
                    continue
                known = True
            if given is not None:
                found.append(context.flow.follow(source, given))
    return found if known else None


def _trains(flow: Flow, cls: ClassFacts) -> bool:
    return "flax.nnx.TrainState" in flow.classes.mro(cls)[1] and flow.classes.method(cls, "apply") is None


_MADE = frozenset({"flax.nnx.TrainState", "flax.nnx.TrainState.create"})
_RENEWING = frozenset({"apply_gradients", "replace"})


def part(event: CallEvent) -> Part:
    """Return the function that a call stands in, or else its module."""
    return enclosing_function(event.scope) or event.scope.module


def short(node: ast.expr) -> str:
    """Return the last part of a name; empty for anything else."""
    return last_word(node)


def _may_share(node: ast.expr, scope: Scope) -> bool:
    """Say whether a name may be one of a function that shares Variables, going by its last word."""
    return short(node) in scope.module.source.once(_words)


def _words(source: Source) -> frozenset[str]:
    return frozenset(spellings(source, _SHORT))


def handed_on(flow: Flow, node: ast.expr, scope: Scope) -> str:
    """Return the full name of a function that shares Variables and is mentioned as a value; empty for anything else."""
    value = scope.module.values.get(node) if _may_share(node, scope) else None
    resolved = flow.resolve(flow.here(value, scope)).value if value is not None else None
    return resolved.name if isinstance(resolved, Ref) and resolved.name in _HANDED_ON else ""


def defaults(cls: ClassFacts) -> Iterator[tuple[str, ast.expr]]:
    """Yield the fields of a class whose default is called ``state`` or ``split``, with the default."""
    for line in cls.node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
            if _may_share(line.value, cls.scope):
                yield line.target.id, line.value
