"""Where ``nnx.List`` and ``nnx.Dict`` stand for containers if 0.12 is the only target, and where not; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12")
HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        {}

    def __call__(self, x):
        {}


net = Net(nnx.Rngs(0))
{}x = jnp.ones((1, 2))
print(*nnx.jit(lambda m, x: m(x))(net, x).ravel())
print(float(nnx.grad(lambda m: m(x).sum())(net)["layers"][{}]["bias"].value.sum()))
print(sorted(str(path) for path, _ in nnx.to_flat_state(nnx.state(net))))
print(*(float(leaf.sum()) for leaf in jax.tree.leaves(nnx.state(net))))
"""
LINEAR = "nnx.Linear(2, 2, rngs=rngs)"
LOOP = "for layer in self.layers:\n            x = layer(x)\n        return x"


def program(made: str, body: str = LOOP, after: str = "", key: str = "0") -> str:
    return HEAD.format(made, body, after, key)


#: What is made, what the text becomes, and the program.
TAKEN = {
    "written out": (f"self.layers = [{LINEAR}, nnx.relu, {LINEAR}]", LOOP, "", "0"),
    "comprehension": (f"self.layers = [{LINEAR} for _ in range(12)]", LOOP, "", "11"),
    "filled": (
        f"self.layers = []\n        for _ in range(2):\n            self.layers.append({LINEAR})",
        LOOP,
        "",
        "1",
    ),
    "extended": (f"self.layers = []\n        self.layers.extend([{LINEAR}])", LOOP, "", "0"),
    "in two branches": (
        f"if rngs:\n            self.layers = [{LINEAR}, *[{LINEAR} for _ in range(2)]]\n"
        f"        else:\n            self.layers = [{LINEAR}]",
        LOOP,
        "",
        "2",
    ),
    "sum and repetition": (f"self.layers = [{LINEAR}] + [{LINEAR} for _ in range(2)] * 1", LOOP, "", "2"),
    "looked for by class": (
        f"self.layers = [{LINEAR} for _ in range(3)]",
        LOOP,
        "for path, part in nnx.iter_graph(net):\n    if isinstance(part, nnx.Linear) and path:\n        print(path)\n"
        "print([path for path, part in net.iter_modules() if isinstance(part, nnx.Linear)])\n",
        "2",
    ),
    "indexed": (
        f"self.layers = [{LINEAR} for _ in range(3)]",
        "for i in range(len(self.layers)):\n            x = self.layers[i](x)\n        return self.layers[-1](x)",
        "net.layers[1] = nnx.Linear(2, 2, rngs=nnx.Rngs(9))\n",
        "2",
    ),
    "unpacked and sliced": (
        f"self.layers = [{LINEAR} for _ in range(3)]",
        "for f in [*self.layers, *self.layers[1:]]:\n            x = f(x)\n        return x if self.layers else 0 * x",
        "",
        "1",
    ),
    "zipped": (
        f"self.layers = [{LINEAR} for _ in range(3)]",
        "for i, f in enumerate(reversed(self.layers)):\n            x = f(x) + i\n        return x",
        "",
        "1",
    ),
    "dict": (
        f"self.layers = {{'a': {LINEAR}, 'b': {LINEAR}}}",
        "for name, f in self.layers.items():\n            x = f(x)\n        return self.layers['a'](x)",
        "",
        "'b'",
    ),
    "taken apart": (
        f"self.layers = [{LINEAR} for _ in range(2)]",
        "one, two = self.layers\n        return two(one(x))",
        "",
        "1",
    ),
    "a name of other classes too": (
        f"self.layers = [{LINEAR} for _ in range(2)]",
        LOOP,
        "class Stack(nnx.Module):\n    def __init__(self, rngs):\n"
        "        self.layers = nnx.Sequential(nnx.Linear(2, 2, rngs=rngs), nnx.relu)\n\n"
        "    def __call__(self, x):\n        return self.layers(x)\n\n\n"
        "class Plan:\n    layers = (1, 2)\n\n\n"
        "stack = Stack(nnx.Rngs(1))\n"
        "print(stack(jnp.ones((1, 2))).sum(), Plan().layers + (3,), len(stack.layers.layers + []))\n",
        "1",
    ),
    "trained": (
        f"self.layers = [{LINEAR} for _ in range(2)]",
        LOOP,
        "o = nnx.Optimizer(net, optax.adam(0.1))\n"
        "o.update(nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(net))\nprint(o.step.value)\n",
        "1",
    ),
}
KEPT = {
    "nested": (f"self.layers = [[{LINEAR}]]", "return self.layers[0][0](x)", "", "0][0"),
    "of a helper": (
        f"def make():\n            return [{LINEAR}]\n\n        self.layers = [make()]",
        "return self.layers[0][0](x)", "", "0][0",
    ),
    "tuple": (f"self.layers = ({LINEAR},)", LOOP, "", "0"),
    "joined": (
        f"self.layers = [{LINEAR}]",
        "for f in self.layers + [nnx.relu]:\n            x = f(x)\n        return x", "", "0",
    ),
    "joined in a class below": (
        f"self.layers = [{LINEAR}]", LOOP,
        "class Below(Net):\n    def all(self):\n        return self.layers + [nnx.relu]\n\n\n"
        "print(len(Below(nnx.Rngs(1)).all()))\n", "0",
    ),
    "joined by a mixin": (
        f"self.layers = [{LINEAR}]", LOOP,
        "class Joining:\n    def all(self):\n        return self.layers + [nnx.relu]\n\n\n"
        "class Both(Joining, Net):\n    pass\n\n\nprint(len(Both(nnx.Rngs(1)).all()))\n", "0",
    ),
    "joined by whoever has one": (
        f"self.layers = [{LINEAR}]", LOOP, "def f(a):\n    return a.layers + []\n\n\nprint(len(f(net)))\n", "0",
    ),
    "asked": (f"self.layers = [{LINEAR}]", LOOP, "print(isinstance(net.layers, list))\n", "0"),
    "handed on": (f"self.layers = [{LINEAR}]", LOOP, "def f(a):\n    return type(a)\n\n\nprint(f(net.layers))\n", "0"),
    "printed": (f"self.layers = [{LINEAR}]", LOOP, "print(len(str(net.layers)) > 0, type(net.layers))\n", "0"),
    "annotated": (f"self.layers: list = [{LINEAR}]", LOOP, "", "0"),
    "keys": (f"self.layers = {{0: {LINEAR}}}", "return self.layers[0](x)", "", "0"),
    "key of a method": (f"self.layers = {{'items': {LINEAR}}}", "return self.layers['items'](x)", "", "'items'"),
    "walked": (
        f"self.layers = [{LINEAR}]", LOOP,
        "print(sum(isinstance(n, nnx.Module) for _, n in nnx.iter_graph(net)))\n", "0",
    ),
    "of a variable": (f"layers = [{LINEAR}]\n        self.layers = layers", LOOP, "", "0"),
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    texts = {name: program(*given) for name, given in {**TAKEN, **KEPT}.items()}
    return runs(texts, tmp_path_factory.mktemp("lists"), ("0.12",))


@pytest.mark.parametrize("name", TAKEN)
def test_the_container_of_the_library(name: str) -> None:
    text = migrate_text(program(*TAKEN[name]), ONLY)
    container = "nnx.Dict({" if name == "dict" else "nnx.List(["
    assert f"self.layers = {container}" in text
    assert "nnx.data" not in text
    assert codes(text, ONLY) == []


@pytest.mark.parametrize("name", KEPT)
def test_a_marked_container(name: str) -> None:
    text = migrate_text(program(*KEPT[name]), ONLY)
    assert "= nnx.data(" in text
    assert "nnx.List(" not in text
    assert "nnx.Dict(" not in text


@pytest.mark.parametrize("name", TAKEN)
def test_marked_where_0_11_is_a_target_too(name: str) -> None:
    text = migrate_text(program(*TAKEN[name]), options("0.11", "0.12"))
    assert "self.layers = nnx.data(" in text


@pytest.mark.parametrize("name", [*TAKEN, *KEPT])
def test_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)
