"""NNX566: what comes next is handed over without its last entry, or taken by roll, which goes round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.next_of_first import next_of_first
from codemods.nnx.lint.places import given_to, in_test
from codemods.nnx.lint.syntax import written_number
from codemods.nnx.patterns import pattern

_NEXT = pattern(r"^next_|_(next|tp1)$|^v_?tp1$")
_ROUND = pattern(rb"roll\(|\[:1\]|\[0\]", needs=(b"roll(", b"[:1]", b"[0]"))
_NAMES = pattern(rb"next_|_next\b|tp1", needs=(b"next", b"tp1"))


def _check(context: Context) -> Iterator[Finding]:
    if any(module.source.matches(_ROUND) for module in context.asked.modules):
        for scope, call, values in next_of_first(context):
            text = ast.unparse(values)
            yield finding(
                RULE.code,
                scope,
                call,
                f"this goes round: behind the last of `{text}` comes the first one, as if the sequence began again",
                f"put the value behind the end there: jnp.concatenate([{text}[1:], last_value[None]])",
            )
    if not any(module.source.matches(_NAMES) for module in context.project.modules):
        return
    for event in context.asked.calls():
        for node in (*event.node.args, *(k.value for k in event.node.keywords)):
            if not _without_last(node) or in_test(event.scope):
                continue
            value = event.scope.module.values.get(node)
            named = [param.name for param in given_to(context, event, value)] if value is not None else []
            if named and all(map(_NEXT.search, named)):
                assert isinstance(node, ast.Subscript)
                text = ast.unparse(node.value)
                yield finding(
                    RULE.code,
                    event.scope,
                    node,
                    f"`{named[0]}` gets the entries of now: {ast.unparse(node)} leaves out the last one",
                    f"leave out the first one: {text}[1:]",
                )


def _without_last(node: ast.expr) -> bool:
    """Say whether an expression is ``x[:-1]``."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice) or isinstance(node.value, ast.Call):
        return False
    return node.slice.lower is None and node.slice.step is None and written_number(node.slice.upper) == -1


_BAD = """\
import jax
import jax.numpy as jnp


def td_errors(rewards, values, next_values, gamma=0.99):
    return rewards + gamma * next_values - values


def critic_loss(values, rewards):
    return jnp.mean(td_errors(rewards, values[:-1], values[:-1]) ** 2)
"""

RULE = lint_rule(
    "NNX566",
    "next-values",
    "what comes next is handed over without its last entry, or goes round by roll",
    why="""\
Of a sequence `values`, those of the steps are `values[:-1]` and those of the steps after them `values[1:]`. A function
that gets the former twice compares each value with itself: the targets are late by one step, and rewards spread more
slowly or not at all. `jnp.roll(values, -1)` moves them too, and puts the first one behind the last step.
""",
    source="Sutton and Barto, Reinforcement Learning, section 6.1; measured: other targets",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("values[:-1], values[:-1]", "values[:-1], values[1:]"),),
)
