"""NNX620: fields of module dataclasses; what is fixed broke under 0.12 and prints the same afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
import dataclasses
import typing

import jax
import jax.numpy as jnp
from flax import nnx, struct


def made(seed=0):
    return nnx.Linear(1, 2, rngs=nnx.Rngs(seed))


"""
SHOW = "print(len(nnx.to_flat_state(nnx.state(net))))\n"
CLASS = "@dataclasses.dataclass\nclass Net(nnx.Module):\n"
FIXED = {
    "list": f"{CLASS}    layers: list[nnx.Linear]\n\n\nnet = Net([made()])\n{SHOW}",
    "tuple": f"{CLASS}    layers: tuple[nnx.Linear, ...]\n\n\nnet = Net((made(), made(1)))\n{SHOW}",
    "dict": f"{CLASS}    layers: typing.Dict[str, nnx.Module]\n\n\nnet = Net({{'a': made()}})\n{SHOW}",
    "Variables": f"{CLASS}    weights: dict[str, nnx.Param]\n    size: int = 1\n\n\n"
    f"net = Net({{'a': nnx.Param(jnp.ones(1))}})\n{SHOW}",
    "arrays": f"{CLASS}    values: list[jax.Array]\n\n\nnet = Net([jnp.ones(1)])\n{SHOW}",
    "own class": f"class Layer(nnx.Module):\n    def __init__(self):\n        self.w = nnx.Param(1.0)\n\n\n"
    f"{CLASS}    layers: list[Layer]\n\n\nnet = Net([Layer()])\n{SHOW}",
    "filled later": f"{CLASS}    layers: list[nnx.Linear] = dataclasses.field(default_factory=list)\n\n\n"
    f"net = Net()\nnet.layers.append(made())\n{SHOW}",
    "optional": f"{CLASS}    layers: list[nnx.Linear] | None = None\n\n\nnet = Net([made()])\n{SHOW}",
    "Optional": f"{CLASS}    layers: typing.Optional[list[nnx.Linear]] = None\n\n\nnet = Net([made()])\n{SHOW}",
    "None first": f"{CLASS}    head: nnx.Linear | None = None\n\n\nnet = Net()\nnet.head = made()\n{SHOW}",
    "None first in a method": f"{CLASS}    head: nnx.Linear | None = None\n\n    def grow(self):\n"
    f"        self.head = made()\n\n\nnet = Net()\nnet.grow()\n{SHOW}",
    "options": "@dataclasses.dataclass(kw_only=True, eq=False)\nclass Net(nnx.Module):\n"
    "    layers: list[nnx.Linear]\n\n\n"
    f"net = Net(layers=[made()])\n{SHOW}",
    "imported": "from dataclasses import dataclass, field\nfrom flax.nnx import Linear, Module\n\n\n@dataclass\n"
    "class Net(Module):\n    layers: list[Linear] = field(default_factory=lambda: [made()])\n\n\n"
    f"net = Net()\n{SHOW}",
    "derived": f"class Base(nnx.Module):\n    pass\n\n\n{CLASS.replace('nnx.Module', 'Base')}"
    f"    layers: list[nnx.Linear]\n\n\nnet = Net([made()])\n{SHOW}",
    "quoted": f"{CLASS}    layers: 'list[nnx.Linear]'\n    more: list['nnx.Linear']\n\n\n"
    f"net = Net([made()], [made(1)])\n{SHOW}",
    "record": "class Step(typing.NamedTuple):\n    reward: nnx.Variable\n    size: int = 1\n\n\n"
    f"{CLASS}    step: Step\n\n\nnet = Net(Step(nnx.Variable(jnp.ones(1))))\n"
    f"net.step = Step(nnx.Variable(jnp.ones(1)))\n{SHOW}",
    "record or none": "@struct.dataclass\nclass Tree:\n    weight: jax.Array\n\n\n"
    f"{CLASS}    tree: Tree | None = None\n\n\nnet = Net(Tree(jnp.ones(1)))\n{SHOW}",
    "beside others": f"{CLASS}    first: nnx.Linear\n    layers: list[nnx.Linear]\n    name: str = 'x'\n\n\n"
    f"net = Net(made(), [made(1)])\n{SHOW}",
}
_ANY = f"{CLASS}    layers: list = dataclasses.field(default_factory=list)\n"
_DICT = f"{CLASS}    layers: dict = dataclasses.field(default_factory=dict)\n\n\nnet = Net()\n"
FIXED |= {
    "filled by a class method": f"{_ANY}\n    @classmethod\n    def create(cls):\n        net = cls()\n"
    f"        for seed in range(2):\n            net.layers.append(made(seed))\n        return net\n\n\n"
    f"net = Net.create()\n{SHOW}",
    "filled by a method": f"{_ANY}\n    def add(self, layer):\n        self.layers.append(layer)\n\n\n"
    f"net = Net()\nnet.add(made())\n{SHOW}",
    "filled by a function": f"{_ANY}\n\ndef add(net, layer):\n    net.layers.append(layer)\n\n\n"
    f"net = Net()\nadd(net, made())\n{SHOW}",
    "filled by the end of the constructor": f"{_ANY}\n    def __post_init__(self):\n"
    f"        self.layers.append(made())\n\n\nnet = Net()\n{SHOW}",
    "extended": f"{_ANY}\n\nnet = Net()\nnet.layers.extend([made(), made(1)])\n{SHOW}",
    "added to": f"{_ANY}\n\nnet = Net()\nnet.layers += [made()]\n{SHOW}",
    "filled under another name": f"{_ANY}\n\nnet = Net()\nlayers = net.layers\nlayers.append(made())\n{SHOW}",
    "filled by a derived class": f"{_ANY}\n\nclass Sub(Net):\n    def fill(self):\n"
    f"        self.layers.append(made())\n\n\nnet = Sub()\nnet.fill()\n{SHOW}",
    "a dict that is filled": f"{_DICT}net.layers['a'] = made()\n{SHOW}",
    "a dict that is updated": f"{_DICT}net.layers.update(a=made())\n{SHOW}",
    "a lambda": f"{_ANY}\n\nnet = Net()\nnet.layers.append(jnp.ones(2))\n{SHOW}".replace("=list)", "=lambda: [])"),
    "anything": f"{CLASS}    head: typing.Any = None\n\n\nnet = Net()\nnet.head = made()\n{SHOW}",
}
OTHERS = {
    **{
        f"{kind} that gets {given}": f"{CLASS}    held: {kind}\n\n\nnet = Net({given})\n{SHOW}"
        for kind, given in (
            ("dict = dataclasses.field(default_factory=dict)", "{'w': jnp.ones(2), 'k': 3}"),
            ("list | None = None", "[made()]"),
            ("typing.Optional[list] = None", "[made()]"),
            ("typing.Any = None", "(jnp.ones(1), 'a')"),
            ("tuple = (0.0, 1.0)", "(jnp.ones(1), jnp.ones(1))"),
            ("object", "dict(a=made())"),
        )
    },
    "tuple by default": f"{CLASS}    layers: tuple[nnx.Linear, ...] = ()\n\n\nnet = Net((made(),))\n{SHOW}",
    "factory": f"{CLASS}    held: list = dataclasses.field(default_factory=lambda: [made()])\n\n\nnet = Net()\n{SHOW}",
    "through a function": f"{CLASS}    held: list\n\n\ndef build(layers):\n    return Net(layers)\n\n\n"
    f"net = build([made(i) for i in range(2)])\n{SHOW}",
}
FIXED |= OTHERS
NUMBER_TOO = f"{CLASS}    held: typing.Any = None\n\n\nprint(Net(3).held)\nnet = Net([made()])\n{SHOW}"
LEFT = {
    "filled with names": f"{_ANY}    head: nnx.Linear = nnx.Linear(1, 2, rngs=nnx.Rngs(0))\n\n\n"
    f"net = Net()\nnet.layers.append('a')\n{SHOW}",
    "filled with numbers": f"{_DICT}net.layers['a'] = 1\nprint(net.layers)\n",
    "no data": f"{CLASS}    held: dict = dataclasses.field(default_factory=dict)\n    more: list | None = None\n"
    f"    any: typing.Any = None\n    size: tuple = (0, 1)\n\n\nnet = Net({{'a': 1}}, [1], made(), (2, 3))\n{SHOW}",
    "plain values": f"{CLASS}    sizes: list[int]\n    names: dict[str, str]\n\n\nnet = Net([1], {{'a': 'b'}})\n{SHOW}",
    "modules": f"{CLASS}    first: nnx.Linear\n    weight: nnx.Param\n\n\nnet = Net(made(), nnx.Param(1.0))\n{SHOW}",
    "optional module": f"{CLASS}    head: nnx.Linear | None = None\n\n\nnet = Net(made())\n{SHOW}",
    "record without data": "class Size(typing.NamedTuple):\n    width: int\n\n\n"
    f"{CLASS}    size: Size\n    w: nnx.Param\n\n\nnet = Net(Size(1), nnx.Param(1.0))\n{SHOW}",
    "no module": "@dataclasses.dataclass\nclass Box:\n    layers: list[nnx.Linear]\n\n\nnet = Box([made()]).layers[0]\n"
    + SHOW,
    "no dataclass": "class Net(nnx.Module):\n    layers: list[nnx.Linear]\n\n    def __init__(self):\n"
    f"        self.w = nnx.Param(1.0)\n\n\nnet = Net()\n{SHOW}",
    "no pytree": "@dataclasses.dataclass\nclass Net(nnx.Module, pytree=False):\n    layers: list[nnx.Linear]\n\n\n"
    f"net = Net([made()])\n{SHOW}",
    "class variable": f"{CLASS}    kinds: typing.ClassVar[list[type[nnx.Module]]] = [nnx.Linear]\n    w: nnx.Param\n"
    f"\n\n"
    f"net = Net(nnx.Param(1.0))\n{SHOW}",
    "function": f"{CLASS}    w: nnx.Param\n    act: typing.Callable[[jax.Array], jax.Array] = nnx.relu\n\n\n"
    f"net = Net(nnx.Param(1.0))\n{SHOW}",
    "other object's attribute": f"class Box:\n    head = None\n\n\n{CLASS}    head: nnx.Linear | None = None\n\n\n"
    f"box = Box()\nbox.head = made()\nnet = Net(made())\n{SHOW}",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("fields")
    programs = {name: HEAD + text for name, text in {**FIXED, **LEFT}.items()}
    done = runs(programs, folder / "migrated", ("0.12",))
    both = {name: migrate_text(text, options("0.11", "0.12")) for name, text in programs.items()}
    for version in ("0.11", "0.12"):
        done[f"{version} of two"] = execute_all(version, both, folder / f"{version}-both")
    done["0.12 as it was"] = execute_all("0.12", programs, folder / "was")
    return done


@pytest.mark.parametrize("name", FIXED)
@pytest.mark.parametrize(("targets", "word"), [(("0.12",), "nnx.data("), (("0.11", "0.12"), "nnx.Data[")])
def test_fixed(name: str, targets: tuple[str, ...], word: str) -> None:
    assert set(codes(HEAD + FIXED[name], options(*targets, select=("NNX620",)))) == {"NNX620"}
    if name == "quoted" and len(targets) > 1:
        return  # 0.11 does not look into quoted annotations
    once = migrate_text(HEAD + FIXED[name], options(*targets, select=("NNX620",)))
    assert word.replace("nnx.", "") in once
    assert codes(once, options(*targets, select=("NNX620",))) == []


@pytest.mark.parametrize("name", FIXED)
def test_fixed_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_breaks(outputs, name, "0.12 as it was")
    skipped = {"0.12 as it was"} | ({"0.12 of two"} if name == "quoted" else set())
    assert_same({version: done for version, done in outputs.items() if version not in skipped}, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + LEFT[name], options("0.12", select=("NNX620",))) == []


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_fields_of_0_10_7_are_fixed_in_two_rounds_under_the_releases(tmp_path: Path) -> None:
    text = (
        f"{HEAD}@nnx.dataclass\nclass Net(nnx.Module):\n"
        f"    layers: list[nnx.Linear] = nnx.field(default_factory=list)\n"
        f"\n\nnet = Net([made()])\n{SHOW}"
    )
    once = migrate_text(migrate_text(text, options("0.12")), options("0.12"))
    done = {
        version: execute_all(version, {"a": made}, tmp_path / version)
        for version, made in (("0.10", text), ("0.12", once))
    }
    assert_same(done, "a")


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        (FIXED["list"], ("0.10", "0.12")),
        (f"from __future__ import annotations\n{FIXED['list']}", ("0.11", "0.12")),
        (FIXED["list"].replace("[nnx.Linear]", "['nnx.Linear']"), ("0.11", "0.12")),
        (FIXED["list"].replace("list[nnx.Linear]", "'list[nnx.Linear]'"), ("0.11", "0.12")),
        (
            f"{CLASS}    layers: list[nnx.Linear] = dataclasses.field(default_factory=list, metadata={{'a': 1}})\n",
            ("0.12",),
        ),
    ],
)
def test_reported_only(text: str, targets: tuple[str, ...]) -> None:
    head = "" if text.startswith("from __future__") else HEAD
    tail = text if head else text.replace("annotations\n", f"annotations\n{HEAD}", 1)
    found = [f for f in look(head + tail, options(*targets)).findings if f.code == "NNX620"]
    assert [f.fix for f in found] == [None]


def test_nothing_is_said_before_0_12() -> None:
    assert codes(HEAD + FIXED["list"], options("0.11", select=("NNX620",))) == []


def test_a_number_is_no_data() -> None:
    """Marked as data a number would be traced under nnx.jit."""
    text = HEAD + NUMBER_TOO
    assert codes(text, options("0.12", select=("NNX620",))) == ["NNX620"]
    assert migrate_text(text, options("0.12", select=("NNX620",))) == text
