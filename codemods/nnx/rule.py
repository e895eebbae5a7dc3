"""What a rule is: everything about it is said once, in the rule's own file."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemods.nnx.findings import Finding, Safety

if TYPE_CHECKING:
    from codemods.nnx.context import Context


class Kind(enum.Enum):
    """Why a rule exists."""

    REQUIRED = "required"  # the code breaks, or silently changes its result, on the target
    SUGGESTED = "suggested"  # it works there, but is deprecated
    LINT = "lint"  # a mistake on every version


#: The families of codes of the lint rules on mistakes; those on speed are NNX90, NNX91, NNX920 and NNX921.
MISTAKES = (
    "NNX8",
    *(f"NNX{n}" for n in range(514, 550)),
    *(f"NNX{n}" for n in (*range(55, 60), *range(63, 70))),
    *(f"NNX{n}" for n in range(703, 710)),
    *(f"NNX7{n}" for n in range(1, 10)),
    *(f"NNX{n}" for n in range(922, 1000)),
)
#: How bad a finding is, the mildest first.
SEVERITIES = ("hint", "info", "warning", "error")


@dataclass(frozen=True)
class Example:
    """A program before and after a rule; the tests run it under real Flax versions where ``run`` says so.

    Attributes:
        before: the code that the rule speaks about.
        after: the code that it becomes; None if the rule only reports; equal to ``before`` for a case
            that the rule must leave alone.
        targets: the Flax versions of the migration that the example shows.
        run: whether ``before`` runs on 0.10 and prints the same as ``after`` on the targets. False for
            fragments and for code that cannot keep its output.
        unsafe: whether the fix must be asked for.
    """

    before: str
    after: str | None = None
    targets: tuple[str, ...] = ("0.11",)
    run: bool = True
    unsafe: bool = False


@dataclass(frozen=True)
class Rule:
    """One change of an API or one mistake, with the function that finds it.

    Attributes:
        code: stable code, ``NNX`` and three digits; the first digit names the family.
        name: short name in kebab-case.
        summary: one line for lists.
        why: a paragraph or more: what changed, what happens without the fix.
        kind: required, suggested or lint.
        safety: the safety of its fix; None if it only reports.
        since: the Flax version in which the change came.
        source: where the rule comes from: a guide, a paper, a measurement.
        examples: programs before and after; shown to users and run by the tests.
        check: finds the places; called once per project.
        default: False if the rule runs only when its code is selected.
        always: whether it holds for code that was written for the target already, too, since what it finds fails
            there whatever it was written for.
        severity: how bad what it finds is, where its kind does not say it: what fails or silently gives other results
            is an error, what is only slow a ``hint``.
    """

    code: str
    name: str
    summary: str
    why: str
    kind: Kind
    safety: Safety | None
    since: str
    source: str
    examples: tuple[Example, ...]
    check: Callable[[Context], Iterator[Finding]]
    default: bool = True
    always: bool = False
    severity: str = ""

    @property
    def level(self) -> str:
        """How bad what it finds is, one of :data:`SEVERITIES`."""
        if self.severity:
            return self.severity
        return {Kind.REQUIRED: "error", Kind.SUGGESTED: "info", Kind.LINT: "warning"}[self.kind]
