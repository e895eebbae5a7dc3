"""Calls of ``nnx.state``, ``nnx.split`` and ``nnx.merge`` whose result must be a copy to mean what it meant in 0.10.

From the calls that share Variables, the search goes up to the callers as far as both handles of a share can be seen
there, and follows from there what happens in order. Functions that have nothing to do with that are never looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.frames import Indexed
from codemods.nnx.state.execution import Execution
from codemods.nnx.state.giving_back import given_back
from codemods.nnx.state.heap import Change, Share, Thing
from codemods.nnx.state.relevance import Part, Relevance, part
from codemods.nnx.state.renewing import renewing
from codemods.nnx.state.summaries import Summaries
from codemods.nnx.values import Attr, Item, ModuleRef, Param


class Alias(NamedTuple):
    """A call whose result is no copy any more, where that matters.

    Attributes:
        node: the call, or the argument that a transform of NNX hands on.
        scope: its scope.
        merged: whether it is a merge.
        handed: whether it is such an argument.
        forward: whether the result follows what the call was given, and not the other way round.
        changed: the code that changes the one handle.
        read: the code that then reads the other.
    """

    node: ast.expr
    scope: Scope
    merged: bool
    handed: bool
    forward: bool
    changed: ast.AST
    read: ast.AST

    @property
    def told_apart(self) -> bool:
        """Whether nothing changes, but the code asks whether Variables are the same object."""
        return self.changed is self.read


def aliases(context: Context) -> tuple[Alias, ...]:
    """Return every call whose result shares Variables where that changes the program; rules share one search."""
    return context.shared(_of_project)


def _of_project(context: Context) -> tuple[Alias, ...]:
    with given_back():
        return tuple(find(context))


def aliases_of(context: Context, events: Iterable[CallEvent]) -> tuple[Alias, ...]:
    """Return those of some calls whose result shares Variables where that changes the program.

    Args:
        context: the analysis.
        events: the calls. Only what may see their results is followed.
    """
    wanted = dict.fromkeys(events)
    nodes = {event.node for event in wanted}
    with given_back():
        return tuple(alias for alias in find(context, map(part, wanted)) if alias.node in nodes)


def find(context: Context, parts: Iterable[Part] | None = None) -> Iterator[Alias]:
    """Follow the project's programs and yield every such call once.

    Args:
        context: the analysis.
        parts: the functions and modules whose calls are wanted; None for all.
    """
    relevance = Relevance(context)
    if not relevance.sharing:
        return
    summaries = Summaries(context)
    _follow(summaries, relevance, list(relevance.sharing if parts is None else parts))
    found: dict[tuple[ast.expr, bool], Alias] = {}
    for change, read in summaries.reads:
        share = _cut(change)
        alias = Alias(share.site, share.scope, share.merged, share.handed, change.forward, change.node, read)
        key = (share.site, share.handed)
        if key not in found or _order(alias) < _order(found[key]):
            found[key] = alias
    yield from found.values()


def _order(alias: Alias) -> tuple[bool, bool, int, int]:
    """Return what decides between several ways in which one call matters: the plainest first."""
    return alias.told_apart, not alias.forward, _line(alias.read), _line(alias.changed)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _cut(change: Change) -> Share:
    """Return the share to undo: a merge on the way, which is meant to make a new object, or a transform's argument."""
    made = [share for share in change.over if share.merged] or [share for share in change.over if share.handed]
    return made[0] if made else change.share


def _follow(summaries: Summaries, relevance: Relevance, todo: list[Part]) -> None:
    """Run functions with sharing calls, and those around them that see both handles."""
    seen: set[Part] = set()
    classes: dict[ClassFacts, list[FunctionFacts]] = {}
    while todo:
        inner = todo.pop()
        if inner in seen:
            continue
        seen.add(inner)
        if isinstance(inner, ModuleFacts):
            continue
        around = [*_around(inner)]
        todo += around  # what an inner function sees, the one around it made
        summary = summaries.of(inner)
        if summary is None or not summary.sharing:
            continue
        names = {inner.name, *(name for outer in around for name in (outer.name, *relevance.decorated(outer.name)))}
        if inner.owner is not None:
            names |= relevance.named(inner.owner)
            if inner.binding == "instance":
                classes.setdefault(inner.owner, []).append(inner)
            if inner.name in _MADE:
                todo += relevance.choosing(inner.owner)
        if isinstance(inner.node, ast.Lambda):
            todo.append(around[0] if around else inner.scope.module)  # which gives it a name, or hands it on
            names |= relevance.called(inner)
        todo += relevance.users(names)
        todo += relevance.listing(inner)
    for one in seen:
        if isinstance(one, ModuleFacts):
            _run_module(summaries, one, [m for m in _imports(summaries, one) if m in relevance.sharing])
    for cls, methods in classes.items():
        anew = renewing(summaries, cls, methods)
        for left in (frozenset[FunctionFacts](), anew) if anew else (anew,):
            _live(summaries, cls, left)
            for method in methods[:_ORDERS]:
                if not method.name.startswith("_") and not _used_outside(summaries.context, method):
                    for heir in summaries.context.flow.classes.heirs(cls)[:_HEIRS]:
                        _live_from(summaries, heir, method, left)


