"""NNX102: ``update`` gets the model."""

from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX102",
    name="optimizer-update",
    summary="Optimizer.update without the model",
    why="""\
Up to Flax 0.10 an optimizer held the model that its constructor got, and `update(grads)` stepped that object.
Since 0.11 it holds none: `update(model, grads)`. The model that is passed must be the very object that the
constructor got, whatever the gradients were taken of; the rule inserts an expression only where value flow
shows that it is that object on every way to the call.
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


@nnx.jit
def train_step(net, opt, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(net)
    opt.update(grads)
    return loss


print(train_step(model, optimizer, jnp.ones((4, 2))), train_step(model, optimizer, jnp.ones((4, 2))))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)


@nnx.jit
def train_step(net, opt, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(net)
    opt.update(net, grads)
    return loss


print(train_step(model, optimizer, jnp.ones((4, 2))), train_step(model, optimizer, jnp.ones((4, 2))))
""",
            targets=("0.11", "0.12"),
        ),
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

import copy

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1))
elsewhere = copy.deepcopy(model)
grads = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(elsewhere)
optimizer.update(grads)
print(float(model.kernel.value.sum()), float(elsewhere.kernel.value.sum()))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

import copy

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
elsewhere = copy.deepcopy(model)
grads = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(elsewhere)
optimizer.update(model, grads)
print(float(model.kernel.value.sum()), float(elsewhere.kernel.value.sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=family("NNX102"),
    always=True,
)
