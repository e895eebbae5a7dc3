"""NNX110: subclasses of the optimizer."""

from __future__ import annotations

from codemods.nnx.findings import Safety
from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX110",
    name="optimizer-subclass",
    summary="a class derived from nnx.Optimizer",
    why="""\
A subclass that relies on `super().update(grads)`, on the default of `wrt` or on `self.model` is based on
`nnx.ModelAndOptimizer`, which keeps all three; its callers stay as they are.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

class Counted(nnx.Optimizer):
    def __init__(self, model, tx):
        super().__init__(model, tx)
        self.calls = nnx.Variable(jnp.array(0))

    def update(self, grads):
        super().update(grads)
        self.calls.value += 1


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = Counted(model, optax.sgd(0.1))
optimizer.update(nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(model))
print(int(optimizer.calls.value), float(model.kernel.value.sum()))
""",
            after="""\
import jax.numpy as jnp
import optax
from flax import nnx

class Counted(nnx.ModelAndOptimizer):
    def __init__(self, model, tx):
        super().__init__(model, tx)
        self.calls = nnx.Variable(jnp.array(0))

    def update(self, grads):
        super().update(grads)
        self.calls.value += 1


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = Counted(model, optax.sgd(0.1))
optimizer.update(nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(model))
print(int(optimizer.calls.value), float(model.kernel.value.sum()))
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=family("NNX110"),
    always=True,
)
