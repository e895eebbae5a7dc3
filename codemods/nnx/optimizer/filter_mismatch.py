"""NNX106: gradients of other variables than the optimizer updates."""

from __future__ import annotations

from codemods.nnx.optimizer.migrate import family
from codemods.nnx.rule import Example, Kind, Rule

RULE = Rule(
    code="NNX106",
    name="optimizer-filter-mismatch",
    summary="gradients whose filter differs from `wrt`",
    why="""\
`nnx.grad` differentiates `nnx.Param` unless `argnums=nnx.DiffState(0, filter)` says otherwise; the optimizer
updates what `wrt` selects. If the two differ, Flax 0.10 and 0.11 raise a tree mismatch and 0.12 drops
gradients silently. For 0.12 alone nothing is said of a `wrt` that is a class below `nnx.Param`: it freezes the rest.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
import jax.numpy as jnp
import optax
from flax import nnx

class Adapter(nnx.Param):
    pass


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
model.low = Adapter(jnp.ones(()))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=Adapter)
grads = nnx.grad(lambda m: jnp.mean(m.low * m(jnp.ones((4, 2))) ** 2))(model)
optimizer.update(model, grads)
""",
            run=False,
        ),
    ),
    check=family("NNX106"),
    always=True,
)
