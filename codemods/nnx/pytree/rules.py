"""The rules of this family."""

from __future__ import annotations

from codemods.nnx.pytree import is_leaf, removed_names
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = (is_leaf.RULE, removed_names.RULE)
