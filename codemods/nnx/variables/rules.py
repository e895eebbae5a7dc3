"""The rules of this family."""

from __future__ import annotations

from codemods.nnx.rule import Rule
from codemods.nnx.variables import (
    class_or_type,
    constructed,
    hooked_leaves,
    item_assignment,
    leaf_tests,
    removed_methods,
    renamed,
    told_apart,
    type_attribute,
)

RULES: tuple[Rule, ...] = (
    renamed.RULE,
    told_apart.RULE,
    constructed.RULE,
    *removed_methods.RULES,
    *item_assignment.RULES,
    type_attribute.RULE,
    leaf_tests.RULE,
    hooked_leaves.RULE,
    class_or_type.RULE,
)
