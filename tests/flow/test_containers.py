"""Containers that hold each other are looked at a bounded number of times."""

from __future__ import annotations

import pytest

from codemods.nnx.flow.containers import Containers
from codemods.nnx.frames import Bound
from codemods.nnx.options import Options
from tests.migration import look

FIELDS = range(3)
STORES = "\n".join(
    f"    def set{i}_{j}(self, other: 'Node'):\n        self.f{i} = other.f{j}"
    for i in FIELDS
    for j in FIELDS
    if i != j
)
TEXT = f"""\
from flax import nnx


class Node(nnx.Module):
{STORES}

    def fill(self, child: 'Node'):
        self.f0 = [child]

    def walk(self):
        for item in self.f0:
            item.seen = 1
"""


def test_fields_of_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every field may come from every other: the ways from one to the next are countless."""
    questions: list[int] = []
    looks = 0
    plain = Containers._is_mapping

    def counted(self: Containers, container: Bound, seen: set[Bound], depth: int) -> bool:
        nonlocal looks
        looks += 1
        if depth == 0:
            questions.append(looks)
        return plain(self, container, seen, depth)

    monkeypatch.setattr(Containers, "_is_mapping", counted)
    look(TEXT, Options(origin="0.12", targets=("0.12",), lint=True))
    asked = [end - start for start, end in zip(questions, [*questions[1:], looks], strict=True)]
    assert asked
    assert max(asked) < 1_000


@pytest.mark.parametrize("call", ["add(x, y)", "insert(0, x)", "append(x)", "setdefault('a', x)"])
@pytest.mark.parametrize("start", ["from helpers import {0}", "items = make()\n{0} = items.{0}"])
def test_names_of_methods(call: str, start: str) -> None:
    """A function called as a method of a list or set is no method: nothing is put anywhere."""
    name = call.partition("(")[0]
    helper = f"def {name}(*args):\n    return args\n"
    main = f"import jax\n{start.format(name)}\nx, y = jax.numpy.ones(2)\nz = {call}\n"
    analysis = look({"main.py": main, "helpers.py": helper}, Options(origin="0.12", targets=("0.12",), lint=True))
    assert not analysis.failures
