"""What calls give, followed through functions of the project and not into every chain of callers."""

from __future__ import annotations

import ast

import pytest

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound
from codemods.nnx.options import Options
from codemods.nnx.project import Project, scope_of
from codemods.nnx.sources import Sources
from codemods.nnx.values import Call
from codemods.nnx.walk import walk
from tests.migration import sources


def _context(text: str) -> Context:
    return Context(Project([source.once(walk) for source in sources({"m.py": text})]), Options())


def _asked(context: Context, text: str) -> set[str]:
    """Return what an expression of a function may be: the calls that it comes from, or itself."""
    places = ((module, node) for module in context.project.modules for node in module.values)
    module, node = next(place for place in places if ast.unparse(place[1]) == text)
    assert isinstance(node, ast.expr)
    found = context.sources.of(context.flow.here(module.values[node], scope_of(module, node)))
    return {ast.unparse(one.value.node) if isinstance(one.value, Call) else text for one in found}


def _chains(width: int, depth: int, asked: str) -> str:
    """Return functions that each call the next one from several places, and what the last one asks."""
    inner = f"def f0(x, y):\n    return {asked}\n\n\n"
    for level in range(1, depth):
        calls = "".join(f"    f{level - 1}(a{i}, b{i})\n" for i in range(width))
        names = ", ".join(f"a{i}, b{i}" for i in range(width))
        inner += f"def f{level}({names}):\n{calls}\n\n"
    return inner


HELPERS = """\
def helper(one, other):
    if one:
        return other.fold()
    return one


def pick(one, other):
    if one:
        return one
    return other


"""


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("x.strip()", {"x.strip()"}),
        ("pick(y, x).strip()", {"pick(y, x).strip()"}),
        ("helper(x.strip(), y)", {"x.strip()", "other.fold()"}),
        ("x.halves(y)[0]", {"x.halves(y)[0]"}),
    ],
)
def test_calls_that_are_the_same_for_all_callers_are_followed_once(
    asked: str, given: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every chain of callers, of which there are seven to the power of four here, would be asked about."""
    context = _context(HELPERS + _chains(7, 5, asked))
    count = 0
    followed = Sources._followed

    def counting(self: Sources, bound: Bound) -> dict[Bound, None]:
        nonlocal count
        count += 1
        return followed(self, bound)

    monkeypatch.setattr(Sources, "_followed", counting)
    assert _asked(context, asked) == given
    assert count < 10


def test_methods_that_a_class_of_the_project_has_are_looked_for_in_the_callers() -> None:
    made = "class Text:\n    def strip(self):\n        if self:\n            return cut()\n        return whole()\n\n\n"
    context = _context(made + "def f(x):\n    return x.strip()\n\n\ndef g(x):\n    return f(x)\n\n\ng(Text())\ng(3)\n")
    assert _asked(context, "x.strip()") == {"cut()", "whole()", "x.strip()"}
