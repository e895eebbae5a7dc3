"""How ``.value`` is spelled where only 0.12 is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.nnx.kinds import Kinds
from tests.agreement import assert_same, runs
from tests.migration import codes, look, migrate_text, migrated, options

HEAD = "import jax.numpy as jnp\nfrom flax import nnx\n\nv = nnx.Param(jnp.ones(3))\ns = nnx.Variable('a')\n"
HEAD += "m = nnx.Linear(2, 2, rngs=nnx.Rngs(0))\n"


#: A Variable that is made with the content of its like.
COPIED = """\
class Box(nnx.Module):
    def __init__(self):
        self.bias = nnx.Param({0})

    def copy(self):
        other = Box()
        other.bias = nnx.Param(self.bias{1})
        return other


print(Box().copy().bias{1})"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("print(v.value)", "print(v[...])"),
        ("print(v.value.shape)", "print(v[...].shape)"),
        ("print((v).value)", "print((v)[...])"),
        ("print(s.value)", "print(s.get_value())"),
        ("print(v.raw_value)", "print(v.get_raw_value())"),
        ("v.value = v.value * 2", "v.set_value(v[...] * 2)"),
        ("v.value = jnp.zeros(3)  # reset", "v.set_value(jnp.zeros(3))  # reset"),
        ("v.value = (\n    v.value\n)", "v.set_value(\n    v[...]\n)"),
        ("v.value = (  # new\n    (v.value + 1)  # more\n    * 2\n)  # end",
         "v.set_value(  # new\n    (v[...] + 1)  # more\n    * 2\n)  # end"),
        ("v.value = (v.value + 1) * (2)", "v.set_value((v[...] + 1) * (2))"),
        ("s.value = ('a', 'b')", "s.set_value(('a', 'b'))"),
        ("s.value = tuple(c for c in 'ab')", "s.set_value(tuple(c for c in 'ab'))"),
        ("s.value = (t := 'b')", "s.set_value(t := 'b')"),
        ("v.value += 1", "v[...] += 1"),
        ("v.value -= 0.5", "v.set_value(v.get_value() - 0.5)"),
        ("v.value *= 1 + jnp.ones(3)", "v.set_value(v.get_value() * (1 + jnp.ones(3)))"),
        ("s.value += 'b'", "s.set_value(s.get_value() + 'b')"),
        ("print(m.kernel.value)", "print(m.kernel[...])"),
        ("q = nnx.Sequential(m, jnp.abs)\nprint(q.layers[0].bias.value)",
         "q = nnx.Sequential(m, jnp.abs)\nprint(q.layers[0].bias[...])"),
        ("for n in [m, m]:\n    print(n.bias.value)", "for n in [m, m]:\n    print(n.bias[...])"),
        ("g = nnx.state(m)\nprint(g['kernel'].value)", "g = nnx.state(m)\nprint(g['kernel'][...])"),
        (COPIED.format("m.bias.value", ".value"), COPIED.format("m.bias[...]", "[...]")),
        (COPIED.format("'a'", ".value"), COPIED.format("'a'", ".get_value()")),
    ],
)  # fmt: skip
def test_known_variables(before: str, after: str) -> None:
    once = migrate_text(f"{HEAD}{before}\n", options("0.12"))
    assert once == f"{HEAD}{after}\n"
    assert migrate_text(once, options("0.12")) == once


@pytest.mark.parametrize(
    "text",
    [
        "class Box:\n    value = 3\n\n\nprint(Box().value)\n",
        "def f(x):\n    return x.value\n",
        "import enum\n\n\nclass E(enum.Enum):\n    A = 1\n\n\nprint(E.A.value)\n",
        "print(nnx.state(m)['head'].value)\n",
        "a = v.value = jnp.zeros(3)\n",
        "s.value = 1, 2\n",
        "s.value = (1, 2), 3\n",
        "def f():\n    s.value = yield\n",
        "def f():\n    s.value = yield from ()\n",
    ],
)
def test_others_stay(text: str) -> None:
    assert migrate_text(HEAD + text, options("0.12")) == HEAD + text


