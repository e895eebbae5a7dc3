"""Who calls a function: known in full, whatever is under way, and what is cut short is said."""

from __future__ import annotations

import ast
import json

import pytest

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.flow import questions
from codemods.nnx.options import Options
from codemods.nnx.project import Project
from codemods.nnx.values import Attr, Call, Const, Param
from codemods.nnx.walk import walk
from nnxmigrate.files.discovery import discover
from nnxmigrate.outcome import joined
from nnxmigrate.report import Style, report
from nnxmigrate.run import run
from nnxmigrate.settings import Settings
from tests.conftest import Tree
from tests.migration import sources

CALLED = """\
import jax


class Net:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return x


def step(net, x):
    return net(x)


fast = jax.jit(step)
fast(Net(1), 2)
step(Net(2), 3)
"""
OTHERS = "".join(f"def f{i}(x):\n    return x\n\n\nf{i}(f{i}({i}))\n" for i in range(60))


def _context(text: str) -> Context:
    return Context(Project([source.once(walk) for source in sources({"m.py": text})]), Options())


def _function(context: Context, name: str) -> FunctionFacts:
    return next(function for function in context.project.functions() if function.name == name)


def _lines(context: Context, name: str) -> list[int]:
    return [event.node.lineno for event in context.flow.sites.callers(_function(context, name))]


def test_a_question_that_has_no_steps_left_sees_all_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "_STEPS", 100)
    context = _context(OTHERS + CALLED)
    with context.flow.questions.one_question():
        while not context.flow.questions.tired():
            pass
        lines = _lines(context, "step"), _lines(context, "__init__")
        assert context.flow.questions.tired()
    end = (OTHERS + CALLED).count("\n")
    assert lines == ([end - 1, end], [end - 1, end])


def test_what_is_assumed_changes_no_callers() -> None:
    context = _context(CALLED)
    step = _function(context, "step")
    frames = context.flow.sites.entries(step)
    with context.flow.assuming(step, frames[0]):
        inside = _lines(context, "__init__"), context.flow.sites.entries(step)
    assert inside == (_lines(_context(CALLED), "__init__"), frames)


PARTED = """\
import jax


@jax.jit
def tree(points, dim, i=0):
    if points.shape[0] > 1:
        points = points[jax.numpy.argsort(points[:, i])]
        i = (i + 1) % dim
        half = points.shape[0] >> 1
        return [tree(points[:half], dim, i), tree(points[half + 1 :], dim, i), points[half]]
    return [None, None, points[0]]
"""


def test_a_function_that_hands_itself_parts_has_an_end() -> None:
    context = _context(PARTED)
    assert len(context.flow.sites.entries(_function(context, "tree"))) == 2


def test_a_question_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "_STEPS", 10)
    asked = _context("x = 1\n").flow.questions
    for _ in range(2):
        with asked.one_question():
            for _ in range(30):
                asked.tired()
    assert asked.unanswered == 2


def test_the_summary_says_what_was_cut_short(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree({"m.py": f"from flax import nnx\n{CALLED}"})
    settings = Settings(options=Options(lint=True))
    assert not run(discover(["."]), settings).told
    monkeypatch.setattr(questions, "_STEPS", 1)
    outcome = run(discover(["."]), settings)
    (note,) = outcome.told
    assert f"Cut short: {outcome.unanswered} question" in note
    (both,) = joined([outcome, outcome], ["m.py"]).told
    assert f"Cut short: {2 * outcome.unanswered} questions" in both
    assert json.loads(report(outcome, Style("json")))["notes"] == [note]
    (run_,) = json.loads(report(outcome, Style("sarif")))["runs"]
    told = run_["invocations"][0]["toolExecutionNotifications"]
    assert [one["message"]["text"] for one in told] == [note]


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("f(1, *pair)", [1, 2, 3]),
        ("f(*pair, 9)", [None, None, None]),
        ("f(1, *pair[:1], 9)", [1, None, None]),
        ("f(1, *pair, c=4)", [1, 2, 4]),
        ("functools.partial(f, 1)(*pair)", [1, 2, 3]),
        ("f(*make(1))", [1, 2, 3]),
    ],
)
def test_what_is_unpacked_last_fills_the_parameters_that_are_left(call: str, given: list[int | None]) -> None:
    """Behind ``*values`` nobody knows for which parameter an argument is."""
    made = "def make(n):\n    return n, 2, 3\n\n\ndef f(a, b, c):\n    return a\n\n\n"
    context = _context(f"import functools\n\npair = (2, 3)\n\n\n{made}{call}\n")
    function = _function(context, "f")
    (frame,) = context.flow.sites.entries(function)
    found = [context.flow.argument(frame, name) for name in "abc"]
    values = [context.flow.resolve(one).value if one is not None else None for one in found]
    assert [value.value if isinstance(value, Const) else None for value in values] == given


@pytest.mark.parametrize(
    ("unpacked", "names"),
    [
        ("(v.copy() for v in (one, two))", ["one", "two"]),
        ("[np.ravel(v.copy()) for v in [one, two]]", ["one", "two"]),
        ("(v for v in (one, two))", ["one", "two"]),
        ("(v.copy() for v in (one, two, one))", [None, None]),
        ("(v.copy() for v in (one, two) if v)", [None, None]),
        ("(np.Ring(v) for v in (one, two))", [None, None]),
    ],
)
def test_a_comprehension_over_a_display_is_unpacked_part_by_part(unpacked: str, names: list[str | None]) -> None:
    """A constructor in one keeps its one place, by which its object is known."""
    (source,) = sources({"m.py": f"import numpy as np\n\n\ndef f(one, two):\n    a, b = {unpacked}\n    return a, b\n"})
    module = source.once(walk)
    found: list[str | None] = []
    for name in "ab":
        value = next(v for n, v in module.values.items() if isinstance(n, ast.Name) and n.id == name)
        while isinstance(value, Call) and isinstance(value.callee, Attr):
            value = value.args[0] if value.args else value.callee.base
        found.append(value.name if isinstance(value, Param) else None)
    assert found == names
