"""NNX717: a checkpoint that is written to the same path again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.orbax_calls import checkpointer_calls, manager_saves, path_of
from codemods.nnx.lint.places import in_test, position, receiver, written
from codemods.nnx.lint.syntax import argument, inside, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call

_EMPTYING = frozenset({"rmtree", "erase_and_create_empty", "unlink", "rename", "replace", "move", "TemporaryDirectory"})
_PARTS = (ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.Div, ast.Attribute, ast.JoinedStr, ast.FormattedValue,
          ast.Call)  # fmt: skip
_OF_PATHS = frozenset({"join", "Path", "str", "abspath", "resolve", "absolute", "fspath", "getcwd", "cwd"})


def _check(context: Context) -> Iterator[Finding]:
    for event, _, _ in checkpointer_calls(context, "save"):
        path = path_of(event)
        if path is None or keyword(event.node, "force") is not None or in_test(event.scope):
            continue
        if context.bodies.guarded(event.node, event.scope) or _emptied(event) or len(event.node.args) > 2:
            continue
        if event.loops:
            again = _fixed(path[0], event, event.loops[-1]) and not _once(context, event)
        else:
            again = (_constant(path[0], event) and _in_loop(context, event, path[0])) or _given_again(
                context, path[0], event
            )
        if again:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{ast.unparse(path[0])}` exists when this runs again, and Orbax overwrites nothing unless asked to",
                "give every checkpoint a path of its own, or pass force=True",
            )

    for event in _managed(context):
        step = argument(event.node, 0, "step")
        if step is None or keyword(event.node, "force") is not None or in_test(event.scope):
            continue
        if _fixed(step, event, event.loops[-1]) and not _once(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"step `{ast.unparse(step)}` is saved in the first round alone: the manager skips a step that it has",
                "give it the number of the round",
            )


def _managed(context: Context) -> Iterator[CallEvent]:
    """Yield the saves in a loop by a CheckpointManager that was made before it."""
    for event, sources in manager_saves(context):
        loop = event.loops[-1] if event.loops else None
        if isinstance(loop, ast.For | ast.While):
            if not any(isinstance(one.value, Call) and inside(one.value.node, loop) for one in sources):
                if not _another(event, loop):
                    yield event


def _another(event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether each round of a loop saves with another manager: ``managers[name].save(step, ...)``."""
    bound = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(receiver(event)))


