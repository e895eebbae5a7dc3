"""What another cell of a notebook binds again, with parameters that are others most often."""

from __future__ import annotations

import pytest

from tests.lint.test_shown import codes

STEP = """\
import jax
import jax.numpy as jnp
import optax
optimizer = optax.adam(1e-3)
@jax.jit
def step(params, state, x):
    grads = jax.grad(lambda p: jnp.sum((p * x) ** 2))(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state
params = jnp.ones(3)
state = optimizer.init(params)
for _ in range(10):
    params, state = step(params, state, jnp.ones(3))
"""
AGAIN = """\
optimizer = optax.adam(1e-2)
params = jnp.ones({})
state = optimizer.init(params)
for _ in range(10):
    params, state = step(params, state, jnp.ones({}))
"""
FACTOR = """\
import jax
import jax.numpy as jnp
factor = 2.0
@jax.jit
def scaled(x):
    return x * factor
print(scaled(jnp.ones(3)))
"""
OTHER = "factor = 3.0\nprint(scaled(jnp.ones(3)))\n"


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ((STEP + AGAIN.format(3, 3),), True),
        ((STEP, AGAIN.format(4, 4)), False),
        ((FACTOR, OTHER), True),
        ((FACTOR + OTHER,), True),
    ],
)
def test_an_optimizer_made_in_another_cell(cells: tuple[str, ...], found: bool) -> None:
    assert ("NNX807" in codes(*cells)) is found
