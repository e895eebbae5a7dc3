"""NNX601, NNX602 and NNX605 where attributes get their data in other ways than by a plain assignment; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601", "NNX602", "NNX605"))
HEAD = """\
from collections import OrderedDict

import jax
import jax.numpy as jnp
from flax import nnx


def made(seed=0):
    return nnx.Linear(1, 2, rngs=nnx.Rngs(seed))


"""
SHOW = "print(len(jax.tree.leaves(nnx.state(net))))\n"
INIT = "class Net(nnx.Module):\n    def __init__(self):\n"
FIXED = {
    "prefilled": INIT + "        self.down = [None] * 2\n        self.sizes = [0] * 2\n        for i in range(2):\n"
    "            self.down[i] = made(i)\n            self.sizes[i] = i\n\n\nnet = Net()\nprint(net.sizes)\n",
    "setattr": INIT + "        for name in ('a', 'b'):\n            setattr(self, name, [made()])\n"
    "        setattr(self, 'size', [1])\n\n\nnet = Net()\nprint(net.size)\n",
    "setattr in a helper": "def attach(module, name, layers):\n    setattr(module, name, layers)\n\n\n"
    + INIT + "        attach(self, 'a', [made()])\n        attach(self, 'b', None)\n\n\nnet = Net()\n",
    "mixin": "class Heads:\n    def build(self):\n        self.heads = [made(i) for i in range(2)]\n"
    "        self.names = ['a', 'b']\n\n\nclass Net(Heads, nnx.Module):\n    def __init__(self):\n"
    "        self.build()\n\n\nnet = Net()\nprint(net.names)\n",
    "state later": INIT + "        self.lin = made()\n        self.ema = None\n        self.size = None\n\n"
    "    def update(self):\n        self.ema = jax.tree.map(jnp.copy, nnx.state(self.lin, nnx.Param))\n"
    "        self.size = 3\n\n\nnet = Net()\nnet.update()\nprint(net.size)\n",
    "state later from outside": INIT + "        self.lin = made()\n        self.ema = None\n\n\ndef copy(m):\n"
    "    return jax.tree.map(jnp.copy, nnx.state(m))\n\n\nnet = Net()\nnet.ema = copy(net.lin)\n",
    "array of a layer of a list": INIT + "        self.lin = made()\n        self.last = None\n\n\n"
    "def remember(m, y):\n    m.last = y\n\n\nnet = Net()\nlayers = [made(1), made(2)]\n"
    "remember(net, layers[0](jnp.ones((1, 1))))\n",
    "sum of what layers give": INIT + "        self.heads = [made(), made(1)]\n        self.last = None\n\n"
    "    def __call__(self, x):\n        return sum(head(x) for head in self.heads)\n\n\ndef record(m, x):\n"
    "    m.last = m(x)\n\n\nnet = Net()\nrecord(net, jnp.ones((1, 1)))\n",
    "call unpacked": INIT + "        self.b, self.c = self.two()\n\n    def two(self):\n"
    "        return [made()], [made(1)]\n\n\nnet = Net()\n",
    "list of another attribute": INIT + "        self.a = [made()]\n\n\nnet = Net()\n"
    "net.a[0], net.b = made(1), net.a\n",
    "ordered": INIT + "        self.a = OrderedDict(x=made())\n        self.b = OrderedDict()\n"
    "        for i in range(2):\n            self.b[str(i)] = made(i)\n\n\nnet = Net()\n",
    "operator beside items": INIT + "        self.w = nnx.Param(jnp.ones(2))\n\n    def put(self, i, x):\n"
    "        self.w[i] = x\n\n    def scale(self, f):\n        self.w *= f\n\n\nnet = Net()\nnet.w += 1\n"
    "net.w[0] = 7.0\nnet.put(1, 3.0)\nnet.scale(2)\nprint(net.w.value)\n",
    "named arguments": "class Net(nnx.Module):\n    def __init__(self, width=1, **heads):\n        self.width = width\n"
    "        self.heads = heads\n\n\nnet = Net(2, a=made())\nprint(net.width)\n",
    "named arguments handed on": "class Base(nnx.Module):\n    def __init__(self, **heads):\n"
    "        self.heads = heads\n\n\nclass Net(Base):\n    def __init__(self, **heads):\n"
    "        super().__init__(**heads)\n\n\nnet = Net(**{'a': made()})\n",
    "None, then setattr in a method": INIT + "        self.w = None\n        self.size = None\n\n    def param(self,"
    " name, value):\n        setattr(self, name, nnx.Param(value))\n\n    def build(self):\n"
    "        self.param('w', jnp.ones(2))\n        self.size = 3\n\n\nnet = Net()\nnet.build()\nprint(net.size)\n",
    "None, then setattr by a base": "class Lazy(nnx.Module):\n    def param(self, name, value):\n"
    "        setattr(self, name, value)\n\n\nclass Net(Lazy):\n    def __init__(self):\n        self.w = None\n"
    "        self.n = None\n\n    def build(self):\n        self.param('w', made())\n        self.param('n', 3)\n\n\n"
    "net = Net()\nnet.build()\nprint(net.n)\n",
    "two lists, filled by a choice": INIT + "        self.a, self.b = [], []\n        for i in range(3):\n"
    "            (self.a if i < 2 else self.b).append(made(i))\n\n\nnet = Net()\n",
    "two lists, filled by a name": INIT + "        self.a, self.b = [], []\n        for i in range(3):\n"
    "            which = self.a if i < 2 else self.b\n            which.extend([made(i)])\n\n\nnet = Net()\n",
    "two lists in a loop": INIT + "        self.a, self.b = [], []\n        for which in (self.a, self.b):\n"
    "            which.append(made())\n\n\nnet = Net()\n",
    "two lists by getattr": INIT + "        self.a = []\n        self.b = []\n        for name in ('a', 'b'):\n"
    "            getattr(self, name).append(made())\n\n\nnet = Net()\n",
    "method of the list": INIT + "        self.a = []\n        add = self.a.append\n        for i in range(2):\n"
    "            add(made(i))\n\n\nnet = Net()\n",
    "operator on what a declared layer has": "class Net(nnx.Module):\n    def __init__(self, base: nnx.Linear):\n"
    "        self.base = base\n\n    def merge(self):\n        self.base.kernel += 1\n        return self.base\n\n\n"
    "nets = [Net(v) for v in vars(Net(made())).values() if isinstance(v, nnx.Linear)]\nnet = nets[0]\n"
    "print(net.merge().kernel.value)\n",
    "operator on what a tested layer has": INIT + "        self.base = made()\n\n\nnet = Net()\n"
    "for v in vars(net).values():\n    if isinstance(v, nnx.Linear):\n        v.kernel *= 2\n"
    "        print(v.kernel.value)\n",
    "None, then setattr in a loop": INIT + "        self.a = self.b = None\n\n\nnet = Net()\nfor name in ('a', 'b'):\n"
    "    setattr(net, name, made())\n",
}  # fmt: skip
REPORTED = {
    "setattr of keywords": "class Net(nnx.Module):\n    def __init__(self, **parts):\n"
    "        for name, part in parts.items():\n            setattr(self, name, part)\n\n\n"
    "net = Net(size=3, head=made(), layers=[made(1)])\n",
    "rest": INIT + "        self.a = made()\n        first, *self.others = [made(i) for i in range(3)]\n",
    "setattr of this and that": "def attach(module, name, value):\n    setattr(module, name, value)\n\n\n"
    + INIT + "        attach(self, 'a', [made()])\n        attach(self, 'b', 3)\n\n\nnet = Net()\n",
    "call that gives a number too": INIT + "        self.b, self.c = self.two()\n\n    def two(self):\n"
    "        return [made()], 3\n\n\nnet = Net()\n",
    "None by setattr, too": INIT + "        for name in ('a', 'b'):\n            setattr(self, name, None)\n\n"
    "    def fill(self):\n        for name in ('a', 'b'):\n            setattr(self, name, made())\n\n\n"
    "net = Net()\nnet.fill()\n",
}  # fmt: skip
LEFT = {
    "setattr of keywords that are no containers": "class Net(nnx.Module):\n    def __init__(self, **parts):\n"
    "        for name, part in parts.items():\n            setattr(self, name, part)\n\n\n"
    "net = Net(size=3, head=made(), sizes=[1])\n",
    "mixin of other classes": "class Heads:\n    def build(self):\n        self.heads = [made()]\n\n\n"
    "class Net(Heads, nnx.Module):\n    pass\n\n\nclass Plain(Heads):\n    pass\n\n\nnet = Plain()\nnet.build()\n",
    "rest of numbers": INIT + "        self.a = made()\n        self.a, *self.others = made(), 2, 3\n",
    "marked before": "def attach(module, name, layers):\n    setattr(module, name, layers)\n\n\n"
    + INIT + "        attach(self, 'a', nnx.data([made()]))\n\n\nnet = Net()\n",
    "no module": "class Box:\n    pass\n\n\nbox = Box()\nsetattr(box, 'a', [made()])\n",
    "named numbers": "class Net(nnx.Module):\n    def __init__(self, **sizes):\n        self.sizes = sizes\n\n\n"
    "net = Net(a=3)\n",
    "setattr of another class": "class Other(nnx.Module):\n    def __init__(self):\n        self.w = None\n\n\n"
    + INIT + "        self.param('w')\n\n    def param(self, name):\n        setattr(self, name, made())\n\n\n"
    "net, other = Net(), Other()\n",
    "two lists of numbers, filled by a choice": INIT + "        self.a, self.b = [], []\n        for i in range(3):\n"
    "            (self.a if i < 2 else self.b).append(i)\n\n\nnet = Net()\n",
    "operator on what another class is declared to have": "class Box:\n    kernel = 1\n\n\n"
    "def grow(box: Box):\n    box.kernel += 1\n    return box.kernel\n\n\n" + INIT
    + "        self.n = grow(Box())\n\n\nnet = Net()\n",
    "operator on what a derived layer keeps otherwise": "class Net(nnx.Linear):\n    def __init__(self, rngs):\n"
    "        super().__init__(1, 2, rngs=rngs)\n        self.kernel = jnp.ones((1, 2))\n\n\n"
    "def grow(layer: nnx.Linear):\n    layer.kernel += 1\n\n\nnet = Net(nnx.Rngs(0))\ngrow(net)\n",
    "operator behind another test": "def grow(v):\n    if isinstance(v, (nnx.Linear, dict)):\n"
    "        v.kernel += 1\n\n\n"
    + INIT + "        self.n = 1\n\n\nnet = Net()\n",
    "numbers": INIT + "        self.sizes = [0] * 2\n        self.sizes[0] = 1\n        setattr(self, 'b', [1])\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("forms")
    programs = {name: HEAD + text + SHOW for name, text in FIXED.items()}
    done = runs(programs, folder / "migrated", ("0.12",))
    done["0.12 as it was"] = execute_all("0.12", programs, folder / "was")
    return done


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str) -> None:
    once = migrate_text(HEAD + FIXED[name] + SHOW, ONLY)
    assert codes(once, ONLY) == []
    assert migrate_text(once, ONLY) == once


@pytest.mark.parametrize("name", FIXED)
def test_fixed_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_breaks(outputs, name, "0.12 as it was")
    assert_same({version: done for version, done in outputs.items() if version != "0.12 as it was"}, name)


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str) -> None:
    text = HEAD + REPORTED[name]
    assert set(codes(migrate_text(text, ONLY), ONLY)) == {"NNX602" if name.startswith("None") else "NNX601"}


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + LEFT[name], ONLY) == []


TAKEN = {
    "array of another attribute": INIT + "        self.total = jnp.zeros(3)\n        self.last = 0\n\n"
    "    def __call__(self, x):\n        self.total = self.total + x.sum(0)\n        self.last = self.total.sum()\n\n\n"
    "net = Net()\nnet(jnp.ones((2, 3)))\nprint(float(net.last))\n",
    "attribute itself": INIT + "        self.total = jnp.zeros(3)\n        self.last = None\n\n"
    "    def __call__(self, x):\n        self.total += x.sum(0)\n        self.last = self.total\n\n\n"
    "net = Net()\nnet(jnp.ones((2, 3)))\nprint(net.last)\n",
}
COUNTED = {
    "number of another attribute": INIT + "        self.total = 0\n        self.last = 0\n\n"
    "    def __call__(self):\n        self.total = self.total + 1\n        self.last = self.total\n\n\n"
    "net = Net()\nnet()\nprint(net.last)\n",
    "number of an array": INIT + "        self.total = jnp.zeros(3)\n        self.last = 0\n\n"
    "    def __call__(self):\n        self.last = int(self.total.sum())\n\n\nnet = Net()\nnet()\nprint(net.last)\n",
}


def test_arrays_of_attributes(tmp_path_factory: pytest.TempPathFactory) -> None:
    programs = {name: HEAD + body + SHOW for name, body in (TAKEN | COUNTED).items()}
    found = runs(programs, tmp_path_factory.mktemp("taken"), targets=("0.12",))
    for name in programs:
        assert_same(found, name)
    for name in TAKEN:
        assert "nnx.data(" in migrate_text(programs[name], ONLY)
    for name in COUNTED:
        assert migrate_text(programs[name], ONLY) == programs[name]
