"""How a split is written, and what stands around it, decide how it can be taken away."""

from __future__ import annotations

import pytest

from tests.migration import codes, migrate_text, options

HEAD = """\
import contextlib
import functools
import jax.numpy as jnp
import mystery
from flax import nnx


class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


blocks = nnx.split_rngs(splits=4)(nnx.vmap(Block))(nnx.Rngs(params=0, dropout=1))
x = jnp.ones(3)
"""
ONLY = ", only=lambda path, x: x.shape == ()"
SCAN = "nnx.scan(lambda m, x: m(x), in_axes=(0, nnx.Carry), out_axes=nnx.Carry)"
BODY = "@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)\ndef f(m, x):\n    return m(x)\nf(blocks, x)"
MAKE = (
    "@nnx.split_rngs(splits=4)\n@functools.partial({}, in_axes=0)\ndef make(r):\n    return Block(r)\n"
    "more = make(nnx.Rngs(0))\n"
)
MAPPED = "nnx.vmap(lambda m, x: m(x))"
STACK = (
    "class Stack(nnx.Module):\n    @nnx.split_rngs(splits=3)\n    @nnx.vmap(in_axes=(0, 0))\n"
    "    def __init__(self, rngs):\n        self.d = nnx.Dropout(0.5, rngs=rngs)\n"
    "{}    @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)\n"
    "    def __call__(self, x, y=1):\n        return self.d(x)"
)


def _after(text: str) -> str:
    chosen = options("0.11", select=("NNX201",))
    once = migrate_text(HEAD + text, chosen)
    assert migrate_text(once, chosen) == once
    return once.removeprefix(HEAD)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"@nnx.split_rngs(\n    splits=4,\n)\n{BODY}", BODY),
        (f"@nnx.split_rngs(splits=1, squeeze=True)\n{BODY}", BODY),
        (f"@functools.cache\n@nnx.split_rngs(splits=4)\n{BODY}", f"@functools.cache\n{BODY}"),
        (f"f = nnx.split_rngs(splits=4)(\n    {SCAN}\n)\nf(blocks, x)", f"f = {SCAN}\nf(blocks, x)"),
        (f"g = {SCAN}\nf = nnx.split_rngs(splits=4)(g)\nf(blocks, x)", f"g = {SCAN}\nf = g\nf(blocks, x)"),
        ("f = nnx.split_rngs(splits=4)(nnx.jit(mystery.f))\nf(blocks)", "f = nnx.jit(mystery.f)\nf(blocks)"),
        ("with nnx.split_rngs(blocks, splits=4):\n    y = 1", "y = 1"),
        (
            f"{MAKE.format('nnx.vmap')}with nnx.split_rngs(more, splits=4):\n    y = 1",
            f"{MAKE.format('nnx.vmap')}y = 1",
        ),
        ("with nnx.split_rngs(\n    blocks, splits=4\n):\n    y = 1\n\n    z = (\n  2)", "y = 1\n\nz = (\n  2)"),
        (
            "def f(y):\n    with nnx.split_rngs(blocks, splits=4):\n        if y:\n            y = 2\n    return y",
            "def f(y):\n    if y:\n        y = 2\n    return y",
        ),
        (STACK.format("    @nnx.split_rngs(splits=3)\n"), STACK.format("")),
        (
            STACK.replace("@nnx.vmap(", "@functools.partial(nnx.vmap, ").format("    @nnx.split_rngs(splits=3)\n"),
            STACK.replace("@nnx.vmap(", "@functools.partial(nnx.vmap, ").format(""),
        ),
        *(
            (f"{STACK.format('    @nnx.split_rngs(splits=3)' + chr(10))}\n{call}", f"{STACK.format('')}\n{call}")
            for call in ("Stack(nnx.Rngs(0))(x)", "Stack(nnx.Rngs(0))(x, y=mystery.load())")
        ),
        *(
            (f"f = nnx.split_rngs(splits=4)({MAPPED})\n{call}", f"f = {MAPPED}\n{call}")
            for call in (
                "functools.partial(f, blocks)(x)",
                "nnx.cached_partial(f, blocks)(x)",
                "f(*[blocks, x])",
                "f(m=blocks, x=x)",
                "f(blocks, x)",
            )
        ),
        (f"@nnx.split_rngs(splits=4)\n{BODY.replace('@nnx.scan(', '@functools.partial(nnx.scan, ')}",
         BODY.replace("@nnx.scan(", "@functools.partial(nnx.scan, ")),
    ],
)  # fmt: skip
def test_removed(before: str, after: str) -> None:
    assert _after(before) == after


