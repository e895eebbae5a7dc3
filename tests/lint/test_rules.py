"""What each lint rule finds, and what it leaves alone: more right code than wrong code."""

from __future__ import annotations

import re

import pytest

from codemods.nnx.options import Options
from codemods.nnx.rule import MISTAKES
from tests.migration import look

HEAD = """\
import functools
import math
import random
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
key = jax.random.key(0)
x = jnp.ones(3)
"""


def codes(body: str) -> list[tuple[str, str]]:
    """Return the code and the line's text of every finding of the lint families."""
    text = HEAD + body
    found = look(text, Options(targets=("0.12",), origin="0.12", lint=True)).findings
    lines = text.encode().splitlines()
    return [
        (f.code, lines[text.encode()[: f.start].count(b"\n")].decode().strip())
        for f in found
        if f.code.startswith((*MISTAKES, "NNX9"))
    ]


def jitted(*lines: str, params: str = "x", head: str = "@jax.jit") -> str:
    """Return a compiled function with a body."""
    return f"{head}\ndef f({params}):\n" + "".join(f"    {line}\n" for line in lines)


# the lines marked with a code are found, and no others
BAD = [
    jitted("return model(x)  # NNX801"),
    "f = nnx.jit(model.__call__)  # NNX802\n",
    jitted("print(x)  # NNX803", "return x"),
    jitted('jax.debug.print(f"{x}")  # NNX803', "return x"),
    "total = 0\n" + jitted("global total", "total = x  # NNX804"),
    "seen = {}\n" + jitted("seen['x'] = x  # NNX805"),
    jitted("return x * random.random()  # NNX806"),
    jitted("return x + np.random.rand()  # NNX806"),
    "cfg = {'a': 1}\n" + jitted("return x * cfg['a']  # NNX807") + "f(1)\ncfg['a'] = 2\nf(1)\n",
    "def h(v):\n    return math.exp(v)  # NNX810\n" + jitted("return h(x)"),
    jitted("while x.sum() > 3:  # NNX820", "    x = x - 1", "return x"),
    jitted("y = x * 2", "return 1 if y.any() else 0  # NNX820"),
    "jax.lax.scan(lambda c, v: (c if v else c, v), 0, x)  # NNX820\n",
    "def h(v, flag):\n    assert v > 0  # NNX820\n    return v\n" + jitted("return h(x, True)"),
    jitted("return x.sum().item()  # NNX821"),
    jitted("return jnp.ones(3) if mode == 'a' else x  # NNX822", params="x, mode: str"),
    jitted("return x[:n]  # NNX823", params="x, n"),
    jitted("return x[~(x > 0)]  # NNX824"),
    jitted("return jnp.unique(x)  # NNX825"),
    "a = jax.random.split(key)\nb = jax.random.normal(key)  # NNX830\nprint(a)\n",
    "for i in range(3):\n    for j in range(2):\n        a = jax.random.normal(key)  # NNX830\n",
    "jax.random.split(key)  # NNX834\n",
    "x[0] += 1  # NNX840\n",
    "x.at[0].add(1)  # NNX841\n",
    "x.sort()  # NNX842\n",
    "optax.apply_updates(x, x)  # NNX842\n",
    "x.fill(0)  # NNX843\n",
    "y = jnp.max((1, 2))  # NNX844\n",
    "model.bias = jnp.zeros(2)  # NNX846\n",
    "jnp.zeros((2, 3))\ny = x[0]\nz = jnp.arange(3)\nw = z[3]  # NNX847\n",
    "g = jax.value_and_grad(lambda v: (v, v))(x)  # NNX850\n",
    "for i in range(9):\n    g = nnx.grad(lambda m: m(x).sum())(model)\n    optimizer.update(model, g)  # NNX904\n",
    jitted("for i in range(64):  # NNX909", "    x = x * i", "return x"),
]

