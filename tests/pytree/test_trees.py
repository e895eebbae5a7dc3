"""Which calls of tree functions get an ``is_leaf``, and what it looks like."""

from __future__ import annotations

import pytest

from tests.migration import codes, look, migrate_text, options

HEAD = """\
import jax
import jax.numpy as jnp
from flax import nnx
from jax.tree_util import tree_leaves as leaves

nets = [nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Linear(2, 2, rngs=nnx.Rngs(1))]
x = jnp.ones((1, 2))
"""
TEST = "is_leaf=lambda x: isinstance(x, nnx.Module)"

KEPT_WHOLE = [
    ("jax.tree.map(lambda m: m(x), nets)", f"jax.tree.map(lambda m: m(x), nets, {TEST})"),
    ("leaves(nets)", f"leaves(nets, {TEST})"),
    ("jax.tree.flatten({'a': nets})", f"jax.tree.flatten({{'a': nets}}, {TEST})"),
    ("jax.tree.map(type, tree=nets)", f"jax.tree.map(type, tree=nets, {TEST})"),
    ("jax.tree.leaves(nets, None)", "jax.tree.leaves(nets, lambda x: isinstance(x, nnx.Module))"),
    (
        "jax.tree.leaves(nets, is_leaf=lambda n: n is None)",
        "jax.tree.leaves(nets, is_leaf=lambda n: n is None or isinstance(n, nnx.Module))",
    ),
    (
        "jax.tree.map(type, [nnx.Rngs(0)])",
        "jax.tree.map(type, [nnx.Rngs(0)], is_leaf=lambda x: isinstance(x, nnx.Rngs))",
    ),
    ("jax.tree_util.tree_map(type, nets)", f"jax.tree_util.tree_map(type, nets, {TEST})"),
    ("jax.tree_map(type, nets)", f"jax.tree.map(type, nets, {TEST})"),
    ("jax.tree.reduce(max, nets)", f"jax.tree.reduce(max, nets, {TEST})"),
    (
        "jax.tree.map(lambda a: a * 2 if isinstance(a, jax.Array) else a, nets)",
        f"jax.tree.map(lambda a: a * 2 if isinstance(a, jax.Array) else a, nets, {TEST})",
    ),
    ("jax.tree.map(\n    type,\n    nets,\n)", f"jax.tree.map(\n    type,\n    nets,\n    {TEST},\n)"),
]

LEFT_ALONE = [
    "jax.tree.map(lambda a: a + 1, nets)",
    "jax.tree.map(jnp.shape, nets)",
    "jax.tree.leaves(nnx.state(nets[0]))",
    "jax.tree.map(lambda s: s.ndim, [nnx.state(n) for n in nets])",
    "jax.tree.map(lambda a: jax.device_put(a) if isinstance(a, jax.Array) else a, nets[0])",
    "[jax.tree.map(lambda a: a * 2 if isinstance(a, (jax.Array, jnp.ndarray)) else a, m) for m in (nets[0], object())]",
    "jax.tree.leaves([x, x])",
    f"jax.tree.leaves(nets, {TEST})",
    "jax.tree.leaves(nets, is_leaf=lambda x: isinstance(x, nnx.Linear))",
    "sum(p.size for p in jax.tree.leaves(nets[0]))",
    "jax.tree.leaves(nnx.grad(lambda m: m(x).sum())(nets[0]))",
    "jax.tree.unflatten(None, nets)",
    "list(map(type, nets))",
]


@pytest.mark.parametrize(("call", "expected"), KEPT_WHOLE)
def test_is_leaf_is_added(call: str, expected: str) -> None:
    once = migrate_text(f"{HEAD}print({call})\n")
    assert f"print({expected})\n" in once
    assert migrate_text(once) == once


@pytest.mark.parametrize("call", LEFT_ALONE)
def test_is_left_alone(call: str) -> None:
    assert codes(f"{HEAD}print({call})\n") == []


