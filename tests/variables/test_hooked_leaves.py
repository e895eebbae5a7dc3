"""NNX420: hooks of Variables run for leaves since 0.11; what is reported prints something else, the rest does not."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import look, options

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Unit(nnx.Param):
    def on_set_value(self, value):
        return value / 10


class Double(nnx.Param):
    def on_get_value(self, value):
        return value * 2


class Weight(nnx.Param):
    rate = 1.0


class Rated(nnx.Module):
    def __init__(self):
        self.slow = Weight(jnp.ones(2), rate=0.1)
        self.same = Weight(jnp.ones(2), rate=1.0)


class Net(nnx.Module):
    def __init__(self):
        self.u = Unit(jnp.ones(2))
        self.w = Double(jnp.ones(2))
        self.g = nnx.Param(jnp.ones(2), on_get_value=lambda variable, value: value + 1)
        self.plain = nnx.Param(jnp.ones(2))


class Pair(nnx.Module):
    def __init__(self):
        self.part = Net()
        self.plain = nnx.BatchStat(jnp.ones(2))


net = Net()
state = nnx.state(net)
"""
POSITIVE = """\
class Positive(nnx.Param):
    def on_get_value(self, value):
        return jax.nn.softplus(value)


class Scale(nnx.Module):
    def __init__(self):
        self.scale = Positive(jnp.ones(2))


model = Scale()
opt = nnx.Optimizer(model, {})
for _ in range(3):
    opt.update(nnx.grad(lambda m: (m.scale.value**2).sum())(model))
print(model.scale.value)
"""
REPORTED = {
    "read": 'print(state["w"].value)\n',
    "hook of the constructor": "print(state.g.value)\n",
    "written": 'state["u"].value = jnp.full(2, 30.0)\nprint(jax.tree.leaves(state["u"])[0])\n',
    "gradient": 'grads = nnx.grad(lambda m: m.w.value.sum())(net)\nprint(grads["w"].value)\n',
    "gradient beside the value": "l, g = nnx.value_and_grad(lambda m: m.w.value.sum())(net)\n"
    "print(nnx.to_pure_dict(g))\n",
    "second argument": "g = nnx.grad(lambda x, m: m.w.value.sum(), argnums=1)(1.0, net)\nprint(nnx.to_pure_dict(g))\n",
    "flat": "print([v.value for p, v in nnx.state(net).flat_state()])\n",
    "flat in a loop": "for path, leaf in nnx.to_flat_state(state):\n    print(path, leaf.value)\n",
    "flat of Params": "print([v.value for p, v in nnx.state(net, nnx.Param).flat_state()])\n",
    "flat of split": "graphdef, state = nnx.split(net)\nprint([v.value for _, v in state.flat_state()])\n",
    "of what an object keeps": "print(nnx.to_pure_dict(nnx.state(Pair()))['part'])\n",
    "mapped whole": "print(jax.tree.leaves(jax.tree.map(lambda v: v.value, state, "
    "is_leaf=lambda v: isinstance(v, nnx.VariableState))))\n",
    "hidden metadata": "print(nnx.state(Rated())['slow'].rate)\n",
    "hidden metadata of all": "print([v.rate for _, v in nnx.state(Rated()).flat_state()])\n",
    "gradient mapped": "g = nnx.grad(lambda m: m.w.value.sum())(net)\n"
    "print(jax.tree.map(lambda x: x + 1, g)['w'].value)\n",
    "pure by the method": "print(state.to_pure_dict()['w'])\n",
    "trained": POSITIVE.format("optax.chain(optax.clip(9.0), optax.adam(0.1))"),
    "trained with momentum": POSITIVE.format("optax.sgd(0.1, momentum=0.9), wrt=nnx.Param"),
    "pure": 'print(nnx.to_pure_dict(nnx.state(net))["w"])\n',
}
SILENT = {
    "of the model": "print(net.w.value)\nnet.u.value = jnp.full(2, 30.0)\nprint(net.u.value)\n",
    "another leaf": 'print(state["plain"].value)\n',
    "the other hook": 'print(state["u"].value)\n',
    "flat of others": "print([v.value for p, v in nnx.state(net, nnx.BatchStat).flat_state()], 0)\n",
    "flat, some": "print([v.value for p, v in state.flat_state() if p[0] == 'plain'])\n",
    "pure of others": "l, g = nnx.value_and_grad(lambda m, n: m(jnp.ones((1, 1))).sum() + n.w.value.sum())("
    "nnx.Linear(1, 1, rngs=nnx.Rngs(0)), net)\nprint(nnx.to_pure_dict(g))\n",
    "metadata of the class": "print(nnx.state(Rated())['same'].rate, Rated().slow.rate)\n",
    "metadata by name": "print(nnx.state(Rated())['slow'].get_metadata()['rate'])\n",
    "pure without hooks": 'print(nnx.to_pure_dict(nnx.state(nnx.Linear(1, 2, rngs=nnx.Rngs(0))))["kernel"])\n',
    "pure by the method, no hooks": "print(nnx.state(nnx.BatchNorm(1, rngs=nnx.Rngs(0))).to_pure_dict()['mean'])\n",
    "trained without moments": POSITIVE.format("optax.sgd(0.1)"),
    "zero stays zero": POSITIVE.format("optax.adam(0.1)").replace("jax.nn.softplus(value)", "2 * value"),
    "trained apart": "class Mean(nnx.BatchStat):\n    def on_get_value(self, value):\n        return value * 2\n\n\n"
    "class Counted(nnx.Module):\n    def __init__(self):\n        self.mean = Mean(jnp.ones(2))\n"
    "        self.p = nnx.Param(jnp.ones(2))\n\n\nmodel = Counted()\nopt = nnx.Optimizer(model, optax.adam(0.1))\n"
    "opt.update(nnx.grad(lambda m: (m.p.value * m.mean.value).sum())(model))\nprint(model.p.value, model.mean.value)\n",
    "mapped": "print(jax.tree.leaves(jax.tree.map(lambda x: x + 1, state)))\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: HEAD + text for name, text in {**REPORTED, **SILENT}.items()}
    return runs(texts, tmp_path_factory.mktemp("hooked"))


def _found(text: str) -> int:
    return sum(f.code == "NNX420" for f in look(HEAD + text, options("0.11", "0.12")).findings)


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _found(REPORTED[name]) == 1
    assert_breaks(outputs, name)


@pytest.mark.parametrize("name", SILENT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert _found(SILENT[name]) == 0
    assert_same(outputs, name)
