"""Who calls a function: known in full, whatever is under way, and what is cut short is said."""

from __future__ import annotations

import json

import pytest

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.flow import questions
from codemods.nnx.options import Options
from codemods.nnx.project import Project
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
