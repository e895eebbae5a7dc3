"""NNX991: compiled code that is called with the same arguments in every round, and whose results are collected."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.keys import uses
from codemods.nnx.lint.meant import same_said
from codemods.nnx.lint.places import foreign, in_test, jit_of, kinds_of
from codemods.nnx.lint.same_seed import SEEDS
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.lint.timing import starts
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern

_MEASURING = pattern(
    r"bench|time|timing|profil|warm|determin|reproduc|repeat|speed|latency|check|same|equal|(^|_)test", re.I
)


def _check(context: Context) -> Iterator[Finding]:
    yield from _seeded_anew(context)
    for module in context.asked.modules:
        if not module.source.mentions(b"jit"):
            continue
        for event in module.calls:
            if not event.loops or not isinstance(event.node.func, ast.Name) or not event.node.args:
                continue
            given = [*event.node.args, *(k.value for k in event.node.keywords)]
            if not _collected(event) or not _unchanged(event, given) or in_test(event.scope):
                continue
            if _measures(context, event):
                continue
            roots = jit_of(context, event)
            if not roots or any(root.transform != "jax.jit" for root in roots):
                continue
            if any(use.event.node is event.node for found in context.shared(uses).values() for use in found):
                continue  # NNX830 tells of its key
            values = event.value.given
            if any(Kind.MODULE in kinds_of(context, one, event.scope) for one in values):
                continue  # what is taken apart anew at every call
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{event.node.func.id}` is given the same arguments in every round: all results are the same",
                "give it another key in every round, or take out of it what it changed, as the counts of streams",
            )


def _seeded_anew(context: Context) -> Iterator[Finding]:
    """Yield the calls that get streams or a key made of the same number in every round, and whose results are kept."""
    for made, name in foreign(context, "Rngs", "key", "PRNGKey"):
        if name not in SEEDS or not made.loops or in_test(made.scope) or not _same_seed(made):
            continue
        held = _held(made)
        for event in context.bodies.calls.get(made.scope, ()):
            given = [one for arg in (*event.node.args, *(k.value for k in event.node.keywords)) for one in _parts(arg)]
            streams = [one for one in given if one is made.node or (isinstance(one, ast.Name) and one.id == held)]
            if len(streams) != 1 or event.loops[-1:] != made.loops[-1:]:
                continue
            if last_word(event.node.func)[:1].isupper():
                continue  # of an ensemble whose members begin alike another rule speaks
            others = [one for one in given if one not in streams]
            if not others or not _collected(event) or not _unchanged(event, others, held) or _measures(context, event):
                continue
            if context.flow.calls.name(event).startswith(("jax.", "flax.")) or not _told_apart(event):
                continue
            yield finding(
                RULE.code,
                event.scope,
                made.node if held else event.node,
                f"`{ast.unparse(made.node)}` begins anew in every round, and so all results are the same",
                "make the streams once, before the loop, or give every round a key of its own",
            )


def _same_seed(made: CallEvent) -> bool:
    """Say whether streams or a key are made of numbers that the innermost loop around them does not change."""
    numbers = [*made.node.args, *(k.value for k in made.node.keywords)]
    loop = made.loops[-1]
    bound = names_in(loop.target) if isinstance(loop, ast.For | ast.comprehension) else frozenset()
    if isinstance(loop, ast.For | ast.While):
        bound |= {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return bool(numbers) and all(_plain(one) and not names_in(one) & bound for one in numbers)


def _held(made: CallEvent) -> str:
    """Return the variable that a loop binds to new streams and reads once; empty if there is none."""
    statement, loop = made.statement, made.loops[-1]
    if not isinstance(statement, ast.Assign) or statement.value is not made.node or not isinstance(loop, ast.For):
        return ""
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name) or statement not in loop.body:
        return ""
    found = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == target.id]
    return target.id if len(found) == 2 else ""


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the values of a dict that is written out, or an expression itself."""
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        return [part for value in node.values for part in _parts(value)]
    return [node]


def _told_apart(event: CallEvent) -> bool:
    """Say whether the rounds of a loop only count: what they go through is given to nothing."""
    loop = event.loops[-1]
    if not isinstance(loop, ast.For | ast.comprehension):
        return False
    return isinstance(loop.iter, ast.Call) and last_word(loop.iter.func) in {"range", "trange"}


