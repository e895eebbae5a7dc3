"""What another cell of a notebook binds again, with parameters that are others most often."""

from __future__ import annotations

import pytest

from codemods.nnx.options import Options
from nnxmigrate.files.magics import masked
from tests.lint.test_shown import codes
from tests.migration import look

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


DRAWN = """\
import jax
import jax.numpy as jnp
key = jax.random.key(0)
weights = jax.random.normal(key, (15, 10))
batch = jax.random.normal(key, (4, 10))
def applied(v):
    return jnp.dot(weights, v)
def each(vs):
    return jnp.stack([applied(v) for v in vs])
"""


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (("%timeit each(batch).block_until_ready()\n",), False),
        (("%timeit each(batch)\n", "y = each(batch)\nprint(y)\n"), True),
        (("%time y = each(batch)\n", "print(y)\n"), True),
        (("%timeit train(each(batch))\n",), True),
    ],
)
def test_draws_that_are_timed(cells: tuple[str, ...], found: bool) -> None:
    """What is drawn for ``%timeit`` alone may be drawn with one key."""
    rest = [masked(cell.encode())[0].decode() for cell in cells]
    assert ("NNX830" in codes(DRAWN, *rest)) is found


KEY = "import jax\nkey = jax.random.key(0)\n"


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (("for i in range(3):\n    print(jax.random.normal(key))\n",), False),
        (('print(f"one: {jax.random.normal(key)}")\nnew_key, part = jax.random.split(key)\nprint(part)\n',), False),
        (("draws = []\nfor i in range(3):\n    draws.append(jax.random.normal(key))\n",), True),
        (("one = jax.random.normal(key)\ntwo = jax.random.normal(key)\nprint(one + two)\n",), True),
    ],
)
def test_draws_that_are_only_printed(cells: tuple[str, ...], found: bool) -> None:
    """What a cell only prints tells how keys behave."""
    assert ("NNX830" in codes(KEY, *cells)) is found


@pytest.mark.parametrize(
    ("constants", "found"),
    [
        ("jnp.array([[1.0, 0.0], [-1.0, 0.5]])", False),
        ("jnp.full((3,), -2)", False),
        ("jnp.zeros(3)", False),
        ("jnp.array([1.00782503207, 15.99491461957])", True),
        ("jnp.array(6.02214076e23)", True),
        ("jnp.linspace(0.0, 1.0, 7)", True),
    ],
)
def test_constants_before_64_bits(constants: str, found: bool) -> None:
    """Numbers that 32 bits hold as they are stay the same where they meet those of 64 bits."""
    program = 'import jax\nimport weights\njax.config.update("jax_enable_x64", True)\nprint(weights.TABLE)\n'
    imported = f"import jax.numpy as jnp\nTABLE = {constants}\n"
    options = Options(origin="0.12", targets=("0.12",), lint=True)
    told = [one for one in look({"main.py": program, "weights.py": imported}, options).findings if one.code == "NNX781"]
    assert bool(told) is found
    assert all("weights.py:2" in one.message for one in told)
