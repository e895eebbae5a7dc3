"""The rules about random streams."""

from __future__ import annotations

from codemods.nnx.rng import split_rngs
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = (split_rngs.RULE,)
