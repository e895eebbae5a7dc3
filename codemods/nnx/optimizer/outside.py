"""NNX107: an optimizer that is made out of sight."""

from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX107",
    name="optimizer-out-of-sight",
    summary="an update of an optimizer whose constructor is not in sight",
    why="""\
An annotation, or a gradient as the only argument, tells that the object is an optimizer, but nothing in the
given paths makes it. The call is right if the optimizer is a `nnx.ModelAndOptimizer` and wrong if it is a
`nnx.Optimizer`, and which object it steps cannot be seen. Give the tool all files of the project, or change
the call by hand; with `--unsafe-fixes` the argument of the gradient call is passed as the model.
""",
    kind=Kind.REQUIRED,
    safety=Safety.UNSAFE,
    since="0.11.0",
    source="Flax 0.11 release",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

def train_step(model, optimizer: nnx.Optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    optimizer.update(grads)
    return loss
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

def train_step(model, optimizer: nnx.Optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    optimizer.update(model, grads)
    return loss
""",
            run=False,
            unsafe=True,
        ),
    ),
    check=family("NNX107"),
)
