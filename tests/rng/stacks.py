"""Programs that build stacks of layers in every form and call them in every form."""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = "import jax\nimport jax.numpy as jnp\nfrom flax import nnx\n"

_LINES = {
    "drop": ("self.drop = nnx.Dropout(0.5, rngs=rngs)", "x = self.drop(x)"),
    "own": ("self.rngs = rngs", "x = x + 0.0 * jax.random.normal(self.rngs.dropout(), x.shape)"),
    "norm": ("self.norm = nnx.LayerNorm(3, rngs=rngs)", "x = self.norm(x)"),
}
# what a block holds beside its weights
BLOCKS = {"layer": ("drop",), "own": ("own",), "both": ("drop", "own"), "none": ("norm",)}

BUILDS = {
    "decorator": """
@nnx.split_rngs(splits=4)
@nnx.vmap(in_axes=0, out_axes=0)
def create(rngs):
    return Block(rngs)


model = create(nnx.Rngs(params=0, dropout=1))
""",
    "inline": """
model = nnx.split_rngs(splits=4)(nnx.vmap(Block))(nnx.Rngs(params=0, dropout=1))
""",
    "block": """
rngs = nnx.Rngs(params=0, dropout=1)
with nnx.split_rngs(rngs, splits=4):
    model = nnx.vmap(Block)(rngs)
""",
    "lambda": """
create = nnx.split_rngs(splits=4)(nnx.vmap(lambda rngs: Block(rngs)))
model = create(nnx.Rngs(params=0, dropout=1))
""",
}

# each with the text that remains when the split is removed
_FORWARD = "mapped = nnx.vmap(lambda m, x: m(x), in_axes=(0, None))\n\n\ndef forward(model, x):\n"
_BODY = "y = mapped(model, x)\n{0}if y.ndim > 9:\n{0}    y = y[0]\n"
_INLINE = "nnx.scan(lambda m, x: m(x), in_axes=(0, nnx.Carry), out_axes=nnx.Carry)"
CALLS = {
    "decorator": (
        "@nnx.split_rngs(splits=4{0})  # for every layer\n",
        "",
        "@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)\ndef forward(block, x):\n    return block(x)\n",
    ),
    "inline": (f"forward = nnx.split_rngs(splits=4{{0}})({_INLINE})\n", f"forward = {_INLINE}\n", ""),
    "block": (
        f"{_FORWARD}    with nnx.split_rngs(model, splits=4{{0}}):\n        {_BODY.format(' ' * 8)}",
        f"{_FORWARD}    {_BODY.format(' ' * 4)}",
        "    return y.mean(0)\n",
    ),
    "backup": (
        f"{_FORWARD}    backups = nnx.split_rngs(model, splits=4{{0}})\n    y = mapped(model, x)\n",
        None,  # restore_rngs needs the backups: always narrowed
        "    nnx.restore_rngs(backups)\n    return y.mean(0)\n",
    ),
    "name": (
        "split = nnx.split_rngs(splits=4{0})\n\n\n@split\n",
        "split = nnx.split_rngs(splits=4{0})\n\n\n",
        "@nnx.vmap(in_axes=(0, None))\ndef forward(member, x):\n    return member(x)\n",
    ),
}

SCALAR = ", only=lambda path, x: x.shape == ()"
FILTERS = (
    ("", SCALAR),
    (", only=...", SCALAR),
    (', only=("params", "dropout")', ', only=nnx.All(("params", "dropout"), lambda path, x: x.shape == ())'),
)


@dataclass(frozen=True)
class Stack:
    """A program with what it becomes for 0.11, and what it becomes if it shall run on 0.10 too."""

    name: str
    before: str
    after: str
    portable: str


def stacks() -> list[Stack]:
    """Return a program for every block and every call, with builds and filters in turn."""
    made: list[Stack] = []
    for block, held in BLOCKS.items():
        for call, (split, removed, rest) in CALLS.items():
            build = list(BUILDS)[len(made) % len(BUILDS)]
            old, new = FILTERS[len(made) % len(FILTERS)]
            fails = "drop" in held
            gone = fails and "own" not in held and removed is not None
            narrowed = split.format(new if fails else old)
            made.append(
                Stack(
                    f"{block}-{build}-{call}",
                    _program(held, build, split.format(old) + rest),
                    _program(held, build, (removed or "").format(old) + rest if gone else narrowed + rest),
                    _program(held, build, narrowed + rest),
                )
            )
    return made


def _program(held: tuple[str, ...], build: str, forward: str) -> str:
    made = "\n".join(f"        {_LINES[h][0]}" for h in held)
    used = "\n".join(f"        {_LINES[h][1]}" for h in held)
    train = "print(forward(model, x).shape, bool(jnp.any(forward(model, x) != forward(model, x))))\n"
    quiet = "model.eval()\nprint(float(forward(model, x).sum()))\n" if "drop" in held else ""
    return (
        f"{_HEAD}\n\nclass Block(nnx.Module):\n    def __init__(self, rngs: nnx.Rngs):\n"
        f"        self.linear = nnx.Linear(3, 3, rngs=rngs)\n{made}\n\n    def __call__(self, x):\n"
        f"        x = self.linear(x)\n{used}\n        return x\n\n{BUILDS[build]}\n\n{forward}\n\n"
        f"x = jnp.ones((2, 3))\n{train}{quiet}"
    )
