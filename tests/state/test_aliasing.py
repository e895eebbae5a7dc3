"""Which states and merged objects become copies, and which are left alone."""

from __future__ import annotations

import pytest

from tests.migration import codes, look, migrate_text, options

HEAD = """\
import copy
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
other = nnx.Linear(2, 2, rngs=nnx.Rngs(1))


def bump(m):
    m.bias.value = m.bias.value + 1


"""

COPIED = [
    ("s = nnx.state(model)\nbump(model)\nprint(s)\n", "s = nnx.clone(nnx.state(model))\n"),
    ("s = nnx.state(model, nnx.Param)\nmodel.kernel.value += 1\nprint(s)\n", "nnx.clone(nnx.state(model, nnx.Param))"),
    ("g, s = nnx.split(model)\nbump(model)\nprint(s)\n", "g, s = nnx.split(nnx.clone(model))\n"),
    ("s = nnx.state(model)\ns['bias'].value = jnp.ones(2)\nprint(model(1))\n", "s = nnx.clone(nnx.state(model))\n"),
    ("kept = [nnx.state(model)]\nbump(model)\nprint(kept[0])\n", "kept = [nnx.clone(nnx.state(model))]\n"),
    (
        "kept = {}\nkept['a'] = nnx.state(model)\nbump(model)\nprint(kept)\n",
        "kept['a'] = nnx.clone(nnx.state(model))\n",
    ),
    ("def f(m):\n    return nnx.state(m)\ns = f(model)\nbump(model)\nprint(s)\n", "return nnx.clone(nnx.state(m))\n"),
    (
        "kept = {'a': nnx.state(model)}\nbump(model)\nfor _, s in kept.items():\n    print(s)\n",
        "kept = {'a': nnx.clone(nnx.state(model))}\n",
    ),
    (
        "kept = [nnx.state(model)]\nlast = kept.pop()\nbump(model)\nprint(last)\n",
        "kept = [nnx.clone(nnx.state(model))]\n",
    ),
    ("s = copy.copy(nnx.state(model))\nbump(model)\nprint(s)\n", "s = copy.copy(nnx.clone(nnx.state(model)))\n"),
    ("s = nnx.state(model)\nnnx.update(model, nnx.state(other))\nprint(s)\n", "s = nnx.clone(nnx.state(model))\n"),
    (
        "def train():\n    bump(model)\n    return nnx.state(model)\nkept = [train() for _ in 'ab']\nprint(kept[0])\n",
        "    return nnx.clone(nnx.state(model))\n",
    ),
    (
        "s = nnx.state(model)\ns['kernel'] = s['kernel'].replace(1)\nfor _, leaf in nnx.to_flat_state(s):\n"
        "    leaf.value = 0\nprint(model(1))\n",
        "s = nnx.clone(nnx.state(model))\n",
    ),
    (
        "class Box:\n    def __init__(self):\n        self.m = model\n    def new(self):\n"
        "        box = copy.copy(self)\n"
        "        box.m = nnx.merge(*nnx.split(self.m))\n        return box\n"
        "box = Box().new()\nbump(model)\nprint(box.m(1))\n",
        "        box.m = nnx.clone(self.m)\n",
    ),
    ("t = nnx.merge(*nnx.split(model))\nbump(model)\nprint(t(1))\n", "t = nnx.clone(model)\n"),
    ("g, s = nnx.split(model)\nt = nnx.merge(g, s)\nbump(t)\nprint(model(1))\n", "t = nnx.merge(g, s, copy=True)\n"),
    ("g, s = nnx.split(model)\nt = nnx.merge(g, s)\nbump(model)\nprint(t(1))\n", "t = nnx.merge(g, s, copy=True)\n"),
    (
        "best = None\nfor i in range(3):\n    bump(model)\n    if i == 0:\n        best = nnx.state(model)\n"
        "nnx.update(model, best)\n",
        "best = nnx.clone(nnx.state(model))\n",
    ),
    (
        "class Keeper:\n    def __init__(self, m):\n        self.m = m\n        self.s = nnx.state(m)\n"
        "    def back(self):\n        nnx.update(self.m, self.s)\nk = Keeper(model)\nbump(model)\nk.back()\n",
        "self.s = nnx.clone(nnx.state(m))\n",
    ),
    (
        "class Keeper:\n    def __init__(self, m: nnx.Linear):\n        self.m = m\n        self.s = nnx.state(m)\n"
        "    def change(self):\n        bump(self.m)\n    def back(self):\n        nnx.update(self.m, self.s)\n",
        "self.s = nnx.clone(nnx.state(m))\n",
    ),
]

