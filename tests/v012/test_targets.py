"""What depends on the versions asked for, and spellings that 0.10 does not have."""

from __future__ import annotations

import pytest

from tests.migration import codes, look, migrate_text, options

HEAD = "import jax\nimport jax.numpy as jnp\nfrom flax import nnx\n\nheld = nnx.Variable({'a': 1}, tag=1)\n"
SHARDED = 'weight = nnx.Param(jnp.ones((2, 2)), sharding=("a", None))\n'
BOTH = ("0.11", "0.12")


@pytest.mark.parametrize(
    "line",
    [
        "with jax.set_mesh(mesh):\n    pass\n",
        "with jax.sharding.set_mesh(mesh):\n    pass\n",
        "with jax.sharding.use_mesh(mesh):\n    pass\n",
        "from jax import set_mesh as choose\n\nchoose(mesh)\n",
        "nnx.use_eager_sharding(False)\n",
    ],
)
def test_a_mesh_anywhere_is_enough(line: str) -> None:
    assert codes(HEAD + SHARDED, options("0.12")) == ["NNX611"]
    other = HEAD + "mesh = jax.make_mesh((1,), ('a',))\n" + line
    assert codes({"main.py": HEAD + SHARDED, "run.py": other}, options("0.12")) == []


def test_what_no_mesh_means_is_said_once_with_all_places() -> None:
    files = {"main.py": HEAD + SHARDED + "\n" + SHARDED, "a/b.py": f"from main import held\n{HEAD}{SHARDED}"}
    (found,) = look(files, options("0.12", select=("NNX611",))).findings
    first = HEAD.count("\n") + 1
    assert (found.path, files["main.py"][: found.start].count("\n") + 1) == ("main.py", first)
    assert found.message.endswith(f"; so are those in line {first + 2}, line {first + 1} of a/b.py")


@pytest.mark.parametrize(
    ("line", "code", "on_all"),
    [
        ("del held.value['a']", "NNX604", True),
        ("held.value['a'] = 2", "NNX604", True),
        ("held.tag = 2", "NNX608", False),
        ("del held.tag", "NNX608", False),
        ("held += 1", "NNX605", True),
    ],
)
def test_fix_holds_on_every_target(line: str, code: str, on_all: bool) -> None:
    for targets, fixed in ((("0.12",), True), (BOTH, on_all)):
        found = look(f"{HEAD}{line}\n", options(*targets, select=(code,))).findings
        assert [finding.fix is not None for finding in found] == [fixed]


@pytest.mark.parametrize("line", ["nnx.Rngs(0).fork(split=3)", "net.iter_modules()", "held.value"])
def test_deprecations_stay_where_the_old_spelling_is_needed(line: str) -> None:
    text = f"{HEAD}net = nnx.Linear(2, 2, rngs=nnx.Rngs(0))\n{line}\n"
    select = ("NNX603", "NNX612", "NNX616")
    assert len(codes(text, options("0.12", select=select))) == 1
    assert codes(text, options(*BOTH, select=select)) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("nnx.Rngs(0).fork(split=(3, 2))", "nnx.Rngs(0).split((3, 2))"),
        ("nnx.Rngs(0).fork(split={'params': 3})", "nnx.Rngs(0).fork(split={'params': 3})"),
        ("nnx.Rngs(0).fork(3)", "nnx.Rngs(0).fork(3)"),
        ("nnx.Rngs(0).fork(1, split=3)", "nnx.Rngs(0).fork(1, split=3)"),
        ("nnx.Rngs(0).fork(split=3, **held)", "nnx.Rngs(0).fork(split=3, **held)"),
        ("def f(n):\n    nnx.Rngs(0).fork(split=n)", "def f(n):\n    nnx.Rngs(0).fork(split=n)"),
        ("def f(rngs):\n    rngs.fork(split=2)", "def f(rngs):\n    rngs.fork(split=2)"),
    ],
)
def test_fork(before: str, after: str) -> None:
    assert migrate_text(HEAD + before, options("0.12", select=("NNX612",))) == HEAD + after


def test_a_class_of_the_project_keeps_its_initializer() -> None:
    """It has no layer of the library among its bases; ``nnx.Pytree`` is new in 0.11."""
    own = "class Own(nnx.Pytree):\n    def __init__(self, f):\n        setattr(self, 'kernel_init', f)\n\n\n"
    assert codes(f"{HEAD}{own}print(Own(max).kernel_init)\n", options("0.12", origin="0.11")) == []


def test_gradients_as_arrays_by_their_name_in_0_12() -> None:
    text = f"{HEAD}import optax\nm = nnx.Linear(2, 2, rngs=nnx.Rngs(0))\n"
    text += "o = nnx.Optimizer(m, optax.sgd(1), wrt=nnx.Param)\n"
    assert codes(f"{text}o.update(m, nnx.as_pure(nnx.state(m)))\n", options("0.12", origin="0.11")) == ["NNX614"]
    assert codes(f"{text}o.update(m, nnx.state(m))\n", options("0.12", origin="0.11")) == []


def test_messages_name_what_happens() -> None:
    messages = [
        f.message.partition(" since")[0] for f in look(f"{HEAD}held.b = 1\ndel held.b\n", options("0.12")).findings
    ]
    assert messages == [
        "setting the attribute `b` of a Variable raises AttributeError",
        "deleting the attribute `b` of a Variable raises AttributeError",
    ]


def test_late_data_names_the_place() -> None:
    net = "from flax import nnx\n\n\nclass Net(nnx.Module):\n    def __init__(self):\n        self.a = None\n"
    other = "from flax import nnx\nfrom net import Net\n\nnet = Net()\nnet.a = nnx.Linear(2, 2, rngs=nnx.Rngs(0))\n"
    (found,) = look({"net.py": net, "run.py": other}, options("0.12")).findings
    assert "assigning data in line 5 of run.py is" in found.message
    (found,) = look(f"{net}\n{other.replace('from net import Net', '')}", options("0.12")).findings
    assert "assigning data in line 12 is" in found.message
    (found,) = look(net.replace("None", "[nnx.Linear(2, 2, rngs=nnx.Rngs(0))]"), options("0.12")).findings
    assert found.message.startswith("`a` holds modules or arrays in a container: an error")
    later = f"{net.replace('None', '[]')}        self.a.append(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))\n"
    (found,) = look(later, options("0.12")).findings
    assert found.message.startswith("`a` holds modules or arrays in a container, filled in line 7: an error")
    method = "    def add(self):\n        self.a.append(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))\n"
    (found,) = look(f"{net.replace('None', '[]')}{method}", options("0.12")).findings
    assert "filled in line 8: Flax 0.12 leaves what comes after the constructor out of nnx.state" in found.message
    (found,) = look(f"{net.replace('None', '[]')}        self.add()\n{method}", options("0.12")).findings
    assert "filled in line 9: an error since Flax 0.12" in found.message