@pytest.mark.parametrize(
    "other",
    [
        "def f(x):\n    return x.value\n",
        "import jax\n\njax.tree.map(lambda leaf: leaf.value, nnx.state(m), is_leaf=lambda n: hasattr(n, 'value'))\n",
        "u = nnx.Variable(print())\nu.value -= 1\n",
        "print(m.inner.proj.value)\n",
        "print(nnx.state(m)['inner'].value)\n",
    ],
)
def test_a_project_keeps_one_spelling(other: str) -> None:
    """What may be a Variable's and cannot be rewritten keeps all places, in all files, and is named once."""
    second = f"from main import m\n{HEAD}{other}"
    files = {"main.py": f"{HEAD}print(v.value)\nv.value = v.value + 1\n", "other.py": second}
    after, left = migrated(files, options("0.12"))
    assert after == files
    (found,) = left
    assert (found.code, found.path, "3 of 4 places" in found.message) == ("NNX603", "main.py", True)
    assert found.help.endswith(f"line {second.count(chr(10), 0, second.rindex('.value')) + 1} of other.py")


@pytest.mark.parametrize(
    "other",
    [
        "import enum\n\n\nclass E(enum.Enum):\n    A = 1\n\n\nprint(E.A.value, E['A'].value)\n",
        "class Box:\n    value = 3\n\n\nprint(Box().value)\n\n\ndef f(b: Box):\n    return b.value\n",
        "class Attention(nnx.Module):\n    def __init__(self):\n        self.value = m\n\n"
        "    def __call__(self, x):\n        return self.value(x)\n",
        "import os\n\nprint(os.value)\n",
    ],
)
def test_values_of_other_things_do_not_count(other: str) -> None:
    text = f"{HEAD}print(v.value)\n{other}"
    assert migrate_text(text, options("0.12")) == text.replace("print(v.value)", "print(v[...])")


def test_a_class_that_says_itself_what_the_value_is() -> None:
    own = "class Positive(nnx.Param):\n    @property\n    def value(self):\n        return 3\n\n\n"
    text = f"{HEAD}{own}p = Positive(jnp.zeros(2))\nprint(p.value, v.value)\n"
    assert migrate_text(text, options("0.12")) == text
    assert "[...]" in migrate_text(text.replace("(nnx.Param)", ""), options("0.12"))


def test_stays_where_older_versions_are_asked_for() -> None:
    assert codes(HEAD + "print(v.value)\n", options("0.11", "0.12")) == []


def test_content_that_changes_its_kind_is_read_whole() -> None:
    text = HEAD + "v.value = 'text'\nprint(v.value)\n"
    assert "print(v.get_value())" in migrate_text(text, options("0.12"))


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "@", "**", "//", "%", "&", "|", "^", "<<", ">>"])
def test_every_operator(sign: str) -> None:
    number = "n = nnx.Variable(6)\n"
    once = migrate_text(f"{HEAD}{number}n.value {sign}= 2\n", options("0.12"))
    assert once == f"{HEAD}{number}n.set_value(n.get_value() {sign} 2)\n"
    whole = migrate_text(f"{HEAD}v.value {sign}= 2\n", options("0.12"))
    kept = sign in {"+", "-", "*"}  # these keep an array's type if the other side is a whole number
    assert whole == HEAD + (f"v[...] {sign}= 2\n" if kept else f"v.set_value(v.get_value() {sign} 2)\n")


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("jnp.ones(3)", "n[...] += 1"),
        ("jnp.ones(3, dtype=bool)", "n.set_value(n.get_value() + 1)"),
        ("jnp.ones(3, bool)", "n.set_value(n.get_value() + 1)"),
        ("jnp.ones(3, jnp.bool_)", "n.set_value(n.get_value() + 1)"),
        ("jnp.array(True)", "n.set_value(n.get_value() + 1)"),
        ("jnp.array([False, True])", "n.set_value(n.get_value() + 1)"),
    ],
)
def test_truth_values_become_numbers(made: str, after: str) -> None:
    text = f"{HEAD}n = nnx.Variable({made})\nn.value += 1\n"
    assert migrate_text(text, options("0.12")) == text.replace("n.value += 1", after)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return v\n\n\nf().value -= 0.5\n",  # evaluated twice it might be another one
        "s.value += 1, 2\n",
        "u = nnx.Variable(print())\nu.value -= 1\n",
        "v.raw_value = jnp.zeros(3)\n",
        "v.value, other = jnp.zeros(3), 1\n",
        "for v.value in range(3):\n    pass\n",
        "v.value: int = 3\n",
        "del v.value\n",
    ],
)
def test_assignments_that_stay(text: str) -> None:
    assert migrate_text(HEAD + text, options("0.12", select=("NNX603",))) == HEAD + text


