"""Walks over modules that meet the ``nnx.List`` of an ``nnx.Sequential`` since Flax 0.12."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Value

_SEQUENTIAL = "flax.nnx.Sequential"
_DEPTH = 4  # modules within modules that are looked into
_COLLECTING = frozenset({"add", "append", "extend", "print", "update"})
_TESTS = frozenset({"hasattr", "isinstance"})


def walked_lists(context: Context) -> Iterator[Finding]:
    """Yield calls of ``iter_modules`` whose results are counted or collected, of what holds a Sequential."""
    for event in context.asked.calls():
        if last_word(event.node.func) != "iter_modules":
            continue
        call = context.flow.here(event.value, event.scope)
        walked: Value | None = None
        if context.flow.calls.callee_name(call) == "flax.nnx.iter_modules":
            walked = event.value.args[0] if event.value.args else None
        elif isinstance(event.value.callee, Attr) and not event.node.args:
            walked = event.value.callee.base
        if walked is None or not _collected(event):
            continue
        model = context.flow.here(walked, event.scope)
        if any(_holds_sequential(context, one, 0) for one in context.sources.originals(model)):
            yield finding(
                "NNX613",
                event.scope,
                event.node,
                "this walk meets the nnx.List of layers of every nnx.Sequential too, since Flax 0.12",
                "leave it out: if not isinstance(module, nnx.List)",
            )


def _collected(event: CallEvent) -> bool:
    """Say whether everything that a walk gives is counted or collected, whatever it is."""
    source = event.scope.module.source
    for loop in source.of_type(ast.For):
        if loop.iter is event.node:
            names = {last_word(node) for node in ast.walk(loop) if isinstance(node, ast.Name | ast.Attribute)}
            writes = any(isinstance(node, ast.AugAssign | ast.Yield) for node in ast.walk(loop))
            return not names & _TESTS and (writes or bool(names & _COLLECTING))
    for one in source.of_type(ast.comprehension):
        if one.iter is event.node:
            return not one.ifs
    lists = [c for c in source.of_type(ast.Call) if c.args[:1] == [event.node] and last_word(c.func) == "list"]
    return bool(lists) and not any(_asks_for_parts(test, lists[0]) for test in source.of_type(ast.Compare))


def _asks_for_parts(test: ast.Compare, walk: ast.Call) -> bool:
    """Say whether a comparison asks only whether a walk meets more than the module itself: ``len(list(...)) > 1``."""
    left, other = test.left, test.comparators[0]
    counted = isinstance(left, ast.Call) and last_word(left.func) == "len" and left.args[:1] == [walk]
    if not counted or len(test.ops) > 1 or not isinstance(other, ast.Constant):
        return False
    strict = isinstance(test.ops[0], ast.Lt | ast.GtE)
    return other.value == (2 if strict else 1)


def _holds_sequential(context: Context, module: Bound, depth: int) -> bool:
    """Say whether a module is a Sequential, or keeps one."""
    flow = context.flow
    if not isinstance(module.value, Call):
        return False
    if flow.calls.callee_name(module) == _SEQUENTIAL:
        return True
    cls = flow.classes.class_of(module)
    if cls is None or depth == _DEPTH:
        return False
    parents, names = flow.classes.mro(cls)
    if _SEQUENTIAL in names:
        return True
    return any(
        _holds_sequential(context, flow.resolve(held), depth + 1)
        for parent in parents
        for name in parent.stores
        for held in flow.fields.field(module, name)
    )
