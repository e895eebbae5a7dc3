"""The rules of this family."""

from __future__ import annotations

from codemods.nnx.rule import Rule
from codemods.nnx.state import deepcopy, merges, snapshots

RULES: tuple[Rule, ...] = (snapshots.RULE, merges.RULE, deepcopy.RULE)
