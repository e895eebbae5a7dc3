"""NNX503: nnx.dataclass and its fields, rewritten as a whole or not at all, and printing the same."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, migrate_text, migrated, options

HEAD = "import dataclasses\nimport jax\nimport jax.numpy as jnp\nfrom flax import nnx\n\n"
BODY = "class Net(nnx.Module):\n    size: int\n    rate: float = 0.5\n"
SHOW = "print(Net(3), Net(3) == Net(3), Net(4, rate=1.0))\n"
PROGRAMS = {
    "bare": f"{HEAD}@nnx.dataclass\n{BODY}\n{SHOW}",
    "called": f"{HEAD}@nnx.dataclass()\n{BODY}\n{SHOW}",
    "options": f"{HEAD}@nnx.dataclass(\n    eq=False,  # by identity\n)\n{BODY}\n{SHOW}",
    "function": f"{HEAD}{BODY}\nNet = nnx.dataclass(Net)\n{SHOW}",
    "alias": "import flax.nnx as nn\n\n@nn.dataclass\nclass Net(nn.Module):\n    size: int = 2\n\nprint(Net())\n",
    "renamed": "from flax.nnx import Module, dataclass as made\n\n@made\nclass Net(Module):\n    size: int = 2\n\n"
    "print(Net())\n",
    "only": "from flax.nnx import dataclass\nfrom flax import nnx\n\n@dataclass\nclass Net(nnx.Module):\n"
    "    size: int = 2\n\nprint(Net())\n",
    "several": "from flax.nnx import (\n    dataclass,\n    Module,\n    field,\n    Param,\n    static,\n)\n\n"
    "@dataclass\nclass Net(Module):\n    w: Param\n    size: int = field(static=True)\n    n: int = static(default=2)\n"
    "\nprint(Net(Param(1.0), 3))\n",
    "fields": f"{HEAD}@nnx.dataclass\nclass Net(nnx.Module):\n    w: nnx.Param\n"
    "    a: int = nnx.field(static=True, default=1)\n    b: int = nnx.field(default=2, static=False)\n"
    "    c: list = nnx.static(default_factory=lambda: [1])\n    d: int = nnx.field(default=4, repr=False)\n\n"
    "print(Net(nnx.Param(jnp.ones(2))), Net(nnx.Param(jnp.ones(2)), 3).a)\n",
    "annotated": "from __future__ import annotations\nfrom flax import nnx\n\n@nnx.dataclass\nclass Net(nnx.Module):\n"
    "    a: nnx.Static[int]\n    b: nnx.Static[tuple[int, ...]] = (1, 2)\n\nprint(Net(1))\n",
    "elsewhere": "from flax import nnx\n\nSize = nnx.Static[int]\n\n\ndef double(x: nnx.Static[int]) -> Size:\n"
    "    return 2 * x\n\n\n@nnx.dataclass\nclass Net(nnx.Module):\n    a: int\n\n\nprint(Net(double(2)))\n",
    "own_repr": f"{HEAD}@nnx.dataclass\n{BODY}\n    def __repr__(self):\n        return 'mine'\n\n{SHOW}",
    "derived": f"{HEAD}@nnx.dataclass\n{BODY}\n\n@nnx.dataclass\nclass Wide(Net):\n    more: nnx.Static[str] = 'x'\n\n"
    "print(Wide(1), dataclasses.asdict(Wide(2)))\n",
    "in_jit": f"{HEAD}@nnx.dataclass\nclass Net(nnx.Module):\n    w: nnx.Param\n    n: int = nnx.static(default=2)\n\n"
    "    def __call__(self, x):\n        return sum(x * self.w for _ in range(self.n))\n\n"
    "print(nnx.jit(lambda m, x: m(x))(Net(nnx.Param(jnp.arange(2.0))), 3.0))\n",
    "other_library": f"{HEAD}@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass Box:\n    x: jax.Array\n"
    "    n: int = nnx.static(default=2)\n    m: int = nnx.field(static=True, default=3)\n"
    "    k: int = nnx.field(default=4)\n"
    "    j: int = nnx.static(default=5)\n\nprint(jax.tree.leaves(Box(jnp.zeros(()))))\n",
    "tree": f"{HEAD}@nnx.dataclass\nclass Net(nnx.Module, pytree=True):\n    size: int\n"
    "    rate: float = nnx.field(default=0.5)\n"
    "    many: list = dataclasses.field(default_factory=list)\n    name: nnx.Static[str] = 'a'\n"
    "    n: int = nnx.field(static=True, default=1)\n\n"
    "net = Net(3, many=[1, jnp.ones(2)])\nprint(net, jax.tree.leaves(net), jax.tree.map(lambda x: x + 1, net))\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs(PROGRAMS, tmp_path_factory.mktemp("dataclass"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_the_same_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_left(name: str) -> None:
    once = migrate_text(PROGRAMS[name], options("0.11", "0.12"))
    for word in ("nnx.dataclass", "nnx.field", "nnx.static", "nnx.Static", "import dataclass\n", "static=True"):
        assert word not in once
    assert "NNX503" not in codes(once, options("0.11", "0.12"))


def test_other_bytes_stay() -> None:
    before = (
        f"{HEAD}@nnx.dataclass( kw_only=True, )  # kept\nclass Net(nnx.Module):\n    a: nnx.Static[ int ]=1 # kept\n"
    )
    after = before.replace("nnx.dataclass( kw_only", "dataclasses.dataclass( repr=False, kw_only")
    assert migrate_text(before) == after.replace("nnx.Static[ int ]", " int ")


TREE = "@nnx.dataclass\nclass Net(nnx.Module, pytree=True):\n"
REFUSED = {
    "partial": "import functools\nmake = functools.partial(nnx.dataclass, kw_only=True)\n",
    "half": "@nnx.dataclass\nclass Net(nnx.Module):\n    a: nnx.Static = 1\n",
    "unpacked": f"@nnx.dataclass(**given)\n{BODY}",
    "unpacked field": "class Net(nnx.Module):\n    a: int = nnx.field(**given)\n",
    "field that is no call": "make = nnx.field\n",
    "field handed on": "class Net(nnx.Module):\n    a: int = made(nnx.static)\n",
    "slots": f"@nnx.dataclass(slots=True)\n{BODY}",
    "variable": "@nnx.dataclass\nclass Net(nnx.Module):\n    a: int = nnx.field(static=given)\n",
    "metadata": "@dataclasses.dataclass\nclass Box:\n    a: int = nnx.static(metadata={'x': 1})\n",
    "pytree=given": "@nnx.dataclass\nclass Net(nnx.Module, pytree=given):\n    a: int\n",
    "class variable": f"{TREE}    a: int\n    b: typing.ClassVar[int] = 1\n",
    "quoted": f"{TREE}    a: 'int'\n",
    "set later": f"{TREE}    a: int\n\n    def __post_init__(self):\n        self.b = nnx.Param(1)\n",
    "alias": f"Size = nnx.Static[int]\n\n\n{TREE}    a: Size\n",
    "lines": "@nnx.dataclass\nclass Net(nnx.Module):\n    a: nnx.Static[\n        int\n    ] = 1\n",
    "comment in a call": "class Net(nnx.Module):\n    a: int = nnx.field(default=1,  # one\n        static=True)\n",
    "list": f"nets = [nnx.dataclass(made) for made in given]\n\n\n@nnx.dataclass\n{BODY}",
    "own data": f"{TREE}    __data__ = ('b',)\n    a: int\n",
    "base": f"class Base(nnx.Module):\n    pass\n\n\n{TREE.replace('nnx.Module', 'Base')}    a: int\n",
    "hidden static": f"{TREE}    a: int = dataclasses.field(metadata={{'static': True}})\n",
    "flag": f"import flax\nflax.config.update('flax_mutable_array', True)\n\n\n@nnx.dataclass\n{BODY}",
}


@pytest.mark.parametrize("name", REFUSED)
def test_reported_only(name: str) -> None:
    text = f"{HEAD}import typing\n\n\n{REFUSED[name]}"
    found = [f for f in look(text, options("0.11")).findings if f.code == "NNX503"]
    assert found
    assert {f.fix for f in found} == {None}


@pytest.mark.parametrize(
    "text",
    [
        "from flax.nnx import dataclass, Module\n__all__ = ['dataclass']\n@dataclass\nclass Net(Module):\n    a = 1\n",
        "from flax.nnx import field\ndef f(field):\n    return field(static=True)\n",
        "from flax.nnx import static, Module\n\nclass Net(Module):\n    static: int = static(default=1)\n",
        "from flax.nnx import (\n    Module,\n    static,  # a mark\n    Param,\n)\n\nclass Net(Module):\n"
        "    a: int = static()\n",
        "from flax import nnx\nfrom flax.nnx.dataclasses import field\n\n@nnx.dataclass\nclass Net(nnx.Module):\n"
        "    a: int\n",
    ],
)
def test_names_that_cannot_go_are_reported_only(text: str) -> None:
    assert migrate_text(text, options("0.11")) == text
    assert "NNX503" in codes(text, options("0.11"))


def test_postponed_annotations_hide_what_is_data() -> None:
    text = f"from __future__ import annotations\nfrom flax import nnx\n\n\n{TREE}    a: int\n"
    assert migrate_text(text, options("0.11")) == text


def test_an_import_with_nothing_left_goes_with_its_line() -> None:
    body = "\n\n@{}\nclass Net(nnx.Module):\n    a: int\n"
    head = "from flax import nnx\nimport dataclasses\n"
    before = "from flax import nnx\nfrom flax.nnx import dataclass\nimport dataclasses\n" + body.format("dataclass")
    assert migrate_text(before) == head + body.format("dataclasses.dataclass(repr=False)")


def test_a_name_that_another_module_takes_stays() -> None:
    texts = {
        "lib.py": "from flax.nnx import dataclass\n",
        "main.py": "from lib import dataclass\nfrom flax import nnx\n\n@dataclass\nclass Net(nnx.Module):\n    a = 1\n",
    }
    assert migrated(texts, options("0.11"))[0] == texts


def test_static_fields_of_a_tree_that_may_hold_data_need_to_be_asked_for() -> None:
    text = f"{HEAD}{TREE}    a: int\n    f: nnx.Static[object]\n"
    assert migrate_text(text, options("0.11")) == text
    assert "    a: nnx.Data[int]\n    f: object\n" in migrate_text(text, options("0.11"), unsafe=True)


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}@dataclasses.dataclass\n{BODY}",
        "import dataclasses\n\n@dataclasses.dataclass\nclass Box:\n    a: int = dataclasses.field(default=1)\n",
        "from flax import struct\n\n@struct.dataclass\nclass Box:\n    a: int = struct.field(pytree_node=False)\n",
        "import mine as nnx\n\n@nnx.dataclass\nclass Net(nnx.Module):\n    a: nnx.Static[int] = nnx.static()\n",
        "from mine import dataclass, field, static, Static\n\n@dataclass\nclass Net:\n    a: Static[int] = static()\n",
        "class nnx:\n    field = dict\n    static = dict\n\nnnx.field(static=True)\nnnx.static()\n",
        "from flax import nnx\n\nclass Net(nnx.Module):\n    static = 1\n    field = 2\n\nNet.static, Net().field\n",
        "try:\n    from flax.nnx import static\nexcept ImportError:\n    from mine import static\n",
        "from flax import nnx\n\nif hasattr(nnx, 'dataclass'):\n    make = nnx.dataclass\n",
    ],
)
def test_left_alone(text: str) -> None:
    assert "NNX503" not in codes(text, options("0.11"))
    assert "NNX503" not in codes(text, options("0.12"))


def test_only_what_differs_changes_for_0_12_alone() -> None:
    plain = f"{HEAD}@nnx.dataclass\n{BODY}"
    assert codes(plain, options("0.12")) == []
    assert codes(f"{HEAD}{TREE}    a: int\n", options("0.12")) == ["NNX503"]


def test_a_value_marked_for_0_12_is_no_field() -> None:
    text = "from flax import nnx\n\n\nclass Net(nnx.Module):\n    def __init__(self):\n        self.a = nnx.static(1)\n"
    assert codes(text, options("0.12")) == []
    (found,) = look(text, options("0.11")).findings
    assert (found.code, found.fix) == ("NNX503", None)
    assert "0.12 only" in found.message


def test_code_for_012_means_what_012_has() -> None:
    """There, `nnx.static`, `nnx.Static` and `nnx.dataclass` exist; `nnx.field` does not."""
    text = f"{HEAD}@nnx.dataclass\nclass Net(nnx.Pytree):\n    a: nnx.Static[str]\n    n: int = nnx.static(default=2)\n"
    assert codes(text, options("0.12", origin="0.12")) == []
    assert codes(text, options("0.12")) == ["NNX503"] * 3
    older = text.replace("nnx.static(", "nnx.field(")
    assert set(codes(older, options("0.12", origin="0.12"))) >= {"NNX503"}
