"""All rules, in order of their codes."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.listed import Listed
from codemods.nnx.rule import Rule
from codemods.nnx.rule_index import ENTRIES

#: The rules of this package, each of which is a `RULE`, or one of the `RULES`, of a module below it.
RULES: tuple[Rule, ...] = tuple(Listed(*entry) for entry in ENTRIES)

_ADDED: list[Rule] = []


def add(rules: Iterable[Rule]) -> None:
    """Let analyses run rules of a user's own too.

    Raises:
        ValueError: if a rule's code is taken.
    """
    for rule in rules:
        if any(other.code == rule.code for other in every_rule()):
            raise ValueError(f"there are two rules {rule.code}")
        _ADDED.append(rule)


def every_rule() -> tuple[Rule, ...]:
    """Return the rules of this package and those added."""
    return (*RULES, *_ADDED)
