"""The rules about modules of Linen."""

from __future__ import annotations

from codemods.nnx.lint.linen import (
    class_carry,
    counted_at_init,
    dropout_keys,
    fields,
    float_tokens,
    frozen,
    grown,
    idle_dropout,
    immutable,
    initialised,
    levels,
    lifted,
    missing_layer,
    modes,
    mutable_default,
    no_call,
    one_dimension,
    outputs,
    outside,
    param_shape,
    partly_initialised,
    same_masks,
    same_name,
    static_place,
    statistics,
    traced_mode,
    trained_statistics,
    twin_encoders,
    unbound,
    uncompact,
)
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = tuple(
    module.RULE
    for module in (
        unbound, initialised, levels, outputs, modes, dropout_keys, frozen, same_name, param_shape, no_call, fields,
        missing_layer, statistics, lifted, float_tokens, traced_mode, grown, mutable_default, one_dimension,
        static_place, class_carry, uncompact, immutable, trained_statistics, twin_encoders,
        partly_initialised, same_masks, outside, idle_dropout, counted_at_init,
    )
)  # fmt: skip
