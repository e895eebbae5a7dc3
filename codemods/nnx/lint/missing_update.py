"""NNX812: objects used after a functional loop that trained only their state."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import inside, names_in
from codemods.nnx.nodes import elements, last_word
from codemods.nnx.patterns import pattern


def _check(context: Context) -> Iterator[Finding]:
    for event, state, loop, used in context.shared(used_untrained):
        yield finding(
            RULE.code,
            event.scope,
            used,
            f"`{ast.unparse(used)}` is as it was before the loop: only `{state}` was trained",
            f"call nnx.update({ast.unparse(event.node.args[0])}, {state}) after the loop",
            _fix(context, event, loop, state),
        )


def used_untrained(context: Context) -> list[tuple[CallEvent, str, ast.stmt, ast.expr]]:
    """Return the calls of split whose objects are used behind a loop, with their state, the loop and the use."""
    found = []
    for event, name in foreign(context, "split"):
        if name != "flax.nnx.split" or event.loops:
            continue
        objects, states = _parts(event)
        looped = ((state, loop) for state in states if (loop := _loop(context, event, state)) is not None)
        state, loop = next(looped, ("", None))
        if loop is not None and len(event.node.args) > 1 and _merged_behind(context, event, state, loop):
            continue
        used = _used_after(context, event, objects, loop) if loop is not None else None
        if used is None and loop is not None:
            used = _left_in_method(context, event, objects, state, loop)
        if loop is not None and used is not None:
            found.append((event, state, loop, used))
    return found


def _parts(event: CallEvent) -> tuple[set[str], list[str]]:
    """Return the names of the objects that are split, and the names of their states, one for each filter."""
    statement, node = event.statement, event.node
    if not isinstance(statement, ast.Assign) or statement.value is not node or not node.args:
        return set(), []
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != max(len(node.args), 2):
        return set(), []
    states = [one.id for one in target.elts[1:] if isinstance(one, ast.Name)]
    parts = node.args[0].elts if isinstance(node.args[0], ast.Tuple | ast.List) else [node.args[0]]
    if not all(isinstance(part, ast.Name | ast.Attribute) for part in parts):
        return set(), []
    return {ast.unparse(part) for part in parts}, states


def _loop(context: Context, event: CallEvent, state: str) -> ast.stmt | None:
    """Return the loop behind the split, in the same block, that binds the state anew; also one of jax.lax."""
    paths = context.bodies.paths(event.scope)
    for node in context.bodies.nodes(event.scope):
        looped = isinstance(node, ast.For | ast.While) or (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and last_word(node.value.func) in {"scan", "fori_loop", "while_loop"}
        )
        if looped and isinstance(node, ast.stmt) and node.lineno > event.statement.lineno:
            if paths.get(node) == paths.get(event.statement) and _trains(node, state):
                return node
    return None


def _trains(loop: ast.stmt, state: str) -> bool:
    """Say whether a loop reads a state and binds it anew; one that nothing reads, as ``_``, is trained nowhere."""
    used = {type(n.ctx) for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == state}
    return {ast.Load, ast.Store} <= used


def _used_after(context: Context, event: CallEvent, objects: set[str], loop: ast.stmt) -> ast.expr | None:
    """Return the first use of an object behind the loop; None if it was updated or bound there."""
    end = loop.end_lineno or loop.lineno
    start = event.statement.end_lineno or event.statement.lineno
    first: ast.expr | None = None
    for node in context.bodies.nodes(event.scope):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Call) and line > event.statement.lineno:
            func = node.func
            word = last_word(func)
            if word in {"update", "merge"} and _mentions(node, objects):
                return None
        if not isinstance(node, ast.Name | ast.Attribute) or line <= start or last_word(node) not in _words(objects):
            continue
        if ast.unparse(node) in objects:
            if isinstance(node.ctx, ast.Store):
                return None
            if line > end and (first is None or line < first.lineno):
                first = node
    return first


def _merged_behind(context: Context, event: CallEvent, state: str, loop: ast.stmt) -> bool:
    """Say whether another model is made of a state behind the loop, so that the first one may be meant as it was."""
    calls = (node for node in context.bodies.nodes(event.scope) if isinstance(node, ast.Call))
    behind = (node for node in calls if node.lineno > (loop.end_lineno or loop.lineno))
    return any(last_word(node.func) == "merge" and any(state in names_in(one) for one in node.args) for node in behind)


def _left_in_method(
    context: Context, event: CallEvent, objects: set[str], state: str, loop: ast.stmt
) -> ast.expr | None:
    """Return the first object that other methods use, where a loop trains its state and nothing reads that later."""
    function = event.scope.function
    own, owner = (function.self_param, function.owner) if function is not None else (None, None)
    if function is None or own is None or owner is None or _CLOCKS.search(ast.unparse(function.node)):
        return None
    if not all(text.startswith(f"{own.name}.") for text in objects) or in_test(event.scope):
        return None
    names = [n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == state]
    stores = [n for n in names if isinstance(n.ctx, ast.Store) and inside(n, loop)]
    binding = [n for n in ast.walk(loop) if isinstance(n, ast.Assign) and any(one in stores for one in ast.walk(n))]
    functions = (n for n in ast.walk(function.node) if isinstance(n, ast.FunctionDef | ast.Lambda))
    inner = [one for one in functions if one is not function.node]
    for name in names:
        if isinstance(name.ctx, ast.Load) and not any(inside(name, one) for one in (*binding, *inner)):
            return None
    for node in ast.walk(function.node):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) in objects:
            return None
        if isinstance(node, ast.Call) and last_word(node.func) in {"update", "merge"} and _mentions(node, objects):
            if not any(inside(node, one) for one in inner):
                return None
    others = (m for m in owner.methods.values() if m is not function and m.name not in {"__init__", "setup"})
    read = {ast.unparse(n) for m in others for n in context.bodies.nodes(m.scope) if isinstance(n, ast.Attribute)}
    if len(stores) != 1 or len(binding) != 1:
        return None
    given = event.node.args[0]
    parts = elements(given, lists=True)
    return next((part for part in parts if ast.unparse(part) in read), None)


# what takes a time trains nothing
_CLOCKS = pattern(r"\btime\b|perf_counter|bench|timeit|profil", re.I)


def _words(objects: set[str]) -> set[str]:
    return {text.rpartition(".")[2] for text in objects}


def _mentions(node: ast.Call, objects: set[str]) -> bool:
    first = node.args[:1]
    return any(
        isinstance(n, ast.Name | ast.Attribute) and ast.unparse(n) in objects for a in first for n in ast.walk(a)
    )


def _fix(context: Context, event: CallEvent, loop: ast.stmt, state: str) -> Fix | None:
    spelling = spell(context.flow, event.scope, "update")
    if spelling is None or spelling.edits:
        return None
    source = event.scope.module.source
    _, end = source.span(loop)
    indent = source.data[source.line_starts[loop.lineno - 1] : source.offset(loop.lineno, loop.col_offset)]
    if indent.strip() or source.data[end : end + 1] not in (b"\n", b"\r", b""):
        return None
    newline = source.newline
    text = f"{spelling.text}({source.text(event.node.args[0])}, {state})".encode()
    return Fix(((source.path, Edit(end, end, newline + indent + text)),))


RULE = lint_rule(
    "NNX812",
    "missing-update-after-loop",
    "objects are used after a split/merge loop without nnx.update",
    why="""\
In the form with `nnx.split` and `nnx.merge` the loop trains a state. The model, the optimizer and the metrics outside
stay as they were until `nnx.update((model, optimizer), state)` writes the state back.
""",
    source="performance guide of Flax NNX, last paragraph; measured: step 0 instead of 20",
    severity="error",
    check=_check,
    mended=(
        (
            """\
import jax.numpy as jnp
from flax import nnx


def train(step, model, optimizer, data):
    graphdef, state = nnx.split((model, optimizer))
    for x in data:
        state, loss = step(graphdef, state, x)
    return model(jnp.ones((1, 2)))
""",
            """\
import jax.numpy as jnp
from flax import nnx


def train(step, model, optimizer, data):
    graphdef, state = nnx.split((model, optimizer))
    for x in data:
        state, loss = step(graphdef, state, x)
    nnx.update((model, optimizer), state)
    return model(jnp.ones((1, 2)))
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


def train(step, model, optimizer, data):
    graphdef, state = nnx.split((model, optimizer))
    for x in data:
        state, loss = step(graphdef, state, x)
    nnx.update((model, optimizer), state)
    return model(jnp.ones((1, 2)))
""",
    ),
    safety=Safety.SAFE,
)
