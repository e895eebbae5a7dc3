"""The rules about random streams."""

from __future__ import annotations

from codemods.nnx.rng import fork_splits, fork_state, initialize_carry, keyword_only, layer_path, missing_stream, shared_stream, split_rngs, stream_constructor
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = (fork_splits.RULE, fork_state.RULE, initialize_carry.RULE, keyword_only.RULE, layer_path.RULE, missing_stream.RULE, shared_stream.RULE, split_rngs.RULE, stream_constructor.RULE)
