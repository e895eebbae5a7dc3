"""All rules, in order of their codes."""

from __future__ import annotations

from collections.abc import Iterable

from codemods.nnx.checkpoints.rules import RULES as CHECKPOINT_RULES
from codemods.nnx.lint import catalogue as lint
from codemods.nnx.names import (
    config_flag,
    dataclass,
    error_text,
    metadata_keyword,
    private,
    removed_dict,
    removed_keyword,
    renamed,
    sharding_constraint,
    sharding_metadata,
    star,
    transform_keyword,
    unknown,
)
from codemods.nnx.optimizer import (
    compatible_class,
    filter_mismatch,
    model_read,
    outside,
    run_time,
    state_tree,
    subclass,
    swapped,
    threaded,
    transformation,
    update,
    wrt,
)
from codemods.nnx.pytree.rules import RULES as PYTREE_RULES
from codemods.nnx.rng.rules import RULES as RNG_RULES
from codemods.nnx.rule import Rule
from codemods.nnx.state.rules import RULES as STATE_RULES
from codemods.nnx.v012 import (
    attention,
    bound_methods,
    bridge,
    changed_static,
    children,
    containers,
    dataclass_fields,
    deprecated,
    equality,
    fork,
    hooks,
    in_place,
    initializers,
    late_data,
    mesh,
    metadata,
    metadata_keys,
    pure_gradients,
    sequential,
    slots,
    update_result,
    value_access,
    value_mutation,
    variable_index,
    written_back,
)
from codemods.nnx.variables.rules import RULES as VARIABLE_RULES

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
            run_time.RULE,
            threaded.RULE,
            subclass.RULE,
            state_tree.RULE,
            transformation.RULE,
            *PYTREE_RULES,
            *STATE_RULES,
            *VARIABLE_RULES,
            *RNG_RULES,
            *CHECKPOINT_RULES,
            *lint.RULES,
            config_flag.RULE,
            dataclass.RULE,
            error_text.RULE,
            metadata_keyword.RULE,
            private.RULE,
            removed_dict.RULE,
            removed_keyword.RULE,
            renamed.RULE,
            sharding_constraint.RULE,
            sharding_metadata.RULE,
            star.RULE,
            transform_keyword.RULE,
            unknown.RULE,
            attention.RULE,
            bound_methods.RULE,
            bridge.RULE,
            children.RULE,
            containers.RULE,
            dataclass_fields.RULE,
            deprecated.RULE,
            equality.RULE,
            fork.RULE,
            hooks.RULE,
            in_place.RULE,
            initializers.RULE,
            late_data.RULE,
            changed_static.RULE,
            written_back.RULE,
            metadata_keys.RULE,
            variable_index.RULE,
            mesh.RULE,
            metadata.RULE,
            pure_gradients.RULE,
            sequential.RULE,
            slots.RULE,
            update_result.RULE,
            value_access.RULE,
            value_mutation.RULE,
        ),
        key=lambda rule: rule.code,
    )
)

_ADDED: list[Rule] = []


def add(rules: Iterable[Rule]) -> None:
    """Let analyses run rules of a user's own too.

    Raises:
        ValueError: if a rule's code is taken.
    """
    for rule in rules:
        if any(other.code == rule.code for other in every_rule()):
            raise ValueError(f"there are two rules {rule.code}")
        _ADDED.append(rule)


def every_rule() -> tuple[Rule, ...]:
    """Return the rules of this package and those added."""
    return (*RULES, *_ADDED)
