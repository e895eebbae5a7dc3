"""Flax versions as people write them, and the three families that the rules know."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from codemods.nnx.options import VERSIONS

LATEST = VERSIONS[-1]

_RELEASE = re.compile(r"v?(?P<family>\d+\.\d+)(?:\.\w+)*")


def family(text: str) -> str | None:
    """Return the family of a version such as ``0.12``, ``0.12.8``, ``v0.11`` or ``latest``; None if there is none."""
    word = text.strip().lower()
    if word == "latest":
        return LATEST
    match = _RELEASE.fullmatch(word)
    return match["family"] if match and match["family"] in VERSIONS else None


def families(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Return the families of versions separated by commas, ascending, and the words that name none."""
    words = [word.strip() for word in text.split(",")]
    found = {family(word) for word in words}
    return tuple(version for version in VERSIONS if version in found), sorted(w for w in words if family(w) is None)


def ordered(some: Collection[str]) -> tuple[str, ...]:
    """Return families ascending."""
    return tuple(version for version in VERSIONS if version in some)


def spoken(some: Iterable[str]) -> str:
    """Return families in words."""
    return " and ".join(some)
