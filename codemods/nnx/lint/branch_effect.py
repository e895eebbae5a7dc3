"""NNX674: effects in a branch that vmap runs for every example, whichever branch it takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.applied import option
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import ARRAY_METHODS, BATCHING, last
from codemods.nnx.lint.places import foreign, in_test, shown
from codemods.nnx.lint.syntax import constant, is_none, own_nodes
from codemods.nnx.lint.traced import Root
from codemods.nnx.lint.unmapped_callback import params_given, reads
from codemods.nnx.nodes import elements
from codemods.nnx.values import Call, Sequence

_EFFECTS = frozenset({"jax.debug.print", "jax.debug.callback", "jax.experimental.io_callback", "jax.debug.breakpoint"})
_WORDS = (b"debug.print", b"debug.callback", b"io_callback", b"debug.breakpoint")
_HELPERS = 2  # through how many functions an effect is looked for
_MANY = 200


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(word) for module in context.project.modules for word in _WORDS):
        return
    conds = {event.node: event for event, name in foreign(context, "cond", "switch") if name.startswith("jax.lax.")}
    found = {node: effect for node, event in conds.items() if (effect := _effect(context, event)) is not None}
    if not found:
        return
    for function, names, root in _mapped(context):
        batched = _spread(context, function, names)
        for event in context.bodies.calls.get(function.scope, ()):
            if event.node not in found or not event.node.args:
                continue
            if not reads(event.node.args[0], batched) or not _plain(context, event.node.args[0], function):
                continue
            if in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
                continue
            asked = ast.dump(event.node.args[0])
            if any(ast.dump(one) == asked for one in event.node.args[1:]):
                continue  # the branch is told which it is, and may ask for itself
            branch, effect_name = found[event.node]
            word = last(effect_name)
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"under vmap both branches run for all examples, and so does the {word} of {shown(branch)}",
                "map with jax.lax.map, or give the condition to a jax.debug.callback that asks it on the host",
                related=[(root.node, "mapped here")] if root.scope.module is event.scope.module else [],
            )


def _effect(context: Context, event: CallEvent) -> tuple[FunctionFacts, str] | None:
    """Return a branch with an effect on the host, and what that is by; None if there is none."""
    if event.value.starred:
        return None
    given = [*event.value.args[1:3]] if last(context.flow.calls.name(event)) == "cond" else []
    if not given and len(event.value.args) > 1:
        listed = event.value.args[1]
        given = list(listed.items) if isinstance(listed, Sequence) else []
    for one in given:
        for callee in context.flow.calls.callables(context.flow.here(one, event.scope)):
            effect = _within(context, callee.function, 0)
            if effect:
                return callee.function, effect
    return None


def _within(context: Context, function: FunctionFacts, depth: int) -> str:
    """Return the effect that a function has in any case; empty if none is found."""
    for event in context.bodies.calls.get(function.scope, ()):
        if context.bodies.paths(function.scope).get(event.node, ()):
            continue
        name = context.flow.calls.name(event)
        if name in _EFFECTS:
            return name
        if not name and depth < _HELPERS:
            for callee in context.flow.calls.callables(context.flow.here(event.value.callee, event.scope)):
                if effect := _within(context, callee.function, depth + 1):
                    return effect
    return ""


def _mapped(context: Context) -> Iterator[tuple[FunctionFacts, frozenset[str], Root]]:
    """Yield the functions under vmap, with those of their parameters that are certainly one example of a batch."""
    pending: list[tuple[FunctionFacts, frozenset[str], Root]] = []
    for root in context.traced.roots:
        if root.transform in BATCHING and _whole_axes(root):
            me = root.function.self_param
            mapped = [n for n in root.function.params if n not in root.static and (me is None or n != me.name)]
            left_out = {n for n in root.function.defaults if not context.traced.passes(root, n)}
            pending.append((root.function, frozenset(mapped) - left_out, root))
    seen: set[tuple[FunctionFacts, frozenset[str]]] = set()
    while pending and len(seen) < _MANY:
        function, names, root = pending.pop()
        if (function, names) in seen or not names:
            continue
        seen.add((function, names))
        yield function, names, root
        batched = _spread(context, function, names)
        for event in context.bodies.calls.get(function.scope, ()):
            pending += [(callee, given, root) for callee, given in _handed(context, event, batched)]


def _handed(context: Context, event: CallEvent, batched: set[str]) -> Iterator[tuple[FunctionFacts, frozenset[str]]]:
    """Yield the functions that a call gives examples to, with the parameters that get them."""
    values = event.scope.module.values
    given = [*event.node.args, *(k.value for k in event.node.keywords)]
    ids = {id(values[one]) for one in given if one in values and reads(one, batched)}
    if not ids:
        return
    yield from params_given(context, event, ids)


def _whole_axes(root: Root) -> bool:
    """Say whether no part of an argument may be the same for all examples, while others of it differ."""
    axes = option(root, "in_axes", 1)
    return all(type(constant(one)) is int or is_none(one) for one in elements(axes, lists=True))


def _spread(context: Context, function: FunctionFacts, names: frozenset[str]) -> set[str]:
    """Return the variables of a function that are certainly computed of some others, and those."""
    found = set(names)
    made = [
        (node.targets[0].id, node.value)
        for node in own_nodes(function.node)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    ]
    before = -1
    while before != len(found):
        before = len(found)
        found |= {name for name, value in made if reads(value, found) and _plain(context, value, function)}
    return found


def _plain(context: Context, node: ast.expr, function: FunctionFacts) -> bool:
    """Say whether an expression is computed of each example for itself, and not of the whole batch or of none."""
    for part in ast.walk(node):
        if isinstance(part, ast.IfExp | ast.BoolOp):
            return False
        if isinstance(part, ast.Call):
            value = function.scope.module.values.get(part)
            found = context.flow.here(value, function.scope) if value is not None else None
            name = context.flow.calls.callee_name(found) if found is not None and isinstance(value, Call) else ""
            method = isinstance(part.func, ast.Attribute) and part.func.attr in ARRAY_METHODS
            if not name.startswith("jax.numpy.") and not (method and not name):
                return False
    return True


_BAD = """\
import jax
import jax.numpy as jnp


def warn(value):
    jax.debug.print("too large: {v}", v=value)
    return value


def clip(value):
    jax.lax.cond(value > 1.0, warn, lambda v: v, value)
    return jnp.minimum(value, 1.0)


print(jax.vmap(clip)(jnp.array([0.5, 2.0])))
"""

RULE = lint_rule(
    "NNX674",
    "branch-effect",
    "a message or callback in a branch that vmap turns into a choice between both branches",
    why="""\
Under `jax.vmap` a `jax.lax.cond` whose condition differs from example to example becomes a `select`: both branches run
for all of them, and the results are chosen from. So `jax.debug.print`, `jax.debug.callback` and `io_callback` of a
branch happen for every example. `jax.lax.map` takes one example after the other and keeps the condition; or give the
condition to the function on the host, which asks it there.
""",
    source="jax issue 19314, documentation of jax.lax.cond; measured on JAX 0.6.2, 0.7.2 and 0.10.2: printed for all",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("jax.vmap(clip)(jnp.array([0.5, 2.0]))", "jax.lax.map(clip, jnp.array([0.5, 2.0]))"),
        _BAD.replace("jax.vmap(clip)(jnp.array([0.5, 2.0]))", "jax.jit(clip)(jnp.array(2.0))"),
    ),
)
