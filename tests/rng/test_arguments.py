"""What is passed through a split beside a stack: only data, or another stack, lets the split be removed."""

from __future__ import annotations

import pytest

from tests.migration import migrate_text, options

HEAD = """\
import functools
import math
import os
import time
import jax
import jax.numpy as jnp
import numpy as np
import optax
import mystery
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


blocks = nnx.split_rngs(splits=4)(nnx.vmap(Block))(nnx.Rngs(params=0, dropout=1))
x = jnp.ones(3)
"""
NARROW = "@nnx.split_rngs(splits=4, only=lambda path, x: x.shape == ())\n"


def _became(call: str, use: str = "layers") -> str:
    """Return what becomes of a split over a function that uses an attribute of its second argument."""
    forward = f"@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)\ndef forward(block, x):\n    print(x.{use})\n"
    forward += f"    return block(x)\n{call}\n"
    after = migrate_text(f"{HEAD}@nnx.split_rngs(splits=4)\n{forward}", options("0.11", select=("NNX201",)))
    return {f"{HEAD}{forward}": "removed", f"{HEAD}{NARROW}{forward}": "narrowed"}[after]


@pytest.mark.parametrize(
    "use",
    [
        "shape", "ndim", "dtype", "size", "T", "mT", "at", "real", "imag", "reshape", "astype", "sum", "mean", "max",
        "min", "std", "var", "transpose", "swapaxes", "squeeze", "ravel", "flatten", "copy", "any", "all", "item",
        "tolist", "dot",
    ],
)  # fmt: skip
def test_used_as_an_array(use: str) -> None:
    assert _became("forward(blocks, mystery.load())", use) == "removed"
    assert _became("forward(block=blocks, x=mystery.load())", use) == "removed"


@pytest.mark.parametrize(
    "argument",
    [
        "1", "'a'", "lambda: 1", "1 + 2", "-x", "x < 1", "f'{x}'", "(x, 1)", "x[0]", "x.value", "mystery.load().value",
        "mystery.load().shape", "mystery.load().dtype", "jnp.ones(3)", "jax.nn.relu(3)", "np.ones(3)", "optax.sgd(1)",
        "math.sin(1)", "time.time()", "os.getcwd()", "int('3')", "len('a')", "nnx.relu(x)", "nnx.grad(len)(x)",
        "jax.value_and_grad(len)(x)", "nnx.Linear(2, 2, rngs=nnx.Rngs(0))(x)", "jnp.ones(3).reshape(3)", "blocks",
        "[blocks]", "{'a': blocks}", "nnx.List([blocks])", "nnx.Dict(a=blocks)", "nnx.Linear(2, 2, rngs=nnx.Rngs(0))",
        "nnx.Dict(a=x)", "nnx.List([x])",
    ],
)  # fmt: skip
def test_holds_no_scalar_stream(argument: str) -> None:
    assert _became(f"forward(blocks, {argument})") == "removed"


@pytest.mark.parametrize(
    "argument",
    [
        "mystery.load()", "mystery.load().other", "(x, mystery.load())", "nnx.merge(*mystery.load())",
        "nnx.clone(mystery.load())", "nnx.state(mystery.load())", "nnx.split(mystery.load())[1]",
        "nnx.bridge.lazy_init(x)", "mystery.load().reshape(3)", "nnx.jit(mystery.load())(x)", "nnx.vmap(len)(x)",
        "nnx.Rngs(0)", "nnx.Rngs(0).fork()", "nnx.Module()", "Block(nnx.Rngs(0))", "[Block(nnx.Rngs(0))]",
        "{'a': Block(nnx.Rngs(0))}", "nnx.List([Block(nnx.Rngs(0))])", "nnx.Dict(a=Block(nnx.Rngs(0)))",
        "nnx.Sequential(Block(nnx.Rngs(0)))", "*mystery.load()", "nnx.RngStream(tag='a', key=0)",
    ],
)  # fmt: skip
def test_may_hold_a_scalar_stream(argument: str) -> None:
    assert _became(f"forward(blocks, {argument})") == "narrowed"


@pytest.mark.parametrize(
    ("parameter", "became"),
    [
        *((f"y: {kind}", "removed") for kind in ("jax.Array", "jnp.ndarray", "np.ndarray", "int", "float", "bool")),
        *((f"y: {kind}", "removed") for kind in ("str", "'Array'", "'Float[Array, \"b\"]'", "jax.Array | None")),
        *((f"y: {kind}", "removed") for kind in ("jax.typing.ArrayLike", "jax.ShapeDtypeStruct")),
        *((f"y: {kind}", "narrowed") for kind in ("nnx.Module", "nnx.Linear | None", "nnx.Rngs")),
        ("y: Block", "removed"),  # all that there are
        ("y", "removed"),
        ("rngs", "narrowed"),
        ("y_stream", "narrowed"),
        ("y, f=lambda z: z.thing", "removed"),
    ],
)
def test_parameters(parameter: str, became: str) -> None:
    name = parameter.partition(":")[0].partition(",")[0]
    assert _became(f"def run({parameter}):\n    return forward(blocks, {name})\n") == became


@pytest.mark.parametrize("use", ["y.thing", "y(1)", "nnx.Dropout(0.5, rngs=y)", "(lambda: y.thing)()"])
def test_parameters_that_are_used_as_objects(use: str) -> None:
    assert _became(f"def run(y):\n    {use}\n    return forward(blocks, y)\n") == "narrowed"
    array = f"def run(y: jax.Array):\n    {use}\n    return forward(blocks, y)\n"
    assert _became(array) == "removed"
