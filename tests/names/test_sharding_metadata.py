"""NNX505: names of mesh axes as metadata, through variables, initializers and assignments; all run."""

from __future__ import annotations

import re

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx

if hasattr(nnx, "use_eager_sharding"):
    nnx.use_eager_sharding(False)
ones = nnx.initializers.ones_init()
"""
PARAM = "weight = nnx.Param(jnp.ones((2, 2)), sharding=('data', None))\n"
LAYER = "layer = nnx.Linear(2, 2, kernel_init=nnx.with_partitioning(ones, ('data', None)), rngs=nnx.Rngs(0))\n"
PROGRAMS = {
    "through a variable": f"{PARAM}meta = weight.get_metadata()\nprint(meta['sharding'], meta.get('sharding', 1))\n",
    "asked with in": f"{PARAM}meta = weight.get_metadata()\n"
    "print('sharding' in meta, 'sharding' not in weight.get_metadata())\n",
    "without names": "weight = nnx.Param(jnp.ones(2))\nprint('sharding' in weight.get_metadata())\n",
    "of an attribute": "class Net(nnx.Module):\n    def __init__(self):\n"
    "        self.weight = nnx.Param(1.0, sharding=('a',))\n\n    def names(self):\n"
    "        held = self.weight.get_metadata()\n        return held['sharding']\n\n\nprint(Net().names())\n",
    "given to a function": f"{PARAM}\n\ndef names(variable):\n    meta = variable.get_metadata()\n"
    "    return meta['sharding']\n\n\nprint(names(weight))\n",
    "alias": "import flax.nnx as nn\nweight = nn.Param(jnp.ones(1), sharding=('a',))\n"
    "print(weight.sharding, weight.get_metadata()['sharding'])\n",
    "names are None": "weight = nnx.Param(jnp.ones(1), sharding=None)\nprint(weight.sharding)\n",
    "kernel of a layer": f"{LAYER}print(layer.kernel.sharding)\n",
    "initializer in a variable": "init = nnx.with_metadata(ones, sharding=('a', None))\n"
    "layer = nnx.Linear(2, 2, bias_init=nnx.with_partitioning(ones, ('b',)), kernel_init=init, rngs=nnx.Rngs(0))\n"
    "print(layer.kernel.sharding, layer.bias.sharding)\n",
    "layer of a model": "class Net(nnx.Module):\n    def __init__(self, rngs):\n"
    "        self.embed = nnx.Embed(2, 3, embedding_init=nnx.with_partitioning(ones, (None, 'm')), rngs=rngs)\n\n\n"
    "net = Net(nnx.Rngs(0))\nprint(net.embed.embedding.sharding)\n",
    "initializer called": "weight = nnx.Param(nnx.with_partitioning(ones, ('a', None))(jax.random.key(0), (2, 2)))\n"
    "print(weight.sharding, weight.get_metadata()['sharding'])\n",
    "leaf of a state": f"{LAYER}state = nnx.state(layer)\nprint(state['kernel'].sharding)\n",
    "leaf of gradients": f"{LAYER}grads = nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(layer)\n"
    "print(grads['kernel'].sharding)\n",
}
# the assignment itself has no form that holds for 0.11 and 0.12
SET = {
    "read behind": "weight = nnx.Param(jnp.ones(2))\nweight.sharding = ('a',)\nprint(weight.sharding)\n",
    "read in a method": "class Net(nnx.Module):\n    def __init__(self):\n"
    "        self.weight = nnx.Param(jnp.ones(2))\n"
    "        self.weight.sharding = ('a',)\n\n    def names(self):\n        return self.weight.sharding\n\n\n"
    "print(Net().names())\n",
    "read ahead": "weight = nnx.Param(jnp.ones(2))\nprint(type(weight.sharding).__name__)\nweight.sharding = ('a',)\n",
    "read in a branch": "weight = nnx.Param(jnp.ones(2))\nif weight is not None:\n    weight.sharding = ('a',)\n"
    "    if True:\n        print(weight.sharding)\n",
    "read at last": "weight = nnx.Param(jnp.ones(2))\ntry:\n    pass\nfinally:\n    weight.sharding = ('a',)\n"
    "    print(weight.sharding)\n",
    "spec": "weight = nnx.Param(jnp.ones(2))\nweight.sharding = ('a',)\n"
    "print(tuple(nnx.get_partition_spec(nnx.state(nnx.Linear(1, 1, rngs=nnx.Rngs(0))))), weight.sharding)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: HEAD + text for name, text in {**PROGRAMS, **SET}.items()}, tmp_path_factory.mktemp("sharding"))


@pytest.mark.parametrize("name", [*PROGRAMS, *SET])
def test_prints_the_same_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("target", "new"), [("0.11", "sharding_names"), ("0.12", "out_sharding")])
def test_every_name_changes(name: str, target: str, new: str) -> None:
    once = migrate_text(HEAD + PROGRAMS[name], options(target))
    assert new in once
    assert not re.search(r"\.sharding\b|'sharding'", once)
    assert codes(once, options(target, select=("NNX505",))) == []


@pytest.mark.parametrize(
    ("name", "changed"),
    [("read behind", 2), ("read in a method", 2), ("read ahead", 1), ("read in a branch", 2), ("read at last", 2)],
)
def test_an_assignment_changes_with_the_reads_behind_it(name: str, changed: int) -> None:
    once = migrate_text(HEAD + SET[name], options("0.11"))
    assert once.count("sharding_names") == changed
    assert len(re.findall(r"\.sharding\b", once)) == len(re.findall(r"\.sharding\b", SET[name])) - changed


@pytest.mark.parametrize("name", PROGRAMS)
def test_two_targets_are_reported_only(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    found = look(text, options("0.11", "0.12", select=("NNX505",))).findings
    assert found
    assert {f.fix for f in found} == {None}


@pytest.mark.parametrize(
    "text",
    [
        "def names(flag):\n    weight = nnx.Param(jnp.ones(2))\n    if flag:\n        weight.sharding = ('a',)\n"
        "    return weight.sharding\n",
        "weight = nnx.Param(jnp.ones(2))\nfor _ in range(2):\n    print(weight.sharding)\n"
        "    weight.sharding = ('a',)\n",
        "def make():\n    return nnx.Param(jnp.ones(2))\n\n\none, two = make(), make()\none.sharding = ('a',)\n"
        "print(two.sharding)\n",
        "def names(flag):\n    weight = nnx.Param(1, sharding=('a',)) if flag else nnx.Param(1)\n"
        "    return weight.sharding\n",
    ],
)
@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_what_may_be_either_is_reported_only(text: str, target: str) -> None:
    found = look(HEAD + text, options(target, select=("NNX505",))).findings
    assert found
    assert {f.fix for f in found} == {None}


@pytest.mark.parametrize(
    "text",
    [
        f"{PARAM}meta = weight.get_metadata()\nprint({{k: meta[k] for k in ('sharding', 'note')}})\n",
        f"{PARAM}for key in ['note', 'sharding']:\n    print(weight.get_metadata().get(key))\n",
        f"KEYS = ('sharding', 'note')\n{PARAM}print([key for key in KEYS if key in weight.get_metadata()])\n",
        f"{PARAM}key = 'sharding'\nprint(weight.get_metadata()[key])\n",
        f"{PARAM}print([getattr(weight, name, None) for name in ('sharding', 'note')])\n",
    ],
)
@pytest.mark.parametrize("target", ["0.11", "0.12"])
def test_a_name_among_others_is_reported_only(text: str, target: str) -> None:
    """The name may be shown as well as asked for, and the others of the loop mean something else."""
    found = look(HEAD + text, options(target, select=("NNX505",))).findings
    assert found
    assert {f.fix for f in found} == {None}


@pytest.mark.parametrize(
    "change",
    [
        "meta['sharding'] = ('a',)",
        "meta.pop('sharding', None)",
        "meta.setdefault('sharding', ())",
        "del meta['sharding']",
    ],
)
def test_changing_the_metadata_has_no_effect_in_0_12(change: str) -> None:
    text = f"{HEAD}{PARAM}meta = weight.get_metadata()\n{change}\n"
    new = change.replace("sharding", "sharding_names")
    assert new in migrate_text(text, options("0.11", select=("NNX505",)))
    (found,) = look(text, options("0.12", select=("NNX505",))).findings
    assert found.fix is None
    assert "copy" in found.message


def test_metadata_of_an_unknown_object_needs_to_be_asked_for() -> None:
    text = f"{HEAD}\n\ndef names(thing):\n    meta = thing.get_metadata()\n    return meta['sharding']\n"
    assert migrate_text(text) == text
    assert "meta['sharding_names']" in migrate_text(text, unsafe=True)


@pytest.mark.parametrize(
    "text",
    [
        "weight = nnx.Param(jnp.ones(2))\nprint(weight.sharding)\n",
        f"{PARAM}print(weight.value.sharding)\n",
        "layer = nnx.Linear(2, 2, rngs=nnx.Rngs(0))\nprint(layer.kernel.sharding, layer.kernel.value.sharding)\n",
        "layer = nnx.Linear(2, 2, kernel_init=ones, rngs=nnx.Rngs(0))\nprint(layer.kernel.sharding)\n",
        f"{LAYER}print(layer.bias.sharding)\n",
        f"{LAYER}print(layer.kernel.sharding.spec, layer.kernel.sharding.is_fully_replicated)\n",
        "init = nnx.with_metadata(ones, note=1)\n"
        "layer = nnx.Linear(2, 2, kernel_init=init, rngs=nnx.Rngs(0))\nprint(layer.kernel.sharding)\n",
        "def place(kernel_init):\n"
        "    return nnx.Linear(2, 2, kernel_init=kernel_init, rngs=nnx.Rngs(0)).kernel.sharding\n",
        "weight = nnx.Param(ones(jax.random.key(0), (2, 2)))\nprint(weight.sharding)\n",
        "def names(weight: nnx.Param):\n    return weight.sharding\n",
        "def make(box):\n    return nnx.Param(box).sharding\n",
        "print(jnp.ones(2).sharding, jax.device_put(1).sharding)\n",
        "x = jax.tree.map(lambda leaf: leaf.sharding, nnx.state(nnx.Linear(2, 2, rngs=nnx.Rngs(0))))\n",
        "class Spec:\n    def get_other(self):\n        return {'sharding': 1}\n\n\nmeta = Spec().get_other()\n"
        "print(meta['sharding'])\n",
        "meta = {'sharding': 1}\nprint(meta['sharding'], 'sharding' in meta)\n",
        "def f(config):\n    return config['sharding'], config.get('sharding'), config.sharding\n",
        f"{PARAM}print(weight.get_metadata()['mesh'] if 'mesh' in weight.get_metadata() else None)\n",
        "class Spec:\n    sharding = 1\n\n\nspec = Spec()\nspec.sharding = 2\nprint(spec.sharding)\n",
        f"{PARAM}print([weight.get_metadata().get(key) for key in ('note', 'mesh')])\n",
        f"{PARAM}print([getattr(weight, name, None) for name in ('note', 'shape')])\n",
        f"{PARAM}print([{{'sharding': 1, 'note': 2}}[key] for key in ('sharding', 'note')])\n",
        f"{PARAM}key = 'shard'\nprint(weight.get_metadata().get(key + 'ing'))\n",
        "print([s for s in ('sharding',) if s in ['sharding'] and 'sharding' in 'sharding'])\n",
    ],
)
def test_left_alone(text: str) -> None:
    assert codes(HEAD + text, options("0.11", select=("NNX505",))) == []
    assert codes(HEAD + text, options("0.12", select=("NNX505",))) == []


def test_code_for_later_releases_means_the_array() -> None:
    """What runs on 0.11 and later alone asks a Variable for the sharding of its array, which 0.12 gives as well."""
    text = """\
from flax import nnx

layer = nnx.Linear(2, 4, kernel_init=nnx.with_partitioning(nnx.initializers.ones, (None, "model")), rngs=nnx.Rngs(0))
print(layer.kernel.sharding)
"""
    told = {origin: codes(text, options("0.12", origin=origin, lint=True)) for origin in ("0.10", "0.11", "0.12")}
    assert "NNX505" in told["0.10"]
    assert "NNX505" not in told["0.11"] + told["0.12"]