def test_classes_that_are_no_pytrees_are_left_alone() -> None:
    text = "import jax\nfrom flax import nnx\n\n\nclass Net(nnx.Module, pytree=False):\n    pass\n\n\n"
    assert codes(f"{text}print(jax.tree.leaves([Net()]))\n") == []


def test_own_pytree_classes_need_a_newer_flax() -> None:
    """``nnx.Pytree`` does not exist in 0.10, so that the call is only reported where both are asked for."""
    text = (
        "import jax\nfrom flax import nnx\n\n\nclass Box(nnx.Object):\n    pass\n\n\nprint(jax.tree.leaves([Box()]))\n"
    )
    assert "isinstance(x, nnx.Pytree)" in migrate_text(text)
    assert migrate_text(text, options("0.10", "0.11")) == text
    assert codes(text, options("0.10", "0.11")) == ["NNX301"]


CHANGED = [
    ("@jax.jit\ndef f(m, x):\n    m.bias.value = x\nf(nets[0], x)\n", True),
    ("@jax.jit\ndef f(m, x):\n    m.bias.value = x\n    return m\nf(nets[0], x)\n", False),
    ("@nnx.jit\ndef f(m, x):\n    m.bias.value = x\nf(nets[0], x)\n", False),
    ("@jax.jit\ndef f(m, x):\n    return m(x)\nf(nets[0], x)\n", False),
    ("@jax.jit\ndef f(m, x):\n    return m(x)\nf(nnx.BatchNorm(2, rngs=nnx.Rngs(0)), x)\n", True),
    ("f = jax.jit(lambda m: m.update(loss=1.0))\nf(nnx.MultiMetric(loss=nnx.metrics.Average('loss')))\n", True),
]


@pytest.mark.parametrize(("body", "found"), CHANGED)
def test_changes_lost_in_jax_transforms(body: str, found: bool) -> None:
    assert ("NNX304" in codes(HEAD + body)) == found


@pytest.mark.parametrize(
    ("decorator", "base", "default", "found"),
    [
        ("@struct.dataclass", "", "", True),
        ("@chex.dataclass", "", "", True),
        ("@functools.partial(chex.dataclass, frozen=True)", "", "", True),
        ("", "(struct.PyTreeNode)", "", True),
        ("@dataclasses.dataclass", "", "", False),
        ("@struct.dataclass", "", " = struct.field(pytree_node=False)", False),
        ("@chex.dataclass", "", " = dataclasses.field(metadata={'static': True})", False),
        ("@chex.dataclass", "", " = dataclasses.field(metadata={'other': True})", True),
    ],
)
def test_modules_in_fields_of_registered_classes(decorator: str, base: str, default: str, found: bool) -> None:
    head = f"import chex\nimport dataclasses\nimport functools\nfrom flax import struct\n{HEAD}\n"
    cls = f"{decorator}\nclass Box{base}:\n    net: nnx.Linear{default}\n"
    assert (TEST in migrate_text(f"{head}{cls}jax.tree.map(type, [Box(nets[0])])\n")) == found


def test_own_leaf_test_is_kept() -> None:
    head = f"{HEAD}def test(n):\n    return n is None\n\n\n"
    once = migrate_text(f"{head}jax.tree.leaves(nets, is_leaf=test)\n")
    assert once == f"{head}jax.tree.leaves(nets, is_leaf=lambda x: test(x) or isinstance(x, nnx.Module))\n"


