"""``.value`` of what the code around tells to be a Variable, and of what it does not."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.lora = nnx.LoRA(2, 1, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(1, 2, decode=True, rngs=rngs)
        self.rngs = rngs

    def __call__(self, x):
        self.sow(nnx.Intermediate, "acts", x)
        return self.linear(x)


net = Net(nnx.Rngs(params=0, dropout=1))
net.attention.init_cache((1, 3, 2))
"""

TOLD = {
    "a flat state": "for path, v in nnx.state(net, nnx.Param).flat_state():\n    print(path, v.value.shape)\n",
    "a flat state by a function": "print([v.value.shape for _, v in nnx.to_flat_state(nnx.state(net, nnx.Param))])\n",
    "a state that is given": "def f(state):\n    return {p: v.value.shape for p, v in state.flat_state()}\n"
    "print(f(nnx.state(net.linear)))\n",
    "a mapped state": "s = jax.tree.map(jnp.ones_like, nnx.state(net.linear))\n"
    "print([v.value.sum() for _, v in s.flat_state()])\n",
    "a state of replacements": "def keep(x):\n    return isinstance(x, nnx.VariableState)\n"
    "s = jax.tree.map(lambda v: v.replace(v.value + 1), nnx.state(net.linear), is_leaf=keep)\n"
    "print([v.value.sum() for _, v in s.flat_state()])\n",
    "several trees": "def mean(*leaves):\n    return leaves[0].replace(sum(v.value for v in leaves) / len(leaves))\n"
    "states = [nnx.state(net.linear)] * 2\n"
    "m = jax.tree.map(mean, *states, is_leaf=lambda x: isinstance(x, nnx.VariableState))\n"
    "print(len(jax.tree.leaves(m)))\n",
    "a dict of leaves": "flat = dict(nnx.state(net.linear).flat_state())\nflat[('bias',)].value = jnp.ones(2)\n"
    "print({p: v.value.shape for p, v in flat.items()}, [v.value.ndim for v in flat.values()])\n",
    "a test": "for _, v in nnx.iter_graph(net):\n    if isinstance(v, nnx.Param) and v.value.ndim:\n"
    "        print(v.value.shape)\n",
    "a test of several": "for _, v in nnx.iter_graph(net):\n    if isinstance(v, (nnx.Param, nnx.Cache)):\n"
    "        print(v.value.shape)\n",
    "a test in a comprehension": "print(sum(v.value.size "
    "for _, v in nnx.iter_graph(net) if isinstance(v, nnx.Param)))\n",
    "a choice": "print(sum(v.value.size if isinstance(v, nnx.Param) else 0 for _, v in nnx.iter_graph(net)))\n",
    "what goes on": "for _, v in nnx.iter_graph(net):\n    if not isinstance(v, nnx.Param):\n        continue\n"
    "    print(v.value.shape)\n",
    "an early return": "def size(v):\n    if not isinstance(v, nnx.Variable):\n        return 0\n"
    "    return v.value.size\n"
    "print(sum(size(v) for _, v in nnx.iter_graph(net.linear)))\n",
    "an annotation": "def f(state):\n    for v in state.values():\n        v: nnx.Variable\n"
    "        print(v.value.shape)\n"
    "f(nnx.state(net.linear))\n",
    "a parameter": "def size(leaf: nnx.Variable) -> int:\n    return leaf.value.size\n"
    "print(sum(size(v) for v in nnx.state(net.linear).values()))\n",
    "a stream in a state": "s = nnx.state({'rngs': nnx.Rngs(noise=0)})\nprint(s['rngs']['noise']['count'].value)\n",
    "after a loop": "def body(i, carry):\n    return carry[0], carry[1] + i\n"
    "model, x = nnx.fori_loop(0, 2, body, (net, 0))\nprint(model.linear.bias.value.shape)\n",
    "after a loop with a condition": "m, i = nnx.while_loop(lambda c: c[1] < 2, lambda c: (c[0], c[1] + 1), (net, 0))\n"
    "print(m.linear.kernel.value.shape, m.linear.bias.value.shape)\n",
    "a cache": "print(net.attention.cache_index.value, net.attention.cached_key.value.shape)\n",
    "a matrix of LoRA": "print(net.lora.lora_a.value.shape, net.lora.lora_b.value.shape)\n",
    "a stream of a layer": "print(net.drop.rngs.count.value.dtype)\n",
    "a stream of a Rngs": "r = nnx.Rngs(0, noise=1)\nr.noise()\nprint(r.noise.count.value, r['noise'].count.value)\n",
    "what was sown": "net(jnp.ones(2))\nacts = nnx.pop(net, nnx.Intermediate)\nprint(acts['acts'].value)\n",
    "a declared layer": "def total(layer: nnx.Linear):\n    return layer.kernel.value.size + layer.bias.value.size\n"
    "print([total(v) for v in vars(net).values() if hasattr(v, 'kernel')])\n",
    "a declared layer that is kept": "class Wrapped(nnx.Module):\n    def __init__(self, base: nnx.Linear):\n"
    "        self.base = base\n    def size(self):\n        return self.base.kernel.value.size\n"
    "print([Wrapped(v).size() for v in vars(net).values() if hasattr(v, 'kernel')])\n",
    "a tested layer": "for v in vars(net).values():\n    if isinstance(v, (nnx.Linear, nnx.Conv)):\n"
    "        print(v.kernel.value.shape)\n        v.bias.value = jnp.ones(2)\nprint(net.linear.bias.value)\n",
    "specifications": "s = nnx.get_partition_spec(nnx.state(net.linear))\n"
    "print([tuple(v.value) for _, v in s.flat_state()])\n",
}
OTHERS = {
    "a class with flat states": "class Tree:\n    def flat_state(self):\n        return []\n"
    "def f(t: Tree):\n    return [v.value for _, v in t.flat_state()]\n",
    "paths": "for path, v in nnx.state(net).flat_state():\n    print(path.value)\n",
    "another function": "print([v.value for _, v in load(net).flat_state()])\n",
    "other leaves": "s = jax.tree.map(wrap, nnx.state(net), is_leaf=lambda x: isinstance(x, nnx.Variable))\n"
    "print([v.value for _, v in s.flat_state()])\n",
    "not only Variables": "for _, v in nnx.iter_graph(net):\n"
    "    if isinstance(v, (nnx.Param, Box)):\n        print(v.value)\n",
    "another name": "for _, v in nnx.iter_graph(net):\n    if isinstance(v, nnx.Param):\n        print(w.value)\n",
    "the other branch": "def f(v):\n    if isinstance(v, nnx.Param):\n        return 0\n    return v.value\n",
    "a test that is denied": "def f(v):\n    return 0 if isinstance(v, nnx.Param) else v.value\n",
    "a test that is not needed": "def f(v):\n    return isinstance(v, nnx.Param) or v.value\n",
    "a name that is bound again": "def f(v):\n    if isinstance(v, nnx.Param):\n        v = load(v)\n"
    "        print(v.value)\n",
    "a test that goes on": "def f(v):\n    if not isinstance(v, nnx.Param):\n        print(v)\n    return v.value\n",
    "a function that is called too": "def f(v):\n    return v.value\n"
    "jax.tree.map(f, nnx.state(net), is_leaf=lambda x: isinstance(x, nnx.Variable))\nf(load())\n",
    "a parameter that is bound again": "def f(leaf: nnx.Variable):\n    leaf = load(leaf)\n    return leaf.value\n",
    "a count in a state": "print(nnx.state(net)['table']['count'].value)\n",
    "an annotation of something else": "def f(v):\n    v: Box\n    return v.value\n",
    "after a loop over something else": "x, y = nnx.fori_loop(0, 2, body, (load(), 0))\nprint(x.bias.value)\n",
    "a layer of something else": "def f(layer: Box):\n    return layer.kernel.value\n",
    "a layer that is bound again": "def f(layer: nnx.Linear):\n    layer = load(layer)\n"
    "    return layer.kernel.value\n",
    "a kept layer or something else": "class Kept:\n    def __init__(self, base: nnx.Linear):\n"
    "        self.base = base\n    def swap(self):\n        self.base = load()\n"
    "    def f(self):\n        return self.base.kernel.value\n",
    "a count of something else": "def f(table):\n    return table.rows.count.value\n",
}


@pytest.mark.parametrize("name", TOLD)
def test_told(name: str) -> None:
    after = migrate_text(HEAD + TOLD[name], options("0.12", select=("NNX603",)))
    assert ".value" not in after.replace(".values()", "")
    assert migrate_text(after, options("0.12", select=("NNX603",))) == after


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    text = f"{HEAD}print(net.linear.bias.value)\n{OTHERS[name]}"
    after = migrate_text(text, options("0.12", select=("NNX603",)))
    assert after.removeprefix(HEAD).partition("\n")[2] == OTHERS[name]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: HEAD + line for name, line in TOLD.items()}, tmp_path_factory.mktemp("told"), ("0.12",))


@pytest.mark.parametrize("name", [name for name in TOLD if name != "a stream of a layer"])  # of 0.11
def test_the_numbers_stay(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