LEFT_ALONE = [
    "s = nnx.state(model)\nprint(s)\nbump(model)\n",
    "bump(model)\ns = nnx.state(model)\nprint(s)\n",
    "s = nnx.clone(nnx.state(model))\nbump(model)\nprint(s)\n",
    "s = jax.tree.map(lambda x: x, nnx.state(model))\nbump(model)\nprint(s)\n",
    "s = nnx.to_pure_dict(nnx.state(model))\nbump(model)\nprint(s)\n",
    "s = nnx.state(model)\nbump(other)\nprint(s)\n",
    "nnx.update(other, nnx.state(model))\nbump(model)\nprint(other(1))\n",
    "t = nnx.clone(model)\nbump(model)\nprint(t(1))\n",
    "g, s = nnx.split(model)\nt = nnx.merge(g, s)\nprint(t(1), model(1))\n",
    "g, s = nnx.split(model)\nt = nnx.merge(g, s, copy=True)\nbump(t)\nprint(model(1))\n",
    "s = nnx.state(model)\ns = nnx.state(other)\nbump(model)\nprint(s)\n",
    "for _ in range(3):\n    s = nnx.state(model)\n    print(s)\n    bump(model)\n",
    "g, s = nnx.split(model)\nfor _ in range(3):\n    m = nnx.merge(g, s)\n    bump(m)\n    g, s = nnx.split(m)\n"
    "print(m(1))\n",
    "@jax.jit\ndef f(s):\n    m = nnx.merge(nnx.graphdef(model), s)\n    bump(m)\n    return nnx.state(m)\n"
    "s = nnx.state(model)\ns = f(s)\nnnx.update(model, s)\nprint(model(1))\n",
    "g, params, rest = nnx.split(model, nnx.Param, ...)\nparams['bias'].value = jnp.ones(2)\n"
    "nnx.update(other, params, rest)\n",
    "v = nnx.Param(1)\ng, stats, params, rest = nnx.split(v, nnx.BatchStat, nnx.Param, ...)\n"
    "params.value = 2\nnnx.update(v, stats, params, rest)\nprint(v.value)\n",
    "params, rest = nnx.state(model, nnx.Param, ...)\nparams['bias'].value = jnp.ones(2)\nprint(rest)\n",
    "s = {'model': nnx.state}\nbump(model)\nprint(s)\n",
    "class Box:\n    def state(self, m):\n        return m\ns = Box().state(model)\nbump(model)\nprint(s)\n",
]


@pytest.mark.parametrize(("body", "expected"), COPIED)
def test_becomes_a_copy(body: str, expected: str) -> None:
    """The call that shares becomes a copy, and the result needs no second run."""
    once = migrate_text(HEAD + body)
    assert expected in once
    assert migrate_text(once) == once


@pytest.mark.parametrize("body", LEFT_ALONE)
def test_is_left_alone(body: str) -> None:
    assert codes(HEAD + body) == []


@pytest.mark.parametrize(("body", "expected"), COPIED[:3])
def test_spelling_for_all_versions(body: str, expected: str) -> None:
    """Copies of states are spelled in a way that 0.10 knows too."""
    assert expected in migrate_text(HEAD + body, options("0.10", "0.11"))


def test_merge_in_a_trace_for_all_versions() -> None:
    """A merged object that is cloned needs nothing more."""
    body = "g, s = nnx.split(nnx.BatchNorm(2, rngs=nnx.Rngs(0)))\n@jax.jit\ndef f(x):\n    return nnx.merge(g, s)(x)\n"
    assert "nnx.clone(nnx.merge(g, s))(x)" in migrate_text(HEAD + body, options("0.10", "0.11"))