_ORDERS = 6  # from how many methods of a class on the others are followed in other orders
_HEIRS = 3  # of how many classes that derive from one its methods are followed so
_MADE = frozenset({"__init__", "__post_init__", "setup"})  # methods that run when an instance is made


def _around(function: FunctionFacts) -> Iterator[FunctionFacts]:
    """Yield the functions in which one is defined, which may hand it out under any name."""
    scope = function.scope.parent
    while scope is not None:
        if scope.function is not None:
            yield scope.function
        scope = scope.parent


def _imports(summaries: Summaries, module: ModuleFacts) -> list[ModuleFacts]:
    """Return the modules of the project that a module takes names from."""
    values = [value for values in module.scope.bindings.values() for value in values]
    named = [value.base if isinstance(value, Attr) else value for value in values]
    bases = [base for base in named if isinstance(base, ModuleRef)]
    found = [summaries.context.flow.project.find(base.name, base.importer) for base in bases]
    return [other for other in dict.fromkeys(found) if other is not None and other is not module]


def _run_module(summaries: Summaries, module: ModuleFacts, before: list[ModuleFacts]) -> None:
    """Run a module, behind those whose globals are shared states that it imports."""
    run = Execution(summaries, module.scope)

    def body() -> None:
        for one in (*before, module):
            run.enter(one.scope)
            run.statements.block(one.source.tree.body)

    summaries.complete(run, body)


def _live(summaries: Summaries, cls: ClassFacts, left: frozenset[FunctionFacts]) -> None:
    """Make an instance of a class and call its methods but those that are left out."""
    run = Execution(summaries, cls.scope)
    instance = summaries.instance(cls)
    instance.given = True
    methods: list[FunctionFacts] = [m for m in cls.methods.values() if m.name != "__init__" and not m.is_property]
    init = run.flow.classes.method(cls, "__init__")
    every = [*([init] if init is not None else []), *_ordered([m for m in methods if m not in left])]
    summaries.complete(run, lambda: _call(run, every, instance))


def _used_outside(context: Context, method: FunctionFacts) -> bool:
    """Say whether code of the project outside of a class calls a method, so that the order of calls is seen there."""
    users = map(part, context.flow.sites.callers(method))
    return any(isinstance(user, ModuleFacts) or user.owner is not method.owner for user in users)


def _live_from(summaries: Summaries, cls: ClassFacts, first: FunctionFacts, left: frozenset[FunctionFacts]) -> None:
    """Make an instance of a class and call a method that others may call at any time, and then all others.

    Who uses the class calls its methods in any order, and gives back to one what another gave.
    """
    run = Execution(summaries, cls.scope)
    methods = {name: m for one in reversed(run.flow.classes.mro(cls)[0]) for name, m in one.methods.items()}
    if any(name in _SETTING_UP or name.startswith("test_") for name in methods):
        return  # each test has an instance of its own
    instance = summaries.instance(cls)
    instance.given = True
    init = run.flow.classes.method(cls, "__init__")
    public = [m for m in methods.values() if not m.name.startswith("_") and not m.is_property and m not in left]
    others = [method for method in public if method is not first]

    def body() -> None:
        _call(run, [init] if init is not None else [], instance)
        _call(run, public, instance)
        given = _call(run, [first], instance)
        _call(run, others, instance)
        _call(run, others[::-1], instance, given)

    summaries.complete(run, body)


def _taken_back(run: Execution, method: FunctionFacts) -> set[str]:
    """Return the parameters whose values, or parts of them, a method puts into objects by ``nnx.update``."""
    found: set[str] = set()
    for event in method.scope.module.calls_in(method.scope):
        if run.flow.calls.name(event) == "flax.nnx.update":
            for value in event.value.args[1:]:
                while isinstance(value, Attr | Item | Indexed):
                    value = value.base
                if isinstance(value, Param) and value.function is method:
                    found.add(value.name)
    return found


def _ordered(methods: list[FunctionFacts]) -> list[FunctionFacts]:
    """Return methods in the order of their definition, twice; those of tests once, each after what sets it up."""
    before = [method for method in methods if method.name in _SETTING_UP]
    if not before:
        return [*methods, *methods]
    return [called for method in methods if method not in before for called in (*before, method)]


#: Methods that a test runner calls before every test of a class.
_SETTING_UP = frozenset({"setUp", "asyncSetUp", "setup_method"})


def _call(run: Execution, methods: list[FunctionFacts], instance: Thing, back: Iterable[Thing] = ()) -> set[Thing]:
    """Call methods of an instance, and return what they give.

    Args:
        run: the run.
        methods: the methods, in order.
        instance: the instance.
        back: what is given to those that put an argument back into objects; of other arguments nothing is known.
    """
    found: set[Thing] = set()
    for method in methods:
        mine = {instance} if method.binding == "instance" else set()
        names = [name for name in method.params if not (mine and name == next(iter(method.params)))]
        given = {name: {run.summaries.parameter(method, name)} for name in names}
        for name in _taken_back(run, method) & given.keys() if back else ():
            given[name] = set(back)
        found |= run.calls.method(ast.Pass(), method, [], given, mine)  # each call is a place of its own
    return found
