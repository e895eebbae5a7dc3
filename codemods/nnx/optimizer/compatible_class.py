"""NNX103: the compatible class where the model cannot be handed over."""

from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX103",
    name="optimizer-compatible-class",
    summary="an optimizer whose model cannot be named at every use",
    why="""\
All uses of one optimizer change together or not at all. Where one of them cannot name the model -- it is
reached through `.model` of an optimizer that a function returned, copied with it, saved as one state, or
passed out of the project -- the whole group takes `nnx.ModelAndOptimizer`. It keeps `.model`, `update(grads)`
and the layout of checkpoints, and exists in 0.11 and 0.12. The finding says which use prevented the explicit
form.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.11.0 to 0.12.8: a drop-in but for keyword-only `wrt` and positional-only gradients",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

def make(seed):
    return nnx.Optimizer(nnx.Linear(2, 1, rngs=nnx.Rngs(seed)), optax.sgd(0.1))


optimizer = make(0)
grads = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(optimizer.model)
optimizer.update(grads)
print(float(optimizer.model.kernel.value.sum()))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

def make(seed):
    return nnx.ModelAndOptimizer(nnx.Linear(2, 1, rngs=nnx.Rngs(seed)), optax.sgd(0.1))


optimizer = make(0)
grads = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(optimizer.model)
optimizer.update(grads)
print(float(optimizer.model.kernel.value.sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=family("NNX103"),
    always=True,
)
