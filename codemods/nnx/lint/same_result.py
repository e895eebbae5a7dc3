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
from codemods.nnx.values import Const

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
        numbers = made.value.given
        if name not in SEEDS or not made.loops or not numbers or not all(isinstance(one, Const) for one in numbers):
            continue
        for event in context.bodies.calls.get(made.scope, ()) if not in_test(made.scope) else ():
            given = [*event.node.args, *(k.value for k in event.node.keywords)]
            if made.node not in given or event.loops[-1:] != made.loops[-1:]:
                continue
            if last_word(event.node.func)[:1].isupper():
                continue  # of an ensemble whose members begin alike another rule speaks
            others = [one for one in given if one is not made.node]
            if not others or not _collected(event) or not _unchanged(event, others) or _measures(context, event):
                continue
            if context.flow.calls.name(event).startswith(("jax.", "flax.")) or not _told_apart(event):
                continue
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{ast.unparse(made.node)}` begins anew in every round, and so all results are the same",
                "make the streams once, before the loop, or give every round a key of its own",
            )


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


def _unchanged(event: CallEvent, given: list[ast.expr]) -> bool:
    """Say whether nothing in the innermost loop changes, or may change, what a call is given."""
    if not all(_plain(one) for one in given):
        return False
    own = set(ast.walk(event.node))
    names = names_in(event.node)
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
