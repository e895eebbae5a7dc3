"""The lines of code for several steps of a CheckpointManager: printed once for those that are loaded alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nnxmigrate.checkpoint.job import Job
from nnxmigrate.checkpoint.layout import Step

_SHOWN = 8  # steps named in a line before "and N more"

Lines = Callable[[Job, Step], list[str] | None]
"""Gives the lines that load a step of a job; None if there are none."""


def lines_of_steps(job: Job, lines_of: Lines) -> list[str] | None:
    """Return the lines that load the converted steps, the latest first.

    Steps whose lines differ in nothing but the number have them once, below a line that says for which steps they are.

    Args:
        job: the conversion.
        lines_of: gives the lines for one step.

    Returns:
        The lines; None if a step has none.
    """
    left = list({id(one.step): one.step for one, _ in job.converted}.values())[::-1]
    several = len(left) > 1
    found: list[str] = []
    while left:
        first, *rest = left
        lines = lines_of(job, first)
        if lines is None:
            return None
        alike = [step for step in rest if lines_of(*_renumbered(job, step, first)) == lines]
        left = [step for step in rest if step not in alike]
        title = [_title(first, alike)] if several else []
        found += [*([""] if found else []), *title, *lines]
    return found


def _renumbered(job: Job, step: Step, as_one: Step) -> tuple[Job, Step]:
    """Return a job in which a step has the name of another one, and that step."""
    own = replace(step, name=as_one.name)
    items = [replace(one, step=own) if one.step is step else one for one in job.items]
    return replace(job, items=items), own


def _title(step: Step, alike: Sequence[Step]) -> str:
    if not alike:
        return f"# step {step.number}"
    numbers = [str(one.number) for one in reversed(alike)]
    more = f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else ""
    if len(numbers) == 1:
        return f"# step {step.number}; step {numbers[0]} loads in the same way, by its number"
    return f"# step {step.number}; steps {', '.join(numbers[:_SHOWN])}{more} load in the same way, each by its number"
