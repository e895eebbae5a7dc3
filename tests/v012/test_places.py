"""Lists that mix layers and functions, whose elements are replaced or moved: NNX613, and what NNX601 makes of them."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601", "NNX613"))
HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx

rngs = nnx.Rngs(0)
net = nnx.Sequential(nnx.Linear(2, 2, rngs=rngs), nnx.relu, nnx.Linear(2, 2, rngs=rngs), lambda x: x * 2)


class Mixed(nnx.Module):
    def __init__(self, rngs):
        self.layers = [nnx.Linear(2, 2, rngs=rngs), nnx.relu]
        self.heads = [nnx.Linear(2, 2, rngs=rngs), nnx.Linear(2, 2, rngs=rngs)]

    def __call__(self, x):
        for layer in [*self.layers, *self.heads]:
            x = layer(x)
        return x


def norm():
    return nnx.LayerNorm(2, rngs=rngs)


"""
SHOW = "\n\n@nnx.jit\ndef run(net, x):\n    return net(x)\n\n\nprint(run(net, jnp.ones((1, 2))))\n"
FIXED = {
    "layer for a function": "net.layers[1] = norm()\n",
    "in a helper": "def change(seq):\n    for i, layer in enumerate(seq.layers):\n        if layer is nnx.relu:\n"
    "            seq.layers[i] = norm()\n\n\nchange(net)\n",
    "of a list of layers": "layers = [nnx.relu, norm()]\nnet = nnx.Sequential(*layers)\nnet.layers[0] = norm()\n",
    "function for a layer": "net.layers[-2] = nnx.tanh\n",
    "another list later": "net.layers[1] = norm()\nnet.layers = net.layers[:3]\n",
    "own list": "net = Mixed(rngs)\nnet.layers.insert(0, nnx.tanh)\nnet.layers[2] = norm()\ndel net.heads[0]\n",
}
REPORTED = {
    "insert": "net.layers.insert(1, norm())\n",
    "insert at the last function": "net.layers.insert(3, norm())\n",
    "del": "del net.layers[0]\n",
    "pop": "net.layers.pop(0)\n",
}
LEFT = {
    "layer for a layer": "net.layers[0] = norm()\n",
    "function for a function": "net.layers[1] = nnx.tanh\n",
    "layers alone": "net = nnx.Sequential(norm(), norm())\nnet.layers.insert(0, norm())\nnet.layers[1] = norm()\n",
    "at the end": "net.layers.pop()\nnet.layers.append(norm())\ndel net.layers[3]\n",
    "list of its own": "net.layers = net.layers[:2]\nnet.layers[0] = nnx.tanh\n",
    "moved in a list of its own": "net.layers = list(net.layers)\nnet.layers.insert(1, norm())\ndel net.layers[0]\n",
    "of a class": "for i, layer in enumerate(net.layers):\n    if isinstance(layer, nnx.Linear):\n"
    "        net.layers[i] = norm()\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("places")
    programs = {name: HEAD + text + SHOW for name, text in {**FIXED, **REPORTED, **LEFT}.items()}
    done = runs(programs, folder / "migrated", ("0.12",))
    done["0.12 as it was"] = execute_all("0.12", {name: programs[name] for name in FIXED}, folder / "was")
    return done


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(HEAD + FIXED[name] + SHOW, ONLY)
    assert codes(once, ONLY) == []
    assert_breaks(outputs, name, "0.12 as it was")
    assert_same({version: done for version, done in outputs.items() if version != "0.12 as it was"}, name)


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert codes(migrate_text(HEAD + REPORTED[name] + SHOW, ONLY), ONLY) == ["NNX613"]
    assert_breaks(outputs, name, "0.12")


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "NNX613" not in codes(HEAD + LEFT[name] + SHOW, ONLY)
    assert_same({version: outputs[version] for version in ("0.10", "0.12")}, name)


def test_several_targets() -> None:
    both = options("0.11", "0.12", select=("NNX613",))
    text = HEAD + FIXED["layer for a function"]
    assert migrate_text(text, both) == text
    assert "NNX613" in codes(text, both)


def test_another_list_somewhere_leaves_open_what_is_to_be_said() -> None:
    text = f"""{HEAD}
def cut(net):
    net.layers = net.layers[:2]


def put(net):
    net.layers[0] = nnx.tanh


cut(net)
put(net)
"""
    alone = options("0.12", select=("NNX613",))
    assert migrate_text(text, alone) == text
    assert codes(text, alone) == ["NNX613"]