def test_merge_for_all_versions() -> None:
    """``copy=True`` is not known before 0.11.2: the merged object is cloned where 0.10 is asked for."""
    body = "g, s = nnx.split(model)\nt = nnx.merge(g, s)\nbump(model)\nprint(t(1))\n"
    assert "t = nnx.clone(nnx.merge(g, s))\n" in migrate_text(HEAD + body, options("0.10", "0.11", "0.12"))


def test_nothing_to_say_when_the_origin_is_newer() -> None:
    assert not [code for code in codes(HEAD + COPIED[0][0], options("0.12", origin="0.11")) if code < "NNX5"]


TRACED = [
    ("def loss(p):\n    return nnx.merge(g, p, r)(x)\njax.grad(loss)(p)\n", True),
    ("@jax.value_and_grad\ndef loss(p):\n    return nnx.merge(g, p, r)(x)\n", True),
    ("def body(c, x):\n    return c + nnx.merge(g, p, r)(x), None\njax.lax.scan(body, 0.0, x)\n", True),
    ("def f(p):\n    return nnx.merge(g, p, r)(x)\ndef loss(p):\n    return f(p)\njax.grad(loss)(p)\n", True),
    ("def loss(p, r):\n    return nnx.merge(g, p, r)(x)\njax.grad(loss)(p, r)\n", True),
    ("def loss(p, r):\n    return nnx.merge(g, p, r)(x)\njax.grad(loss, argnums=(0, 1))(p, r)\n", False),
    ("def loss(r, p):\n    return nnx.merge(g, p, r)(x)\nstep = jax.jit(jax.value_and_grad(loss, 1))\n", True),
    ("def loss(p, r):\n    return nnx.merge(g, p, r)(x)\nnnx.grad(loss)(p, r)\n", False),
    ("def loss(p, r):\n    return nnx.merge(g, p, r)(x)\njax.vjp(loss, p, r)\n", False),
    ("def loss(p):\n    return nnx.merge(g, p)(x)\njax.grad(loss)(p)\n", False),
    ("@jax.jit\ndef step(p, r):\n    return nnx.merge(g, p, r)(x)\n", False),
    (
        "@functools.partial(jax.value_and_grad, has_aux=True)\ndef loss(p):\n    return nnx.merge(g, p, r)(x), 1\n",
        True,
    ),
    ("@functools.partial(jax.jit, donate_argnums=())\ndef step(p, r):\n    return nnx.merge(g, p, r)(x)\n", False),
    ("def plain(p):\n    return nnx.merge(g, p, r)(x)\n", False),
    (
        "def f(g, p, r):\n    return nnx.merge(g, p, r)(x)\ndef loss(p):\n    return f(g, p, r=r)\njax.grad(loss)(p)\n",
        True,
    ),
    (
        "def f(p, r):\n    return nnx.merge(g, p, r)(x)\n"
        "def loss(p, r):\n    return f(p, r)\njax.grad(loss, (0, 1))(p, r)\n",
        False,
    ),
    (
        "class Trainer:\n    def __init__(self):\n        self.r = r\n    def loss(self, p):\n"
        "        return nnx.merge(g, p, self.r)(x)\n    def step(self):\n        jax.grad(self.loss)(p)\n",
        True,
    ),
    (
        "class Trainer(nnx.Module):\n    @nnx.jit\n    def step(self, x):\n"
        "        return nnx.merge(*nnx.split(self))(x)\n",
        False,
    ),
    (
        "parts = nnx.split(nnx.BatchNorm(2, rngs=nnx.Rngs(0)))\n@jax.jit\ndef f(x):\n    return nnx.merge(*parts)(x)\n",
        True,
    ),
]


@pytest.mark.parametrize(("body", "found"), TRACED)
def test_merge_in_a_trace(body: str, found: bool) -> None:
    """Only a merge of states from outside the trace must copy."""
    head = (
        "import functools\nimport jax\nimport jax.numpy as jnp\nfrom flax import nnx\n\nx = jnp.ones((2, 2))\n"
        "g, p, r = nnx.split(nnx.BatchNorm(2, rngs=nnx.Rngs(0)), nnx.Param, ...)\n\n\n"
    )
    assert ("copy=True" in migrate_text(head + body)) == found


