"""Calls of ``nnx.state``, ``nnx.split`` and ``nnx.merge`` whose result must be a copy to mean what it meant in 0.10."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts, ModuleFacts, Scope
from codemods.nnx.kinds import Kind
from codemods.nnx.state.execute import Execution, Exhausted
from codemods.nnx.state.heap import Change, Share, Thing

SHARING = frozenset({"flax.nnx.state", "flax.nnx.split", "flax.nnx.merge"})
_COST = 300_000  # how many expressions of functions that nothing calls a project may evaluate
_SHORT = frozenset(name.rpartition(".")[2] for name in SHARING)


@dataclass(frozen=True)
class Alias:
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


def find(context: Context) -> Iterator[Alias]:
    """Run the project's programs and yield every such call once."""
    if not any(_sharing(context, module) for module in context.project.modules):
        return
    found: dict[tuple[ast.expr, bool], Alias] = {}
    for run in _runs(context):
        for change, read in run.reads.items():
            share = _cut(change)
            alias = Alias(share.site, share.scope, share.merged, share.handed, change.forward, change.node, read)
            key = (share.site, share.handed)
            if key not in found or _order(alias) < _order(found[key]):
                found[key] = alias
    yield from found.values()


def _order(alias: Alias) -> tuple[bool, int, int]:
    """Return what decides between several ways in which one call matters: the plainest first."""
    return not alias.forward, _line(alias.read), _line(alias.changed)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _cut(change: Change) -> Share:
    """Return the share to undo: a merge on the way, which is meant to make a new object, or a transform's argument."""
    made = [share for share in change.over if share.merged] or [share for share in change.over if share.handed]
    return made[0] if made else change.share


def _sharing(context: Context, module: ModuleFacts) -> bool:
    for event in module.calls:
        node = event.node.func
        short = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if short in _SHORT and context.flow.callee_name(context.flow.here(event.value, event.scope)) in SHARING:
            return True
    return False


def _runs(context: Context) -> Iterator[Execution]:
    """Run every module, then every function with a sharing call that no module reached."""
    entered: set[FunctionFacts] = set()
    spent = 0
    for module in context.project.modules:
        run = Execution(context)
        with suppress(Exhausted):
            run.run(module.scope, module.source.tree.body)
        entered |= run.entered
        yield run
    for module in context.project.modules:
        if not _sharing(context, module):
            continue
        for function in module.functions:
            if function in entered or isinstance(function.node, ast.Lambda) or _inner(function):
                continue
            run = Execution(context)
            with suppress(Exhausted):
                if function.owner is None:
                    run.run_function(function, set())
                else:
                    _lifetime(run, function)
            entered |= run.entered
            yield run
            spent += run.steps + run.heap.visits // 5
            if spent > _COST:  # in a very large project, not every function that nothing calls
                return


def _inner(function: FunctionFacts) -> bool:
    """Say whether a function is defined in another one, which runs it."""
    scope: Scope | None = function.scope.parent
    while scope is not None:
        if scope.function is not None:
            return True
        scope = scope.parent
    return False


def _lifetime(run: Execution, function: FunctionFacts) -> None:
    """Make an instance of a class and call its methods in the order of their definition, twice."""
    cls = function.owner
    assert cls is not None
    instance = Thing(cls=cls)
    kinds = (
        run.context.kinds.of(run.flow.here(function.params[next(iter(function.params))], function.scope))
        if function.params
        else frozenset()
    )
    instance.kind = Kind.MODULE if Kind.MODULE in kinds else None
    init = run.flow.method(cls, "__init__")
    if init is not None:
        run.run_function(init, {instance})
    for _ in range(2):
        for method in cls.methods.values():
            if method is not init and not method.is_property:
                run.run_function(method, {instance} if method.binding == "instance" else set())