def _collected(event: CallEvent) -> bool:
    """Say whether the results of all rounds are kept: in a list, an array, or a sum."""
    statement, loop = event.statement, event.loops[-1]
    if isinstance(loop, ast.comprehension):
        return True
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Add) and _is(statement.value, event.node)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(loop, ast.For):
        target = statement.targets[0]
        if isinstance(target, ast.Name) and statement.value is event.node:
            return _appended(loop, target)
        return (
            isinstance(target, ast.Subscript)
            and bool(names_in(target.slice) & names_in(loop.target))
            and _is(statement.value, event.node)
        )
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and len(call.args) == 1
        and _is(call.args[0], event.node)
    )


def _appended(loop: ast.For, target: ast.Name) -> bool:
    """Say whether all that a loop does with a variable is to append it to a list."""
    uses = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == target.id]
    return len(uses) == 2 and any(
        isinstance(call := one.value, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and len(call.args) == 1
        and call.args[0] in uses
        for one in loop.body
        if isinstance(one, ast.Expr)
    )


def _is(node: ast.expr, call: ast.Call) -> bool:
    """Say whether an expression is a call, or what makes an array or a number of its result."""
    while node is not call:
        if isinstance(node, ast.Call) and not node.args and isinstance(node.func, ast.Attribute):
            if node.func.attr in {"sum", "mean", "item", "copy"} and not node.keywords:
                node = node.func.value
                continue
        if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
            return False
        if last_word(node.func) not in {"asarray", "array", "float", "device_get"}:
            return False
        node = node.args[0]
    return True


def _unchanged(event: CallEvent, given: list[ast.expr], held: str = "") -> bool:
    """Say whether nothing in the innermost loop changes, or may change, what a call is given.

    Args:
        event: the call.
        given: what it is given.
        held: a variable that gets the same in every round.
    """
    if not all(_plain(one) for one in given):
        return False
    own = set(ast.walk(event.node))
    names = names_in(event.node) - {held}
    loop = event.loops[-1]
    if isinstance(loop, ast.comprehension):
        if names & names_in(loop.target) or loop.ifs:
            return False
        return not any(isinstance(n, ast.NamedExpr) and n.target.id in names for n in ast.walk(event.statement))
    return not any(isinstance(n, ast.Name) and n.id in names and n not in own for n in ast.walk(loop))


def _plain(node: ast.expr) -> bool:
    """Say whether an argument is a variable, an attribute or entry of one, or a constant."""
    if isinstance(node, ast.Subscript):
        return _plain(node.value) and isinstance(node.slice, ast.Constant)
    return isinstance(node, ast.Name | ast.Constant) or (isinstance(node, ast.Attribute) and _plain(node.value))


def _measures(context: Context, event: CallEvent) -> bool:
    """Say whether a function measures or compares, so that the same results are meant."""
    function = event.scope.function
    if function is not None and _MEASURING.search(function.name):
        return True
    return bool(starts(context, event.scope)) or same_said(event.scope, event.statement)


_BAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


def spread(model, x, rounds):
    graphdef, params, rest = nnx.split(model, nnx.Param, ...)

    @jax.jit
    def sample(params, rest, x):
        return nnx.merge(graphdef, params, rest)(x)

    samples = []
    for _ in range(rounds):
        samples.append(sample(params, rest, x))
    return jnp.stack(samples).std(0)
"""

_CLEAN = """\
import jax
import jax.numpy as jnp
from flax import nnx


def spread(model, x, rounds):
    graphdef, params, rest = nnx.split(model, nnx.Param, ...)

    @jax.jit
    def sample(params, rest, x):
        model = nnx.merge(graphdef, params, rest)
        return model(x), nnx.state(model, nnx.Not(nnx.Param))

    samples = []
    for _ in range(rounds):
        y, rest = sample(params, rest, x)
        samples.append(y)
    return jnp.stack(samples).std(0)
"""

RULE = lint_rule(
    "NNX991",
    "same-result",
    "compiled code called with the same arguments in every round, and its results collected",
    why="""\
What `jax.jit` compiles is a function: the same arguments give the same result. Streams of a model that is merged within
it count on in there, and the states outside stay as they are, so that dropout drops the same in every round. Give it
another key each time, or return the state and take it into the next round. Functions that measure time, and tests, are
left alone, as is what the loop mentions elsewhere.
""",
    source="Flax issue 4539; measured: the standard deviation of 30 samples is 0",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_CLEAN,),
)
