"""Values that are made of themselves do not bring an analysis to its end."""

from __future__ import annotations

import time

import pytest

from codemods.nnx.options import Options
from tests.migration import look

pytestmark = pytest.mark.slow

#: How a value is made of the one before, which is written `{x}`.
MADE = [
    "{x}.at[i].set(v)", "{x}[0]", "{x}['k']", "{x}.T", "{x}.reshape(4, 2)", "{x} + 1", "-{x}", "jnp.where(m, {x}, v)",
    "jnp.concatenate([{x}, v])", "jax.jit({x})", "nnx.jit({x})", "functools.partial({x}, 1)",
    "jax.vmap({x}, in_axes=(0, None))", "jax.tree.map(jnp.add, {x}, v)", "{x}.replace(step=1)",
    "{x}.apply_gradients(grads=v)", "optax.chain({x}, optax.clip(1.0))", "nnx.clone({x})", "nnx.merge(g, {x})",
    "nnx.state({x})", "nnx.split({x})[1]", "{x}.astype(jnp.int32)", "jax.random.split({x})[0]",
    "jax.random.fold_in({x}, i)", "({x}, v)", "[{x}]", "[*{x}, v]", "{{**{x}, 'a': v}}", "dict({x})", "list({x})",
    "{x} if m else v", "lambda a: {x}(a)", "jax.lax.scan({x}, v, m)[0]", "jax.device_put({x}, s)", "jax.grad({x})",
    "nnx.value_and_grad({x})", "{x}({x})", "{x}.update(v, {x})", "nnx.Optimizer({x}, optax.sgd(1.0))",
    "nnx.Sequential({x}, nnx.relu)", "nnx.data({x})", "nnx.List({x})", "np.asarray({x})", "copy.deepcopy({x})",
    "jax.eval_shape({x}, v)", "NamedSharding({x}, P('a'))", "next({x})", "iter({x})", "{x}.value", "{x}.kernel",
    "{x}[...]", "{x}[1:]", "len({x})", "getattr({x}, 'a')", "[{x}[k] for k in {x}]", "{x}.pop(0)", "{x}.get('a', {x})",
    "jnp.zeros({x}.shape)", "jax.lax.cond(m, {x}, {x}, v)",
]  # fmt: skip
#: What is done with it.
USED = [
    "{x}", "{x}[9]", "{x}(i)", "{x}.shape[1]", "{x}.update(v, i)", "jnp.sum({x})", "jax.jit({x})(i)",
    "[a for a in {x}]",
    "jax.random.normal({x}, (2,))", "bool({x})", "f'{{{x}}}'", "{x}.value", "{x}['k']", "jnp.dot({x}, {x})",
    "jax.vmap({x})(i)", "nnx.grad({x})(v)", "float({x})", "{x}.at[i].set(v)", "{x}.params", "nnx.update({x}, v)",
    "jax.tree.map(lambda a: a, {x})", "jax.lax.scan({x}, {x}, v)", "jax.lax.cond({x}, {x}, {x}, v)",
    "jnp.reshape({x}, (3, 4))", "{x}.append(v)", "isinstance({x}, int)", "{x} and v", "nnx.split({x})",
    "nnx.jit({x})(v)", "optax.apply_updates({x}, v)",
]  # fmt: skip
HEAD = """\
import copy
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import NamedSharding, PartitionSpec as P

held = None

"""
FORMS = """

class Own(nnx.Module):
    def step(self, i, v, m, g, s):
        self.x = {own}
{own_uses}

class Turns:
    def one(self, i, v, m, g, s):
        self.p = {second}

    def two(self, i, v, m, g, s):
        self.q = {first}
{second_uses}

@jax.jit
def rounds(x, i, v, m, g, s):
    while m:
        x = {local}
{local_uses}    return rounds({local}, i, v, m, g, s)


def of_module(i, v, m, g, s):
    global held
    held = {outer}
{outer_uses}"""


def program(made: str) -> str:
    """Return code in which an attribute, two attributes, a variable and a global are made of themselves."""

    def uses(name: str, depth: int) -> str:
        return "".join(f"{'    ' * depth}print({use.format(x=name)})\n" for use in USED)

    return HEAD + FORMS.format(
        own=made.format(x="self.x"),
        own_uses=uses("self.x", 2),
        first=made.format(x="self.p"),
        second=made.format(x="self.q"),
        second_uses=uses("self.q", 2),
        local=made.format(x="x"),
        local_uses=uses("x", 1),
        outer=made.format(x="held"),
        outer_uses=uses("held", 1),
    )


@pytest.mark.parametrize("made", MADE)
def test_no_defect(made: str) -> None:
    for options in (Options(lint=True, extend=("NNX",)), Options(targets=("0.12",))):
        assert not look(program(made), options).failures


def shared(rounds: int) -> str:
    """Return code in which functions hand the parameters of one net on to each other, in very many orders."""
    sampler = "".join(SAMPLE.format(i=i) for i in range(rounds))
    steps = "".join(STEP.format(i=i) for i in range(rounds))
    return NET + sampler + RUN + steps


NET = """\
import jax


class Net:
    def __init__(self, init, key):
        self.held = {"params": init(key)}

    @property
    def params(self):
        return self.held["params"]

    @params.setter
    def params(self, value):
        self.held = {**self.held, "params": value}

    def put(self, values):
        self.params = self.formed(values)

    def formed(self, values):
        return values

    def shift(self, delta):
        self.params = jax.tree.map(jax.lax.add, self.params, self.formed(delta))


class Sampler:
    def __init__(self, net):
        self.net = net
"""
SAMPLE = """
    def sample{i}(self, given):
        kept = self.net.params
        self.net.put(given)
        self.net.params = kept
        self.net.shift(given)
"""
RUN = """

def run(init, key, steps):
    net = Net(init, key)
    sampler = Sampler(net)
"""
STEP = """\
    sampler.sample{i}(steps[{i}])
    net.put(steps[{i}] + 1)
    sampler.sample{i}(net.params)
"""


def test_many_ways() -> None:
    """A tree is followed to where it may come from once for each value, and not for each way to it."""
    began = time.process_time()
    assert not look(shared(5), Options(lint=True, select=("NNX780",))).failures
    assert time.process_time() - began < 60  # it took hours
