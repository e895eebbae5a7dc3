"""What a run came to, in the forms that people and programs read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from nnxmigrate.outcome import Outcome


@dataclass(frozen=True)
class Style:
    """How to report.

    Attributes:
        form: ``text``, ``json``, ``github``, ``sarif`` or ``junit``.
        quiet: failures only.
        verbose: also what was fixed or skipped.
        statistics: counts by rule in place of single findings.
        next: what the user may want to do next.
        undo: the command that takes back what was written, if there is one.
    """

    form: str = "text"
    quiet: bool = False
    verbose: bool = False
    statistics: bool = False
    next: tuple[str, ...] = ()
    undo: str | None = None


def report(outcome: Outcome, style: Style) -> str:
    """Return the report of a run; each form is a module with a function of its name."""
    module = import_module(f"nnxmigrate.report.{style.form}")
    return cast("Callable[[Outcome, Style], str]", getattr(module, style.form))(outcome, style)