def _fixed(path: ast.expr, event: CallEvent, loop: ast.AST) -> bool:
    """Say whether a path is the same in every round of a loop."""
    changed = {
        name.id
        for name in ast.walk(event.scope.node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and _in(name, loop)
    }
    fields = {
        node.attr
        for node in ast.walk(event.scope.node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return _plain(path) and not any(
        (isinstance(node, ast.Name) and node.id in changed) or (isinstance(node, ast.Attribute) and node.attr in fields)
        for node in ast.walk(path)
    )


def _in(node: ast.AST, loop: ast.AST) -> bool:
    return isinstance(loop, ast.For | ast.While | ast.AsyncFor) and inside(node, loop)


def _plain(path: ast.expr) -> bool:
    """Say whether a path is put together of names and texts alone, and of nothing that counts or tells the time."""
    return all(
        isinstance(node, _PARTS) and not (isinstance(node, ast.Call) and last_word(node.func) not in _OF_PATHS)
        for node in ast.walk(path)
    )


def _constant(path: ast.expr, event: CallEvent) -> bool:
    """Say whether a path in a function is the same in every call: texts, and names of the module in capitals."""
    names = {n.id for n in ast.walk(path) if isinstance(n, ast.Name) and n.id not in {"os", "pathlib", "str", "Path"}}
    if event.scope.function is None or any(isinstance(n, ast.Attribute) and n.attr.islower() and not _module(n)
                                           and not _kept(n, event) for n in ast.walk(path)):  # fmt: skip
        return False
    own = event.scope.function.self_param
    names -= {own.name} if own is not None else set()
    return _plain(path) and all(name.isupper() and name not in event.scope.bindings for name in names)


def _module(node: ast.Attribute) -> bool:
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in {"os", "pathlib"}


def _kept(node: ast.Attribute, event: CallEvent) -> bool:
    """Say whether an attribute of ``self`` is set by the constructor alone."""
    function = event.scope.function
    own = function.self_param if function is not None else None
    if function is None or function.owner is None or own is None:
        return False
    if not isinstance(node.value, ast.Name) or node.value.id != own.name:
        return False
    stores = function.owner.stores.get(node.attr, [])
    return len(stores) == 1 and stores[0][0].name == "__init__"


def _given_again(context: Context, path: ast.expr, event: CallEvent) -> bool:
    """Say whether a function that saves to the path it is given is given the same one in every round of a loop."""
    function = event.scope.function
    whole = written(context, path, event.scope)
    params = _params_in(whole, event)
    if function is None or not params or _conditional(context, event):
        return False
    for caller in context.flow.sites.callers(function):
        loop = caller.loops[-1] if caller.loops else None
        if loop is None or caller.value.starred or _once(context, caller) or _emptied(caller) or in_test(caller.scope):
            continue
        given = [argument(caller.node, position(function.params[name]), name) for name in params]
        if all(one is not None and _fixed(one, caller, loop) for one in given):
            return True
    return False


def _params_in(path: ast.expr, event: CallEvent) -> list[str]:
    """Return the parameters that a path is made of, besides texts and names in capitals; nothing for other paths."""
    function = event.scope.function
    if function is None or not _plain(path):
        return []
    if any(isinstance(n, ast.Attribute) and not _module(n) and n.attr not in _OF_PATHS for n in ast.walk(path)):
        return []
    names = {n.id for n in ast.walk(path) if isinstance(n, ast.Name)} - {"os", "pathlib", "str", "Path"}
    params = sorted(name for name in names if name in function.params)
    if any(len(event.scope.bindings.get(name, ())) != 1 for name in params):
        return []
    return params if all(name.isupper() for name in names - set(params)) else []


def _in_loop(context: Context, event: CallEvent, path: ast.expr) -> bool:
    """Say whether a function is called in every round of a loop, as a method that has its path of one object."""
    function = event.scope.function
    if function is None or _conditional(context, event):
        return False
    of_object = any(isinstance(node, ast.Attribute) and _kept(node, event) for node in ast.walk(path))
    return any(
        call.loops
        and not _once(context, call)
        and not _emptied(call)
        and not (of_object and not _fixed(receiver(call), call, call.loops[-1]))
        for call in context.flow.sites.callers(function)
    )


def _conditional(context: Context, event: CallEvent) -> bool:
    return any(isinstance(b, ast.If | ast.IfExp | ast.Try) for b, _ in context.bodies.paths(event.scope)[event.node])


def _once(context: Context, event: CallEvent) -> bool:
    """Say whether a condition may let a call in a loop run in one round only, or the loop ends behind it."""
    for block, _ in context.bodies.paths(event.scope).get(event.node, ()):
        if isinstance(block, ast.If | ast.IfExp) and inside(block, event.loops[-1]):
            test = block.test
            every = isinstance(test, ast.Compare) and (
                all(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in test.ops)
                or (isinstance(test.left, ast.BinOp) and isinstance(test.left.op, ast.Mod))
            )
            if not every:
                return True
            if any(isinstance(n, ast.Break | ast.Return) for n in ast.walk(block)):
                return True
        elif isinstance(block, ast.Try | ast.Match):
            return True
    loop = event.loops[-1]
    return not isinstance(loop, ast.For | ast.While) or any(
        isinstance(statement, ast.Break | ast.Return) for statement in loop.body
    )


def _emptied(event: CallEvent) -> bool:
    """Say whether the scope around a call takes directories away."""
    return any(isinstance(n, ast.Call) and last_word(n.func) in _EMPTYING for n in ast.walk(event.scope.node))


RULE = lint_rule(
    "NNX717",
    "checkpoint-again",
    "a checkpoint is saved to the same path in every round, without force=True",
    why="""\
A checkpointer of Orbax refuses to write to a path that exists: the second save raises "Destination already exists". A
path with the step in its name, a CheckpointManager, or `force=True` is what is meant. A CheckpointManager that is given
a step which it has saved before says nothing, returns False and keeps the old one.
""",
    source="google/orbax issues; measured with Orbax: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def fit(model, train, root, epochs):
    checkpointer = ocp.StandardCheckpointer()
    for epoch in range(epochs):
        train(model)
        checkpointer.save(root / "last", nnx.state(model))
""",
    ),
    clean=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def fit(model, train, root, epochs):
    checkpointer = ocp.StandardCheckpointer()
    for epoch in range(epochs):
        train(model)
        checkpointer.save(root / f"epoch-{epoch}", nnx.state(model))
        checkpointer.save(root / "last", nnx.state(model), force=True)
""",
    ),
)
