"""NNX101: the constructor needs ``wrt``."""

from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX101",
    name="optimizer-wrt",
    summary="nnx.Optimizer without a `wrt` keyword",
    why="""\
`nnx.Optimizer(model, tx)` updated all `nnx.Param` by default up to Flax 0.10. Since 0.11 the filter must be
given, and as a keyword: without it the constructor raises "Missing required argument `wrt`", also for a
filter in third position. The old default is `wrt=nnx.Param`, which 0.10 accepts as well.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source='Flax 0.11 release; guide "NNX 0.10 to NNX 0.11", section on the optimizer',
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
print(int(optimizer.step.value))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
print(int(optimizer.step.value))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(
    model,  # the whole network
    optax.sgd(0.1),
    nnx.Param,
)
print(int(optimizer.step.value))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(
    model,  # the whole network
    optax.sgd(0.1),
    wrt=nnx.Param,
)
print(int(optimizer.step.value))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=family("NNX101"),
    always=True,
)