@pytest.mark.parametrize("name", ["kernel", "bias", "scale", "embedding", "mean", "var"])
def test_leaves_of_a_state_by_the_names_that_layers_use(name: str) -> None:
    text = f"{HEAD}def f(model: nnx.Module):\n    return nnx.state(model)['x']['{name}'].value\n"
    assert migrate_text(text, options("0.12")) == text.replace(".value\n", "[...]\n")


def test_a_value_that_cannot_be_followed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of values that is too long costs this place its new spelling, and not the whole rule."""

    def endless(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(Kinds, "only", endless)
    result = look("from flax import nnx\n\nv = nnx.Param(1)\nprint(v.value)\n", options("0.12", select=("NNX603",)))
    assert (result.failures, result.findings) == ([], [])


INITIALIZED = """\
import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx import initializers

normal = initializers.lecun_normal()


class Layer(nnx.Module):
    def __init__(self, n, *, kernel_init=normal, bias_init=initializers.zeros_init(), make=None, rngs):
        key = rngs.params()
        self.kernel = nnx.Param(kernel_init(key, (n, n), jnp.float32))
        self.bias = nnx.Param(bias_init(rngs.params(), (n,)))
        self.scale = nnx.Param(nnx.initializers.ones(rngs.params(), (n,)))
        self.other = nnx.Param(normal(jax.random.key(0), (n, n)))
        self.made = nnx.Param(make(key, n))
        self.size = nnx.Variable(n)

    def __call__(self, x):
        print(self.made.value, self.size.value)
        return (x @ self.kernel.value + self.bias.value) * self.scale.value @ self.other.value


print(Layer(2, make=lambda key, n: n, rngs=nnx.Rngs(0))(jnp.ones((1, 2))))
print(Layer(2, kernel_init=initializers.ones_init(), make=lambda key, n: "a", rngs=nnx.Rngs(0))(jnp.ones((1, 2))))
"""


def test_what_initializers_give_is_read_as_an_array(tmp_path: Path) -> None:
    after = migrate_text(INITIALIZED, options("0.12"))
    assert "print(self.made.get_value(), self.size.get_value())" in after
    assert "return (x @ self.kernel[...] + self.bias[...]) * self.scale[...] @ self.other[...]" in after
    assert_same(runs({"it": INITIALIZED}, tmp_path, ("0.12",)), "it")


LEAVES = """\
import jax
import jax.numpy as jnp
from flax import nnx


class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
        self.label = nnx.Variable("a")


counter = Counter()
state = nnx.state(counter)
print(state["count"].value, state.count.value, state["label"].value)
"""


def test_leaves_of_a_state_by_the_names_of_the_project(tmp_path: Path) -> None:
    once = migrate_text(LEAVES, options("0.12"))
    assert 'print(state["count"][...], state.count[...], state["label"].get_value())' in once
    assert_same(runs({"leaves": LEAVES}, tmp_path / "runs", ("0.12",)), "leaves")
    other = "class Attention(nnx.Module):\n    def __init__(self):\n        self.count = nnx.Linear(2, 2, rngs=rngs)\n"
    assert "[...]" not in migrate_text(LEAVES + other, options("0.12"))


ABSTRACT = """\
from flax import nnx


def make():
    return nnx.Linear(2, 2, rngs=nnx.Rngs(0))


class Shapes:
    def __init__(self):
        self.abstract = nnx.eval_shape(make)
        self.graphdef, self.state = nnx.split(self.abstract)

    def all(self):
        return self.abstract.kernel.value.shape, self.state.kernel.value.shape, self.state["bias"].value.dtype


def shape(tree):
    return tree["kernel"].value.shape


abstract = nnx.eval_shape(lambda: make())
graphdef, params, rest = nnx.split(abstract, nnx.Param, ...)
print(Shapes().all(), shape(nnx.state(abstract)), shape(nnx.state(make())))
print(abstract.bias.value, params["kernel"].value, nnx.state(abstract).bias.value)
print(make().kernel.value.shape)
"""


def test_shapes_have_no_items(tmp_path: Path) -> None:
    """What ``nnx.eval_shape`` puts into Variables cannot be read by ``[...]``."""
    after = migrate_text(ABSTRACT, options("0.12"))
    assert after.count(".get_value()") == 7
    assert "print(make().kernel[...].shape)" in after
    assert ".value" not in after
    assert_same(runs({"shapes": ABSTRACT}, tmp_path, ("0.12",)), "shapes")
