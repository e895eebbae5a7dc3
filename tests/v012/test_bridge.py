"""NNX619: streams of ToNNX; what is reported draws other numbers or breaks, what is fixed prints the same."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
import flax.linen as nn
import jax.numpy as jnp
from flax import nnx
from flax.nnx import bridge

x = jnp.ones((1, 2))


class Noise(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dropout(0.5, deterministic=False)(nn.Dense(64)(x))


"""
MADE = "dense = bridge.ToNNX(nn.Dense(3), rngs=nnx.Rngs(0)).lazy_init(x)\n"
DRAWN = {
    "parameters": f"{MADE}print(*map(float, dense.kernel.value.ravel()))\n",
    "masks": "rngs = nnx.Rngs(0, dropout=1)\nnoise = bridge.ToNNX(Noise(), rngs)\nbridge.lazy_init(noise, x)\n"
    "print((noise(x) == 0).ravel().astype(int))\n",
    "imported": "from flax.nnx.bridge import ToNNX as wrap\n\ndense = wrap(nn.Dense(3), rngs=nnx.Rngs(0))\n"
    "print(*map(float, dense.lazy_init(x).kernel.value.ravel()))\n",
    "in a module": "class Net(nnx.Module):\n    def __init__(self, rngs):\n"
    "        self.dense = nnx.bridge.ToNNX(nn.Dense(3), rngs=rngs).lazy_init(x)\n\n\n"
    "print(*map(float, Net(nnx.Rngs(0)).dense.kernel.value.ravel()))\n",
}
FIXED = {
    "item": f"{MADE}print(list(nnx.state(dense)['rngs']))\n",
    "attribute": f"{MADE}print(list(nnx.state(dense).rngs))\n",
    "variable": f"{MADE}state = nnx.state(dense)\nstreams = state['rngs']\nprint(sorted(streams['default']))\n",
    "split": f"{MADE}graphdef, state = nnx.split(dense)\nprint(list(state['rngs']))\n",
    "filter": f"{MADE}graphdef, streams, rest = nnx.split(dense, nnx.RngState, ...)\n"
    "print(list(streams['rngs']), list(rest))\n",
    "nested": "class Net(nnx.Module):\n    def __init__(self, rngs):\n"
    "        self.dense = bridge.ToNNX(nn.Dense(3), rngs=rngs)\n"
    "        bridge.lazy_init(self.dense, x)\n\n\nnet = Net(nnx.Rngs(0))\n"
    "print(list(nnx.state(net)['dense']['rngs']))\n",
    "new streams": f"{MADE}dense.rngs = nnx.Rngs(5, dropout=1)\nprint(sorted(nnx.state(dense)['rngs']))\n",
    "new module": "dense = bridge.ToNNX(nn.Dense(3))\ndense.module = nn.Dense(4)\n"
    "print(dense.lazy_init(x, rngs=nnx.Rngs(0)).bias.shape)\n",
}
LEFT = {
    "streams in the call": "dense = bridge.ToNNX(nn.Dense(3)).lazy_init(x, rngs=nnx.Rngs(0))\n"
    "print(*map(float, dense.kernel.value.ravel()))\n",
    "no streams": "dense = bridge.ToNNX(nn.Dense(3), rngs=None).lazy_init(x, rngs=nnx.Rngs(0))\n"
    "print(dense.kernel.shape)\n",
    "masks in the call": "noise = bridge.ToNNX(Noise()).lazy_init(x, rngs=nnx.Rngs(0, dropout=1))\n"
    "print((noise(x, rngs=nnx.Rngs(0, dropout=1)) == 0).ravel().astype(int))\n",
    "other modules": "class Net(nnx.Module):\n    def __init__(self):\n        self.rngs = nnx.Rngs(0)\n"
    "        self.module = 1\n\n\nnet = Net()\nnet.module = 2\nnet.rngs = nnx.Rngs(1)\n"
    "print(list(nnx.state(net)['rngs']), net.module)\n",
    "to Linen": "layer = bridge.ToLinen(nnx.Linear, args=(2, 3))\nprint(type(layer).__name__)\n",
    "own dict": "print({'rngs': 1}['rngs'], bridge.ToNNX.__name__)\n",
}
SELECT = ("NNX619",)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text for name, text in {**DRAWN, **FIXED, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("bridge"))


