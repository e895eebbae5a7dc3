"""Code about random streams that is right on every version, or is none of the rules' business."""

from __future__ import annotations

import pytest

from tests.migration import look

_LAYERS = """
class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


class Own(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.rngs = rngs
"""
_IMPORTS = "import jax\nimport jax.numpy as jnp\nimport optax\nimport orbax.checkpoint as ocp\nfrom flax import nnx\n"

CASES = {
    "factory": """
        @nnx.split_rngs(splits=4)
        @nnx.vmap
        def create(rngs):
            return Block(rngs)
        """,
    "constructor under a map": """
        class Stack(nnx.Module):
            @nnx.split_rngs(splits=4)
            @nnx.vmap(in_axes=(0, 0))
            def __init__(self, rngs):
                self.dropout = nnx.Dropout(0.5, rngs=rngs)
        stack = Stack(nnx.Rngs(0, dropout=1))
        """,
    "factory that splits weights only": """
        axes = nnx.StateAxes({(nnx.Param, "params"): 0, ...: None})
        create = nnx.split_rngs(splits=4, only="params")(nnx.vmap(Block, in_axes=(axes,), out_axes=axes))
        model = create(nnx.Rngs(params=0, dropout=1))

        @nnx.split_rngs(splits=4, only="dropout")
        @nnx.scan(in_axes=(nnx.StateAxes({(nnx.Param, "dropout"): 0, ...: nnx.Carry}), nnx.Carry), out_axes=nnx.Carry)
        def forward(m, x):
            return m(x)
        forward(model, jnp.ones((1, 3)))
        """,
    "scalar model over examples": """
        model = Block(nnx.Rngs(params=0, dropout=1))

        @nnx.split_rngs(splits=2)
        @nnx.vmap(in_axes=(nnx.StateAxes({nnx.RngState: 0, ...: None}), 0))
        def forward(m, x):
            return m(x)
        forward(model, jnp.ones((2, 3)))
        """,
    "library function over examples": """
        @nnx.split_rngs(splits=2)
        @nnx.vmap(in_axes=(nnx.StateAxes({nnx.RngState: 0, ...: None}), 0))
        def forward(m, x):
            return m(x)
        """,
    "explicit streams only": """
        class Layer(nnx.Module):
            def __init__(self, rngs):
                self.linear = nnx.Linear(3, 3, rngs=rngs)
                self.dropout = nnx.Dropout(0.5)
            def __call__(self, x, rngs):
                return self.dropout(self.linear(x), rngs=rngs)
        layers = nnx.split_rngs(splits=3)(nnx.vmap(Layer))(nnx.Rngs(0))
        @nnx.split_rngs(splits=3)
        @nnx.scan(in_axes=(0, nnx.Carry, 0), out_axes=nnx.Carry)
        def forward(layer, x, rngs):
            return layer(x, rngs)
        forward(layers, jnp.ones((1, 3)), nnx.Rngs(dropout=1))
        """,
    "already narrowed": """
        stack = nnx.split_rngs(splits=4)(nnx.vmap(Block))(nnx.Rngs(0, dropout=1))
        forward = nnx.split_rngs(splits=4, only=lambda path, x: x.shape == ())(nnx.scan(lambda m, x: m(x)))
        forward(stack, jnp.ones((1, 3)))
        """,
    "somebody else's splits": """
        import river
        river.split_rngs(river.of(nnx), splits=4)
        """,
    "Rngs of a module's own": """
        own = Own(nnx.Rngs(params=0, dropout=1))
        print(own.rngs.dropout.key, own.rngs["params"].count, nnx.state(own)["rngs"]["dropout"]["key"])
        nnx.state({"a": own})["a"]["rngs"]["dropout"]["count"]
        print(isinstance(own.rngs, nnx.Rngs))
        own.rngs.dropout.count.value = jnp.uint32(0)
        """,
    "new paths": """
        layer = nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=0))
        print(layer.rngs.key, layer.rngs.count, layer.rngs(), nnx.state(layer)["rngs"]["key"])
        """,
    "unknown rngs": "def look(thing):\n    return thing.rngs.dropout.key, thing['rngs']['params']",
    "constructors that name their options": """
        nnx.Dropout(0.5, broadcast_dims=(1,), rngs=nnx.Rngs(0))
        nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)), time_major=True)
        nnx.RngStream(jax.random.key(0), tag="a")
        nnx.RngStream(tag="a", key=jax.random.key(0))
        """,
    "the Linen layer of the same name": "import flax.linen as nn\nnn.Dropout(0.5, (1,), True)",
    "streams that exist": """
        Block(nnx.Rngs(params=0, dropout=1))
        Block(nnx.Rngs(0))
        Block(nnx.Rngs(params=0, default=1))
        Block(nnx.Rngs(**dict(params=0, dropout=1)))
        Block(nnx.Rngs({"params": 0, "dropout": 1}))
        Block(nnx.Rngs({"params": 0}, **{"default": 1}))
        nnx.MultiHeadAttention(num_heads=1, in_features=4, rngs=nnx.Rngs(params=0))
        nnx.Dropout(0.5)(jnp.ones(3), rngs=nnx.Rngs(dropout=1))
        """,
    "samples": """
        rngs = nnx.Rngs(0)
        print(rngs.normal((3,)), rngs.params(), rngs["normal"]())
        named = nnx.Rngs(0, normal=1)
        print(jax.random.normal(named.normal()))
        """,
    "a carry with a Rngs": """
        cell = nnx.LSTMCell(2, 3, rngs=nnx.Rngs(0))
        cell.initialize_carry((1, 2), nnx.Rngs(0))
        cell.initialize_carry((1, 2), rngs=nnx.Rngs(0))
        """,
    "a carry of the project's own": """
        class Cell:
            def initialize_carry(self, shape):
                return jnp.zeros(shape)
        Cell().initialize_carry((1, 2))
        """,
    "resets that reach what they mean": """
        model = Block(nnx.Rngs(params=0, dropout=1))
        nnx.reseed(model, dropout=3)
        rngs = nnx.Rngs(dropout=1)
        rngs.dropout.count.value = jnp.uint32(0)
        nnx.reseed(rngs, dropout=1)
        """,
    "one seed, weights first": """
        class Net(nnx.Module):
            def __init__(self, rngs):
                self.a = nnx.Linear(2, 2, rngs=rngs)
                self.d = nnx.Dropout(0.5, rngs=rngs)
        optimizer = nnx.Optimizer(Net(nnx.Rngs(0)), optax.sgd(0.1))
        """,
    "one seed in migrated code": """
        class Net(nnx.Module):
            def __init__(self, rngs):
                self.d = nnx.Dropout(0.5, rngs=rngs)
                self.a = nnx.Linear(2, 2, rngs=rngs)
        Net(nnx.Rngs(0))
        """,
    "states without streams": """
        def load(path):
            model = Block(nnx.Rngs(params=0, dropout=1))
            params = ocp.StandardCheckpointer().restore(path, nnx.state(model, nnx.Param))
            nnx.update(model, params)
            rest = nnx.state(model, nnx.Not(nnx.RngState))
            ocp.StandardCheckpointer().save(path, nnx.to_pure_dict(rest))
            plain = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
            ocp.StandardCheckpointer().restore(path, nnx.state(plain))
            ocp.StandardCheckpointer().restore(path, nnx.state(Own(nnx.Rngs(0))))
        """,
    "somebody else's restore": """
        def load(database):
            return database.restore("path", nnx.state(Block(nnx.Rngs(params=0, dropout=1))))
        """,
}


def _text(case: str) -> str:
    lines = case.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return f"{_IMPORTS}{_LAYERS}\n" + "\n".join(line[indent:] for line in lines) + "\n"


# what the other families of rules say about these texts is not asked here
@pytest.mark.parametrize("case", CASES)
def test_silence(case: str) -> None:
    found = [f for f in look(_text(CASES[case])).findings if f.code.startswith(("NNX2", "NNX7"))]
    assert not found, [(f.code, f.message) for f in found]
