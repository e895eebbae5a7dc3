"""NNX601 where the class of a container's layers is looked up in a table that other code fills."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601", "NNX602", "NNX605"))
HEAD = """\
import jax
from flax import nnx

TABLE = {}


def register(made):
    TABLE[made.__name__.lower()] = made
    return made


def named(name):
    def decorator(made):
        TABLE[name] = made
        return made

    return decorator


class Registry:
    def __init__(self):
        self.held = {}

    def register(self, name):
        def decorator(made):
            self.held[name] = made
            return made

        return decorator

    def take(self, name):
        return self.held[name]


REGISTRY = Registry()


def sized(size):
    class Block(nnx.Module):
        def __init__(self, rngs):
            self.linear = nnx.Linear(2, size, rngs=rngs)

    return Block


"""
BLOCK = (
    "class Block(nnx.Module):\n    def __init__(self, rngs):\n        self.linear = nnx.Linear(2, 2, rngs=rngs)\n\n\n"
)
MADE = "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.layers = [{}]\n\n\n"
SHOW = "print(len(jax.tree.leaves(nnx.state(Net(nnx.Rngs(0))))))\n"
FUNCTION = "@register\ndef block(rngs):\n    return nnx.Linear(2, 2, rngs=rngs)\n\n\n"
BUILD = "def build(name, rngs):\n    cls = TABLE[name]\n    return cls(rngs)\n\n\n"
FIXED = {
    "decorated class": f"@register\n{BLOCK}" + MADE.format("TABLE[name](rngs) for name in ['block']"),
    "decorated class, by a function": f"@register\n{BLOCK}{BUILD}" + MADE.format("build(n, rngs) for n in ['block']"),
    "decorated by name": f"@named('a')\n{BLOCK}" + MADE.format("TABLE['A'.lower()](rngs)"),
    "decorated by a method": f"@REGISTRY.register('a')\n{BLOCK}" + MADE.format("REGISTRY.take(n)(rngs) for n in 'a'"),
    "decorated function": FUNCTION + MADE.format("TABLE[name](rngs) for name in ['block']"),
    "by get": FUNCTION + MADE.format("TABLE.get(name)(rngs) for name in ['block']"),
    "registered by a call": f"{BLOCK}register(Block)\n" + MADE.format("TABLE[name](rngs) for name in ['block']"),
    "display, by get": f"{BLOCK}KINDS = {{'a': Block}}\n" + MADE.format("KINDS.get(name)(rngs) for name in 'a'"),
    "unpacked map": "Small, Large = map(sized, (1, 2))\n\n\n" + MADE.format("Small(rngs), Large(rngs)"),
    "item of a map": "SIZES = list(map(sized, (1, 2)))\n\n\n" + MADE.format("SIZES[0](rngs)"),
}
LEFT = {
    "functions of texts": FUNCTION.replace("nnx.Linear(2, 2, rngs=rngs)", "'text'")
    + MADE.format("TABLE[name](rngs) for name in ['block']"),
    "the classes themselves": f"@register\n{BLOCK}" + MADE.format("TABLE[name] for name in ['block']"),
    "another table": f"@register\n{BLOCK}OTHER = {{'a': str}}\n" + MADE.format("OTHER[name](2) for name in 'a'"),
    "map of numbers": "one, two = map(int, '12')\n\n\n" + MADE.format("one, two"),
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("looked")
    programs = {name: HEAD + text + SHOW for name, text in FIXED.items()}
    done = runs(programs, folder / "migrated", ("0.12",))
    done["0.12 as it was"] = execute_all("0.12", programs, folder / "was")
    return done


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(HEAD + FIXED[name] + SHOW, ONLY)
    assert codes(once, ONLY) == []
    assert migrate_text(once, ONLY) == once
    assert_breaks(outputs, name, "0.12 as it was")
    assert_same({version: done for version, done in outputs.items() if version != "0.12 as it was"}, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + LEFT[name] + SHOW, ONLY) == []
