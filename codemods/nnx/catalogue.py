"""All rules, in order of their codes."""

from __future__ import annotations

from codemods.nnx.optimizer import (
    compatible_class,
    filter_mismatch,
    model_read,
    outside,
    subclass,
    swapped,
    threaded,
    update,
    wrt,
)
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            wrt.RULE,
            update.RULE,
            compatible_class.RULE,
            model_read.RULE,
            swapped.RULE,
            filter_mismatch.RULE,
            outside.RULE,
            threaded.RULE,
            subclass.RULE,
        ),
        key=lambda rule: rule.code,
    )
)
