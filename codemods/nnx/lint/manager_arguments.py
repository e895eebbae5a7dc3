"""NNX725: a CheckpointManager that is given what to save without saying how."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.orbax_calls import manager_saves
from codemods.nnx.values import Call, Mapping

_TREES = frozenset({Kind.STATE, Kind.MODULE, Kind.OPTIMIZER})


def _check(context: Context) -> Iterator[Finding]:
    for event, sources in manager_saves(context):
        if event.value.keyword("args") is not None or not 1 <= len(event.node.args) <= 2:
            continue
        if not all(
            isinstance(s.value, Call)
            and len(s.value.args) == 1
            and not s.value.starred
            and not {"checkpointers", "item_handlers", "handler_registry", None} & {key for key, _ in s.value.keywords}
            for s in sources
        ):
            continue
        given = event.value.argument(1, "items")
        if given is None:
            continue
        found = context.flow.resolve(context.flow.here(given, event.scope))
        if not isinstance(found.value, Mapping) and context.kinds.only(found) not in _TREES:
            continue
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            "a CheckpointManager that was made without checkpointers has to be told by `args=` what to save",
            "write manager.save(step, args=ocp.args.StandardSave(state))",
        )


RULE = lint_rule(
    "NNX725",
    "manager-without-args",
    "a CheckpointManager saves a state without args=",
    why="""\
A `CheckpointManager` of Orbax that is made for a directory alone takes what it saves as
`args=ocp.args.StandardSave(state)`. A state by position belongs to the older interface, in which the manager is made
with checkpointers: it raises a ValueError.
""",
    source="google/flax issue 4521; measured on Flax 0.10.7 and 0.12.8: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def save(model: nnx.Module, folder):
    manager = ocp.CheckpointManager(folder)
    manager.save(1, nnx.state(model))
""",
    ),
    clean=(
        """\
import orbax.checkpoint as ocp
from flax import nnx


def save(model: nnx.Module, folder):
    manager = ocp.CheckpointManager(folder)
    manager.save(1, args=ocp.args.StandardSave(nnx.state(model)))
    older = ocp.CheckpointManager(folder, ocp.PyTreeCheckpointer())
    older.save(1, nnx.state(model))
""",
    ),
)
