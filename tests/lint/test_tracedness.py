"""What is taken for traced, and what is not: every case is a program with its mistakes marked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codemods.nnx.options import Options
from tests.batch import execute_all
from tests.migration import look

HEAD = """\
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
"""

QUIET = {
    "isrealobj": """\
@jax.jit
def f(x):
    if jnp.isrealobj(x): return x
    if jnp.ndim(x) > 1 or jnp.issubdtype(x.dtype, jnp.floating): return x
    return x * 2
""",
    "in_axes": """\
def f(x, n, flag):
    if flag: return x * n
    return jnp.zeros(n) + x
g = jax.vmap(f, (0, None, None))
g(jnp.ones(3), 3, True)
""",
    "shard_map": """\
def f(x, causal):
    if causal: return x * 2
    return x
P = jax.sharding.PartitionSpec
mesh = jax.make_mesh((1,), ("x",))
g = jax.shard_map(f, mesh=mesh, in_specs=(P("x"), None), out_specs=P("x"))
old = lambda: jax.experimental.shard_map.shard_map(f, mesh, (P("x"), None), P("x"))
""",
    "default": """\
def helper(x, reverse=False, n=3):
    if reverse: x = x[::-1]
    for i in range(n): x = x * 2
    return x
@jax.jit
def f(x): return helper(x)
helper(jnp.ones(3), jnp.sum(jnp.ones(3)) > 2)
""",
    "tracer guard": """\
@jax.jit
def f(x):
    if not isinstance(x, jax.core.Tracer):
        assert x > 0
    return x
""",
    "partial": """\
def f(cfg, x, n):
    if cfg["a"]: return x * n
    return jnp.zeros(n) + x
g = jax.jit(partial(f, {"a": 1}), static_argnums=1)
g(jnp.ones(3), 3)
""",
    "callback": """\
@jax.jit
def f(x):
    def host(v):
        if v.sum() > 0: return float(v.sum())
        return np.exp(v)
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)
""",
    "callback helper": """\
def other(v):
    return np.float32(float(v) if v > 0 else 0)
@jax.jit
def f(x):
    shape = jax.ShapeDtypeStruct((), jnp.float32)
    return jax.pure_callback(lambda v: other(v), shape, x) + jax.pure_callback(other, shape, x)
""",
    "tree of flags": """\
@jax.jit
def f(params, x):
    mask = {"a": True, "b": False}
    y = jax.tree.map(lambda m, p: p if m else p * 2, mask, params)
    if jax.tree.all(mask): x = x + 1
    return y, x
""",
}

QUIET |= {
    "default that only direct calls replace": """\
def step(x, debug: bool = False):
    return x * 2 if debug else x


fast = jax.jit(step)
fast(jnp.ones(3))
step(jnp.ones(3), True)
""",
    "size given where it is traced": """\
def pooled(x, n=None):
    if n is None:
        n = int(x.max()) + 1
    return jnp.zeros(n) + x.sum()


@jax.jit
def f(x, sizes):
    return pooled(x, sizes.n)
""",
    "after a conversion that would have failed": """\
def same(x, expected):
    try:
        known = np.asarray(x)
    except Exception:
        return False
    return bool(np.array_equal(known, expected))


@jax.jit
def f(x):
    return x if same(x, 3) else -x
""",
    "branch of a helper that no traced call takes": """\
def shown(x, verbose):
    if verbose:
        print(float(x.sum()))
    return x


@jax.jit
def f(x):
    return shown(x, False)
""",
    "compile-time evaluation": """\
@jax.jit
def f(x):
    with jax.ensure_compile_time_eval():
        if jnp.sum(jnp.ones(3)) > 2:
            x = x + 1
    return x
""",
}

LOUD = {
    "sum of a generator": """\
@jax.jit
def f(grads):
    norm = sum(jnp.sum(g**2) for g in jax.tree.leaves(grads))
    if norm > 1:  # NNX820
        return grads
    return norm
""",
    "dict in a helper": """\
def log(m): return {k: float(v) for k, v in m.items()}  # NNX821
@jax.jit
def f(x):
    m = {"loss": jnp.mean(x), "acc": x.sum()}
    return log(m)
