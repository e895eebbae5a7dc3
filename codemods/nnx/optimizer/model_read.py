"""NNX104: the model is read through the optimizer."""

from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX104",
    name="optimizer-model",
    summary="a read of Optimizer.model",
    why="""\
Since Flax 0.11 `nnx.Optimizer` has no attribute `model`; reading it raises AttributeError. Where the model
has a name at the place, the rule reads that name instead; else the group keeps `.model` with the compatible
class (NNX103).
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
grads = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(optimizer.model)
optimizer.update(grads)
print(float(optimizer.model.kernel.value.sum()))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
grads = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(model)
optimizer.update(model, grads)
print(float(model.kernel.value.sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=family("NNX104"),
    always=True,
)
