"""NNX702: checkpoints of optimizers."""

from __future__ import annotations

from codemods.nnx.checkpoints.layout import check
from codemods.nnx.checkpoints.trees import OPTIMIZER
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX702",
    name="checkpoint-optimizer",
    summary="a checkpoint of the state of an nnx.Optimizer",
    why="""\
The state of an optimizer was `{model, opt_state, step}` up to Flax 0.10 and is `{opt_state, step}` since 0.11, also
where the text of the constructor stays as it is. An old checkpoint no longer fits that state, and a new one holds no
model: save the model's state beside it. `nnxmigrate fix-ckpt` converts old checkpoints. `nnx.ModelAndOptimizer`,
which the optimizer rules choose where the state of an optimizer is taken in other ways, keeps the old tree.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured with orbax on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import optax
import orbax.checkpoint as ocp
from flax import nnx


def save(path, model):
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, nnx.state(optimizer))
""",
            run=False,
        ),
    ),
    check=check(OPTIMIZER, "NNX702"),
)
