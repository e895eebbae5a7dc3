"""NNX715: a relative path for a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.orbax_calls import checkpointer_calls, managers, path_of, relative


def _check(context: Context) -> Iterator[Finding]:
    calls = [event for event, _, _ in checkpointer_calls(context, "save", "restore")]
    for event in (*calls, *(event for event, _ in managers(context))):
        if event.scope.module.source.mentions(b"flax_use_orbax_checkpointing"):
            continue  # the older form of checkpoints, which Orbax does not write
        path = (
            path_of(event)
            or path_of(event, "ckpt_dir")
            or ((event.node.args[0], event.value.args[0]) if event.node.args and event.value.args else None)
        )
        if path is None or context.bodies.guarded(event.node, event.scope):
            continue
        if relative(context, context.flow.here(path[1], event.scope)):
            yield finding(
                RULE.code,
                event.scope,
                path[0],
                "Orbax takes absolute paths only, and this one is relative to the working directory",
                "make it absolute: os.path.abspath(path), or path.resolve()",
            )


RULE = lint_rule(
    "NNX715",
    "relative-checkpoint",
    "a checkpoint is written to, or read from, a relative path",
    why="""\
Orbax writes from several processes, which may have different working directories, and raises "Checkpoint path should be
absolute". The same goes for the directory of a CheckpointManager and for `flax.training.checkpoints`.
""",
    source="measured on Flax 0.12.8 with Orbax: ValueError",
    severity="error",
    check=_check,
    bad=(
        """\
import orbax.checkpoint as ocp
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
with ocp.StandardCheckpointer() as checkpointer:
    checkpointer.save("checkpoints/last", nnx.state(model))
""",
    ),
    clean=(
        """\
import os

import orbax.checkpoint as ocp
from flax import nnx

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
with ocp.StandardCheckpointer() as checkpointer:
    checkpointer.save(os.path.abspath("checkpoints/last"), nnx.state(model))
""",
    ),
)
