"""All rules, in order of their codes."""

from __future__ import annotations

from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = ()
