"""What each rule about streams makes of code, by line; and what it only reports."""

from __future__ import annotations

import pytest

from tests.migration import look, migrated, options

_HEAD = """\
import dataclasses
import functools
import jax
import jax.numpy as jnp
from flax import nnx
import flax.nnx as other
from flax.nnx import Dropout as Drop, RngStream as Stream


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.blocks = nnx.Sequential(self.linear, nnx.Dropout(0.5, rngs=rngs))
        self.attention = nnx.MultiHeadAttention(num_heads=1, in_features=4, dropout_rate=0.1, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


net = Net(nnx.Rngs(params=0, dropout=1))
rngs = nnx.Rngs(0)
"""

FIXED = {
    # paths
    "net.dropout.rngs.dropout.key": "net.dropout.rngs.key",
    "nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=2)).rngs.dropout.count.value": (
        "nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=2)).rngs.count.value"
    ),
    'net.dropout.rngs["dropout"]()': "net.dropout.rngs()",
    'nnx.state(net)["dropout"]["rngs"]["dropout"]["key"]': 'nnx.state(net)["dropout"]["rngs"]["key"]',
    "nnx.state(net).dropout.rngs.dropout.key": "nnx.state(net).dropout.rngs.key",
    'nnx.split(net)[1]["dropout"]["rngs"]["dropout"]': 'nnx.split(net)[1]["dropout"]["rngs"]',
    'nnx.to_pure_dict(nnx.state(net))["dropout"]["rngs"]["dropout"]': (
        'nnx.to_pure_dict(nnx.state(net))["dropout"]["rngs"]'
    ),
    "nnx.clone(net).dropout.rngs.dropout.key": "nnx.clone(net).dropout.rngs.key",
    "(lambda layer: layer.rngs.dropout.key)(net.dropout)": "(lambda layer: layer.rngs.key)(net.dropout)",
    "net.blocks.layers[1].rngs.dropout.key": "net.blocks.layers[1].rngs.key",
    "net.blocks.layers[-1].rngs.dropout.key": "net.blocks.layers[-1].rngs.key",
    'nnx.state(net)["blocks"]["layers"][1]["rngs"]["dropout"]': 'nnx.state(net)["blocks"]["layers"][1]["rngs"]',
    "[m.rngs.dropout.key for _, m in nnx.iter_graph(net) if isinstance(m, nnx.Dropout)]": (
        "[m.rngs.key for _, m in nnx.iter_graph(net) if isinstance(m, nnx.Dropout)]"
    ),
    "[m for _, m in nnx.iter_graph(net) if isinstance(m, nnx.Dropout)][0].rngs.dropout.key": (
        "[m for _, m in nnx.iter_graph(net) if isinstance(m, nnx.Dropout)][0].rngs.key"
    ),
    "[d.rngs.dropout.key for d in [m for _, m in net.iter_modules() if isinstance(m, Drop) and m.rate > 0]]": (
        "[d.rngs.key for d in [m for _, m in net.iter_modules() if isinstance(m, Drop) and m.rate > 0]]"
    ),
    "next(m for _, m in nnx.iter_graph(net) if isinstance(m, (nnx.Dropout, nnx.RNN))).rngs.dropout.key": (
        "next(m for _, m in nnx.iter_graph(net) if isinstance(m, (nnx.Dropout, nnx.RNN))).rngs.key"
    ),
    "{p: m for p, m in nnx.iter_graph(net) if isinstance(m, Drop)}['dropout',].rngs.dropout.key": (
        "{p: m for p, m in nnx.iter_graph(net) if isinstance(m, Drop)}['dropout',].rngs.key"
    ),
    "[m.rngs.dropout() if isinstance(m, Drop) else 0 for m in jax.devices()]": (
        "[m.rngs() if isinstance(m, Drop) else 0 for m in jax.devices()]"
    ),
    "[isinstance(m.rngs, nnx.Rngs) for m in (net.dropout, nnx.Dropout(0.5))]": (
        "[isinstance(m.rngs, (nnx.Rngs, Stream)) for m in (net.dropout, nnx.Dropout(0.5))]"
    ),
    "isinstance(net.dropout.rngs, nnx.Rngs)": "isinstance(net.dropout.rngs, (nnx.Rngs, Stream))",
    # constructors
    'other.RngStream("a", jax.random.key(0))': 'other.RngStream(tag="a", key=jax.random.key(0))',
    'Stream("a", key=0)': 'Stream(tag="a", key=0)',
    "Drop(0.5, (1,), True)": "Drop(0.5, broadcast_dims=(1,), deterministic=True)",
    "functools.partial(nnx.Dropout, 0.5, (1,))": "functools.partial(nnx.Dropout, 0.5, broadcast_dims=(1,))",
    "nnx.RNN(nnx.GRUCell(2, 3, rngs=rngs), True, rngs=None)": "nnx.RNN(nnx.GRUCell(2, 3, rngs=rngs), time_major=True)",
    "nnx.Bidirectional(rngs=None, forward_rnn=0, backward_rnn=0)": "nnx.Bidirectional(forward_rnn=0, backward_rnn=0)",
    "nnx.Dropout(0.5, rngs=jax.random.key(1))": "nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=jax.random.key(1)))",
    "nnx.Dropout(0.5, rngs=7)": "nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=7))",
    'net.dropout(1, rngs={"dropout": lambda: rngs.a()})': "net.dropout(1, rngs=rngs.a())",
    # streams that are missing
    'Net(nnx.Rngs({"params": 3}))': 'Net(nnx.Rngs({"params": 3}, dropout=0))',
    'Net(nnx.Rngs(**{"params": 3}))': 'Net(nnx.Rngs(**{"params": 3}, dropout=0))',
    "Net(nnx.Rngs(params=3))": "Net(nnx.Rngs(params=3, dropout=0))",
    "nnx.vmap(Net)(nnx.Rngs(params=(3)))": "nnx.vmap(Net)(nnx.Rngs(params=(3), dropout=0))",
    "nnx.RNN(nnx.GRUCell(2, 3, rngs=rngs), rngs=nnx.Rngs(params=0,))": (
        "nnx.RNN(nnx.GRUCell(2, 3, rngs=rngs), rngs=nnx.Rngs(params=0, carry=0,))"
    ),
    # draws
    "rngs.fork(splits=5)": "rngs.fork(split=5)",
    'Stream(tag="a", key=0).fork(splits=5)': 'Stream(tag="a", key=0).fork(split=5)',
    "jax.random.uniform(rngs.uniform())": 'jax.random.uniform(rngs["uniform"]())',
    "rngs.choice()": 'rngs["choice"]()',
    "(draw := rngs.choice)(), draw()": '(draw := rngs["choice"])(), draw()',
    "nnx.GRUCell(2, 3, rngs=rngs).initialize_carry((1, 2))": (
        "nnx.GRUCell(2, 3, rngs=rngs).initialize_carry((1, 2), rngs=nnx.Rngs(0))"
    ),
    "nnx.reseed(nnx.vmap(Net)(nnx.Rngs(params=0, dropout=1).fork(split=3)), dropout=1)": (
        'nnx.reseed(nnx.vmap(Net)(nnx.Rngs(params=0, dropout=1).fork(split=3)), dropout=1, policy="match_shape")'
    ),
}

