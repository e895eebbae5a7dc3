"""The rules about random streams."""

from __future__ import annotations

from codemods.nnx.rng import (
    custom_cell,
    dropout_dataclass,
    fork_splits,
    fork_state,
    initial_weights,
    initialize_carry,
    keyword_only,
    layer_path,
    mapped_streams,
    missing_stream,
    not_rngs,
    reseed,
    rnn_without_rngs,
    sampler_names,
    shared_stream,
    split_rngs,
    stream_constructor,
    stream_type,
)
from codemods.nnx.rule import Rule

# those that tell code of 0.10 from code that is migrated
SIGNS = (
    custom_cell.RULE,
    dropout_dataclass.RULE,
    fork_state.RULE,
    initialize_carry.RULE,
    keyword_only.RULE,
    layer_path.RULE,
    mapped_streams.RULE,
    missing_stream.RULE,
    not_rngs.RULE,
    reseed.RULE,
    rnn_without_rngs.RULE,
    sampler_names.RULE,
    shared_stream.RULE,
    split_rngs.RULE,
    stream_constructor.RULE,
    stream_type.RULE,
)
RULES: tuple[Rule, ...] = (*SIGNS, fork_splits.RULE, initial_weights.RULE)