""",
    "list": """\
@jax.jit
def f(x):
    losses = []
    for i in range(3):
        losses.append(jnp.sum(x * i))
    if losses[0] > 1: return losses  # NNX820
    return float(losses[-1])  # NNX821
""",
    "no parameters": """\
@jax.jit
def step():
    loss = jnp.mean(jnp.ones(3))
    print("loss", loss)  # NNX803
    if loss > 3: return loss  # NNX820
    return loss
""",
    "tuple of a helper": """\
def stats(x):
    return x.mean(), x.shape[0]
@jax.jit
def f(x):
    m, n = stats(x)
    if n > 3: x = x + 1
    if m > 3: x = x + 1  # NNX820
    return x
""",
    "running total": """\
@jax.jit
def f(xs):
    total = 0.0
    for i in range(3):
        total += jnp.sum(xs[i])
    if total > 1: return total  # NNX820
    return 0.
""",
    "value_and_grad": """\
@nnx.jit
def f(m, x):
    loss, grads = nnx.value_and_grad(lambda m: m(x).mean())(m)
    if jnp.isnan(loss): return 0  # NNX820
    if loss > 3: return 0  # NNX820
    return float(loss)  # NNX821
""",
}

# one call of each program, which a mistake makes fail
CALLS = {
    "isrealobj": "f(jnp.ones(3))",
    "default": "f(jnp.ones(3))",
    "tracer guard": "f(jnp.ones(()))",
    "callback": "f(jnp.ones(3))",
    "callback helper": "f(jnp.ones(()))",
    "tree of flags": 'f({"a": 1.0, "b": 2.0}, 1.0)',
    "after a conversion that would have failed": "f(jnp.ones(()))",
    "branch of a helper that no traced call takes": "f(jnp.ones(3))",
    "compile-time evaluation": "f(jnp.ones(3))",
    "sum of a generator": 'f({"a": jnp.ones(3)})',
    "dict in a helper": "f(jnp.ones(3))",
    "list": "f(jnp.ones(3))",
    "no parameters": "step()",
    "tuple of a helper": "f(jnp.ones(5))",
    "running total": "f(jnp.ones((3, 2)))",
    "value_and_grad": "f(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), jnp.ones((1, 1)))",
}


def found(body: str) -> list[tuple[str, int]]:
    """Return the codes of NNX8 and the lines of all findings in a program."""
    text = HEAD + body
    analysis = look(text, Options(origin="0.12", targets=("0.12",), lint=True, select=("NNX8",)))
    assert not analysis.failures
    return [(f.code, text.encode()[: f.start].count(b"\n") + 1) for f in analysis.findings]


@pytest.mark.parametrize("body", QUIET.values(), ids=QUIET)
def test_known_while_compiling(body: str) -> None:
    """What Python knows while it compiles is not reported."""
    assert found(body) == []


@pytest.mark.parametrize("body", LOUD.values(), ids=LOUD)
def test_traced(body: str) -> None:
    """Traced values are followed through containers, generators, helpers and loops."""
    marked = [
        (code, number)
        for number, line in enumerate((HEAD + body).splitlines(), 1)
        for code in re.findall(r"# (NNX\d+)", line)
    ]
    assert marked
    assert found(body) == marked


@pytest.mark.parametrize("version", ["0.11", "0.12"])
def test_truth(version: str, tmp_path: Path) -> None:
    """What is left alone runs, and what is reported does not."""
    programs = {name: f"{HEAD}{body}{CALLS.get(name, '')}\n" for name, body in (QUIET | LOUD).items()}
    done = execute_all(version, programs, tmp_path / "batch")
    assert {name for name, output in done.items() if output.code} == set(LOUD)


def test_a_method_that_is_its_own_compiled_form_comes_to_an_end() -> None:
    text = """\
from flax import linen as nn
class Actor(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)
def main(key, x):
    actor = Actor()
    params = actor.init(key, x)
    actor.apply = jax.jit(actor.apply)
    @jax.jit
    def update(params, x):
        def loss(params):
            return actor.apply(params, x).mean()
        return jax.grad(loss)(params)
    return update(params, x)
"""
    assert not look({"main.py": HEAD + text}).failures
