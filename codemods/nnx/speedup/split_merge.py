"""NNX921: a hot ``nnx.jit`` loop with ``jax.jit``, ``nnx.split`` and ``nnx.merge``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell, spell_name
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.source import Source
from codemods.nnx.speedup.cached_partial import dropped
from codemods.nnx.speedup.loops import HotLoop, free_name, hot_loops, line_start, obstacle, touches


def _check(context: Context) -> Iterator[Finding]:
    for hot in hot_loops(context):
        why = obstacle(context, hot) or _condition(hot)
        yield finding(
            RULE.code,
            hot.scope,
            hot.calls[0].node,
            f"a hot nnx.jit loop stays as it is: {why}" if why else "a hot nnx.jit loop can carry its state itself",
            "" if why else "split the objects before the loop and update them after it",
            None if why else _fix(context, hot),
        )


def _condition(hot: HotLoop) -> str | None:
    """Return the condition of this form that a loop fails."""
    function = hot.root.function
    used = touches(hot)
    if used:
        return f"line {used[0].lineno} uses `{used[0].id}` in the loop"
    if not hot.root.decorator or hot.root.options is not None or hot.root.scope.module is not hot.scope.module:
        return "the function is not compiled by a plain @nnx.jit in the same module"
    if function.vararg or function.kwarg or function.generator:
        return "the parameters of the function are not all named"
    for node in ast.walk(hot.loop):
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Try | ast.With):
            return f"line {node.lineno} may leave the loop without updating the objects"
    if hot.loop.orelse:
        return "the loop has an else branch"
    for name in ("graphdef", "state"):
        if not (free_name(hot.scope, name) and name not in function.scope.bindings):
            return f"the name `{name}` has a meaning already"
    for call in hot.calls:
        if not (isinstance(call.statement, ast.Expr | ast.Assign) and call.statement.value is call.node):
            return "a call of the step is no statement of its own"
        if isinstance(call.statement, ast.Assign) and len(call.statement.targets) != 1:
            return "the result of a step is assigned to several targets"
    body = function.node.body
    if not isinstance(body, list) or line_start(hot.scope, body[0]) is None:
        return "the function stands on one line"
    return None


def _fix(context: Context, hot: HotLoop) -> Fix | None:
    source = hot.scope.module.source
    names = [spell(context.flow, hot.scope, name) for name in ("split", "merge", "update", "state")]
    jit = spell_name(context.flow, hot.root.scope, "jax.jit")
    place = line_start(hot.scope, hot.loop)
    if jit is None or place is None or any(name is None for name in names):
        return None
    split, merge, update, state = (name.text for name in names if name is not None)
    newline = source.newline
    objects = _tuple(hot.objects)
    start, indent = place
    _, end = source.span(hot.loop)
    decorated = source.span(hot.root.node)
    edits = [
        Edit(decorated[0], decorated[1], jit.text.encode()),
        *jit.edits,
        *_function_edits(hot, source, merge, state, newline),
        Edit(start, start, indent + f"graphdef, state = {split}({objects})".encode() + newline),
        Edit(end, end, newline + indent + f"{update}({objects}, state)".encode()),
    ]
    results = _results(hot)
    for call in hot.calls:
        edits.append(dropped(hot, call.node, b"graphdef, state"))
        begin, _ = source.span(call.statement)
        if isinstance(call.statement, ast.Assign):
            target = call.statement.targets[0]
            left, right = source.span(target)
            if isinstance(target, ast.Tuple) and source.data[left : left + 1] != b"(":
                edits += [Edit(left, left, b"state, ("), Edit(right, right, b")")]
            else:
                edits.append(Edit(left, left, b"state, "))
        else:
            edits.append(Edit(begin, begin, b"state, _ = " if results else b"state = "))
    return Fix(tuple((source.path, edit) for edit in edits), Safety.SAFE)


def _tuple(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _results(hot: HotLoop) -> bool:
    """Say whether the step returns anything."""
    return any(isinstance(node, ast.Return) for node in _own(hot.root.function.node))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield child
            yield from _own(child)


def _function_edits(hot: HotLoop, source: Source, merge: str, state: str, newline: bytes) -> Iterator[Edit]:
    """Yield the edits of the step: its parameters, the merge at its head, the state in what it returns."""
    node = hot.root.function.node
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    count = len(hot.objects)
    arguments = [*node.args.posonlyargs, *node.args.args]
    params = tuple(one.arg for one in arguments[:count])
    yield Edit(source.span(arguments[0])[0], source.span(arguments[count - 1])[1], b"graphdef, state")
    body = node.body
    first = body[0]
    docstring = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    head = body[1] if docstring and len(body) > 1 else first
    place = line_start(hot.scope, head)
    assert place is not None
    start, indent = place
    left = ", ".join(params) + ("," if count == 1 else "")
    yield Edit(start, start, indent + f"{left} = {merge}(graphdef, state)".encode() + newline)
    given = f"{state}({_tuple(params)})"
    for statement in _own(node):
        if isinstance(statement, ast.Return):
            begin, end = source.span(statement)
            if statement.value is None:
                yield Edit(begin, end, f"return {given}, None".encode())
            else:
                inner, after = source.span(statement.value)
                tuple_ = isinstance(statement.value, ast.Tuple) and source.data[inner : inner + 1] != b"("
                yield Edit(inner, inner, f"{given}, {'(' if tuple_ else ''}".encode())
                if tuple_:
                    yield Edit(after, after, b")")
    if not isinstance(body[-1], ast.Return):
        _, end = source.span(body[-1])
        text = f"return {given}, None" if _results(hot) else f"return {given}"
        yield Edit(end, end, newline + indent + text.encode())


RULE = lint_rule(
    "NNX921",
    "speedup-split-merge",
    "a hot nnx.jit loop that can carry a state through jax.jit",
    why="""\
With `nnx.split` before the loop, `nnx.merge` inside of the step and `nnx.update` after the loop no object is
traversed in Python while training: 2.7 to 5 times the steps per second of a small model. Inside of the loop the
objects outside are not up to date. Runs only if it is selected: `nnxmigrate speedup --form split-merge`.
""",
    source="performance guide of Flax NNX; measured bit-equal on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    mended=(
        (
            """\
import jax
from flax import nnx


@nnx.jit
def step(model, x):
    return model(x)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
for x in range(100):
    y = step(model, x)
""",
            """\
import jax
from flax import nnx


@jax.jit
def step(graphdef, state, x):
    model, = nnx.merge(graphdef, state)
    return nnx.state((model,)), model(x)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
graphdef, state = nnx.split((model,))
for x in range(100):
    state, y = step(graphdef, state, x)
nnx.update((model,), state)
""",
        ),
    ),
    bad=(
        """\
from flax import nnx


@nnx.jit
def step(model, x):
    return model(x)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
for x in range(100):
    y = step(model, x)
    print(model)
""",
    ),
    safety=Safety.SAFE,
    default=False,
)
