"""The two results of a scan under each other's names; part of NNX532."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.lint.loop_bodies import bodies
from codemods.nnx.lint.places import error_wanted, in_test
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Sequence

# words of names that tell nothing of what a value is
_OF_ANY = frozenset(
    {"final", "last", "end", "history", "hist", "traj", "trajectory", "out", "output", "result", "res", "new", "next",
     "all", "current", "curr", "cur", "t", "x", "y", "s", "i", "n", "state", "carry", "value", "val", "path", "stack",
     "stacked", "seq", "list", "array", "arr", "init", "initial", "start", "old", "prev", "log", "step", "", "a", "b"}
)  # fmt: skip
_DIGITS = pattern(r"\d+")


def swapped_scans(context: Context) -> Iterator[tuple[CallEvent, str, str, str]]:
    """Yield the scans whose results are unpacked under each other's names: the call, the first two names, and what the
    body gives as its carry.

    Args:
        context: the analysis.
    """
    wanted = {}
    for event in context.bodies.unpacked:
        if (
            event.scope.module not in context.asked
            or in_test(event.scope)
            or not isinstance(event.statement, ast.Assign)
        ):
            continue
        target = event.statement.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            first, second = target.elts
            if isinstance(first, ast.Name) and isinstance(second, ast.Name) and not event.value.starred:
                wanted[event] = first.id, second.id
    if not wanted:
        return
    for body in bodies(context):
        if body.event not in wanted or body.loop != "jax.lax.scan" or error_wanted(context, body.event):
            continue
        first_name, second_name = wanted[body.event]
        given = [_pair(one) for one in body.function.returns]
        if len(given) != 1 or given[0] is None:
            continue
        carry, output = given[0]
        one, two = _words(first_name), _words(second_name)
        if one & output and two & carry and not one & carry and not two & output and not carry & output:
            yield body.event, first_name, second_name, ", ".join(sorted(carry))


def _pair(value: object) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the words in the names of the carry and of the output that a body returns."""
    if not isinstance(value, Sequence) or not isinstance(value.node, ast.Tuple) or len(value.node.elts) != 2:
        return None
    parts = value.node.elts
    if not all(isinstance(one, ast.Name) for one in parts):
        return None
    carry, output = (_words(one.id) for one in parts if isinstance(one, ast.Name))
    return carry, output


def _words(name: str) -> frozenset[str]:
    """Return the words of a name that tell what it is, in the singular."""
    words = _DIGITS.sub("", name.lower()).split("_")
    return frozenset(map(_singular, words)) - _OF_ANY


def _singular(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
