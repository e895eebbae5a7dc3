"""The rules of this family."""

from __future__ import annotations

from codemods.nnx.pytree import (
    dict_keys,
    eager_masks,
    is_leaf,
    jax_transforms,
    nnx_object,
    partitioned,
    registration,
    removed_names,
)
from codemods.nnx.rule import Rule

RULES: tuple[Rule, ...] = (
    is_leaf.RULE,
    removed_names.RULE,
    eager_masks.RULE,
    jax_transforms.RULE,
    partitioned.RULE,
    registration.RULE,
    nnx_object.RULE,
    dict_keys.RULE,
)
