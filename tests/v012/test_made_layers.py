"""NNX601 where the layers of a container are made through a partial application, or by a class that something holds."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601", "NNX602", "NNX605"))
HEAD = """\
import copy
import functools
from dataclasses import dataclass

import flax
import jax
import jax.numpy as jnp
from flax import linen, nnx

Dense = functools.partial(nnx.Linear, 2, 2)


class Plain:
    pass


@dataclass
class Config:
    layer: type = nnx.Linear
    size: type = int


"""
SHOW = "print(len(jax.tree.leaves(nnx.state(net))))\n"


def _net(body: str, parameters: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in body.split("; "))
    rngs = "" if "rngs" in parameters else ", rngs"
    return f"class Net(nnx.Module):\n    def __init__(self{rngs}{parameters}):\n{lines}\n\n"


MADE = "net = Net(nnx.Rngs(0))\n"
FIXED = {
    "partial": _net("make = functools.partial(nnx.Linear, 2, 2, rngs=rngs); self.a = [make() for _ in range(2)]; "
                    "self.b = (make(), make()); self.c = {'x': make()}; self.d = []; self.d.append(make())") + MADE,
    "partial of a module": _net("self.a = [Dense(rngs=rngs) for _ in range(2)]") + MADE,
    "parameter": _net("self.a = [layer(2, 2, rngs=rngs)]", ", rngs, layer=nnx.Linear") + MADE,
    "parameter that is given": _net("self.a = [layer(rngs=rngs)]", ", layer, rngs") + "net = Net(Dense, nnx.Rngs(0))\n",
    "annotated": _net("self.a = [layer(2, 2, rngs=rngs)]", ", layer: type[nnx.Module], rngs")
    + "net = Net(vars(nnx)['Linear'], nnx.Rngs(0))\n",
    "field": _net("self.a = [config.layer(2, 2, rngs=rngs)]", ", config, rngs") + "net = Net(Config(), nnx.Rngs(0))\n",
    "registry": _net("self.a = [{'d': Dense, 'n': Dense}[name](rngs=rngs) for name in 'dn']") + MADE,
    "loop over classes": _net("self.a = [make(rngs=rngs) for make in (Dense, Dense)]") + MADE,
    "map": _net("self.a = list(map(functools.partial(nnx.Linear, 2, rngs=rngs), (2, 3)))") + MADE,
    "map of a lambda": _net("self.a = list(map(lambda n: Dense(rngs=rngs), range(2)))") + MADE,
    "tree": _net("self.a = jax.tree.map(nnx.Param, {'u': jnp.ones(1), 'v': jnp.ones(2)})") + MADE,
    "tree by a lambda": _net("self.a = jax.tree.map(lambda x: nnx.Variable(x), {'u': jnp.ones(1)})") + MADE,
    "tree by a function": "def _own(x):\n    return nnx.Param(x)\n\n\n"
    + _net("self.a = jax.tree.map(_own, [jnp.ones(1), jnp.ones(2)])") + MADE,
    "tree of a pure state": _net("self.a = jax.tree.map(lambda x: nnx.Variable(x), "
                                 "nnx.state(Dense(rngs=rngs)).to_pure_dict())") + MADE,
    "pure state": _net("self.a = nnx.state(Dense(rngs=rngs)).to_pure_dict()") + MADE,
    "frozen": _net("self.a = flax.core.freeze({'u': jnp.ones(1), 'v': {'w': jnp.ones(1)}})") + MADE,
    "flat dict": _net("self.a = flax.traverse_util.flatten_dict({'u': {'w': nnx.Param(jnp.ones(1))}}, sep='/')") + MADE,
    "copy": _net("made = [Dense(rngs=rngs)]; self.a = copy.deepcopy(made)") + MADE,
    "Linen": _net("self.a = linen.Dense(2).init(rngs.params(), jnp.ones((1, 2)))") + MADE,
    "parameters of a Linen module": "class Own(linen.Module):\n    @linen.compact\n    def __call__(self, x):\n"
    "        return linen.Dense(2)(x)\n\n\n"
    + _net("own = Own(); self.a = own.init(rngs.params(), jnp.ones((1, 2)))['params']") + MADE,
    "None first": _net("self.a = None; self.a = Dense(rngs=rngs)") + MADE,
}  # fmt: skip
LEFT = {
    "another class": _net("make = functools.partial(Plain); self.a = [make() for _ in range(2)]") + MADE,
    "texts": _net("self.a = [kind(2.5)]; self.b = list(map(kind, 'ab'))", ", rngs, kind=str") + MADE,
    "field of numbers": _net("self.a = [config.size(2.5)]", ", config, rngs") + "net = Net(Config(), nnx.Rngs(0))\n",
    "frozen numbers": _net("self.a = flax.core.freeze({'u': 2.5})") + MADE,
    "copy of texts": _net("self.a = copy.deepcopy({'u': ['v']})") + MADE,
    "initialized by another": "class Other:\n    def init(self, key, x):\n        return {'u': 2.5}\n\n\n"
    + _net("self.a = Other().init(1, 2)") + MADE,
    "tree of shapes": _net("self.a = jax.tree.map(jnp.shape, {'u': jnp.ones(1)})") + MADE,
    "tree of numbers": _net("self.a = jax.tree.map(lambda x: 2.5, {'u': jnp.ones(1)})") + MADE,
    "the classes themselves": _net("self.a = [nnx.Linear, Dense]") + MADE,
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("made")
    programs = {name: HEAD + text + SHOW for name, text in FIXED.items()}
    done = runs(programs, folder / "migrated", ("0.12",))
    done["0.12 as it was"] = execute_all("0.12", programs, folder / "was")
    return done


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(HEAD + FIXED[name] + SHOW, ONLY)
    assert codes(once, ONLY) == []
    assert migrate_text(once, ONLY) == once
    assert_breaks(outputs, name, "0.12 as it was")
    assert_same({version: done for version, done in outputs.items() if version != "0.12 as it was"}, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + LEFT[name], ONLY) == []