@pytest.mark.parametrize(
    "text",
    [
        f"f = nnx.split_rngs(splits=4)(  # why\n    {SCAN}\n)\nf(blocks, x)",
        "f = nnx.split_rngs(splits=4)(lambda m, x: m(x))\nf(blocks, x)",
        "f = nnx.split_rngs(splits=4)(nnx.vmap\n(lambda m, x: m(x)))\nf(blocks, x)",
        "f = nnx.split_rngs(splits=4)(nnx\n.vmap(lambda m, x: m(x)))\nf(blocks, x)",
        "with nnx.split_rngs(blocks, splits=4): y = 1",
        "with nnx.split_rngs(blocks, splits=4), contextlib.nullcontext():\n    y = 1",
        "with nnx.split_rngs(blocks, splits=4) as b:\n    y = 1",
        "with nnx.split_rngs(blocks, splits=4):  # why\n    y = 1",
        "with nnx.split_rngs(blocks, splits=4):\n    y = '''a\n    b'''",
        "with nnx.split_rngs(blocks, splits=4):\n    y = f'''a\n    {x}'''",
        "b = nnx.split_rngs(blocks, splits=4)\nnnx.restore_rngs(b)",
        "with contextlib.suppress(nnx.split_rngs(blocks, splits=4)):\n    y = 1",
        f"@nnx.split_rngs(splits=4)\n{BODY.replace('f(blocks', 'f(mystery.load()')}",
        f"f = nnx.split_rngs(splits=4)({MAPPED})\nf(Block(nnx.Rngs(0)), x)\nf(blocks, x)",
        f"f = nnx.split_rngs(splits=4)({MAPPED})",
        "@nnx.split_rngs(splits=4)\n@nnx.scan(in_axes=(nnx.StateAxes({nnx.RngState: 0, ...: 0}), 0))\ndef f(m, x):\n"
        "    return m(x)\nf(mystery.load(), x)",
        "@nnx.split_rngs(splits=4)\n@nnx.vmap(in_axes=(None, 0))\ndef f(m, x):\n    return m(x)\nf(mystery.load(), x)",
    ],
)
def test_narrowed(text: str) -> None:
    assert _after(text) == text.replace("splits=4", f"splits=4{ONLY}")


@pytest.mark.parametrize(
    "text",
    [
        f"@nnx.split_rngs(splits=1, squeeze=True)\n{BODY.replace('f(blocks', 'f(mystery.load()')}",
        f"f = nnx.split_rngs(splits=4)({MAPPED})\nf(Block(nnx.Rngs(0)), x)",
        f"f = nnx.split_rngs(splits=4)({MAPPED})\nf(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), x)",
        f"{MAKE.format('nnx.jit')}with nnx.split_rngs(more, splits=4):\n    y = 1",
        f"{MAKE.format('lambda f, in_axes: f')}with nnx.split_rngs(more, splits=4):\n    y = 1",
        "f = nnx.split_rngs(splits=4)(mystery.f)",
        "mystery.wrap(mystery.split_rngs, splits=4)(blocks)",
        "@nnx.split_rngs(splits=4)\n@nnx.vmap(in_axes=(nnx.StateAxes({nnx.RngState: 0, ...: None}), 0))\ndef f(m, x):\n"
        "    return m(x)\nf(mystery.load(), x)",
        "@nnx.split_rngs(splits=4)\n@nnx.vmap(in_axes=(None, nnx.StateAxes({'dropout': 0, ...: None})))\ndef f(x, m):\n"
        "    return m(x)\nf(x, mystery.load())",
        "@nnx.split_rngs(splits=4)\n@nnx.vmap\ndef make(rngs):\n    return Block(rngs)",
    ],
)
def test_left_alone(text: str) -> None:
    assert codes(HEAD + text, options("0.11", select=("NNX201",))) == []


def test_reported_where_options_are_unpacked() -> None:
    text = f"o = dict(squeeze=False)\n@nnx.split_rngs(**o, splits=4)\n{BODY.replace('f(blocks', 'f(mystery.load()')}"
    assert codes(HEAD + text, options("0.11", select=("NNX201",))) == ["NNX201"]
    assert _after(text) == text
