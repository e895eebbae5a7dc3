"""Which attributes are marked as data for 0.12, and which are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agreement import assert_same, runs
from tests.migration import codes, migrate_text, options

#: With 0.11 among the targets the mark is ``nnx.data`` everywhere.
BOTH = options("0.11", "0.12")
HEAD = "import jax.numpy as jnp\nfrom flax import nnx\n\n\n"


def net(*body: str, base: str = "nnx.Module", declared: str = "", after: str = "", given: str = "layers=()") -> str:
    """Return a module class whose constructor has a body."""
    lines = "".join(f"        {line}\n" for line in body)
    return f"{HEAD}class Net({base}):\n{declared}    def __init__(self, rngs, {given}):\n{lines}{after}"


LINEAR = "nnx.Linear(2, 2, rngs=rngs)"
_BUILT = (
    "    def build(self, rngs):\n        self.made = nnx.Dict({{'a': nnx.Linear(1, 1, rngs=rngs)}})\n"
    "        self.a = tuple({})\n"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"self.a = [{LINEAR} for _ in range(2)]", f"self.a = nnx.data([{LINEAR} for _ in range(2)])"),
        (f"self.a = ({LINEAR}, nnx.relu)", f"self.a = nnx.data(({LINEAR}, nnx.relu))"),
        (f"self.a = {LINEAR}, nnx.relu", f"self.a = nnx.data(({LINEAR}, nnx.relu))"),
        (f"self.a = {{'x': {LINEAR}}}", f"self.a = nnx.data({{'x': {LINEAR}}})"),
        (f"self.a = dict(x={LINEAR})", f"self.a = nnx.data(dict(x={LINEAR}))"),
        (f"self.a = [[{LINEAR}], []]", f"self.a = nnx.data([[{LINEAR}], []])"),
        (f"self.a: list = [{LINEAR}]", f"self.a: list = nnx.data([{LINEAR}])"),
        (f"self.a = [{LINEAR}] * 2", f"self.a = nnx.data([{LINEAR}] * 2)"),
        (f"self.a = [nnx.relu] + [{LINEAR}]", f"self.a = nnx.data([nnx.relu] + [{LINEAR}])"),
        (f"self.a = list(zip('a', [{LINEAR}]))", f"self.a = nnx.data(list(zip('a', [{LINEAR}])))"),
        (f"self.a = dict(zip('a', [{LINEAR}]))", f"self.a = nnx.data(dict(zip('a', [{LINEAR}])))"),
        (f"self.a = list(map(lambda n: {LINEAR}, 'a'))", f"self.a = nnx.data(list(map(lambda n: {LINEAR}, 'a')))"),
        (f"a = [{LINEAR}]; self.a = a[-1:]", f"a = [{LINEAR}]; self.a = nnx.data(a[-1:])"),
        ("self.a = [jnp.zeros(2)]", "self.a = nnx.data([jnp.zeros(2)])"),
        ("self.a = [nnx.Param(jnp.zeros(2))]  # kept", "self.a = nnx.data([nnx.Param(jnp.zeros(2))])  # kept"),
        (f"self.a = []; self.a.append({LINEAR})", f"self.a = nnx.data([]); self.a.append({LINEAR})"),
        (f"self.a = []; self.a.extend([{LINEAR}])", f"self.a = nnx.data([]); self.a.extend([{LINEAR}])"),
        (f"self.a = []; self.a += [{LINEAR}]", f"self.a = nnx.data([]); self.a += [{LINEAR}]"),
        (f"self.a = {{}}; self.a['x'] = {LINEAR}", f"self.a = nnx.data({{}}); self.a['x'] = {LINEAR}"),
        (f"self.a, self.b = [], [{LINEAR}]", f"self.a, self.b = [], nnx.data([{LINEAR}])"),
        (f"a = []; self.a = a; a.append({LINEAR})", f"a = []; self.a = nnx.data(a); a.append({LINEAR})"),
        (f"a = []; a.extend({LINEAR} for _ in 'ab'); self.a = a",
         f"a = []; a.extend({LINEAR} for _ in 'ab'); self.a = nnx.data(a)"),
        (f"a = {{}}; a.update({{'x': {LINEAR}}}, y=0); self.a = a",
         f"a = {{}}; a.update({{'x': {LINEAR}}}, y=0); self.a = nnx.data(a)"),
        (f"a = {{}}; a.update(x={LINEAR}); self.a = a", f"a = {{}}; a.update(x={LINEAR}); self.a = nnx.data(a)"),
        (f"self.a = None; self.a = {LINEAR}", f"self.a = nnx.data(None); self.a = {LINEAR}"),
        ("self.a = 0; self.a = jnp.zeros(2)", "self.a = nnx.data(0); self.a = jnp.zeros(2)"),
    ],
)  # fmt: skip
def test_marked(before: str, after: str) -> None:
    once = migrate_text(net(before), BOTH)
    assert once == net(after)
    assert codes(once, BOTH) == []


@pytest.mark.parametrize(
    "text",
    [
        net("self.a = [1, 2, 3]"),
        net("self.a = [nnx.relu, 'name']"),
        net("self.a = [f for f in (nnx.relu, nnx.tanh)]"),
        net(f"self.a = nnx.data([{LINEAR}])"),
        net("self.a = nnx.data([])", f"self.a.append({LINEAR})"),
        net(f"self.a = nnx.List([{LINEAR}])"),
        net(f"self.a = nnx.Sequential(*[{LINEAR}])"),
        net(f"self.a = {LINEAR}", "self.a = None"),
        net("self.a = None", "self.a = 3"),
        net("if layers:", f"    self.a = {LINEAR}", "else:", "    self.a = None"),
        net("if layers:", "    self.a = None", "    return", f"self.a = {LINEAR}"),
        net(f"self.a = [{LINEAR}]", base="nnx.Module, pytree=False"),
        net(f"self.a = [{LINEAR}]", base="object"),
        net(f"self.a = [{LINEAR}]", declared="    a: nnx.Data[list]\n\n"),
        net("self.a = list(layers)"),
        net("self.a = list(zip('a', [1]))"),
        net("self.a = list(map(str, [1]))"),
        net("self.a = [1, 2][:1]"),
        net(f"self.a, state = nnx.split({LINEAR})"),
        net("a = [1]", f"a.append({LINEAR})", "self.b = 2"),
        # a class, and one module among other types, are no containers
        net("self.a = kind", given="kind: type[nnx.Param] = nnx.Param"),
        net("self.a = value", given="value: 'float | nnx.Param' = 0.0"),
        net("self.a = value", given="value: Optional[nnx.Module] = None"),
        # going over a dict gives its keys
        net("self.a = ()", after=_BUILT.format("n for n, _ in self.made.items()")),
        net("self.a = ()", after=_BUILT.format("n for n in self.made")),
        # arrays of NumPy that are gathered later, as a metric does
        net(
            "self.a = []",
            after="    def update(self, found):\n        self.a.append(np.asarray(found))\n",
        ).replace("import", "import numpy as np\nimport", 1),
        # what is deleted before the object is used
        net(
            "self.a = {}",
            after="    def build(self, rngs):\n        self.a[0] = nnx.Linear(1, 1, rngs=rngs)\n"
            "        self.b = nnx.Dict(self.a)\n        del self.a\n",
        ),
    ],
)
def test_left_alone(text: str) -> None:
    assert migrate_text(text, options("0.12")) == text
    assert codes(text, options("0.12")) == []


@pytest.mark.parametrize(
    "after",
    [
        "\n\nm = Net(nnx.Rngs(0))\nm.a.append(nnx.Linear(2, 2, rngs=nnx.Rngs(1)))\n",
        "\n    def grow(self, rngs):\n        self.a.append(nnx.Linear(2, 2, rngs=rngs))\n",
        "\n\nclass Deep(Net):\n    def grow(self, rngs):\n        self.a += [nnx.Linear(2, 2, rngs=rngs)]\n",
    ],
)
def test_filled_elsewhere(after: str) -> None:
    """What is filled behind the constructor vanishes silently from the state; it is found wherever it happens."""
    once = migrate_text(net("self.a = []", after=after), BOTH)
    assert once == net("self.a = nnx.data([])", after=after)


def test_only_for_012() -> None:
    assert codes(net(f"self.a = [{LINEAR}]"), options("0.11")) == []
    assert codes(net(f"self.a = [{LINEAR}]"), options("0.12", origin="0.11")) == ["NNX601"]


def test_name_of_the_mark_follows_the_imports() -> None:
    text = "from flax.nnx import Linear, Module\n\n\nclass Net(Module):\n    def __init__(self, r):\n"
    text += "        self.a = [Linear(2, 2, rngs=r)]\n"
    assert "import Linear, Module, data\n" in (once := migrate_text(text, BOTH))
    assert "self.a = data([Linear(2, 2, rngs=r)])" in once


def test_a_number_that_another_way_returns_is_left_alone() -> None:
    """A number marked as data would be traced under nnx.jit."""
    text = (
        f"{HEAD}def both(x, n):\n    if x is None:\n        return n\n    return jnp.asarray(x), n\n\n\n"
        "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.n = both(None, 3)\n"
    )
    assert migrate_text(text, options("0.12")) == text


_OPTIONAL = f"""\
{HEAD}class Net(nnx.Module):
    def __init__(self, given: nnx.Module | None = None, table=None, n: int | None = None, make=None):
        self.given = given
        self.table = table
        self.n = n
        if self.given is None:
            self.given = make(2)
        if table is None:
            self.table = jnp.ones(2)
        if n is None:
            self.n = self.table.size


