"""NNX105: gradients and model in the wrong order."""

from __future__ import annotations

from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX105",
    name="optimizer-update-swapped",
    summary="Optimizer.update(grads, model)",
    why="""\
`update(grads, model)` raises nothing: the gradients are stepped and the model stays as it is. The order is
model first.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
grads = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(model)
optimizer.update(grads, model)
""",
            run=False,
        ),
    ),
    check=family("NNX105"),
    always=True,
)
