"""Print the training steps per second of each form of a small model's loop, for the Flax of this interpreter.

    JAX_PLATFORMS=cpu python benchmarks/steps.py [--steps N] [--repeats N] [--width N]

The forms take turns, so that noise of the machine hits all alike; the best repeat of each counts. Before, the forms are
compared: their losses must agree in every bit.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import flax
import jax
import jax.numpy as jnp
import optax
from flax import nnx

# the class that keeps the interface of 0.10, so that one text runs on all versions
Optimizer = getattr(nnx, "ModelAndOptimizer", nnx.Optimizer)

Losses = list[Any]
Run = Callable[[int], Losses]


class Model(nnx.Module):  # type: ignore[misc]
    """The model of the performance guide: linear, batch norm, dropout, linear."""

    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.linear = nnx.Linear(2, width, rngs=rngs)
        self.bn = nnx.BatchNorm(width, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(width, 3, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the logits, of shape [batch, 3], of data of shape [batch, 2]."""
        return self.out(nnx.relu(self.dropout(self.bn(self.linear(x)))))


def objects(width: int) -> tuple[Any, Any, Any]:
    """Return a new model, its optimizer and its metrics."""
    model = Model(width, nnx.Rngs(0))
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    return model, Optimizer(model, optax.adam(1e-3), wrt=nnx.Param), metrics


def step(model: Any, optimizer: Any, metrics: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    """Train once and return the loss."""
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(grads)
    metrics.update(loss=loss)
    return loss


def nnx_jit(width: int, x: jax.Array, y: jax.Array) -> Run:
    """Return the loop as users write it first."""
    everything, compiled = objects(width), nnx.jit(step)
    return lambda steps: [compiled(*everything, x, y) for _ in range(steps)]


def cached_partial(width: int, x: jax.Array, y: jax.Array) -> Run:
    """Return the loop with the objects bound once."""
    compiled = nnx.cached_partial(nnx.jit(step), *objects(width))
    return lambda steps: [compiled(x, y) for _ in range(steps)]


def split_merge(width: int, x: jax.Array, y: jax.Array) -> Run:
    """Return the loop that carries a state."""

    def functional(graphdef: Any, state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        model, optimizer, metrics = nnx.merge(graphdef, state)
        loss = step(model, optimizer, metrics, x, y)
        return nnx.state((model, optimizer, metrics)), loss

    compiled = jax.jit(functional)
    graphdef, state = nnx.split(objects(width))

    def run(steps: int) -> Losses:
        nonlocal state
        losses = []
        for _ in range(steps):
            state, loss = compiled(graphdef, state, x, y)
            losses.append(loss)
        return losses

    return run


FORMS = {"nnx.jit": nnx_jit, "nnx.cached_partial": cached_partial, "split/merge": split_merge}


def main() -> None:
    """Compare the forms, then time them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--width", type=int, default=64)
    given = parser.parse_args()
    x, y = jnp.ones((32, 2)), jnp.zeros((32, 3))
    runs = {name: make(given.width, x, y) for name, make in FORMS.items()}
    losses = {name: [float(loss) for loss in run(5)] for name, run in runs.items()}
    if len({tuple(values) for values in losses.values()}) != 1:
        raise SystemExit(f"the forms differ: {losses}")
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(given.repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            jax.block_until_ready(run(given.steps))
            best[name] = min(best[name], time.perf_counter() - start)
    print(f"flax {flax.__version__}, jax {jax.__version__}, width {given.width}")
    for name, seconds in best.items():
        print(f"{name:20} {given.steps / seconds:8.0f} steps/s  {best['nnx.jit'] / seconds:4.1f} x")


if __name__ == "__main__":
    main()
