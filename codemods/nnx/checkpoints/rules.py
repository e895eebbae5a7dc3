"""The rules about code that saves and restores checkpoints."""

from __future__ import annotations

from codemods.nnx.checkpoints import optimizer, streams
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = (streams.RULE, optimizer.RULE)
