"""Answers serve again wherever the same is assumed of the functions that they asked about, and nowhere else."""

from __future__ import annotations

from codemods.nnx.facts import FunctionFacts
from codemods.nnx.flow import Flow
from codemods.nnx.flow.assumptions import EVERYTHING, Answers, Assumptions
from codemods.nnx.frames import Frame
from codemods.nnx.project import Project
from codemods.nnx.sources import Sources
from codemods.nnx.values import Call, Const
from codemods.nnx.walk import walk
from tests.migration import sources

CODE = """\
def inner(x):
    return x


def outer(y):
    return inner(y)


outer(1)
outer(2)
inner(3)
"""


def _functions() -> tuple[Flow, FunctionFacts, FunctionFacts]:
    flow = Flow(Project([source.once(walk) for source in sources({"m.py": CODE})]))
    inner, outer = flow.project.functions()
    return flow, inner, outer


def test_an_answer_serves_where_the_same_is_assumed_of_what_it_asked_about() -> None:
    _, inner, outer = _functions()
    assumptions = Assumptions()
    answers: Answers[str, int] = Answers(assumptions)
    one, two, other = Frame(inner), Frame(inner), Frame(outer)
    with assumptions.assuming(inner, one):
        around = assumptions.begin()
        assert assumptions.frame(inner) is one
        answers.keep("question", 1, assumptions.end(around))
    assert answers.find("question") is None
    with assumptions.assuming(inner, two):
        assert answers.find("question") is None
    with assumptions.assuming(outer, other), assumptions.assuming(inner, one):
        found = answers.find("question")
        assert found is not None
        assert found.value == 1


def test_an_answer_that_asked_about_nothing_serves_everywhere() -> None:
    _, inner, outer = _functions()
    assumptions = Assumptions()
    answers: Answers[str, int] = Answers(assumptions)
    with assumptions.assuming(inner, Frame(inner)):
        answers.keep("question", 1, assumptions.end(assumptions.begin()))
    with assumptions.assuming(outer, Frame(outer)):
        assert answers.find("question") is not None
    assert answers.find("question") is not None


def test_what_an_answer_stands_on_is_handed_to_the_question_that_uses_it() -> None:
    _, inner, _ = _functions()
    assumptions = Assumptions()
    answers: Answers[str, int] = Answers(assumptions)
    first = assumptions.begin()
    assumptions.frame(inner)
    answers.keep("part", 1, assumptions.end(first))
    second = assumptions.begin()
    assert answers.find("part") is not None
    assert assumptions.end(second) == {inner}


def test_an_assumption_made_by_the_question_itself_is_none_of_its_answer() -> None:
    _, inner, outer = _functions()
    assumptions = Assumptions()
    around = assumptions.begin()
    with assumptions.assuming(inner, Frame(inner)):
        assumptions.frame(inner)
        assumptions.frame(outer)
        assert assumptions.any()
    assert assumptions.end(around) == {outer}


def test_an_answer_that_depends_on_how_much_is_assumed_serves_under_the_same_alone() -> None:
    _, inner, outer = _functions()
    assumptions = Assumptions()
    answers: Answers[str, int] = Answers(assumptions)
    frame = Frame(inner)
    with assumptions.assuming(inner, frame):
        around = assumptions.begin()
        assumptions.stand_on_all()
        asked = assumptions.end(around)
        assert asked == {EVERYTHING}
        answers.keep("question", 1, asked)
    with assumptions.assuming(inner, frame):
        assert answers.find("question") is not None
        with assumptions.assuming(outer, Frame(outer)):
            assert answers.find("question") is None
    assert answers.find("question") is None


def test_results_under_assumptions_are_those_of_a_fresh_analysis() -> None:
    """What was found before, under other assumptions, changes no answer."""
    warm, _, outer = _functions()
    call = next(event for event in warm.project.calls() if event.scope.function is outer)
    for frame in warm.sites.entries(outer):
        with warm.assuming(outer, frame):
            known = warm.resolve(warm.here(call.value, call.scope)).value
        fresh, _, again = _functions()
        same = next(one for one in fresh.sites.entries(again) if _given(one) == _given(frame))
        event = next(one for one in fresh.project.calls() if one.scope.function is again)
        with fresh.assuming(again, same):
            answer = fresh.resolve(fresh.here(event.value, event.scope)).value
        assert isinstance(known, Const)
        assert isinstance(answer, Const)
        assert known.value == answer.value == _given(frame)
    made = Sources(warm).of(warm.here(call.value, call.scope))
    assert {one.value.value for one in made if isinstance(one.value, Const)} == {1, 2}
    assert isinstance(call.value, Call)


def _given(frame: Frame) -> object:
    value = frame.args[0].value
    return value.value if isinstance(value, Const) else None
