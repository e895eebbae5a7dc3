"""The rules about random streams that tell code of 0.10 from code that is migrated, and what else does."""

from __future__ import annotations

from codemods.nnx.context import Context
from codemods.nnx.optimizer.migrate import optimizer_findings
from codemods.nnx.optimizer.version_switch import for_old_releases, made_for_old_releases
from codemods.nnx.rng import (
    custom_cell,
    dropout_dataclass,
    fork_state,
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
from codemods.nnx.state.aliases import aliases
from codemods.nnx.variables import constructed, removed_methods, renamed, told_apart

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

#: What is said of ``VariableState``, which no release since 0.11 has but as another name of Variable.
_LEAVES = (constructed.RULE, renamed.RULE, told_apart.RULE, *removed_methods.RULES)


def migrates(context: Context) -> bool:
    """Say whether a project has code of 0.10, and not only code that reads the same on both versions."""
    if optimizer_findings(context) or any(next(rule.check(context), None) for rule in (*SIGNS, *_LEAVES)):
        return True
    if any(for_old_releases(module) or made_for_old_releases(module) for module in context.project.modules):
        return True  # it serves both, and those who go to the new one see the change
    return bool(aliases(context))