ASKED = {
    "net.attention.rngs.dropout.count.value": "net.attention.rngs.count.value",  # of three layers, now of one
    "[m for _, m in nnx.iter_graph(net) if isinstance(m, Drop)][0].rngs.dropout.count": (
        "[m for _, m in nnx.iter_graph(net) if isinstance(m, Drop)][0].rngs.count"
    ),
    "(lambda model: model.dropout.rngs.dropout.key)": "(lambda model: model.dropout.rngs.key)",
    '{("block", "dropout", "rngs", "dropout", "key"): 0}': '{("block", "dropout", "rngs", "key"): 0}',
    "rngs.normal()": 'rngs["normal"]()',
    "(lambda name: isinstance(getattr(net, name).rngs, nnx.Rngs))": (
        "(lambda name: isinstance(getattr(net, name).rngs, (nnx.Rngs, Stream)))"
    ),
    "(lambda cell: cell.initialize_carry((1, 2)))": "(lambda cell: cell.initialize_carry((1, 2), rngs=nnx.Rngs(0)))",
    "(lambda source: source.fork(splits=2))": "(lambda source: source.fork(split=2))",
}

REPORTED = {
    "net.dropout.rngs.params.key": "NNX203",
    "nnx.Dropout(0.5, *rngs.options, True)": "NNX208",
    "(lambda rngs=None: nnx.RNN(net, rngs=rngs))": "NNX209",
    "[isinstance(node, nnx.Rngs) for _, node in nnx.iter_graph(net)]": "NNX213",
    "nnx.reseed(nnx.Rngs(policy=0), policy=1)": "NNX214",
    "nnx.fork(nnx.state(rngs), ..., 3)": "NNX215",
    "(lambda r: (nnx.Dropout(0.5, rngs=r), r.dropout.count))(nnx.Rngs(0))": "NNX212",
    "dataclasses.replace(net.dropout, rate=0.1)": "NNX218",
    "dataclasses.fields(nnx.Dropout)": "NNX218",
}


def _after(line: str, unsafe: bool = False) -> tuple[str, list[str]]:
    files, left = migrated(f"{_HEAD}{line}\n", options("0.11"), unsafe)
    head, _, last = files["main.py"].rstrip("\n").rpartition("\n")
    assert f"{head}\n" == _HEAD
    return last, [finding.code for finding in left]


@pytest.mark.parametrize("line", FIXED)
def test_fixed(line: str) -> None:
    after, left = _after(line)
    assert (after, left) == (FIXED[line], [])
    assert not look(f"{_HEAD}{after}\n").findings


@pytest.mark.parametrize("line", ASKED)
def test_fixed_when_asked(line: str) -> None:
    assert _after(line)[0] == line
    assert _after(line, unsafe=True)[0] == ASKED[line]


@pytest.mark.parametrize("line", REPORTED)
def test_reported(line: str) -> None:
    after, left = _after(line, unsafe=True)
    assert after == line
    assert REPORTED[line] in left