@pytest.mark.parametrize("name", DRAWN)
def test_forked_streams_are_reported(name: str) -> None:
    found = look(HEAD + DRAWN[name], options("0.12", select=SELECT)).findings
    assert [f.code for f in found] == ["NNX619"]
    assert migrate_text(HEAD + DRAWN[name], options("0.12", select=SELECT)) == HEAD + DRAWN[name]


@pytest.mark.parametrize("name", DRAWN)
def test_forked_streams_are_reported_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same({version: outputs[version] for version in ("0.10", "0.11")}, name)
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str) -> None:
    once = migrate_text(HEAD + FIXED[name], options("0.12", select=SELECT))
    assert "to_nnx__" in once
    left = look(once, options("0.12", select=SELECT)).findings
    assert all("forks" in f.message for f in left)


@pytest.mark.parametrize("name", FIXED)
def test_fixed_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", FIXED)
def test_no_name_holds_for_both_releases(name: str) -> None:
    text = HEAD + FIXED[name]
    assert migrate_text(text, options("0.11", "0.12", select=SELECT)) == text
    assert "NNX619" in codes(text, options("0.11", "0.12", select=SELECT))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (".ToNNX(nn.Dense(3), rngs=r).lazy_init(x)", ".ToNNX(nn.Dense(3)).lazy_init(x, rngs=r)"),
        (
            ".ToNNX(rngs=r, module=nn.Dense(3)).lazy_init(inputs=x)",
            ".ToNNX(module=nn.Dense(3)).lazy_init(inputs=x, rngs=r)",
        ),
        (".ToNNX(nn.Dense(3), rngs=nnx.Rngs(0)).lazy_init((x),)", None),
        (".ToNNX(nn.Dense(3), rngs=r).lazy_init(x,)", ".ToNNX(nn.Dense(3)).lazy_init(x, rngs=r,)"),
        (".ToNNX(nn.Dense(3), rngs=r).lazy_init()", None),
        (".ToNNX(nn.Dense(3), rngs=r).lazy_init(*x)", None),
        (".ToNNX(nn.Dense(3), rngs=r).lazy_init(x, **{})", None),
        (".ToNNX(nn.Dense(3), rngs=r).lazy_init(x, rngs=r)", None),
        (".ToNNX(nn.Dense(3), r).lazy_init(x)", None),
        (".ToNNX(nn.Dense(3), rngs=r)", None),
    ],
)
def test_streams_are_handed_to_lazy_init_if_asked_for(before: str, after: str | None) -> None:
    text = f"{HEAD}r = nnx.Rngs(0)\nmade = bridge{before}\n"
    once = migrate_text(text, options("0.12", select=SELECT), unsafe=True)
    assert once == (text if after is None else text.replace(before, after))


@pytest.mark.parametrize("given", ["", ", rngs=None", ", rngs=r", ", rngs=nnx.Rngs(0) if r else None"])
def test_an_attribute_that_may_have_held_none_is_reported_only(given: str) -> None:
    text = f"{HEAD}def f(r=None):\n    dense = bridge.ToNNX(nn.Dense(3){given})\n    dense.rngs = nnx.Rngs(0)\n"
    found = [f for f in look(text, options("0.12", select=SELECT)).findings if "set" in f.message]
    assert [f.fix for f in found] == [None]


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + LEFT[name], options("0.12", select=SELECT)) == []


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_nothing_is_said_of_other_releases() -> None:
    assert "NNX619" not in codes(HEAD + DRAWN["parameters"], options("0.11"))
    assert "NNX619" not in codes(HEAD + DRAWN["parameters"], options("0.12", origin="0.12")), "what it draws is meant"
    unsaid = options("0.12", origin="0.11", lint=True, settled=False)
    assert "NNX619" not in codes(HEAD + DRAWN["parameters"], unsaid), "it may be meant"
    read = "dense = bridge.ToNNX(nn.Dense(3), rngs=nnx.Rngs(0)).lazy_init(x)\nprint(nnx.state(dense)['rngs'])\n"
    assert "NNX619" in codes(HEAD + read, options("0.12", origin="0.12")), "it fails there"