CLEAN = [
    jitted("return m(x)", params="m, x", head="@nnx.jit"),
    jitted("return x * SCALE") + "SCALE = 2\n",
    jitted('print("tracing", x.shape, len(x), x.dtype)', "return x"),
    jitted('jax.debug.print("{}", x)', "return x"),
    jitted("jax.debug.callback(lambda v: print(v), x)", "return x"),
    "def plain(x):\n    print(x)\n    return float(x) if x > 0 else math.exp(x)\n",
    "def counted():\n    n = 0\n    @jax.jit\n    def f(x):\n        nonlocal n\n        n += 1\n    return f\n",
    jitted("parts = []", "parts.append(x)", "return parts"),
    jitted("return jax.random.normal(jax.random.fold_in(k, 1)) + x", params="k, x"),
    jitted("return x * np.prod(x.shape) + np.float32(2) + np.sum(x)"),
    jitted("return x if x.ndim == 2 else x[None]"),
    jitted("return x if y is None else x + y", params="x, y=None"),
    jitted("return x if isinstance(x, tuple) else x"),
    jitted("return b['x'] if 'x' in b else 0", params="b"),
    jitted("for k, v in b.items():", "    if k == 'x':", "        return v", params="b"),
    jitted("return x if train else -x", params="x, train", head='@functools.partial(jax.jit, static_argnames="train")'),
    jitted("return x if train else -x", params="x, train", head="@functools.partial(jax.jit, static_argnums=(1,))"),
    jitted("return x if m.use_bias else -x", params="m, x", head="@nnx.jit"),
    "def h(v, flag):\n    return v if flag else -v\n" + jitted("return h(x, True)"),
    "jax.grad(lambda v: v if v > 0 else -v)(1.0)\n",
    "f = jax.vmap(lambda v, flag: v if flag else -v, in_axes=(0, None))\n",
    jitted("return float(x.shape[0]) * int(len(x)) * x"),
    jitted("return jnp.zeros(x.shape) + jnp.arange(x.shape[0])"),
    jitted("return x.reshape(x.shape[0], -1)[: x.shape[0] // 2]"),
    jitted("return jnp.where(x > 0, x, 0)[i]", params="x, i"),
    jitted("return jnp.nonzero(x, size=2)"),
    "key, a = jax.random.split(key)\nkey, b = jax.random.split(key)\nc = jax.random.normal(a) + jax.random.normal(b)\n",
    "for k in jax.random.split(key, 3):\n    a = jax.random.normal(k)\n",
    "keys = jax.random.split(key, 3)\na = [jax.random.normal(keys[i]) for i in range(3)]\n",
    "if x.any():\n    a = jax.random.normal(key)\nelse:\n    a = jax.random.uniform(key)\n",
    "for i in range(3):\n    key, sub = jax.random.split(key)\n    a = jax.random.normal(sub)\n",
    "for i in range(3):\n    key, sub = jax.random.split(key)\nkey, sub = jax.random.split(key)\n",
    "a = jax.random.permutation(key, x)\nb = jax.random.permutation(key, 2 * x)\n",
    "@jax.jit\ndef f(x, n=3):\n    return x + 1 if n > 2 else x\nf(x)\n",
    "def test_same():\n    a = jax.random.normal(key)\n    b = jax.random.normal(key)\n",
    "a, b = nnx.Linear(2, 2, rngs=nnx.Rngs(2)), nnx.Linear(2, 2, rngs=nnx.Rngs(1))\n",
    "y = np.zeros(3)\ny[0] = 1\ny.fill(2)\ny.sort()\n",
    "rows = [jnp.ones(2)]\nrows[0] = x\n",
    "x = x.at[0].set(1)\n",
    "y = jnp.stack([x, x]) + jnp.array([1, 2, 3])\n",
    "model.bias[...] = jnp.zeros(2)\nmodel.extra = jnp.zeros(2)\n",
    "g = jax.value_and_grad(lambda v: (v, v), has_aux=True)(1.0)\n",
    "g = jax.grad(lambda v: (v, v)[0])(1.0)\n",
    jitted("for i in range(8):", "    x = x * i", "return x"),
    jitted("table = []", "for i in range(500):", "    table.append(i)", "return x"),
    "f = jax.jit(lambda v: v)\nfor i in range(9):\n    f(i)\n",
    "streams = nnx.Rngs(0)\ndef places(n):\n    return n\n@nnx.jit\ndef f(v):\n    return places(rngs=streams)\n",
]


def marked(body: str) -> list[tuple[str, str]]:
    """Return the codes that the comments of a text name, with their lines."""
    lines = [(re.search(r"# (NNX\d+)$", line), line.strip()) for line in body.splitlines()]
    return [(match.group(1), line) for match, line in lines if match]


@pytest.mark.parametrize("body", BAD)
def test_found(body: str) -> None:
    """The marked lines are found with the marked codes, and nothing else is."""
    assert codes(body) == marked(body)
    assert marked(body)


@pytest.mark.parametrize("body", CLEAN)
def test_left_alone(body: str) -> None:
    """Right code has no findings."""
    assert codes(body) == []
