"""Compiled code that counts in a field which is a part of a tree's structure, and gets the tree again; for NNX919."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.grown_inside import Path, arguments_of, returned_at
from codemods.nnx.lint.places import compiled_roots, in_test
from codemods.nnx.lint.rounds import few
from codemods.nnx.lint.structure_fields import structure_fields
from codemods.nnx.lint.syntax import constant
from codemods.nnx.lint.traced import Root
from codemods.nnx.nodes import last_word
from codemods.nnx.project import enclosing_function
from codemods.nnx.values import Attr, Call, Const, Item, Param, Unknown, Value


def counted_inside(context: Context) -> Iterator[tuple[Scope, ast.BinOp, ClassFacts]]:
    """Yield where compiled code adds to such a field of an argument that a loop gives it again."""
    fields = structure_fields(context)
    if not fields:
        return
    told: set[ast.AST] = set()
    for root in compiled_roots(context):
        if in_test(root.scope) or root.partial or root.function.generator:
            continue
        for event in context.traced.calls_of(root):
            if event.value.starred or enclosing_function(event.scope) in context.traced:
                continue
            loops = [loop for loop in event.loops if isinstance(loop, ast.For | ast.While)]
            if not loops or all(few(context, event.scope, loop) for loop in loops):
                continue
            for scope, node, cls in _of_call(context, root, event, loops[-1], fields):
                if node not in told and scope.module in context.asked:
                    told.add(node)
                    yield scope, node, cls


_COPIES = 4  # within one another
_Fields = dict[ClassFacts, frozenset[str]]


def _of_call(
    context: Context, root: Root, event: CallEvent, loop: ast.AST, fields: _Fields
) -> Iterator[tuple[Scope, ast.BinOp, ClassFacts]]:
    for name, value, node in arguments_of(root, event):
        path = returned_at(event, value, loop, node)
        if path is not None and name not in root.static:
            cls = _class(context, context.flow.here(value, event.scope))
            yield from _counted(context, root.function.params[name], path, cls, fields)


def _counted(
    context: Context, param: Param, path: Path, known: ClassFacts | None, fields: _Fields
) -> Iterator[tuple[Scope, ast.BinOp, ClassFacts]]:
    """Yield the sums that every return gives for such a field of a parameter, in what it gives at a place."""
    found: list[tuple[Scope, ast.BinOp, ClassFacts]] = []
    for value in param.function.returns:
        for key in path:
            value = Item(value, Const(key))
        made = context.flow.resolve(context.flow.here(value, param.function.scope))
        cls = context.flow.classes.class_of(made)
        if cls is None and isinstance(made.value, Call) and last_word(made.value.node.func) in {"replace", "_replace"}:
            cls = known
        base, own = param, None
        if cls is None and known in fields and known is not None:
            own = _of_method(context, made, known, param, fields[known])
        if own is not None:  # state.next(), which gives self.replace(step=self.step + 1)
            made, cls, base = own
        if cls is None or cls not in fields:
            return
        sums = [one for name in fields[cls] if (one := _sum(context, made, cls, name, base)) is not None]
        if not sums:
            return
        found += [(scope, node, cls) for scope, node in sums]
    yield from found


def _of_method(
    context: Context, made: Bound, known: ClassFacts, param: Param, fields: frozenset[str]
) -> tuple[Bound, ClassFacts, Param] | None:  # fmt: skip
    """Return what a method of a parameter, or of a changed copy of it, gives, with its class and its own object."""
    callee = made.value.callee if isinstance(made.value, Call) else None
    method = known.methods.get(callee.name) if isinstance(callee, Attr) else None
    if method is None or method.self_param is None or len(method.returns) != 1 or not isinstance(callee, Attr):
        return None
    if any(_uncopied(context, context.flow.follow(made, callee.base), name) is not param for name in fields):
        return None
    return context.flow.here(method.returns[0], method.scope), known, method.self_param


def _class(context: Context, value: Bound) -> ClassFacts | None:
    """Return the class of a value; of one that callers give, if it is the same for all of them whose value is known."""
    cls = context.flow.classes.class_of(value)
    if cls is not None:
        return cls
    every = {context.flow.classes.class_of(one) for one in context.sources.originals(value)} - {None}
    return every.pop() if len(every) == 1 else None


def _sum(context: Context, made: Bound, cls: ClassFacts, name: str, param: Param) -> tuple[Scope, ast.BinOp] | None:
    """Return the sum that a new object gets for a field: of the same field of the parameter and a number."""
    value = made.value
    if not isinstance(value, Call) or value.starred:
        return None
    given: Value | None = value.keyword(name)
    if given is None and name in cls.fields and "__init__" not in cls.methods:
        place = list(cls.fields).index(name)
        by_name = cls.name in ast.unparse(value.node.func)
        given = value.args[place] if by_name and place < len(value.args) else None
    node = given.node if isinstance(given, Unknown) else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return None
    sides = [node.left, node.right]
    numbers = [constant(one) for one in sides]
    read = next((one for one in sides if isinstance(one, ast.Attribute) and one.attr == name), None)
    if read is None or not any(type(one) in {int, float} and one for one in numbers):
        return None
    scope = context.bodies.home(value.node)
    base = scope.module.values.get(read.value) if scope is not None else None
    if scope is None or base is None:
        return None
    before = _uncopied(context, context.flow.follow(made, base), name)
    same = context.flow.resolve(context.flow.here(param, param.function.scope)).value
    return (scope, node) if base is param or before in (param, same) else None


def _uncopied(context: Context, before: Bound, name: str) -> Value:
    """Return what a changed copy is of that keeps a field: ``state`` of ``state.replace(params=params)``."""
    for _ in range(_COPIES):
        value = before.value
        if not isinstance(value, Call) or value.keyword(name) is not None or value.starred:
            break
        if isinstance(value.callee, Attr) and value.callee.name in {"replace", "_replace"} and not value.args:
            before = context.flow.follow(before, value.callee.base)
        elif context.flow.calls.callee_name(before) == "dataclasses.replace" and value.args:
            before = context.flow.follow(before, value.args[0])
        else:
            break
    return before.value