LINEAR, NORM = "nnx.Linear(2, 2, rngs=nnx.Rngs(0))", "nnx.BatchNorm(2, rngs=nnx.Rngs(0))"
NET = (
    "class Net(nnx.Module):\n    def __init__(self):\n        self.layer = {}\n    def __call__(self, x):\n        {}\n"
)


@pytest.mark.parametrize(
    ("cls", "model", "found"),
    [
        ("", LINEAR, False),
        ("", NORM, True),
        ("", f"nnx.Sequential({LINEAR}, {LINEAR})", False),
        ("", f"nnx.Sequential({LINEAR}, {NORM})", True),
        (NET.format(LINEAR, "return self.layer(x)"), "Net()", False),
        (NET.format(NORM, "return self.layer(x)"), "Net()", True),
        (NET.format("nnx.Variable(1)", "self.layer.value += 1"), "Net()", True),
        ("import other\n" + NET.format(LINEAR, "return x").replace("nnx.Module", "other.Module"), "Net()", True),
        ("import other\n", "other.Net()", True),
    ],
)
def test_only_models_with_state_need_a_copy_in_a_trace(cls: str, model: str, found: bool) -> None:
    text = (
        f"import jax\nfrom flax import nnx\n{cls}\ng, p, r = nnx.split({model}, nnx.Param, ...)\n"
        "def loss(p):\n    return nnx.merge(g, p, r)(1.0)\njax.grad(loss)(p)\n"
    )
    assert ("copy=True" in migrate_text(text)) == found


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("s = nnx.state(model)\nbump(model)\nprint(s)\n", "it follows the change in line 12"),
        ("s = nnx.state(model)\ns['bias'].value = 1\nprint(model(1))\n", "line 16 changes the object behind it too"),
    ],
)
def test_message_says_which_handle_changes(body: str, words: str) -> None:
    (found,) = look(HEAD + body).findings
    assert words in found.message


def test_a_copied_model_keeps_its_configuration() -> None:
    code = """\
from flax import nnx


class Config:
    width = 2


class Net(nnx.Module):
    def __init__(self, config, rngs):
        self.config = config
        self.layer = nnx.Linear(2, config.width, rngs=rngs)


net = Net(Config(), nnx.Rngs(0))
kept = nnx.clone(net)
print(kept.config.width, len(nnx.state(kept)))
"""
    result = look(code)
    assert result.failures == []
    assert result.findings == []


@pytest.mark.parametrize(("name", "found"), [("setUp", False), ("setup_method", False), ("prepare", True)])
def test_what_a_test_changes_the_next_one_does_not_see(name: str, found: bool) -> None:
    body = f"""\
class ModelTest:
    def {name}(self):
        self.model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
        self.state = nnx.state(self.model)

    def test_read(self):
        print(self.state)

    def test_change(self):
        bump(self.model)

    def test_again(self):
        print(self.state)
"""
    assert ("NNX401" in codes(HEAD + body)) == found


def test_what_a_test_changes_itself_is_seen() -> None:
    body = """\
class ModelTest:
    def setUp(self):
        self.model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
        self.state = nnx.state(self.model)

    def test_change(self):
        bump(self.model)
        print(self.state)
"""
    assert codes(HEAD + body) == ["NNX401"]


@pytest.mark.parametrize(
    ("read", "found"),
    [
        ("s['norm']['scale'].value", False),
        ("s['norm'].bias.value", False),
        ("s['norm']['mean'].value", True),
        ("s['norm']", True),
    ],
)
def test_calls_of_layers_change_no_parameters(read: str, found: bool) -> None:
    body = "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.norm = nnx.BatchNorm(2, rngs=rngs)\n\n"
    body += "    def __call__(self, x):\n        return self.norm(x)\n\n\nnet = Net(nnx.Rngs(0))\ns = nnx.state(net)\n"
    assert ("NNX401" in codes(f"{HEAD}{body}net(jnp.ones((2, 2)))\nprint({read})\n")) == found
