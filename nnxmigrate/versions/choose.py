"""From what a project shows to the versions that its code is taken from and to."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from codemods.nnx.options import VERSIONS
from nnxmigrate.versions.code import Traces
from nnxmigrate.versions.families import ordered, spoken
from nnxmigrate.versions.pins import Statement

OPEN = VERSIONS[1:]


@dataclass(frozen=True)
class Chosen:
    """The versions of a project, or of a part of one.

    Attributes:
        origin: the family that the code was written for.
        targets: the families that it shall run on.
        why: where that was taken from, in words; empty where the user said it.
        part: the file or folder concerned, as reports call it; empty if it is all there is.
        settled: whether the origin is said, and not only the oldest one that pins and code leave open.
    """

    origin: str
    targets: tuple[str, ...]
    why: str = ""
    part: str = ""
    settled: bool = True

    def __str__(self) -> str:
        where = f"{self.part}: " if self.part else ""
        what = f"Flax {self.origin} → {spoken(self.targets)}"
        if self.targets == (self.origin,):
            what = f"Flax {self.origin}"
        return f"{where}{what}" + (f" ({self.why})" if self.why else "")


def choose(
    pins: Statement | None,
    lock: Statement | None,
    installed: Statement | None,
    code: Traces,
    *,
    origin: str | None = None,
    targets: tuple[str, ...] | None = None,
) -> Chosen:
    """Choose the versions of one part of a project.

    Args:
        pins: what its pins say.
        lock: what its lock file says.
        installed: what the environment says.
        code: what its code shows.
        origin: what the user says about where it comes from.
        targets: what the user says about where it goes.
    """
    reasons: list[str] = []
    allowed: Collection[str] = VERSIONS
    if pins is not None:
        allowed = pins.allowed
        reasons.append(pins.why)
    settled = len(allowed) == 1
    for narrower in (lock, installed):
        too_new = targets is not None and narrower is installed and narrower and narrower.allowed[0] > targets[-1]
        if narrower is not None and not settled and narrower.allowed[0] in allowed and not too_new:
            allowed, settled = narrower.allowed, True
            reasons.append(narrower.why)
    start = origin or _origin(allowed, code, reasons)
    if targets is None:
        targets = _targets(start, allowed, pins, code, reasons)
        if not reasons:
            reasons.append("the project does not say; --from and --to do")
    elif origin is None and VERSIONS.index(start) > VERSIONS.index(targets[0]):
        start = targets[0]  # it is not taken back
    return Chosen(start, targets, "; ".join(dict.fromkeys(reasons)), settled=settled or origin is not None)


def _origin(allowed: Collection[str], code: Traces, reasons: list[str]) -> str:
    """Return the family that code was written for."""
    low = ordered(allowed)[0]
    start = low
    if code.needs is not None and code.old is None and len(allowed) > 1:
        start = max(low, code.needs, key=VERSIONS.index)
    if start != low or (len(allowed) == len(VERSIONS) and start != VERSIONS[0]):
        reasons.append(code.where)
    elif start != VERSIONS[0] and code.old is not None and code.needs is None:
        reasons.append(f"but {code.old}")
        start = VERSIONS[0]
    elif start != VERSIONS[0] and code.old is not None:
        reasons.append(f"{code.old}: --from {VERSIONS[0]} if its file is older code")
    return start


def _targets(
    start: str, allowed: Collection[str], pins: Statement | None, code: Traces, reasons: list[str]
) -> tuple[str, ...]:
    """Return the families that code shall run on: on all that are open."""
    goals: Sequence[str] = [version for version in OPEN if version in allowed]
    if not goals:  # pins below what there is to migrate to
        goals = [version for version in OPEN if pins is None or len(pins.allowed) == 1 or version in pins.allowed]
    if len(goals) > 1 and code.needs is not None:
        newer = [version for version in goals if VERSIONS.index(version) >= VERSIONS.index(code.needs)]
        if newer and len(newer) < len(goals):
            goals = newer
            reasons.append(code.where)
    goals = [version for version in goals if VERSIONS.index(version) >= VERSIONS.index(start)]
    return tuple(goals) or (start,)
