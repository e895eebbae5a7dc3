"""NNX930: a training loop that takes the first batch in every round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.first_slice import first_slices
from codemods.nnx.lint.origins import listed
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import innermost_loop, inside, names_in, own_nodes
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_RANDOM = pattern(r"random|shuffl|perm|rng|choice|sampl|seed|key|epoch|\bdeque|\bpop\b|queue", re.I)
_GOES_ON = pattern(r"self\.\w+ \+?= |nonlocal|global")  # a place to go on from
_GRADIENTS = frozenset({"value_and_grad", "grad"})


def _check(context: Context) -> Iterator[Finding]:
    yield from _sliced(context)
    for event in context.bodies.named("next"):
        loop = innermost_loop(event)
        if event.scope.module not in context.asked or in_test(event.scope) or loop is None or len(event.node.args) != 1:
            continue
        head = loop.iter if isinstance(loop, ast.For) else loop.test
        if not isinstance(event.node.func, ast.Name) or inside(event.node, head):
            continue
        stores = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        given = event.node.args[0]
        if names_in(given) & stores or not _begins_anew(context, event, given) or not _trains(context, event, loop):
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`{ast.unparse(given)}` begins anew in every round: each step gets the first batch",
            "make the iterator before the loop, or go over it: for batch in ...",
        )


def _sliced(context: Context) -> Iterator[Finding]:
    for scope, node, help in first_slices(context):
        yield finding(RULE.code, scope, node, f"`{ast.unparse(node)}` is the first batch in every round", help)


def _begins_anew(context: Context, event: CallEvent, given: ast.expr) -> bool:
    """Say whether an expression makes an iterator that gives the same first entry each time."""
    if not isinstance(given, ast.Call):
        return False
    if isinstance(given.func, ast.Name) and given.func.id == "iter" and len(given.args) == 1:
        inner = given.args[0]
        if isinstance(inner, ast.Call):
            return _generates(context, event, inner)
        if listed(context, inner, event.scope):
            return True
        value = event.scope.module.values.get(inner)
        owners = context.sources.originals(context.flow.here(value, event.scope)) if value is not None else ()
        found = [context.flow.classes.class_of(owner) for owner in owners]
        methods = [context.flow.classes.method(cls, "__iter__") if cls is not None else None for cls in found]
        return bool(methods) and all(
            method is not None and method.owner is not None and _plain(method, method.owner.node) for method in methods
        )
    return _generates(context, event, given)


def _generates(context: Context, event: CallEvent, call: ast.Call) -> bool:
    """Say whether a call is one of a generator of the project that draws nothing."""
    value = event.scope.module.values.get(call)
    if not isinstance(value, Call):
        return False
    callees = context.flow.calls.callables(context.flow.here(value.callee, event.scope))
    functions = [callee.function for callee in callees]
    return len(functions) == 1 and not _RANDOM.search(ast.unparse(call)) and _plain(functions[0], functions[0].node)


def _plain(function: FunctionFacts, whole: ast.AST) -> bool:
    """Say whether a function is a generator that begins at the same place each time, and nothing speaks of chance."""
    if isinstance(function.node, ast.Lambda):
        return False
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function.node))
    return yields and not _RANDOM.search(ast.unparse(whole)) and not _GOES_ON.search(ast.unparse(function.node))


def _trains(context: Context, event: CallEvent, loop: ast.For | ast.While) -> bool:
    """Say whether a loop updates something with what a call gives."""
    names: set[str] = set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Assign) and (inside(event.node, node.value) or names & names_in(node.value)):
            names |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    for other in context.bodies.calls.get(event.scope, ()):
        if not inside(other.node, loop) or other.node is event.node:
            continue
        given = [*other.node.args, *(k.value for k in other.node.keywords)]
        if not any(names & names_in(one) or inside(event.node, one) for one in given):
            continue
        if isinstance(other.node.func, ast.Call) and last_word(other.node.func.func) in _GRADIENTS:
            return True
        for callee, _ in context.flow.calls.invoked(context.flow.here(other.value, other.scope)):
            inner = context.bodies.calls.get(callee.function.scope, ())
            if any(last_word(one.node.func) in _GRADIENTS for one in inner):
                return True
    return False


_BAD = """\
import jax.numpy as jnp
from flax import nnx


def batches(x, size):
    for i in range(0, len(x), size):
        yield x[i : i + size]


@nnx.jit
def train_step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    optimizer.update(model, grads)
    return loss


def train(model, optimizer, x, steps):
    for _ in range(steps):
        train_step(model, optimizer, next(batches(x, 32)))
"""

_SLICE = """\
import jax


def train(state, step, images, labels, size):
    for i in range(len(images) // size):
        batch = images[:size], labels[:size]
        state = step(state, *batch)
    return state
"""

RULE = lint_rule(
    "NNX930",
    "first-batch-in-every-round",
    "a training loop that begins its batches anew in every round and takes the first one",
    why="""\
`next(iter(loader))` makes a new iterator each time, and so does a generator that is called. A loop that counts batches
and never looks at its counter slices the same one in every round. Every step gets the first batch: the model learns it
by heart and sees nothing else.
""",
    source="measured: all steps get the same batch",
    severity="warning",
    check=_check,
    bad=(_BAD, _SLICE),
    clean=(
        _SLICE.replace("[:size]", "[i * size : (i + 1) * size]"),
        _BAD.replace("    for _ in range(steps):\n", "    data = batches(x, 32)\n    for _ in range(steps):\n").replace(
            "next(batches(x, 32))", "next(data)"
        ),
        _BAD.replace("    for _ in range(steps):\n        train_step(model, optimizer, next(batches(x, 32)))",
                     "    for batch in batches(x, 32):\n        train_step(model, optimizer, batch)"),
    ),
)  # fmt: skip
