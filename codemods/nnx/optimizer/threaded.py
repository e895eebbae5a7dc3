"""NNX109: a function that got only the optimizer gets the model too."""

from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX109",
    name="optimizer-step-without-model",
    summary="a function that takes the model out of its optimizer",
    why="""\
`def train_step(optimizer, batch)` took the model from `optimizer.model`. If every call of the function is
known and can name the model, the function gets a parameter for it, right before the optimizer; positions in
`donate_argnums`, `static_argnums` and `in_axes` move along. Else the group takes the compatible class
(NNX103).
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

@nnx.jit
def train_step(optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(optimizer.model)
    optimizer.update(grads)
    return loss


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
print(train_step(optimizer, jnp.ones((4, 2))), train_step(optimizer, jnp.ones((4, 2))))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

@nnx.jit
def train_step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    optimizer.update(model, grads)
    return loss


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
print(train_step(model, optimizer, jnp.ones((4, 2))), train_step(model, optimizer, jnp.ones((4, 2))))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=family("NNX109"),
    always=True,
)
