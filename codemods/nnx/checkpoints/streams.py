"""NNX701: checkpoints of models whose layers have random streams."""

from __future__ import annotations

from codemods.nnx.checkpoints.layout import check
from codemods.nnx.checkpoints.trees import STREAMS
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX701",
    name="checkpoint-streams",
    summary="a checkpoint of a model with Dropout, attention dropout or recurrent layers",
    why="""\
Up to Flax 0.10 the state of a Dropout held the whole Rngs of its caller, at `dropout/rngs/<stream>/key`, and only the
first layer that held it. Since 0.11 every such layer has one stream of its own at `dropout/rngs/key`, and recurrent
cells have none. Restoring a checkpoint of 0.10 into the new state raises a structure mismatch. `nnxmigrate fix-ckpt`
converts the checkpoint; `nnx.state(model, nnx.Param)` and other states without streams are not affected.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source='guide "NNX 0.10 to NNX 0.11", section on checkpoints; measured on Flax 0.10.7, 0.11.2 and 0.12.8',
    examples=(
        Example(
            before="""\
import orbax.checkpoint as ocp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


def load(path):
    graphdef, abstract = nnx.split(nnx.eval_shape(lambda: Net(nnx.Rngs(params=0, dropout=1))))
    return nnx.merge(graphdef, ocp.StandardCheckpointer().restore(path, abstract))
""",
            run=False,
        ),
    ),
    check=check(STREAMS, "NNX701"),
)