MAP = "jax.tree.map(lambda a: a.ndim > 1, {})"
REPEATED = f"lambda params: {MAP.format('params')}"
BY_X = "jax.tree.map(lambda a: a.ndim > x.ndim, state)"
BY_ORDER = "lambda params: jax.tree.unflatten(jax.tree.structure(params), jax.tree.leaves(mask))"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("optax.adamw(0.1, mask=decay(state))", "optax.adamw(0.1, mask=decay)"),
        ("optax.masked(tx, decay(state))", "optax.masked(tx, decay)"),
        (f"optax.masked(tx, {MAP.format('state')})", f"optax.masked(tx, lambda params: {MAP.format('params')})"),
        ("optax.masked(tx, decay)", "optax.masked(tx, decay)"),
        ("optax.masked(*given, decay(state))", "optax.masked(*given, decay(state))"),
        ("optax.masked(tx, decay(other))", "optax.masked(tx, decay(other))"),
    ],
)
def test_masks(before: str, after: str) -> None:
    text = (
        f"import optax\n{HEAD}\ndef decay(p):\n    return {MAP.format('p')}\n\n\n"
        f"tx = optax.sgd(0.1)\nstate = nnx.state(nets[0], nnx.Param)\nother = dict(a=x)\nmask = {MAP.format('state')}\n"
        "o = nnx.Optimizer(nets[0], {}, wrt=nnx.Param)\n"
    )
    assert migrate_text(text.format(before)) == text.format(after)


@pytest.mark.parametrize(
    ("made", "uses", "becomes", "used"),
    [
        (MAP.format("state"), "optax.masked(tx, {})", f"lambda params: {MAP.format('params')}", "mask"),
        (MAP.format("nnx.state(nets[0])"), "optax.adamw(1, mask={})", f"lambda params: {MAP.format('params')}", "mask"),
        ("jax.tree.map(lambda a: a is params, state)", "optax.masked(tx, {})",
         "lambda p: jax.tree.map(lambda a: a is params, p)", "mask"),
        (MAP.format("state"), "print(mask, optax.masked(tx, {}))", MAP.format("state"), REPEATED),
        (MAP.format("state"), "mask = None or optax.masked(tx, {})", MAP.format("state"), REPEATED),
        (BY_X, "print(mask, optax.masked(tx, {}))", BY_X, BY_ORDER),
    ],
)  # fmt: skip
def test_masks_in_variables(made: str, uses: str, becomes: str, used: str) -> None:
    """What only optax is given becomes a function where it is made; else where it is handed over.

    There it is written again if it names no variable.
    """
    text = (
        f"import optax\n{HEAD}\ntx = optax.sgd(0.1)\nstate = nnx.state(nets[0], nnx.Param)\nparams = nnx.Param(x)\n"
        f"mask = {{}}\no = nnx.Optimizer(nets[0], {uses}, wrt=nnx.Param)\n"
    )
    if uses.startswith("mask ="):
        text = text.replace(f"nets[0], {uses}", "nets[0], mask").replace("o = ", f"{uses}\no = ")
    assert migrate_text(text.format(made, "mask")) == text.format(becomes, used)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class Box(nnx.Object):\n    pass\n", True),
        ("isinstance(x, nnx.Object)\n", True),
        ("isinstance(x, (int, nnx.Object))\n", True),
        ("issubclass(type(x), nnx.Object)\n", True),
        ("class Box(nnx.Module):\n    pass\n", False),
        ("isinstance(x, nnx.Module)\n", False),
        ("print(x, nnx.Object)\n", False),
    ],
)
def test_nothing_is_an_object_from_0_12_on(text: str, found: bool) -> None:
    assert ("NNX307" in codes(HEAD + text, options("0.12"))) == found
    assert "NNX307" not in codes(HEAD + text, options("0.11"))


@pytest.mark.parametrize("guarded", [False, True])
def test_a_registration_that_may_fail(guarded: bool) -> None:
    """Where the error is caught, the project is prepared for both."""
    call = "jax.tree_util.register_pytree_node(Held, lambda h: ((), None), lambda _, parts: Held())\n"
    if guarded:
        call = f"try:\n    {call}except ValueError:\n    pass\n"
    text = f"import jax\nfrom flax import nnx\n\n\nclass Held(nnx.Module):\n    pass\n\n\n{call}"
    found = [finding.code for finding in look(text, options("0.11")).findings]
    assert found == ([] if guarded else ["NNX306"])
