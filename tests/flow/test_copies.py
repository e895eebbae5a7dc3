"""Values that are made of values of their like have an end, or cost no more the longer the chain is."""

from __future__ import annotations

import ast

from codemods.nnx.flow import Flow
from codemods.nnx.flow.assumptions import Answers, Assumptions
from codemods.nnx.frames import Bound, Frame, Part, Round
from codemods.nnx.project import Project
from codemods.nnx.values import Unknown, Value
from codemods.nnx.walk import walk
from tests.migration import sources


def _flow() -> Flow:
    return Flow(Project([source.once(walk) for source in sources({"m.py": "def f(x):\n    return x\n"})]))


def test_copies_of_copies_have_an_end() -> None:
    """As of a configuration that a builder copies and hands to itself."""
    flow = _flow()
    bound = Bound(Unknown(ast.Pass()))
    for _ in range(1_000):
        bound = flow.part(Unknown(ast.Pass()), bound, None)
    depth = 0
    while isinstance(bound.value, Part):
        bound = bound.value.of
        depth += 1
    assert 1 < depth < 50


def test_elements_of_elements_are_compared_at_once() -> None:
    """A hash that goes down to the innermost one would end in a RecursionError."""
    value: Value = Unknown(ast.Pass())
    loop = ast.Pass()
    for _ in range(50_000):
        value = Round(value, loop, None)
    assert len({value, Round(Unknown(loop), loop, None)}) == 2


def test_the_right_one_of_many_answers_is_found() -> None:
    """Each under what it was found under, also those that ask about several functions."""
    flow = _flow()
    (function,) = flow.project.functions()
    assumptions = Assumptions()
    answers: Answers[str, int] = Answers(assumptions)
    frames = [Frame(function) for _ in range(200)]
    for number, frame in enumerate(frames):
        with assumptions.assuming(function, frame):
            around = assumptions.begin()
            assert assumptions.frame(function) is frame
            answers.keep("question", number, assumptions.end(around))
    for number, frame in enumerate(frames):
        with assumptions.assuming(function, frame):
            found = answers.find("question")
            assert found is not None
            assert found.value == number
    assert answers.find("question") is None
