"""NNX776: a buffer of NumPy that is refilled while arrays are kept that may share its memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Round
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.filled_in_place import filled
from codemods.nnx.lint.gathered import gathered
from codemods.nnx.lint.keeping import kept_in, parts
from codemods.nnx.lint.names import last
from codemods.nnx.lint.object_calls import calls_on_objects, given_to_objects, methods_of_objects
from codemods.nnx.lint.places import foreign, in_test, passed, received, target_of
from codemods.nnx.lint.refilled_by import filled_by_call, handed_out, queued_in, storage
from codemods.nnx.lint.syntax import constant, innermost_loop, inside, keyword, root_of
from codemods.nnx.values import Attr, Call, Changed, Const, Each, Item, Param, Ref, Unknown, Value

_COPYING = frozenset({"copy", "may_alias", "dtype"})  # what may say that it is a copy
_SHARING = frozenset({"jax.device_put", "jax.numpy.asarray"})
# types that JAX takes as they are; what has 64 bits is converted, which copies
_KEPT_TYPES = frozenset({"float32", "int32", "uint32", "float16", "bfloat16", "int16", "uint16", "int8", "uint8",
                         "bool", "bool_"})  # fmt: skip


class _View(NamedTuple):
    """A buffer that is given to a device, or a part of it.

    Attributes:
        node: the buffer as it is written.
        value: the buffer.
        parts: how many of its first axes are indexed by a number.
    """

    node: ast.expr
    value: Value
    parts: int


def _check(context: Context) -> Iterator[Finding]:
    texts = [module.source.data for module in context.project.modules]
    if not any(word in text for word in (b"np.zeros", b"np.empty", b"np.full", b"np.ones", b"numpy") for text in texts):
        return
    for event, name in foreign(context, *map(last, _SHARING)):
        if name not in _SHARING or event.value.starred or not event.node.args or in_test(event.scope):
            continue
        if any(word.arg in _COPYING for word in event.node.keywords) or (
            last(name) == "asarray" and event.node.args[1:]
        ):
            continue
        view = _view(context, event)
        if view is None or not _allocated(context, view, event.scope):
            continue
        for at, loop in _kept(context, event):
            if _refilled(context, event, view, at, loop):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{event.scope.module.source.text(view.node)}` is refilled in the rounds of a loop that keeps "
                    "what is made here, which may share its memory",
                    "give a copy: jnp.array(...), or .copy() of what is given",
                    related=[(at.node, "kept here")] if at.scope.module is event.scope.module else [],
                )
                break


def _view(context: Context, event: CallEvent) -> _View | None:
    """Return what of a buffer a call gives to a device, if later rounds may give the same part of it again."""
    node, value = event.node.args[0], event.value.args[0]
    parts = 0
    if isinstance(node, ast.Subscript) and isinstance(value, Item):
        index = value.index
        if isinstance(index, Const) and isinstance(index.value, str):  # an entry of a dict of buffers
            return _View(node, value, 0) if _plain(node.value) else None
        wrapped = _wrapped(context, context.flow.here(index, event.scope), 0)
        if not wrapped and not (isinstance(index, Const) and type(index.value) is int):
            return None
        node, value, parts = node.value, value.base, 1
    while isinstance(value, Changed):  # written into before, in the same function
        value = value.before
    return _View(node, value, parts) if _plain(node) else None


def _plain(node: ast.expr) -> bool:
    """Say whether an expression is a variable, or an attribute of one."""
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(root_of(node), ast.Name)


def _wrapped(context: Context, bound: Bound, depth: int) -> bool:
    """Say whether a number begins again and again, as ``count % slots`` does."""
    sources = list(context.sources.originals(bound)) if depth < 3 else []
    given = list(given_to_objects(context, sources[0])) if len(sources) == 1 else []
    if given:
        return all(_wrapped(context, one, depth + 1) for one in given)
    return bool(sources) and all(
        isinstance(one.value, Unknown)
        and isinstance(one.value.node, ast.BinOp)
        and isinstance(one.value.node.op, ast.Mod)
        and _number(context, one, one.value.node.left, 0)
        for one in sources
    )


def _number(context: Context, around: Bound, node: ast.expr, depth: int) -> bool:
    """Say whether an expression is a whole number of Python: counted up, or the place of a round."""
    scope = context.bodies.module_scope(node)
    value = scope.module.values.get(node) if scope is not None else None
    if value is None or depth > 3:
        return False
    sources = context.sources.originals(context.flow.with_value(around, value))
    return bool(sources) and all(_whole(context, one, depth) for one in sources)


def _whole(context: Context, source: Bound, depth: int) -> bool:
    value = source.value
    if isinstance(value, Const):
        return type(value.value) is int
    if isinstance(value, Each | Round):
        made = context.flow.follow(source, value.base)
        return isinstance(made.value, Call) and context.flow.calls.callee_name(made) == "builtins.range"
    node = value.node if isinstance(value, Unknown) else None
    if isinstance(node, ast.AugAssign):
        return type(constant(node.value)) is int
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return type(constant(node.right)) is int and _number(context, source, node.left, depth + 1)
    return isinstance(node, ast.For | ast.comprehension)  # the place that enumerate gives


def _allocated(context: Context, view: _View, scope: Scope) -> bool:
    """Say whether a buffer is made by NumPy, of a type that JAX takes as it is, and has axes left in its part."""
    sources = _made(context, view.value, scope)
    for source in sources:
        made = storage(context, source)
        if made is None or made.kind is None or not _kept_type(context.flow.follow(made.at, made.kind).value):
            return False
        if made.axes <= view.parts:
            return False
        home = context.bodies.home(made.made.node)
        kept = view.value.base if isinstance(view.value, Item) else view.value
        if isinstance(kept, Attr) and (home is None or home.function is None or home.function.name != "__init__"):
            return False
    return bool(sources)


def _made(context: Context, value: Value, scope: Scope) -> list[Bound]:
    """Return where an array may come from, whatever is written into it."""
    sources = context.sources.originals(context.flow.here(value, scope))
    return [one for one in sources if not isinstance(one.value, Changed)]


def _kept_type(kind: Value) -> bool:
    name = kind.value if isinstance(kind, Const) else kind.name if isinstance(kind, Ref) else ""
    return isinstance(name, str) and last(name) in _KEPT_TYPES


def _kept(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.AST]]:
    """Yield the calls whose result a loop keeps: the call itself, or those of the function that returns it."""
    loop = kept_in(context, event) or queued_in(context, event)
    if loop is not None:
        yield event, loop
        return
    function = event.scope.function
    if function is not None and function.generator and not function.decorators:
        loop = _gathered(context, event, function)
        if loop is not None:
            yield event, loop
        return
    if function is None or function.decorators or len(function.returns) != 1:
        return
    if function.returns[0] is event.value:
        if function.name == "__next__" and gathered(context, function):
            yield event, function.node
        for caller in (*context.flow.sites.callers(function), *calls_on_objects(context, function)):
            loop = kept_in(context, caller) if not in_test(caller.scope) else None
            if loop is not None:
                yield caller, loop


def _gathered(context: Context, event: CallEvent, function: FunctionFacts) -> ast.AST | None:
    """Return the loop in which a generator yields what a call gives, if a program gathers what it yields."""
    loop = innermost_loop(event)
    return loop if loop is not None and _yielded(event, loop) and gathered(context, function) else None


def _yielded(event: CallEvent, loop: ast.AST) -> bool:
    """Say whether a loop yields what a call gives, also under a name."""
    target = target_of(event)
    name = target.id if isinstance(target, ast.Name) else None
    return any(
        part is event.node or (name is not None and isinstance(part, ast.Name) and part.id == name)
        for node in ast.walk(loop)
        if isinstance(node, ast.Yield) and node.value is not None
        for part in parts(node.value)
    )


def _refilled(context: Context, event: CallEvent, view: _View, at: CallEvent, loop: ast.AST) -> bool:
    """Say whether the rounds of a loop write into a buffer that was made before."""
    if at is event:
        return _before(context, view.value, event.scope, loop) and (
            _writes(context, at, view.node, loop)
            or filled_by_call(context, at.scope, view.node, loop)
            or handed_out(context, view.value, at.scope, loop)
        )
    if filled(event.scope, view.node):
        if isinstance(view.value, Param):
            given = passed(at, view.value)
            return given is not None and _before(context, given, at.scope, loop)
        return not _local(view, event.scope)
    if isinstance(view.value, Param):
        node = _argument(at, view.value)
        given = passed(at, view.value)
        return (
            isinstance(node, ast.Name | ast.Attribute) and given is not None
            and _before(context, given, at.scope, loop) and _writes(context, at, node, loop)
        )  # fmt: skip
    return _by_method(context, view, at, loop)


def _argument(call: CallEvent, param: Param) -> ast.expr | None:
    place = list(param.function.params).index(param.name) - received(param.function)
    named = keyword(call.node, param.name)
    return named or (call.node.args[place] if 0 <= place < len(call.node.args) else None)


def _local(view: _View, scope: Scope) -> bool:
    """Say whether a buffer is a variable of the function itself, which makes it anew in every call."""
    node = view.node.value if isinstance(view.node, ast.Subscript) else view.node
    return isinstance(node, ast.Name) and node.id in scope.bindings


def _before(context: Context, value: Value, scope: Scope, loop: ast.AST) -> bool:
    """Say whether a buffer is made outside of a loop."""
    made = _made(context, value, scope)
    return bool(made) and not any(isinstance(one.value, Call) and inside(one.value.node, loop) for one in made)


def _writes(context: Context, at: CallEvent, node: ast.expr, loop: ast.AST) -> bool:
    """Say whether a loop writes into a buffer itself, or by a method of its object."""
    return filled(at.scope, node, loop) or (
        isinstance(node, ast.Attribute) and any(
            filled(function.scope, node)
            for function in _methods(context, at.scope, node.value, loop)
        )
    )  # fmt: skip


def _by_method(context: Context, view: _View, at: CallEvent, loop: ast.AST) -> bool:
    """Say whether a loop calls another method of the object that holds a buffer, which writes into that."""
    func = at.node.func
    if not isinstance(view.node, ast.Attribute) or not isinstance(func, ast.Attribute):
        return False
    return any(filled(function.scope, view.node) for function in _methods(context, at.scope, func.value, loop))


def _methods(context: Context, scope: Scope, owner: ast.expr, loop: ast.AST) -> Iterator[FunctionFacts]:
    """Yield the methods of an object that a loop calls."""
    text = ast.dump(owner)
    for one in context.bodies.calls.get(scope, ()):
        func = one.node.func
        if isinstance(func, ast.Attribute) and inside(one.node, loop) and ast.dump(func.value) == text:
            for callee in context.flow.calls.reached(context.flow.here(one.value, scope)):
                if callee.function.owner is not None:
                    yield callee.function
            yield from methods_of_objects(context, one)


RULE = lint_rule(
    "NNX776",
    "refilled-buffer",
    "a buffer of NumPy is refilled while arrays are kept that may share its memory",
    why="""\
On the CPU `jax.device_put` and `jnp.asarray` may take the memory of a NumPy array as it is, without a copy; on other
devices the transfer may still be under way when they return. If the program then writes into the buffer, arrays that it
has kept show the later numbers, some of them and not on every run. `jnp.array(buffer)` and `buffer.copy()` copy.
""",
    source="jax issue 37830; measured with JAX 0.6 to 0.10: kept arrays show what was written later",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
import numpy as np


def batches(rows):
    buffer = np.zeros((32, 8), np.float32)
    kept = []
    for row in rows:
        buffer[:] = row
        kept.append(jnp.asarray(buffer))
    return jnp.stack(kept)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
import numpy as np


def batches(rows):
    buffer = np.zeros((32, 8), np.float32)
    kept = []
    for row in rows:
        buffer[:] = row
        kept.append(jnp.array(buffer))
    return jnp.stack(kept)
""",
        """\
import jax.numpy as jnp
import numpy as np


def batches(rows):
    buffer = np.zeros((32, 8), np.float32)
    total = 0.0
    for row in rows:
        buffer[:] = row
        total += float(jnp.asarray(buffer).sum())
    return total
""",
    ),
)
