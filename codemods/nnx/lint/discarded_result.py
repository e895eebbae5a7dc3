"""NNX842: the result of a pure function that nobody takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.discarded import PURE, WORDS, array_method, discarded, displayed, is_pure
from codemods.nnx.lint.names import TREE_MAPS, last
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Param, Value


def _check(context: Context) -> Iterator[Finding]:
    yield from _unread(context)
    yield from _own_steps(context)
    yield from _carries(context)
    for event, name in discarded(context, WORDS):
        if in_test(event.scope) or displayed(event):  # a test may only want the error
            continue
        if context.bodies.guarded(event.node, event.scope):
            continue
        if name == "jax.device_get":
            continue  # it waits for what is computed, as a barrier
        if is_pure(event, name):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` changes nothing: its result is thrown away",
                "assign the result",
            )
    for event in context.asked.calls():
        if not event.used and not displayed(event) and array_method(context, event):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                "the method gives a new array, which is thrown away",
                "assign the result",
            )


def _own_steps(context: Context) -> Iterator[Finding]:
    """Yield the calls of compiled functions, in loops, that give changed parameters which nobody takes."""
    for root in context.traced.roots:
        function = root.function
        if root.transform != "jax.jit" or function.owner is not None or len(function.returns) != 1 or root.bound:
            continue
        params = list(function.params.values())
        changed = [p for p in params if _is_update(context, function, function.returns[0], p)]
        if not changed or any(isinstance(n, ast.Global | ast.Nonlocal) for n in context.bodies.nodes(function.scope)):
            continue
        for event in context.traced.calls_of(root):
            if event.used or not event.loops or event.scope.module not in context.asked or in_test(event.scope):
                continue
            place = params.index(changed[0])
            if event.value.starred or place >= len(event.node.args) or _times(context, event):
                continue
            given = event.node.args[place]
            if isinstance(given, ast.Name) and not context.bodies.guarded(event.node, event.scope):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{function.name}` gives the new `{given.id}`, which is thrown away",
                    f"assign the result: {given.id} = ...",
                )


def _is_update(context: Context, function: FunctionFacts, returned: Value, param: Param) -> bool:
    """Say whether a function returns a parameter with its leaves changed."""
    if not isinstance(returned, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.here(returned, function.scope))
    if name in TREE_MAPS:
        return len(returned.args) > 2 and returned.args[1] is param
    return name == "optax.apply_updates" and bool(returned.args) and returned.args[0] is param


def _times(context: Context, event: CallEvent) -> bool:
    """Say whether a scope measures times, and so calls what it does not want the result of."""
    return any("time" in ast.unparse(call.node.func) for call in context.bodies.calls.get(event.scope, ()))


def _captured(context: Context, function: FunctionFacts, name: str) -> bool:
    """Say whether an inner function reads a parameter."""
    own = set(context.bodies.nodes(function.scope))
    return any(isinstance(n, ast.Name) and n.id == name and n not in own for n in ast.walk(function.node))


def _unread(context: Context) -> Iterator[Finding]:
    """Yield the results of pure functions that are assigned to a parameter which nobody reads again."""
    for event in context.asked.calls():
        statement, function = event.statement, event.scope.function
        if function is None or not isinstance(statement, ast.Assign) or statement.value is not event.node:
            continue
        target = statement.targets[0]
        if len(statement.targets) != 1 or not isinstance(target, ast.Name):
            continue
        if target.id not in function.params:
            yield from _forgotten(context, event, target.id)
            continue
        if event.loops or function.generator or in_test(event.scope) or target.id in event.scope.globals:
            continue
        name = context.flow.calls.name(event)
        home, _, word = name.rpartition(".")
        if not (name in TREE_MAPS or name in PURE or (home == "jax.numpy" and word)):
            continue
        if home == "jax.numpy" and _gives(function):
            continue  # left over, and not meant for the caller
        if isinstance(function.defaults.get(target.id), Const) or _captured(context, function, target.id):
            continue  # a default filled in, or what an inner function reads
        if not any(
            isinstance(n, ast.Name)
            and n.id == target.id
            and isinstance(n.ctx, ast.Load)
            and n.lineno > (statement.end_lineno or statement.lineno)
            for n in ast.walk(function.node)
        ):
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{last(name)}` does not change the caller's `{target.id}`: its result goes nowhere",
                "return the result, and assign it where the function is called",
            )


def _gives(function: FunctionFacts) -> bool:
    """Say whether a function has a result of its own, as those have that do not mean to change their arguments."""
    return any(not (isinstance(value, Const) and value.value is None) for value in function.returns)


_CELLS = ("GRUCell", "LSTMCell", "OptimizedLSTMCell", "SimpleCell")


def _carries(context: Context) -> Iterator[Finding]:
    """Yield the calls of recurrent cells in loops whose new carry nobody takes."""
    if not any(name.startswith("flax.nnx.") for _, name in foreign(context, *_CELLS, everywhere=True)):
        return
    for event in context.bodies.unpacked:
        statement = event.statement
        assert isinstance(statement, ast.Assign)
        target = statement.targets[0]
        loop = next((one for one in reversed(event.loops) if isinstance(one, ast.For | ast.While)), None)
        if loop is None or event.scope.module not in context.asked or len(event.node.args) < 2 or in_test(event.scope):
            continue
        assert isinstance(target, ast.Tuple)
        carry, new = event.node.args[0], target.elts[0]
        if not isinstance(carry, ast.Name) or not isinstance(new, ast.Name) or carry.id == new.id:
            continue
        names = [node for node in ast.walk(event.scope.node) if isinstance(node, ast.Name)]
        if any(node.id == new.id and isinstance(node.ctx, ast.Load) for node in names):
            continue
        if any(node.id == carry.id and isinstance(node.ctx, ast.Store) and inside(node, loop) for node in names):
            continue
        sources = context.sources.originals(context.flow.here(event.value.callee, event.scope))
        cells = {context.flow.calls.callee_name(source) for source in sources}
        if cells and cells <= {f"flax.nnx.{cell}" for cell in _CELLS}:
            yield finding(
                RULE.code,
                event.scope,
                new,
                f"nobody reads the new carry `{new.id}`: every round starts from the same `{carry.id}`",
                f"assign it: {carry.id}, ... = ...",
            )


def _forgotten(context: Context, event: CallEvent, name: str) -> Iterator[Finding]:
    """Yield a call that computes new parameters from others, if nothing reads the variable that gets them."""
    function, word = event.scope.function, last_word(event.node.func)
    if function is None or word not in _NEW_TREES or name.startswith("_") or name in event.scope.globals:
        return
    called = context.flow.calls.name(event)
    if in_test(event.scope) or (called not in TREE_MAPS and called not in _OF_OPTAX):
        return
    if called in TREE_MAPS and len(event.value.args) < 3:  # of one tree it may only look at it
        return
    end = 0 if event.loops or _captured(context, function, name) else event.statement.end_lineno or 0
    reads = (
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store) and node.lineno > end)
        or (isinstance(node, ast.Call) and last_word(node.func) in {"locals", "vars", "eval"})
        for node in ast.walk(function.node)
    )
    if not any(reads):
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"nobody reads `{name}`: what `{word}` computes reaches no model",
            "put it into the model, with nnx.update(model, ...), or return it",
        )


_OF_OPTAX = frozenset({"optax.apply_updates", "optax.incremental_update", "optax.periodic_update"})
_NEW_TREES = frozenset(last(name) for name in TREE_MAPS | _OF_OPTAX)


RULE = lint_rule(
    "NNX842",
    "discarded-result",
    "the result of a pure function is thrown away",
    why="""\
Arrays do not change: `jax.tree.map`, `optax.apply_updates`, `nnx.cached_partial` and the methods of arrays give new
values. As a statement such a call does nothing.
""",
    source="JAX tutorial on immutability; performance guide of Flax NNX; seen in public code",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp

tree = {"a": jnp.ones(2)}
jax.tree.map(lambda x: x * 2, tree)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

tree = {"a": jnp.ones(2)}
tree = jax.tree.map(lambda x: x * 2, tree)
jax.tree.map(lambda x: print(x.shape), tree)
""",
    ),
)
