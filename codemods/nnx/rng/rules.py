"""The rules about random streams."""

from __future__ import annotations

from codemods.nnx.rng import counted_streams, fork_splits, initial_weights, reseed_key, same_masks
from codemods.nnx.rng.signs import SIGNS
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = (
    *SIGNS,
    counted_streams.RULE,
    fork_splits.RULE,
    initial_weights.RULE,
    reseed_key.RULE,
    same_masks.RULE,
)
