"""Every way to trace a function is seen: a mistake in it is found."""

from __future__ import annotations

import pytest

from codemods.nnx.options import Options
from tests.migration import look

# programs with one condition on a traced value
FORMS = {
    "decorator": """\
import jax
@jax.jit
def f(x):
    if x > 0: return x
    return -x
""",
    "module under another name": """\
import jax as j
@j.jit
def f(x):
    if x > 0: return x
    return -x
""",
    "imported name": """\
from jax import jit
@jit
def f(x):
    if x > 0: return x
    return -x
""",
    "imported name under another name": """\
from jax import jit as fast
@fast
def f(x):
    if x > 0: return x
    return -x
""",
    "nnx under another name": """\
from flax import nnx as nn
@nn.jit
def f(x):
    if x > 0: return x
    return -x
""",
    "flax.nnx under a name": """\
import flax.nnx as nnx
@nnx.jit
def f(x):
    if x > 0: return x
    return -x
""",
    "full name": """\
import flax
import flax.nnx
@flax.nnx.jit
def f(x):
    if x > 0: return x
    return -x
""",
    "variable": """\
import jax
jit = jax.jit
@jit
def f(x):
    if x > 0: return x
    return -x
""",
    "partial": """\
import jax, functools
@functools.partial(jax.jit, static_argnames="n")
def f(x, n):
    if x > 0: return x
    return -x
""",
    "partial as": """\
import jax
from functools import partial as P
@P(jax.jit, static_argnums=1)
def f(x, n):
    if x > 0: return x
    return -x
""",
    "partial var": """\
import jax
from functools import partial
myjit = partial(jax.jit, static_argnums=1)
@myjit
def f(x, n):
    if x > 0: return x
    return -x
""",
    "partial call": """\
import jax
from functools import partial
def f(x, n):
    if x > 0: return x
    return -x
fast = partial(jax.jit, static_argnums=1)(f)
""",
    "nnx options": """\
from flax import nnx
@nnx.jit(static_argnames="n")
def f(x, n):
    if x > 0: return x
    return -x
""",
    "call": """\
import jax
def f(x):
    if x > 0: return x
    return -x
fast = jax.jit(f)
""",
    "call attr": """\
import jax
class T:
    def __init__(self):
        self.step = jax.jit(self._step)
    def _step(self, x):
        if x > 0: return x
        return -x
""",
    "class attr": """\
import jax
class T:
    def _step(self, x):
        if x > 0: return x
        return -x
    step = jax.jit(_step)
""",
    "method dec": """\
from flax import nnx
class M(nnx.Module):
    @nnx.jit
    def __call__(self, x):
        if x > 0: return x
        return -x
""",
    "static method": """\
import jax
class T:
    @staticmethod
    @jax.jit
    def f(x):
        if x > 0: return x
        return -x
""",
    "static self": """\
import jax
from functools import partial
class T:
    @partial(jax.jit, static_argnums=(0,))
    def f(self, x):
        if x > 0: return x
        return -x
""",
    "nested helper": """\
import jax
def g(v):
    if v > 0: return v
    return -v
def h(v):
    return g(v * 2)
@jax.jit
def f(x):
    return h(x)
""",
    "helper method": """\
import jax
class T:
    def g(self, v):
        if v > 0: return v
        return -v
    def f(self, x):
        return self.g(x)
    def run(self, x):
        return jax.jit(self.f)(x)
""",
    "grad in jit": """\
import jax
@jax.jit
def f(x):
    def loss(p):
        if p > 0: return p
        return -p
    return jax.grad(loss)(x)
""",
    "value_and_grad lambda": """\
import jax
@jax.jit
def f(x):
    return jax.value_and_grad(lambda p: p if p > 0 else -p)(x)
""",
    "scan": """\
import jax
def body(c, v):
    if c > 0: return c, v
    return c, v
jax.lax.scan(body, 0., None)
""",
    "nnx.scan dec": """\
from flax import nnx
@nnx.scan
def body(c, v):
    if c > 0: return c, v
    return c, v
""",
    "nnx.scan opts": """\
from flax import nnx
@nnx.scan(in_axes=(nnx.Carry, 0))
def body(c, v):
    if c > 0: return c, v
    return c, v
""",
    "fori": """\
import jax
jax.lax.fori_loop(0, 3, lambda i, c: c if c > 0 else -c, 1.)
""",
    "while": """\
from jax import lax
def cond(c):
    return True if c > 0 else False
lax.while_loop(cond, lambda c: c, 1.)
""",
    "cond": """\
from jax import lax
lax.cond(True, lambda v: v if v > 0 else -v, lambda v: v, 1.)
""",
    "switch": """\
from jax import lax
lax.switch(0, [lambda v: v if v > 0 else -v, lambda v: v], 1.)
""",
    "vmap": """\
import jax
f = jax.vmap(lambda v: v if v > 0 else -v)
""",
    "nnx.vmap": """\
from flax import nnx
@nnx.vmap
def f(v):
    return v if v > 0 else -v
""",
    "nnx.vmap opts": """\
from flax import nnx
@nnx.vmap(in_axes=(None, 0))
def f(m, v):
    return v if v > 0 else -v
""",
    "remat": """\
import jax
@jax.checkpoint
def f(v):
    return v if v > 0 else -v
""",
    "remat in jit": """\
import jax
@jax.jit
def g(x):
    return jax.checkpoint(lambda v: v if v > 0 else -v)(x)
""",
    "shard_map": """\
import jax
from jax.sharding import PartitionSpec as P
f = jax.shard_map(lambda v: v if v > 0 else -v, mesh=None, in_specs=P("d"), out_specs=P("d"))
""",
    "pjit": """\
from jax.experimental.pjit import pjit
f = pjit(lambda v: v if v > 0 else -v)
""",
    "custom_vjp": """\
import jax
@jax.custom_vjp
def f(v):
    return v if v > 0 else -v
@jax.jit
def g(x):
    return f(x)
""",
    "returned": """\
import jax
def make():
    def step(x):
        if x > 0: return x
        return -x
    return jax.jit(step)
""",
    "wrapped dec": """\
import jax, functools
def logged(fn):
    @functools.wraps(fn)
    def inner(*a):
        return fn(*a)
    return inner
@jax.jit
@logged
def f(x):
    if x > 0: return x
    return -x
""",
    "jit of partial": """\
import jax
from functools import partial
def f(n, x):
    if x > 0: return x * n
    return -x
fast = jax.jit(partial(f, 3))
""",
    "jit of vmap": """\
import jax
def f(x):
    if x > 0: return x
    return -x
fast = jax.jit(jax.vmap(f))
""",
    "jit of grad": """\
import jax
def f(x):
    if x > 0: return x
    return -x
fast = jax.jit(jax.grad(f))
""",
    "jit of vag aux": """\
from flax import nnx
def f(m, x):
    if x > 0: return x
    return -x
fast = nnx.jit(nnx.value_and_grad(f))
""",
    "dict": """\
import jax
fns = {"a": jax.jit(lambda x: x if x > 0 else -x)}
""",
    "kw": """\
import jax
def f(x):
    if x > 0: return x
    return -x
fast = jax.jit(fun=f)
""",
    "kw body": """\
import jax
def body(c, v):
    if c > 0: return c, v
    return c, v
jax.lax.scan(f=body, init=0., xs=None)
""",
    "tree map": """\
import jax
@jax.jit
def f(p):
    return jax.tree.map(lambda v: v if v > 0 else -v, p)
""",
    "kwonly": """\
import jax
@jax.jit
def f(*, x):
    if x > 0: return x
    return -x
""",
    "unpack": """\
import jax
@jax.jit
def f(batch):
    x, y = batch
    if x > 0: return x
    return y
""",
    "dict item": """\
import jax
@jax.jit
def f(batch):
    if batch["x"].sum() > 0: return batch
    return batch
""",
    "match": """\
import jax
@jax.jit
def f(x):
    match x:
        case 0: return 1
    return x
""",
    "walrus": """\
import jax
@jax.jit
def f(x):
    if (y := x.sum()) > 0: return y
    return x
""",
}


@pytest.mark.parametrize("name", FORMS)
def test_seen(name: str) -> None:
    options = Options(origin="0.12", targets=("0.12",), lint=True, select=("NNX820",))
    analysis = look(FORMS[name], options)
    assert [f.code for f in analysis.findings] == ["NNX820"]
    assert not analysis.failures


@pytest.mark.parametrize("name", FORMS)
def test_plain(name: str) -> None:
    """The same function is left alone where its decorator or the call around it is another library's."""
    text = FORMS[name].replace("jax", "other").replace("flax", "else_where")
    assert not look(text, Options(origin="0.12", targets=("0.12",), lint=True, select=("NNX8",))).findings