def make(width):
    return nnx.Linear(width, width, rngs=nnx.Rngs(0))


net = Net(make=make)
other = Net(make(3), jnp.ones(3), 4)
for one in (net, other):
    print(one.given.kernel.shape, one.table.sum(), one.n, len(jax.tree.leaves(nnx.state(one))))
"""
OPTIONAL = "import jax\n" + _OPTIONAL


def test_an_argument_that_may_be_left_out_is_none_first() -> None:
    once = migrate_text(OPTIONAL, options("0.12"))
    assert "self.given = nnx.data(given)" in once
    assert "self.table = nnx.data(table)" in once
    assert "self.n = n\n" in once
    given = OPTIONAL.replace("make(3), jnp.ones(3), 4", "make(3), 3, 4")
    assert "self.table = table\n" in migrate_text(given, options("0.12"))


def test_an_argument_that_may_be_left_out_under_the_releases(tmp_path: Path) -> None:
    outputs = runs({"optional": OPTIONAL}, tmp_path / "runs", ("0.12",))
    assert_same(outputs, "optional")


INHERITED = f"""\
{HEAD}class Base(nnx.Module):
    def __init__(self, part=None):
        self.part = part


class Own(Base):
    def __init__(self, rngs):
        self.part = nnx.Linear(2, 2, rngs=rngs)


print(Base().part, Own(nnx.Rngs(0)).part(jnp.ones((1, 2))).shape)
"""


def test_a_constructor_that_replaces_another_is_not_the_later_one(tmp_path: Path) -> None:
    assert migrate_text(INHERITED, options("0.12")) == INHERITED
    both = INHERITED.replace("        self.part = nnx", "        super().__init__()\n        self.part = nnx")
    assert "self.part = nnx.data(part)" in migrate_text(both, options("0.12"))
    assert_same(runs({"alone": INHERITED, "both": both}, tmp_path / "runs", ("0.12",)), "both")
