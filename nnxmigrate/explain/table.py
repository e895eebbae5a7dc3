"""All known errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnxmigrate.explain import (
    attributes,
    checkpoints,
    names,
    optimizer,
    rng,
    stack,
    tracing,
    transforms,
    variables,
)

if TYPE_CHECKING:
    from nnxmigrate.explain.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    *optimizer.ENTRIES,
    *rng.ENTRIES,
    *transforms.ENTRIES,
    *variables.ENTRIES,
    *names.ENTRIES,
    *attributes.ENTRIES,
    *checkpoints.ENTRIES,
    *tracing.ENTRIES,
    *stack.ENTRIES,
)
